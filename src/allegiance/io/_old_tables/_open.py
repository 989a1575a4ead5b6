"""Which reader a file gets."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import Any

from allegiance._core import require
from allegiance.io import TableError

from ._arrays import open_npy, open_npz
from ._binary import ArrowSource, ParquetSource
from ._csv import CsvSource, spooled
from ._source import JoinedSource, Source
from ._workbook import WorkbookSource

#: The format that each ending of a file name stands for.
READABLE = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
    ".xlsx": "xlsx",
}


def open_source(
    spec: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    format: str | None = None,
    text: Sequence[str] = (),
    codes: Sequence[str] = (),
) -> Source:
    r"""Open a table for reading in batches.

    Parameters
    ----------
    spec
        A path, a pattern such as ``"part-*.parquet"``, several paths, or ``"-"`` for CSV on standard input. Several
        files must have the same columns and are read one after the other, those of a pattern in the order of
        their names. An array of an .npz file with several is named as ``"file.npz:name"``, and a sheet of a workbook as
        ``"file.xlsx:name"``; by default it is the first.
    columns
        Names of columns that must be there.
    format
        "csv", "tsv", "parquet", "arrow", "npy", "npz" or "xlsx"; by default the ending of the file's name decides. Text
        may be compressed (``.csv.gz``).
    text
        Columns of CSV files to keep as they are written, such as identifiers with leading zeros.
    codes
        Columns of CSV files that hold names or codes, such as labels: they are read as numbers only if that tells them
        apart just as well, so that ``1`` and ``01`` stay two labels.

    Returns
    -------
    Source
        The table. Only its header was read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io._old_tables import open_source
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("x,y\n1,2\n3,4\n5,6\n")
    ...     source = open_source(path)
    ...     print(source.names, [batch.num_rows for batch in source.batches(rows=2)])
    ['x', 'y'] [2, 1]
    """
    require("pyarrow", "io", "reading tables")
    if format is not None and format not in READABLE.values():
        raise TableError(f"format must be one of {', '.join(sorted(set(READABLE.values())))}, got {format!r}.")
    specs = [spec] if isinstance(spec, (str, os.PathLike)) else list(spec)
    paths = [path for one in specs for path in _expand(os.fspath(one))]
    if not paths:
        raise TableError("no file was named.")
    parts = [_open_one(path, format, tuple(text), tuple(codes)) for path in paths]
    where = f"{paths[0]} and {len(paths) - 1} more"
    source = parts[0] if len(parts) == 1 else JoinedSource(where, parts)
    source.check_columns(columns or ())
    return source


def _expand(spec: str) -> list[str]:
    """Return the files that a pattern stands for, or the one file."""
    if os.path.exists(spec) or not has_magic(spec):
        return [spec]
    found = sorted(glob(spec, recursive=True))
    if not found:
        raise TableError(f"no file matches {spec}.")
    return found


def _open_one(path: str, format: str | None, text: tuple[str, ...], codes: tuple[str, ...]) -> Source:
    delimiter = "\t" if format == "tsv" else None
    if path == "-":
        if format not in (None, "csv", "tsv"):
            raise TableError(f"standard input is read as csv or tsv, not as {format}.")
        return spooled(sys.stdin.buffer, "standard input", delimiter, text, codes)
    key = None
    if not os.path.exists(path) and re.search(r"\.(npz|xlsx):", path, re.IGNORECASE):
        path, _, key = path.rpartition(":")
    _check_file(path)
    if not os.path.isfile(path):
        with open(path, "rb") as pipe:
            return spooled(pipe, path, delimiter, text, codes)
    kind = format or _format_of(path)
    if kind == "parquet":
        return ParquetSource(path)
    if kind == "arrow":
        return ArrowSource(path)
    if kind == "npy":
        return open_npy(path)
    if kind == "npz":
        return open_npz(path, key)
    if kind == "xlsx":
        return WorkbookSource(path, key, text)
    delimiter = "\t" if kind == "tsv" else None
    return CsvSource(path, [path], partial(_open_text, path), delimiter, text, codes)


def _open_text(path: str) -> Any:
    return require("pyarrow", "io", "reading tables").input_stream(path, compression="detect")


def _check_file(path: str) -> None:
    """Raise unless there is a file with something in it that may be read."""
    if os.path.isdir(path):
        raise TableError(f"{path} is a folder. Name a file, or several as '{os.path.join(path, '*.parquet')}'.")
    if not os.path.exists(path):
        raise TableError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise TableError(f"{path} cannot be read: permission denied.")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise TableError(f"{path} is empty.")


def _format_of(path: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compressed = bool(suffixes) and suffixes[-1] in (".gz", ".bz2", ".zst")
    suffix = suffixes[-2] if compressed and len(suffixes) > 1 else (suffixes[-1] if suffixes else "")
    kind = READABLE.get(suffix)
    if kind is None or (compressed and kind not in ("csv", "tsv")):
        listed = ", ".join(READABLE)
        raise TableError(
            f"{path}: the ending does not say what kind of table this is. Known are {listed}; or give a format."
        )
    return kind
