"""Write tables in batches, completely or not at all: delimited text, Parquet, Arrow, JSON lines, workbooks."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import PurePosixPath
from types import TracebackType
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from allegiance._core.stored import json_value
from allegiance._core.validation import require

from .files import TableError, check_writable, replacing
from .values import cast_column, json_text, plain_schema, plain_text
from .workbooks import WorkbookWriter

#: Formats by file name ending.
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
    ".xlsx": "xlsx",
}
#: Rows per text block, which must stay below 2 GB.
_TEXT_ROWS = 65_536
#: Rows or bytes after which a Parquet row group is written. Small groups are slow to write and to read.
_GROUP_ROWS, _GROUP_BYTES = 65_536, 2**23
#: Prefixes that make a spreadsheet program evaluate a text as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def open_sink(
    path: str | os.PathLike[str] | Sink,
    *,
    force: bool = False,
    metadata: Mapping[str, Any] | None = None,
    escape_formulas: bool = False,
) -> Sink:
    """Open a table for writing.

    Rows go to a temporary file, which is renamed when the ``with`` block ends, or removed after an error or an
    interruption.

    Parameters
    ----------
    path
        The file or URL. Its ending sets the format: .csv, .tsv, .parquet, .arrow, .jsonl (one object per line) or
        .xlsx. ``"-"`` is CSV on standard output. A sink is returned as it is.
    force
        Replace an existing file instead of raising an error.
    metadata
        Values to store with the table under the key ``allegiance``, as JSON. Only Parquet and Arrow files store it.
    escape_formulas
        Put an apostrophe before texts and column names of CSV and TSV files that a spreadsheet would evaluate as a
        formula: those that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. By default all texts
        are written as they are, so that identifiers can be matched. Workbooks never contain formulas.

    Returns
    -------
    Sink
        A context manager. Its ``write`` takes record batches and tables.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> from allegiance.io.sinks import open_sink
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
    if isinstance(path, Sink):
        return path
    path = os.fspath(path)
    kind = "csv" if path == "-" else WRITABLE.get(PurePosixPath(path).suffix.lower())
    if kind is None:
        raise TableError(f"{path} has no known ending. Use one of {', '.join(WRITABLE)}, or end a folder with /.")
    if kind == "xlsx":
        require("xlsxwriter", "io", "a workbook")
    if path != "-":
        check_writable(path, force=force)
    texts = {} if metadata is None else {"allegiance": json.dumps(metadata, default=str)}
    return Sink(path, kind, force, texts, escape_formulas)


def write_table(path: str | os.PathLike[str], table: Any, **options: Any) -> None:
    """Write an Arrow table or record batch to a sink; ``options`` are those of :func:`open_sink`."""
    with open_sink(path, **options) as sink:
        sink.write(table)


class Sink:
    """A table being written: a context manager whose file appears, complete, when it exits without an error.

    Built by :func:`open_sink`.

    Attributes
    ----------
    path, format
        The file and its format.
    formats, numbers, colors, choices, summary
        For workbooks: the number format of a column; columns of text to write as numbers where they are; the fill color
        of cells with a certain text; the values that the drop-down list of a column offers; and the sections of a
        second sheet, "summary" (a title and rows of cells). Set the first two before the first row is written.
    """

    formats: Mapping[str, str] = {}
    numbers: Sequence[str] = ()
    colors: Mapping[str, Mapping[str, str]] = {}
    choices: Mapping[str, Sequence[str]] = {}
    summary: Sequence[tuple[str, Sequence[Sequence[Any]]]] = ()

    def __init__(self, path: str, format: str, force: bool, metadata: Mapping[str, str], escape_formulas: bool) -> None:
        self.path, self.format = path, format
        self._force, self._metadata = force, metadata
        writers: dict[str, Callable[[IO[bytes], Any], Any]] = {
            "csv": lambda file, schema: _Delimited(file, schema, ",", escape_formulas),
            "tsv": lambda file, schema: _Delimited(file, schema, "\t", escape_formulas),
            "parquet": _Parquet,
            "arrow": pa.ipc.new_file,
            "jsonl": lambda file, schema: _Json(file),
            "xlsx": lambda file, schema: WorkbookWriter(file, schema, self),
        }
        self._make = writers[format]
        self._writer: Any = None
        self._file: IO[bytes] | None = None
        self._stack = ExitStack()
        self._schema: Any = None

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
        """Raise if this format cannot store a column, to fail before the work."""
        for field in fields:
            alone = pa.schema([field])
            try:
                writer = self._make(io.BytesIO(), alone)
                writer.write_batch(pa.RecordBatch.from_arrays([pa.nulls(1, field.type)], schema=alone))
                writer.close()
            except (pa.ArrowException, NotImplementedError, TypeError, ValueError) as error:
                raise TableError(
                    f"column {field.name!r} has type {field.type}, which {self.format} files cannot store: leave it "
                    f"out, or write another format. {error}"
                ) from error

    def write(self, rows: pa.RecordBatch | pa.Table) -> None:
        """Append rows, which must all have the same columns."""
        if self._file is None:
            raise TableError("a sink can be written only inside its with block.")
        if self._writer is None:
            self._schema = rows.schema.with_metadata(self._metadata or None)
            self._writer = self._make(self._file, self._schema)
        for batch in rows.to_batches() if hasattr(rows, "to_batches") else [rows]:
            if batch.schema.names != self._schema.names:
                raise TableError(f"{self.path}: these rows have different columns than earlier rows.")
            self._writer.write_batch(batch.cast(self._schema))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        file, self._file = self._file, None
        assert file is not None
        if error is None:
            with self._stack:
                if self._writer is not None:
                    self._writer.close()
                file.flush()
            return
        # Otherwise Parquet and Arrow writers write their footer during garbage collection.
        with suppress(Exception):
            if self._writer is not None:
                self._writer.close()
        self._stack.__exit__(kind, error, traceback)


