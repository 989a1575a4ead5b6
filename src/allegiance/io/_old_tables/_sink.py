"""Writing tables so that a half one is never seen."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from allegiance._core import require
from allegiance.io import TableError, check_writable, replacing

from ._writers import ESCAPING, WRITERS, Writer

if TYPE_CHECKING:
    import pyarrow as pa

#: The format that each ending of a file name stands for.
WRITABLE = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}


class Sink:
    """A table being written: a context manager whose file appears, complete, when it is left without an error.

    Built by :func:`open_sink`.

    Parameters
    ----------
    path
        The file, or ``"-"`` for standard output.
    format
        One of the values of ``WRITABLE``.
    force
        Whether an existing file may be replaced.
    metadata
        Texts to store with the table, where the format has room for them.
    escape_formulas
        As in :func:`open_sink`.
    """

    def __init__(
        self, path: str, format: str, force: bool, metadata: Mapping[str, str], escape_formulas: bool = False
    ) -> None:
        self.path = path
        self.format = format
        self.n_rows = 0
        self._force = force
        self._metadata = dict(metadata)
        self._make: Callable[[IO[bytes], Any], Writer] = WRITERS[format]
        if escape_formulas and format in ESCAPING:
            self._make = partial(ESCAPING[format], escape_formulas=True)
        self._writer: Writer | None = None
        self._file: IO[bytes] | None = None
        self._stack = ExitStack()
        self._schema: Any = None

    def __fspath__(self) -> str:
        return self.path

    def __enter__(self) -> Sink:
        with ExitStack() as stack:
            if self.path == "-":
                self._file = sys.stdout.buffer
            else:
                temporary = stack.enter_context(replacing(self.path, force=self._force))
                self._file = stack.enter_context(open(temporary, "wb"))
            self._stack = stack.pop_all()
        return self

    def check(self, fields: Iterable[pa.Field]) -> None:
        """Raise if a column of such a type cannot be written in this format, so that failure is known before the work.

        Parameters
        ----------
        fields
            Names and types of columns, not necessarily all.
        """
        arrow = require("pyarrow", "io", "writing tables")
        for field in fields:
            alone = arrow.schema([field])
            try:
                writer = self._make(io.BytesIO(), alone)
                writer.write(arrow.RecordBatch.from_arrays([arrow.nulls(1, field.type)], schema=alone))
                writer.close()
            except (arrow.ArrowException, NotImplementedError, TypeError, ValueError) as error:
                raise TableError(
                    f"column {field.name!r} is of type {field.type}, which {self.format} files cannot hold: leave it "
                    f"out, or write another format. {error}"
                ) from error

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows. All must have the columns of the first.

        Parameters
        ----------
        rows
            A record batch or a table.
        """
        if self._file is None:
            raise TableError("a sink is open only inside its with block.")
        if self._writer is None:
            schema = rows.schema.remove_metadata()
            if self._metadata:
                schema = schema.with_metadata({name: str(value) for name, value in self._metadata.items()})
            self._schema = schema
            self._writer = self._make(self._file, schema)
        arrow = require("pyarrow", "io", "writing tables")
        batches = rows.to_batches() if isinstance(rows, arrow.Table) else [rows]
        for batch in batches:
            if batch.schema.names != self._schema.names:
                raise TableError(f"rows with other columns than before cannot be written to {self.path}.")
            self._writer.write(batch.cast(self._schema))
            self.n_rows += batch.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        file, self._file = self._file, None
        assert file is not None
        if error is None:
            with self._stack:
                self._finish(file)
            return
        # Writers of Parquet and Arrow must not try to end their file later, when it is closed.
        with suppress(Exception):
            self._close_writer()
        self._stack.__exit__(kind, error, traceback)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _finish(self, file: IO[bytes]) -> None:
        self._close_writer()
        file.flush()


def open_sink(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    format: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    escape_formulas: bool = False,
) -> Sink:
    """Open a table for writing.

    Rows go to a temporary file in the same folder, which gets its name when the ``with`` block ends, and is removed if
    an error or an interruption ends it.

    Parameters
    ----------
    path
        The file, or ``"-"`` for CSV on standard output. A sink is returned as it is.
    force
        Replace the file if it exists; otherwise that is an error.
    format
        "csv", "tsv", "parquet", "arrow", "jsonl" (an object per line) or "json" (an array of objects); by default the
        ending of the file's name decides.
    metadata
        What to store with the table under the key ``allegiance``, as JSON. Parquet and Arrow files have room for it.
    escape_formulas
        Put an apostrophe before texts of CSV and TSV files, names of columns included, that a spreadsheet would take
        for a formula: those that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. By default all
        texts are written as they are, so that identifiers can be matched.

    Returns
    -------
    Sink
        To be used in a ``with`` block; its ``write`` takes record batches and tables.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from allegiance.io._old_tables import open_sink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     with open_sink(path) as sink:
    ...         sink.write(pa.table({"x": [1, 2], "name": ["a", "b,c"]}))
    ...     print(path.read_text())
    x,name
    1,a
    2,"b,c"
    <BLANKLINE>
    """
    require("pyarrow", "io", "writing tables")
    if isinstance(path, Sink):
        return path
    path = os.fspath(path)
    kind = format or ("csv" if path == "-" else WRITABLE.get(Path(path).suffix.lower()))
    if kind not in WRITERS:
        listed = ", ".join(WRITABLE)
        named = f"format {format!r}" if format else f"the ending of {path}"
        raise TableError(f"{named} does not say what kind of table to write. Known endings are {listed}.")
    if path != "-":
        check_writable(path, force=force)
    texts = {} if metadata is None else {"allegiance": json.dumps(metadata, default=str)}
    return Sink(path, str(kind), force, texts, escape_formulas)
