"""Tables of any kind, read in batches: delimited text, Parquet, Arrow, workbooks, arrays, frames; files, folders, URLs.

Delimited text is read as text. What its columns hold is decided once, by the profile of all rows.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import sys
import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from glob import glob, has_magic
from itertools import accumulate, pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.io import TableError

from .profile import Profile, is_text, parse_number, profile_of, typed_column, typed_field

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BATCH_ROWS", "FORMATS", "Table", "TableError", "open_table"]

arrow: Any = require("pyarrow", "io", "reading tables")
compute: Any = require("pyarrow.compute", "io", "reading tables")

#: Rows of a batch by default: a few megabytes of numbers for tables of usual width.
BATCH_ROWS = 65_536
#: The format that each ending of a file name stands for.
FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".data": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".npz": "npz",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".xls": "xlsx",
    ".ods": "xlsx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".h5ad": "h5ad",
}
_COMPRESSED = (".gz", ".bz2", ".zst")
#: Bytes of text parsed at a time. No row may be longer.
_BLOCK = 8 << 20
#: Bytes read first to find the dialect, and rows of them that are looked at.
_HEAD, _HEAD_ROWS = 1 << 16, 200
#: Cells in a batch while a table is profiled, so that wide tables take no more memory than narrow ones.
_PROFILE_CELLS = 1 << 22
_OTHER_FORMATS = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy file",
    b"PK\x03\x04": "a ZIP archive (an .xlsx or .npz file? Its name should then end so)",
    b"\x1f\x8b": "compressed by gzip (its name should then end in .csv.gz)",
    b"\x89HDF": "an HDF5 file",
    b"%PDF": "a PDF file",
}


def open_table(
    source: Any,
    *,
    format: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    skip_rows: int | None = None,
    sheet: str | None = None,
    missing: Sequence[Any] | Mapping[str, Sequence[Any]] = (),
    dayfirst: bool | None = None,
) -> Table:
    r"""Open a table for reading in batches. Only the head of a file is read.

    Parameters
    ----------
    source
        A path, a pattern such as ``"part-*.parquet"``, a folder, several of them, a URL that fsspec knows, ``"-"`` for
        delimited text on standard input, or a frame of pandas, polars or pyarrow. Several files must have the same
        columns and are read one after the other, in the order of their names. Folders named ``key=value`` become a
        column. An array of an .npz file with several is named as ``"file.npz:name"``.
    format
        "csv" (any delimited text), "parquet", "arrow", "npy", "npz", "xlsx", "jsonl", "json" or "h5ad"; by default the
        ending of the file's name decides. Text may be compressed (``.csv.gz``).
    sep, decimal, encoding, skip_rows
        Of delimited text: the separator, the decimal mark, the encoding, and the lines before the header. By default
        they are found.
    sheet
        The sheet of a workbook; by default the one with most cells.
    missing
        Words and numbers that mean a missing value, such as -999, for all columns or by column. The usual words, such
        as NA and unknown, are known.
    dayfirst
        Whether 1/2/2024 is the first of February; by default the other dates of its column decide.

    Returns
    -------
    Table
        To be profiled, and read in batches as often as needed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io.tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("x;spent\n1;1.200,50 €\n2;n/a\n3;7,25 €\n")
    ...     table = open_table(path)
    ...     print(table.columns, table.read().column("spent").to_pylist())
    ['x', 'spent'] [1200.5, None, 7.25]
    """
    if isinstance(source, Table):
        return source
    if decimal not in (None, ".", ","):
        raise TableError(f"decimal must be '.' or ',', got {decimal!r}.")
    kinds = sorted(set(FORMATS.values()))
    if format == "tsv":
        format, sep = "csv", sep or "\t"
    if format is not None and format not in kinds:
        raise TableError(f"format must be one of {', '.join(kinds)}, got {format!r}.")
    options = _Options(format, sep, encoding, skip_rows, sheet)
    rules = _Rules(decimal, missing, dayfirst)
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        return Table("the frame", [_Memory("the frame", _whole(source))], [{}], rules, "frame")
    given = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    located = [found for one in given for found in _locate(os.fspath(one), format)]
    if not located:
        raise TableError("no file was named.")
    parts = [_open_part(path, options) for path, _ in located]
    where = parts[0].where if len(parts) == 1 else f"{parts[0].where} and {len(parts) - 1:,} more"
    return Table(where, parts, [keys for _, keys in located], rules, parts[0].format)


@dataclass(frozen=True)
class _Options:
    """How files are opened."""

    format: str | None
    sep: str | None
    encoding: str | None
    skip_rows: int | None
    sheet: str | None


@dataclass(frozen=True)
class _Rules:
    """How values are read."""

    decimal: str | None
    missing: Sequence[Any] | Mapping[str, Sequence[Any]]
    dayfirst: bool | None


class Table:
    """A table of columns, read in order as often as needed. Built by :func:`open_table`.

    Attributes
    ----------
    where
        What to call the table in messages.
    files
        The paths it is read from; empty for standard input and frames.
    format
        The format of its first file.
    columns
        The names of the columns, all different.
    has_names
        Whether the file gave these names.
    """

    def __init__(
        self, where: str, parts: list[_Part], keys: list[dict[str, str | None]], rules: _Rules, format: str
    ) -> None:
        self.where, self.format = where, format
        self.files = tuple(path for part in parts for path in part.files)
        self._parts, self._keys, self._rules = parts, keys, rules
        self._profile: Profile | None = None
        self._set_columns()

    def _set_columns(self) -> None:
        first = self._parts[0]
        for part in self._parts[1:]:
            odd = sorted(set(first.names) ^ set(part.names))
            if odd:
                listed = ", ".join(repr(name) for name in odd[:5])
                raise TableError(
                    f"{first.where} and {part.where} have different columns. Only one of them has {listed}."
                )
        added = [key for key in self._keys[0] if key not in first.names]
        if any(list(keys) != list(self._keys[0]) for keys in self._keys):
            raise TableError(f"{self.where}: the folders of its files do not name the same partition columns.")
        self.columns = [*first.names, *added]
        self.has_names = first.has_names
        self._added = added
        self._raw = self._unified()

    def _unified(self) -> pa.Schema:
        """Return the schema of all parts as written; a column that is text in one of them is text."""
        fields = []
        for name in self._parts[0].names:
            kinds = {part.schema.field(name).type for part in self._parts}
            if len(kinds) > 1 and any(is_text(kind) for kind in kinds):
                kinds = {arrow.string()}
            if len(kinds) > 1:
                try:
                    schemas = [arrow.schema([(name, kind)]) for kind in kinds]
                    kinds = {arrow.unify_schemas(schemas, promote_options="permissive").field(0).type}
                except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
                    raise TableError(
                        f"{self.where}: column {name!r} has different types in its files. {error}"
                    ) from error
            fields.append(arrow.field(name, kinds.pop()))
        return arrow.schema([*fields, *((name, arrow.string()) for name in self._added)])

    @property
    def notes(self) -> list[str]:
        """Sentences on how the table was read, such as a guessed encoding; complete once it was profiled."""
        return list(dict.fromkeys(note for part in self._parts for note in part.notes))

    @property
    def annotations(self) -> tuple[str, ...]:
        """Columns that describe observations and are not measurements: the obs of an .h5ad file."""
        return self._parts[0].annotations

    @property
    def n_rows(self) -> int | None:
        """The number of rows, None for text that was not profiled yet."""
        counts = [part.n_rows for part in self._parts]
        return sum(count for count in counts if count is not None) if None not in counts else None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns. Text is profiled for it."""
        return self._typed_schema(self.columns)

    def profile(self) -> Profile:
        """Return what each column holds, after one pass over all rows the first time."""
        if self._profile is None:
            try:
                self._profile = self._profiled()
            except _NotUtf8Error as error:
                for part in self._parts:
                    if isinstance(part, _Text):
                        part.fall_back(str(error))
                self._set_columns()
                self._profile = self._profiled()
        return self._profile

    def _profiled(self) -> Profile:
        missing = self._rules.missing
        if isinstance(missing, Mapping):
            self.check_columns(missing)
        by_column = missing if isinstance(missing, Mapping) else dict.fromkeys(self.columns, missing)
        rows = int(np.clip(_PROFILE_CELLS // len(self.columns), 256, BATCH_ROWS))
        return profile_of(
            self._batches(self.columns, rows, 0, first_pass=True),
            self._raw,
            missing=by_column,
            decimal=self._rules.decimal,
            dayfirst=self._rules.dayfirst,
        )

    def batches(
        self, columns: Sequence[str] | None = None, rows: int = BATCH_ROWS, start: int = 0, *, typed: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, ``rows`` at a time; only the last batch may be shorter.

        Row ``i`` of batch ``b`` is always row ``start + b * rows + i`` of the table.

        Parameters
        ----------
        columns
            Names of the columns to read, in the order wanted; all by default.
        rows
            Rows in a batch.
        start
            The first row to read.
        typed
            Give columns of text files the type that their profile found. Otherwise they are text, exactly as written.
            Columns of other files have their own type in both cases.
        """
        wanted = self.check_columns(self.columns if columns is None else columns)
        if typed:
            self._typed_schema(wanted)
        return map(self.typed, self._batches(wanted, rows, start)) if typed else self._batches(wanted, rows, start)

    def read(self, columns: Sequence[str] | None = None, *, typed: bool = True) -> pa.Table:
        """Return the table, or some of its columns, in memory.

        Parameters
        ----------
        columns, typed
            As in :meth:`batches`.
        """
        wanted = self.check_columns(self.columns if columns is None else columns)
        schema = self._typed_schema(wanted) if typed else arrow.schema([self._raw.field(name) for name in wanted])
        return arrow.Table.from_batches(list(self.batches(wanted, typed=typed)), schema=schema)

    def check_columns(self, columns: Iterable[str]) -> list[str]:
        """Return names of columns if the table has them all.

        Parameters
        ----------
        columns
            The names.
        """
        wanted = list(columns)
        known = set(self.columns)
        for name in wanted:
            if name not in known:
                raise unknown_column(name, self.columns, self.where)
        return wanted

    def fingerprint(self) -> dict[str, Any]:
        """Return plain values that tell whether a later run reads the same data: files, sizes, times, columns."""
        files: list[Any] = []
        for path in self.files:
            stat = os.stat(path) if os.path.exists(path) else None
            files.append([path, stat and stat.st_size, stat and stat.st_mtime_ns])
        return {"files": files, "columns": self.columns, "rules": repr(self._rules)}

    def __repr__(self) -> str:
        rows = "unknown" if self.n_rows is None else f"{self.n_rows:,}"
        return f"Table({self.where!r}, {len(self.columns)} columns, {rows} rows)"

    def _is_written(self, name: str) -> bool:
        """Tell whether a column comes from text, so that its profile gives it a type."""
        return name in self._added or any(part.written for part in self._parts)

    def _typed_schema(self, columns: Sequence[str]) -> pa.Schema:
        fields = [self._raw.field(name) for name in columns]
        if any(self._is_written(one.name) for one in fields):
            found = self.profile().columns
            fields = [self._raw.field(name) for name in columns]
            fields = [
                one.with_type(typed_field(found[one.name], one.type)) if self._is_written(one.name) else one
                for one in fields
            ]
        return arrow.schema(fields)

    def typed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return rows that were read as written with the types that their profile found.

        Parameters
        ----------
        batch
            Some columns of the table.
        """
        schema = self._typed_schema(batch.schema.names)
        if batch.schema.types == schema.types:
            return batch
        found = self.profile().columns
        arrays = [
            array if array.type == one.type else typed_column(array, found[one.name])
            for array, one in zip(batch.columns, schema, strict=True)
        ]
        return arrow.RecordBatch.from_arrays(arrays, schema=schema)

    def _batches(self, columns: list[str], rows: int, start: int, first_pass: bool = False) -> Iterator[pa.RecordBatch]:
        return _regrouped(self._chunks(columns, rows, start, first_pass), rows)

    def _chunks(self, columns: list[str], rows: int, start: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield all parts as written, with the columns of their folders, in pieces of any size."""
        schema = arrow.schema([self._raw.field(name) for name in columns])
        for part, keys in zip(self._parts, self._keys, strict=True):
            if part.n_rows is not None and start >= part.n_rows:
                start -= part.n_rows
                continue
            own = [name for name in columns if name not in self._added] or part.names[:1]
            count = 0
            for chunk in part.chunks(own, start, rows, first_pass):
                count += chunk.num_rows
                arrays = [
                    arrow.repeat(arrow.scalar(keys[name], arrow.string()), chunk.num_rows)
                    if name in self._added
                    else _cast(chunk.column(name), schema.field(name).type)
                    for name in columns
                ]
                yield arrow.RecordBatch.from_arrays(arrays, schema=schema)
            start = max(0, start - (count if part.n_rows is None else part.n_rows))


def unknown_column(name: str, names: Iterable[str], where: str) -> TableError:
    """Return the error for a column that is not there, with the names that come close to it."""
    listed = list(names)
    by_lower_case = {other.lower(): other for other in listed}
    close = get_close_matches(str(name).lower(), by_lower_case, n=3, cutoff=0.6)
    if close:
        hint = f"Did you mean {' or '.join(repr(by_lower_case[match]) for match in close)}?"
    else:
        shown = ", ".join(repr(other) for other in listed[:12])
        hint = f"Its columns are {shown}{', ...' if len(listed) > 12 else ''}."
    return TableError(f"{where} has no column {name!r}. {hint}")


def _cast(column: Any, kind: Any) -> Any:
    """Return a column as another type; runs and views, which not all of pyarrow knows, are written out."""
    if arrow.types.is_run_end_encoded(column.type):
        column = compute.run_end_decode(column)
    return column if column.type == kind else column.cast(kind)


def _regrouped(chunks: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the chunks again, ``rows`` at a time."""
    held: list[pa.RecordBatch] = []
    count = 0
    for chunk in chunks:
        rest = chunk
        while count + rest.num_rows >= rows:
            take = rows - count
            yield _one_batch([*held, rest.slice(0, take)])
            rest, held, count = rest.slice(take), [], 0
        if rest.num_rows:
            held.append(rest)
            count += rest.num_rows
    if held:
        yield _one_batch(held)


def _one_batch(pieces: list[pa.RecordBatch]) -> pa.RecordBatch:
    filled = [piece for piece in pieces if piece.num_rows]
    if len(filled) == 1:
        return filled[0]
    return arrow.Table.from_batches(filled).combine_chunks().to_batches()[0]


def _skipped(chunks: Iterable[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
    """Yield chunks without their first ``start`` rows."""
    for chunk in chunks:
        if start < chunk.num_rows:
            yield chunk.slice(start)
        start = max(0, start - chunk.num_rows)


# Where files are


def _is_url(path: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def _filesystem(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it."""
    fsspec = require("fsspec", "io", f"reading {url}")
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        scheme = url.partition("://")[0]
        raise TableError(f"{url} needs a driver of fsspec for {scheme}:// that is not installed. {error}") from error
    return filesystem, path


def _locate(spec: str, format: str | None) -> list[tuple[str, dict[str, str | None]]]:
    """Return the files that a path, pattern, folder or URL stands for, each with the columns that its folders name."""
    if spec == "-":
        return [(spec, {})]
    if _is_url(spec):
        filesystem, path = _filesystem(spec)
        scheme = spec.partition("://")[0]
        if filesystem.isdir(path):
            found, root = filesystem.find(path), path
        elif has_magic(path):
            found, root = sorted(filesystem.glob(path)), _before_pattern(path)
        else:
            return [(spec, {})]
        found = [name if _is_url(name) else f"{scheme}://{name}" for name in found]
    elif os.path.isdir(spec):
        found, root = sorted(str(path) for path in Path(spec).rglob("*") if path.is_file()), spec
    elif has_magic(spec) and not os.path.exists(spec):
        found, root = sorted(name for name in glob(spec, recursive=True) if os.path.isfile(name)), _before_pattern(spec)
        if not found:
            raise TableError(f"no file matches {spec}.")
    else:
        return [(spec, {})]
    return _tables_in(spec, found, root, format)


def _before_pattern(pattern: str) -> str:
    parts = PurePosixPath(pattern.replace(os.sep, "/")).parts
    plain = [part for part, _ in zip(parts, iter(lambda: False, True), strict=False) if not has_magic(part)]
    return str(PurePosixPath(*parts[: next((i for i, part in enumerate(parts) if has_magic(part)), len(plain))]))


def _tables_in(spec: str, found: list[str], root: str, format: str | None) -> list[tuple[str, dict[str, str | None]]]:
    """Return the files of a folder or pattern that are tables, with the columns that their folders name."""
    visible = [name for name in found if not PurePosixPath(name).name.startswith((".", "_"))]
    kinds = {name: _format_of(name) for name in visible}
    tables = [name for name in visible if kinds[name] is not None or format is not None]
    if not tables:
        raise TableError(f"{spec} has no table in it: no file has one of the endings {', '.join(FORMATS)}.")
    different = sorted({str(kinds[name]) for name in tables})
    if len(different) > 1 and format is None:
        raise TableError(
            f"{spec} has files of several formats ({', '.join(different)}): name one, as *.{different[0]}."
        )
    depth = len(PurePosixPath(root.replace(os.sep, "/").partition("://")[2] or root).parts)
    located = []
    for name in tables:
        folders = PurePosixPath(name.replace(os.sep, "/").partition("://")[2] or name).parts[:-1]
        keys = [folder.partition("=") for folder in folders[max(0, depth - 1) :] if "=" in folder]
        values = {key: None if value == "__HIVE_DEFAULT_PARTITION__" else unquote(value) for key, _, value in keys}
        located.append((name, values))
    return located


def _format_of(path: str) -> str | None:
    """Return the format that the ending of a name stands for; None if it is not known."""
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
    compressed = bool(suffixes) and suffixes[-1] in _COMPRESSED
    suffix = suffixes[-2] if compressed and len(suffixes) > 1 else (suffixes[-1] if suffixes else "")
    kind = FORMATS.get(suffix)
    return None if compressed and kind not in ("csv", "jsonl") else kind


def _open_bytes(path: str) -> Any:
    """Open a file, decompressed, for reading from the beginning."""
    if _is_url(path):
        filesystem, name = _filesystem(path)
        return filesystem.open(name, "rb", compression="infer")
    return arrow.input_stream(path, compression="detect")


def _open_seekable(path: str) -> Any:
    """Return what pyarrow and other libraries take for a file: a local path, or an open file."""
    if not _is_url(path):
        return path
    filesystem, name = _filesystem(path)
    return filesystem.open(name, "rb")


def _check_file(path: str) -> None:
    """Raise unless there is a file with something in it that may be read."""
    if _is_url(path):
        filesystem, name = _filesystem(path)
        try:
            there = filesystem.exists(name)
        except Exception as error:
            raise TableError(f"{path} cannot be reached. {error}") from error
        if not there:
            raise TableError(f"{path} does not exist.")
        return
    if not os.path.exists(path):
        raise TableError(f"{path} does not exist.")
    if not os.access(path, os.R_OK):
        raise TableError(f"{path} cannot be read: permission denied.")
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise TableError(f"{path} is empty.")


def _open_part(path: str, options: _Options) -> _Part:
    """Open one file with the reader of its format."""
    if path == "-":
        if options.format not in (None, "csv"):
            raise TableError(f"standard input is read as delimited text, not as {options.format}.")
        return _spooled(sys.stdin.buffer, "standard input", options)
    key = None
    if not _is_url(path) and not os.path.exists(path) and re.search(r"\.npz:", path, re.IGNORECASE):
        path, _, key = path.rpartition(":")
    _check_file(path)
    if not _is_url(path) and not os.path.isfile(path):
        with open(path, "rb") as pipe:
            return _spooled(pipe, path, options)
    kind = options.format or _format_of(path)
    if kind is None:
        listed = ", ".join(FORMATS)
        raise TableError(
            f"{path}: the ending does not tell what kind of table this is. Known endings are {listed}. "
            "Otherwise pass format='csv' (--format csv)."
        )
    if kind == "csv":
        return _Text(path, [path], lambda: _open_bytes(path), options)
    readers: dict[str, Callable[[], _Part]] = {
        "parquet": lambda: _Parquet(path),
        "arrow": lambda: _Arrow(path),
        "npy": lambda: _open_array(path, None),
        "npz": lambda: _open_array(path, key),
        "xlsx": lambda: _open_workbook(path, options),
        "jsonl": lambda: _open_json(path, lines=True),
        "json": lambda: _open_json(path, lines=False),
        "h5ad": lambda: _open_h5ad(path),
    }
    return readers[kind]()


def _spooled(stream: Any, where: str, options: _Options) -> _Part:
    """Return the table in a stream, kept in a temporary file without a name so that it can be read more than once."""
    if stream.isatty():
        raise TableError(f"{where} is a terminal: pipe a CSV file into the command, or name a file.")
    with tempfile.TemporaryFile() as spool:
        try:
            shutil.copyfileobj(stream, spool)
            spool.flush()
        except OSError as error:
            reason = f"{error.strerror}: {where} is kept in this folder, since it is read more than once"
            raise OSError(error.errno, reason, tempfile.gettempdir()) from error
        if spool.tell() == 0:
            raise TableError(f"{where} is empty.")
        import mmap

        # The mapping keeps the file, which has no name any more, until the table is gone.
        buffer = arrow.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))
    return _Text(where, [], lambda: arrow.BufferReader(buffer), options)


# Formats


class _Part:
    """One file of a table."""

    format = ""
    has_names = True
    #: Whether its texts are as people wrote them, so that the profile gives them types.
    written = False
    annotations: tuple[str, ...] = ()

    def __init__(self, where: str, files: Sequence[str], schema: Any, n_rows: int | None) -> None:
        self.where, self.files, self.n_rows = where, tuple(files), n_rows
        self.notes: list[str] = []
        self.schema = _plain_schema(schema)
        self.names = list(self.schema.names)
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise TableError(f"{where} has more than one column named {twice[0]!r}: rename them.")
        if not self.names:
            raise TableError(f"{where} has no columns.")

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on, in order, in pieces of any size."""
        raise NotImplementedError


def _plain_schema(schema: Any) -> Any:
    """Return a schema with types that all of pyarrow knows in place of views and runs."""
    plain = {arrow.string_view(): arrow.string(), arrow.binary_view(): arrow.binary()}
    kinds = [one.type.value_type if arrow.types.is_run_end_encoded(one.type) else one.type for one in schema]
    return arrow.schema([one.with_type(plain.get(kind, kind)) for one, kind in zip(schema, kinds, strict=True)])


def _whole(source: Any) -> Any:
    """Return a frame as an Arrow table."""
    found = as_arrow(source)
    return found if hasattr(found, "to_batches") else arrow.Table.from_batches([found])


class _Memory(_Part):
    """A table in memory."""

    def __init__(self, where: str, table: Any, files: Sequence[str] = (), format: str = "frame") -> None:
        super().__init__(where, files, table.schema, table.num_rows)
        self._table, self.format = table, format

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(columns).slice(start).to_batches(max_chunksize=rows)


def as_arrow(source: Any) -> Any:
    """Return a frame of any library as an Arrow table, or a record batch as it is.

    Columns that hold objects of several types become text.
    """
    if isinstance(source, (arrow.Table, arrow.RecordBatch)):
        return source
    if hasattr(source, "iloc") and hasattr(source, "dtypes"):
        columns = {}
        for position, name in enumerate(source.columns):
            values = source.iloc[:, position]
            try:
                columns[str(name)] = arrow.Array.from_pandas(values)
            except (arrow.ArrowInvalid, arrow.ArrowTypeError):
                texts = [None if value is None or value != value else str(value) for value in values]
                columns[str(name)] = arrow.array(texts, arrow.string())
        return arrow.table(columns)
    if hasattr(source, "__arrow_c_stream__"):
        return arrow.table(source)
    if hasattr(source, "to_arrow"):
        return source.to_arrow()
    raise TableError(f"a table must be a path, a list of paths or a frame, got {type(source).__name__}.")


class _Parquet(_Part):
    """A Parquet file, of which only the columns asked for are read.

    Not by way of ``pyarrow.dataset``, which reads ahead a large part of the file (210 MB where this takes 45) and
    cannot begin at a row.
    """

    format = "parquet"

    def __init__(self, path: str) -> None:
        try:
            self._file = require("pyarrow.parquet", "io", "reading tables").ParquetFile(
                _open_seekable(path), pre_buffer=False
            )
        except arrow.ArrowInvalid as error:
            raise TableError(f"{path} is not a Parquet file, or it is damaged. {error}") from error
        super().__init__(path, [path], self._file.schema_arrow, int(self._file.metadata.num_rows))

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        metadata = self._file.metadata
        groups = range(metadata.num_row_groups)
        starts = [0, *accumulate(metadata.row_group(group).num_rows for group in groups)]
        first = max(0, bisect_right(starts, start) - 1)
        if first >= len(groups):
            return
        batches = self._file.iter_batches(batch_size=rows, row_groups=list(groups)[first:], columns=columns)
        try:
            yield from _skipped(batches, start - starts[first])
        except (arrow.ArrowInvalid, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error


class _Arrow(_Part):
    """An Arrow IPC file (also Feather version 2), mapped into memory, or an Arrow stream in a file."""

    format = "arrow"

    def __init__(self, path: str) -> None:
        self._path, self._is_stream = path, False
        try:
            with self._reader() as reader:
                schema = reader.schema
        except arrow.ArrowInvalid:
            self._is_stream = True
            try:
                with self._reader() as reader:
                    schema = reader.schema
            except (arrow.ArrowInvalid, OSError) as error:
                raise TableError(
                    f"{path} is not an Arrow file (Feather version 2), or it is damaged. {error}"
                ) from error
        super().__init__(path, [path], schema, None)
        self.n_rows = sum(batch.num_rows for batch in self._all())

    def _reader(self) -> Any:
        ipc = require("pyarrow.ipc", "io", "reading tables")
        open_reader = ipc.open_stream if self._is_stream else ipc.open_file
        place = _open_seekable(self._path)
        return open_reader(arrow.memory_map(place) if isinstance(place, str) else place)

    def _all(self) -> Iterator[pa.RecordBatch]:
        try:
            with self._reader() as reader:
                if self._is_stream:
                    yield from reader
                else:
                    yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
        except (arrow.ArrowInvalid, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        yield from (batch.select(columns) for batch in _skipped(self._all(), start))


class _Arrays(_Part):
    """Arrays of equal length side by side: the columns x0, x1, ... of a matrix, and vectors by their names."""

    has_names = False

    def __init__(self, path: str, matrix: AnyArray | None, vectors: dict[str, AnyArray], format: str) -> None:
        self._matrix, self._vectors, self.format = matrix, vectors, format
        width = 0 if matrix is None else matrix.shape[1]
        self._positions = {f"x{column}": column for column in range(width)}
        n_rows = matrix.shape[0] if matrix is not None else next(iter(vectors.values())).shape[0]
        schema = self._batch([*self._positions, *vectors], 0, 0).schema
        super().__init__(path, [path], schema, int(n_rows))

    def _batch(self, columns: list[str], start: int, stop: int) -> pa.RecordBatch:
        block = None if self._matrix is None else np.asarray(self._matrix[start:stop])
        arrays = []
        for name in columns:
            values: Any = self._vectors.get(name)
            values = block[:, self._positions[name]] if values is None and block is not None else values[start:stop]
            arrays.append(arrow.array(np.ascontiguousarray(values)))
        return arrow.RecordBatch.from_arrays(arrays, names=columns)

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        assert self.n_rows is not None
        for first in range(start, self.n_rows, rows):
            yield self._batch(columns, first, min(first + rows, self.n_rows))


def _open_array(path: str, key: str | None) -> _Part:
    """Return the array of an .npy file, left on disk, or the arrays of an .npz file, in memory."""
    place = _open_seekable(path)
    try:
        loaded: Any = np.load(place, mmap_mode="r" if isinstance(place, str) else None, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _Arrays(path, _as_matrix(loaded, path), {}, "npy")
        with loaded as archive:
            arrays = {name: archive[name] for name in ([key] if key else archive.files)}
    except KeyError as error:
        raise TableError(f"{path} has no array {key!r}.") from error
    except TableError:
        raise
    except Exception as error:  # A damaged archive raises whatever the library below it does.
        raise TableError(f"{path} is not a NumPy file of numbers. {error}") from error
    if len(arrays) == 1:
        return _Arrays(path, _as_matrix(next(iter(arrays.values())), path), {}, "npz")
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    vectors = {name: _checked_array(array, path) for name, array in arrays.items() if array.ndim == 1}
    lengths = {array.shape[0] if array.ndim else 0 for array in arrays.values()}
    if len(matrices) > 1 or len(lengths) != 1 or len(matrices) + len(vectors) != len(arrays):
        listed = ", ".join(arrays) or "none"
        raise TableError(
            f"{path} must hold one matrix, and perhaps vectors of the same length; its arrays are: {listed}. "
            f"Name one of them as {path}:NAME."
        )
    return _Arrays(path, _checked_array(arrays[matrices[0]], path) if matrices else None, vectors, "npz")


def _as_matrix(array: AnyArray, path: str) -> AnyArray:
    _checked_array(array, path)
    if array.ndim not in (1, 2):
        raise TableError(
            f"{path} holds an array of shape {array.shape}: one row per point is needed, so two dimensions."
        )
    return array[:, None] if array.ndim == 1 else array


def _checked_array(array: AnyArray, path: str) -> AnyArray:
    if array.dtype.kind not in "biufUS":
        raise TableError(f"{path} holds an array of dtype {array.dtype}: numbers or text are needed.")
    return array


def _open_json(path: str, *, lines: bool) -> _Part:
    """Return the objects of a JSON file, one per line or in one array, in memory."""
    import json

    try:
        with _open_bytes(path) as stream:
            if lines:
                table = require("pyarrow.json", "io", "reading tables").read_json(stream)
            else:
                table = arrow.Table.from_pylist(json.loads(bytes(stream.read())))
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, ValueError, AttributeError) as error:
        kind = "one JSON object per line" if lines else "a JSON array of objects"
        raise TableError(f"{path} is not a table: {kind} is needed. {error}") from error
    part = _Memory(path, table, [path], "jsonl" if lines else "json")
    part.written = True
    return part


def _open_h5ad(path: str) -> _Part:
    """Return the observations of an .h5ad file: their names, principal components or the matrix X, and obs."""
    anndata = require("anndata", "anndata", "reading .h5ad files")
    try:
        data = anndata.read_h5ad(path)
    except Exception as error:  # h5py and zarr raise whatever they like for a damaged file.
        raise TableError(f"{path} is not an .h5ad file, or it is damaged. {error}") from error
    components = data.obsm.get("X_pca")
    matrix = data.X if components is None else components
    matrix = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)
    names = list(data.var_names) if components is None else [f"PC{i + 1}" for i in range(matrix.shape[1])]
    table = _whole(data.obs)
    columns = [arrow.array(matrix[:, i]) for i in range(matrix.shape[1])]
    taken = {"cell", *map(str, names)}
    kept = [name for name in table.column_names if name not in taken]
    part = _Memory(
        path,
        arrow.Table.from_arrays(
            [arrow.array(list(map(str, data.obs_names))), *columns, *(table.column(name) for name in kept)],
            names=["cell", *map(str, names), *kept],
        ),
        [path],
        "h5ad",
    )
    used = "the matrix X" if components is None else "the principal components obsm['X_pca']"
    part.notes.append(f"{path}: the features are {used}; the columns of obs can be labels.")
    part.annotations = tuple(kept)
    return part


def _open_workbook(path: str, options: _Options) -> _Part:
    """Return a sheet of a workbook, in memory."""
    library = require("python_calamine", "excel", f"reading {path}")
    try:
        place = _open_seekable(path)
        read = library.CalamineWorkbook.from_path if isinstance(place, str) else library.CalamineWorkbook.from_filelike
        with read(place) as book:
            names = list(book.sheet_names)
            if options.sheet is not None and options.sheet not in names:
                listed = ", ".join(map(repr, names))
                raise TableError(f"{path} has no sheet {options.sheet!r}. Its sheets are {listed}.")
            sheets = {
                name: book.get_sheet_by_name(name).to_python(skip_empty_area=True)
                for name in (names if options.sheet is None else [options.sheet])
            }
    except (library.CalamineError, OSError) as error:
        raise TableError(f"{path} is not a workbook, or it is damaged. {error}") from error
    chosen = max(sheets, key=lambda name: sum(len(row) for row in sheets[name]))
    rows = sheets[chosen]
    if not rows:
        raise TableError(f"{path}: the sheet {chosen!r} is empty.")
    texts = [[_cell_text(cell) for cell in row] for row in rows[:_HEAD_ROWS]]
    layout = _layout(texts, options.skip_rows)
    columns = {
        name: _cells([row[i] if i < len(row) else None for row in rows[layout.first :]])
        for i, name in enumerate(layout.names)
    }
    part = _Memory(path, arrow.table(columns), [path], "xlsx")
    part.written, part.has_names = True, layout.has_names
    part.notes += [f"{path}: {note}" for note in layout.notes]
    if len(sheets) > 1:
        others = ", ".join(repr(name) for name in names if name != chosen)
        part.notes.append(f"{path}: read the sheet {chosen!r}. Its other sheets are {others} (sheet=, --sheet).")
    return part


def _cell_text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _cells(cells: list[Any]) -> Any:
    """Return the cells of a column as an Arrow array of the one type that they have, else of texts."""
    from datetime import date, datetime

    values = [None if isinstance(cell, str) and not cell.strip() else cell for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {int, float}:
        return arrow.array([None if value is None else float(value) for value in values], arrow.float64())
    if kinds == {bool}:
        return arrow.array(values, arrow.bool_())
    if kinds and kinds <= {date, datetime}:
        moments = [
            value if value is None or isinstance(value, datetime) else datetime(*value.timetuple()[:3])
            for value in values
        ]
        return arrow.array(moments, arrow.timestamp("us"))
    return arrow.array([None if value is None else _cell_text(value) for value in values], arrow.string())


# Delimited text


class _NotUtf8Error(Exception):
    """Text that was taken for UTF-8 is not."""


@dataclass
class _Layout:
    """Where the rows of a table begin, and what its columns are called."""

    names: list[str]
    header: int
    first: int
    has_names: bool = True
    notes: list[str] = field(default_factory=list)


class _Text(_Part):
    """Delimited text, read as it is written."""

    format = "csv"
    written = True

    def __init__(self, where: str, files: list[str], open_bytes: Callable[[], Any], options: _Options) -> None:
        self._open, self._options = open_bytes, options
        self._fallback = ""
        self._read_head(where)
        notes = self.notes
        super().__init__(where, files, arrow.schema([(name, arrow.string()) for name in self._layout.names]), None)
        self.notes, self.has_names = notes, self._layout.has_names

    def fall_back(self, reason: str) -> None:
        """Read the file as cp1252 from now on."""
        if self._encoding == "utf-8":
            self._fallback = "cp1252"
            self._read_head(self.where)
            self.names = self._layout.names
            self.schema = arrow.schema([(name, arrow.string()) for name in self.names])

    def _read_head(self, where: str) -> None:
        """Find the encoding, the separator, the header and the names of the columns."""
        with self._open() as stream:
            head = bytes(stream.read(_HEAD))
            more = len(head) == _HEAD
            self.notes = []
            self._encoding = self._options.encoding or self._fallback or _encoding_of(head, where)
            while True:
                text = _decoded(head, self._encoding, where)
                self._sep = self._options.sep or _separator(text, more)
                rows, lines = _parsed(text, self._sep, where, more)
                if rows or not more:
                    break
                if len(head) > _BLOCK:
                    size = _BLOCK >> 20
                    raise TableError(f"{where} has a header of more than {size} MB: is a quotation mark not closed?")
                piece = bytes(stream.read(len(head)))
                more = bool(piece)
                head += piece
        if not any(any(cell.strip() for cell in row) for row in rows):
            raise TableError(f"{where} has no header: its first line must hold the names of the columns.")
        self._layout = _layout(rows, None if self._options.skip_rows is None else 0, self._options.skip_rows, lines)
        self._skip_lines = lines[self._layout.header]
        self.notes += [f"{where}: {note}" for note in self._layout.notes]
        if self._encoding not in ("utf-8", self._options.encoding):
            self.notes.append(f"{where}: read as {self._encoding}, because it is not UTF-8 (encoding=, --encoding).")

    def _reader(self, columns: list[str], watch: _Watched) -> Any:
        text = require("pyarrow.csv", "io", "reading tables")
        kinds = dict.fromkeys(columns, arrow.string())
        return text.open_csv(
            watch,
            read_options=text.ReadOptions(
                block_size=_BLOCK,
                column_names=self._layout.names,
                skip_rows=self._skip_lines,
                skip_rows_after_names=1 if self._layout.has_names else 0,
                encoding=self._encoding,
            ),
            parse_options=text.ParseOptions(delimiter=self._sep, newlines_in_values=True),
            convert_options=text.ConvertOptions(
                include_columns=columns, column_types=kinds, null_values=[""], strings_can_be_null=True
            ),
        )

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        count = 0
        watched = _Watched(self._open(), self.where, self._encoding)
        try:
            with self._reader(columns, watched) as reader:
                for chunk in _skipped(reader, start):
                    count += chunk.num_rows
                    yield chunk
        except arrow.ArrowInvalid as error:
            raise self._unreadable(error) from error
        except UnicodeError as error:
            raise TableError(
                f"{self.where} is not {self._encoding} text. Pass encoding= (--encoding). {error}"
            ) from error
        finally:
            watched.close()
        if first_pass:
            if watched.lines > count + self._skip_lines + 1:
                self._check_quotes()
            self.n_rows = count

    def _unreadable(self, error: Exception) -> Exception:
        """Return what is wrong with a file that could not be parsed."""
        message = str(error)
        if "invalid UTF8" in message:
            if self._options.encoding is None:
                return _NotUtf8Error(message)
            return TableError(f"{self.where} is not {self._encoding} text. Pass another encoding= (--encoding).")
        self._check_quotes()
        if "columns, got" in message:
            return self._ragged()
        if "straddles two block boundaries" in message:
            return TableError(f"{self.where} has a row of more than {_BLOCK >> 20} MB, which cannot be read.")
        if "Empty CSV file" in message:
            return TableError(f"{self.where} has a header, but no rows.")
        return TableError(f"{self.where} cannot be read. {error}")

    def _lines(self, stream: Any) -> io.TextIOWrapper:
        codec = "utf-8-sig" if self._encoding == "utf-8" else self._encoding
        return io.TextIOWrapper(io.BufferedReader(_Raw(stream)), encoding=codec, errors="replace", newline="")

    def _check_quotes(self) -> None:
        """Raise if a quotation mark swallows rows: slow, but it knows the line."""
        with self._open() as stream:
            wrong = swallowing_quote(self._lines(stream), self._sep, len(self.names))
        if wrong is not None:
            raise TableError(f"{self.where}: {wrong} Correct the file: rows would be lost.")

    def _ragged(self) -> TableError:
        """Return the error for the first row with too many or too few columns: slow, but it knows the line."""
        with self._open() as stream, suppress(csv.Error):
            reader = csv.reader(self._lines(stream), delimiter=self._sep)
            first = 1
            for row in reader:
                if row and first > self._skip_lines + 1 and len(row) != len(self.names):
                    return TableError(
                        f"{self.where}, line {first}: {len(row)} columns, but the header has {len(self.names)}. "
                        "Correct the line, or quote the values that contain the separator."
                    )
                first = reader.line_num + 1
        return TableError(f"{self.where} has rows with more or fewer columns than its header.")


class _Raw(io.RawIOBase):
    """A stream as Python's text layer wants it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = bytes(self._stream.read(len(buffer)))
        buffer[: len(data)] = data
        return len(data)


class _Watched(io.RawIOBase):
    """A stream of text that counts lines and refuses binary data wherever it comes."""

    def __init__(self, stream: Any, where: str, encoding: str) -> None:
        self._stream, self._where = stream, where
        self._plain = not encoding.lower().startswith(("utf-16", "utf_16", "utf-32"))
        self.lines = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = bytes(self._stream.read(size))
        if self._plain and b"\0" in data:
            raise TableError(f"{self._where} holds a NUL byte: it is damaged, or not text.")
        self.lines += data.count(b"\n") or data.count(b"\r")
        return data

    def close(self) -> None:
        self._stream.close()
        super().close()


def _encoding_of(head: bytes, where: str) -> str:
    """Return the encoding of text: UTF-8, UTF-16 by its mark or its zeros, else cp1252."""
    for magic, kind in _OTHER_FORMATS.items():
        if head.startswith(magic):
            raise TableError(f"{where} is read as text, but it is {kind}.")
    if not head:
        raise TableError(f"{where} is empty.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > 0.3 * len(head) / 2 and min(even, odd) < 0.05 * len(head) / 2:
            return "utf-16-le" if odd > even else "utf-16-be"
        raise TableError(f"{where} is read as text, but it holds binary data.")
    import codecs

    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _decoded(head: bytes, encoding: str, where: str) -> str:
    """Return the head of a file as text, without a character that its end cuts in two."""
    import codecs

    codec = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        return codecs.getincrementaldecoder(codec)().decode(head)
    except LookupError as error:
        raise TableError(f"encoding {encoding!r} is not known; usual ones are utf-8, cp1252 and utf-16.") from error
    except UnicodeError as error:
        raise TableError(f"{where} is not {encoding} text. Pass another encoding= (--encoding). {error}") from error


def _separator(text: str, more: bool) -> str:
    """Return the separator that gives most lines the same number of columns, at least two."""
    best, chosen = (0.0, False, 0), ","
    for sep in (",", ";", "\t", "|", " "):
        lines = io.StringIO(text, newline="")
        widths = []
        with suppress(csv.Error):
            for row in csv.reader(lines, delimiter=sep):
                if row:
                    widths.append(len(row))
                if len(widths) > _HEAD_ROWS:
                    break
        if len(widths) > 2 and more:
            widths.pop()
        if not widths:
            continue
        width, count = max(Counter(widths).items(), key=lambda item: (item[1], item[0]))
        if width < 2 or (sep == " " and (count < len(widths) - 1 or best[0] > 0)):
            continue
        score = (round(count / len(widths), 1), widths[0] == width, width if sep != " " else 0)
        if score > best:
            best, chosen = score, sep
    return chosen


def _parsed(text: str, sep: str, where: str, more: bool) -> tuple[list[list[str]], list[int]]:
    """Return the first complete rows of a text that are not blank, and how many lines stand before each."""
    lines = io.StringIO(text, newline="")
    rows: list[list[str]] = []
    before: list[int] = []
    reader = csv.reader(lines, delimiter=sep)
    line = 0
    try:
        for row in reader:
            if row:
                rows.append(row)
                before.append(line)
            line = reader.line_num
            if len(rows) > _HEAD_ROWS:
                break
    except csv.Error as error:
        raise TableError(f"{where} cannot be read: is a quotation mark not closed? {error}") from error
    if more and rows and not lines.read(1):
        rows.pop()
    return rows, before


def _layout(
    rows: list[list[str]], header: int | None = None, skip_lines: int | None = None, lines: Sequence[int] = ()
) -> _Layout:
    """Return where the header of a table is: the first row that is as wide as most, and mostly filled."""
    if skip_lines is not None and lines:
        header = next((i for i, before in enumerate(lines[: len(rows)]) if before >= skip_lines), 0)
    widths = Counter(len(row) for row in rows)
    width = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
    notes = []
    if header is None:
        header = next(
            (i for i, row in enumerate(rows) if len(row) >= width - 1 and _filled(row) > max(1, width // 2)), 0
        )
        header = 0 if width == 1 else header
        if header:
            titles = "; ".join(repr(" ".join(filter(None, row)).strip()[:40]) for row in rows[:header])
            plural = "lines" if header > 1 else "line"
            notes.append(f"skipped {header} {plural} above the header: {titles} (skip_rows=, --skip-rows).")
    names = [cell.strip().lstrip("\ufeff") for cell in rows[header]]
    below = rows[header + 1 :]
    if below and len(names) == width - 1:
        spare = all(not row[-1].strip() for row in below if len(row) == width)
        names = [*names, ""] if spare else ["row_name", *names]
        where = "a separator at the end of each row" if spare else "a column without a name, 'row_name', comes first"
        notes.append(f"rows have one column more than the header: {where}.")
    while len(names) > 1 and not names[-1] and below and all(len(row) < len(names) for row in below):
        names.pop()
    if _looks_like_data(rows[header], below):
        notes.append("it has no header; its columns are called x0, x1, ...")
        return _Layout([f"x{i}" for i in range(len(names))], header, header, has_names=False, notes=notes)
    unique, changed = _unique_names(names)
    if changed:
        listed = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
        notes.append(f"columns without a name, or with one that occurs twice, are called {listed}.")
    return _Layout(unique, header, header + 1, notes=notes)


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def _looks_like_data(header: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Tell whether a first row holds numbers only, as the rows below it do; a count of columns or years is a header."""
    cells = [cell.strip() for cell in header]
    if not below or any(not cell or (parse_number(cell) is None and parse_number(cell, ",") is None) for cell in cells):
        return False
    whole = [int(cell) for cell in cells if re.fullmatch(r"\d+", cell)]
    return not (len(whole) == len(cells) and all(b - a == 1 for a, b in pairwise(whole)))


def _unique_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return names with one for each column without, and a number behind those that occur again."""
    unique: list[str] = []
    changed = []
    taken = set(names)
    for place, name in enumerate(names, 1):
        new, number = name or f"unnamed_{place}", 2
        while new in unique or (new != name and new in taken):
            new, number = f"{name or f'unnamed_{place}'}_{number}", number + 1
        unique.append(new)
        if new != name:
            changed.append(new)
    return unique, changed


def swallowing_quote(lines: Iterable[str], sep: str, width: int) -> str | None:
    """Return what is wrong with the first quotation mark that holds more lines than it should, or None.

    Values may go over several lines. One that never ends, whose end is in the middle of a value, or whose lines are as
    wide as rows of the table, was opened by mistake: rows that follow have become part of it.
    """
    opened = inner = alike = 0
    for number, line in enumerate(lines, 1):
        if opened and number > opened:
            inner += 1
            alike += line.count(sep) == width - 1
        if not opened and '"' not in line:
            continue
        position = 0
        while position < len(line):
            if not opened:
                # Only at the beginning of a value does a quotation mark mean anything.
                if line[position] == '"':
                    opened, position, inner, alike = number, position + 1, 0, 0
                else:
                    position = _next_value(line, sep, position)
                continue
            end = line.find('"', position)
            if end < 0:
                break
            position = end + 1
            if line.startswith('"', position):
                position += 1
                continue
            span = f"the quotation mark opened in line {opened} is closed in line {number}"
            if opened != number and line[position : position + 1] not in ("", sep, "\r", "\n"):
                return f"{span}, in the middle of a value: is one missing in between?"
            if width > 1 and alike >= 2 and alike > inner / 2:
                return f"{span}, and the lines between look like rows: is one missing in between?"
            opened, position = 0, _next_value(line, sep, position)
    return f"the quotation mark opened in line {opened} is not closed." if opened else None


def _next_value(line: str, sep: str, position: int) -> int:
    found = line.find(sep, position)
    return len(line) if found < 0 else found + 1