class _Parquet:
    """Parquet in row groups of several batches; views and runs are written as plain columns."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file, self._schema = file, plain_schema(schema).with_metadata(schema.metadata)
        self._writer: Any = None
        self._waiting: list[pa.RecordBatch] = []

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        arrays = [cast_column(array, one.type) for array, one in zip(batch.columns, self._schema, strict=True)]
        self._waiting.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
        rows, size = sum(one.num_rows for one in self._waiting), sum(one.nbytes for one in self._waiting)
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        """Write the waiting batches as one row group."""
        table = pa.Table.from_batches(self._waiting, self._schema)
        if self._writer is None:
            # A dictionary of numbers that hardly repeat takes time and space.
            repeated = [
                name
                for name, column in zip(table.column_names, table.columns, strict=True)
                if not pa.types.is_floating(column.type) or 2 * pc.count_distinct(column).as_py() <= table.num_rows
            ]
            self._writer = pq.ParquetWriter(self._file, self._schema, use_dictionary=repeated)
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self._waiting.clear()

    def close(self) -> None:
        """Write the last rows and the footer."""
        if self._waiting or self._writer is None:
            self._write_group()
        self._writer.close()


class _Text:
    """A sink of text."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def close(self) -> None:
        """Do nothing: sinks of text have no footer."""


class _Delimited(_Text):
    """Text with a header; missing values and NaN are empty. Unlike pyarrow.csv, it quotes only where needed."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, sep: str, escape_formulas: bool) -> None:
        super().__init__(file)
        self._sep, self._escapes = sep, escape_formulas
        names = [f"'{name}" if escape_formulas and name.startswith(_FORMULA) else name for name in schema.names]
        header = io.StringIO()
        csv.writer(header, delimiter=sep, lineterminator="\n").writerow(names)
        file.write(header.getvalue().encode())

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        for start in range(0, batch.num_rows, _TEXT_ROWS):
            columns = [self._render(column) for column in batch.slice(start, _TEXT_ROWS).columns]
            lines = pc.binary_join_element_wise(*columns, self._sep, null_handling="replace")
            text = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")
            self._file.write(text[0].as_buffer())
            self._file.write(b"\n")

    def _render(self, column: Any) -> Any:
        """Return a column as texts of a CSV file, quoted where needed."""
        kind = column.type
        if pa.types.is_floating(kind):
            return pc.if_else(pc.is_nan(column), None, column).cast(pa.string())
        try:
            text = column.cast(pa.string())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):  # lists and structs become JSON
            values = column.to_pylist()
            texts = [plain_text(value) if isinstance(value, bytes) else json_text(value) for value in values]
            text = pa.array(texts, pa.string())
        if pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
            return text
        if self._escapes:
            formula = pc.match_substring_regex(text, f"^[{''.join(_FORMULA)}]".replace("-", r"\-"))
            text = pc.if_else(formula, pc.binary_join_element_wise("'", text, ""), text)
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
        return pc.if_else(pc.match_substring_regex(text, f'[{self._sep}"\r\n]'), quoted, text)


class _Json(_Text):
    """JSON objects, one per line."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        for row in batch.to_pylist():
            line = json.dumps(json_value(row), ensure_ascii=False, allow_nan=False, default=plain_text)
            self._file.write(line.encode() + b"\n")
