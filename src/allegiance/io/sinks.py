"""Tables written in batches, of which a half one is never seen: delimited text, Parquet, Arrow, JSON, workbooks."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .files import TableError, check_writable, replacing
from .formats import cast_column, plain_schema

__all__ = ["Sink", "open_sink", "write_table"]


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
    ".xlsx": "xlsx",
}
#: Rows turned into text at a time: their bytes must stay below 2 GB.
_TEXT_ROWS = 65_536
#: With these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: Rows of a sheet, by the format.
_SHEET_ROWS = 1_048_576


def open_sink(
    path: str | os.PathLike[str],
    *,
    force: bool = False,
    metadata: Mapping[str, Any] | None = None,
    escape_formulas: bool = False,
) -> Sink:
    """Open a table for writing.

    Rows go to a temporary file in the same folder, which gets its name when the ``with`` block ends, and is removed if
    an error or an interruption ends it.

    Parameters
    ----------
    path
        The file, whose ending gives the format: .csv, .tsv, .parquet, .arrow, .jsonl (an object per line) or .xlsx.
        ``"-"`` is CSV on standard output. A sink is returned as it is.
    force
        Replace the file if it exists; otherwise that is an error.
    metadata
        What to store with the table under the key ``allegiance``, as JSON. Parquet and Arrow files have room for it.
    escape_formulas
        Put an apostrophe before texts of CSV and TSV files, names of columns included, that a spreadsheet would take
        for a formula: those that begin with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return. By default all
        texts are written as they are, so that identifiers can be matched. Workbooks never hold formulas.

    Returns
    -------
    Sink
        To be used in a ``with`` block; its ``write`` takes record batches and tables.

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
    kind = "csv" if path == "-" else WRITABLE.get(Path(path).suffix.lower())
    if kind is None:
        listed = ", ".join(WRITABLE)
        raise TableError(f"the ending of {path} does not tell what kind of table to write. Known endings are {listed}.")
    if path != "-":
        check_writable(path, force=force)
    texts = {} if metadata is None else {"allegiance": json.dumps(metadata, default=str)}
    return Sink(path, kind, force, texts, escape_formulas)


def write_table(path: str | os.PathLike[str], table: Any, **options: Any) -> None:
    """Write a whole table.

    Parameters
    ----------
    path
        The file.
    table
        An Arrow table or a record batch.
    **options
        As in :func:`open_sink`.
    """
    with open_sink(path, **options) as sink:
        sink.write(table)


class Sink:
    """A table being written: a context manager whose file appears, complete, when it is left without an error.

    Built by :func:`open_sink`.

    Attributes
    ----------
    path, format
        Where it goes, and how.
    n_rows
        Rows written so far.
    summary
        Rows of the second sheet of a workbook, "summary"; can be set until the end. None for no such sheet.
    """

    summary: Sequence[Sequence[Any]] | None = None

    def __init__(self, path: str, format: str, force: bool, metadata: Mapping[str, str], escape_formulas: bool) -> None:
        self.path, self.format, self.n_rows = path, format, 0
        self._force, self._metadata = force, metadata
        writers: dict[str, Callable[[IO[bytes], Any], Any]] = {
            "csv": lambda file, schema: _Delimited(file, schema, ",", escape_formulas),
            "tsv": lambda file, schema: _Delimited(file, schema, "\t", escape_formulas),
            "parquet": _Parquet,
            "arrow": pa.ipc.new_file,
            "jsonl": _Json,
            "xlsx": lambda file, schema: _Workbook(file, schema, self),
        }
        self._make = writers[format]
        self._writer: Any = None
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
        for field in fields:
            alone = pa.schema([field])
            try:
                writer = self._make(io.BytesIO(), alone)
                writer.write_batch(pa.RecordBatch.from_arrays([pa.nulls(1, field.type)], schema=alone))
                writer.close()
            except (pa.ArrowException, NotImplementedError, TypeError, ValueError) as error:
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
            self._schema = rows.schema.with_metadata(self._metadata or None)
            self._writer = self._make(self._file, self._schema)
        for batch in rows.to_batches() if hasattr(rows, "to_batches") else [rows]:
            if batch.schema.names != self._schema.names:
                raise TableError(f"rows with other columns than before cannot be written to {self.path}.")
            self._writer.write_batch(batch.cast(self._schema))
            self.n_rows += batch.num_rows

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
        # Writers of Parquet and Arrow must not try to end their file later, when it is closed.
        with suppress(Exception):
            if self._writer is not None:
                self._writer.close()
        self._stack.__exit__(kind, error, traceback)


class _Parquet:
    """Parquet, a row group for each batch; views and runs are written out."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._schema = plain_schema(schema).with_metadata(schema.metadata)
        self._writer = pq.ParquetWriter(file, self._schema)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        arrays = [cast_column(array, one.type) for array, one in zip(batch.columns, self._schema, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class _Delimited:
    """Text with a header, quoted where it must be."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, sep: str, escape_formulas: bool) -> None:
        self._file, self._sep, self._escapes = file, sep, escape_formulas
        self._special = f'[{sep}"\r\n]'
        names = [f"'{name}" if escape_formulas and name.startswith(_FORMULA) else name for name in schema.names]
        header = io.StringIO()
        csv.writer(header, delimiter=sep, lineterminator="\n").writerow(names)
        file.write(header.getvalue().encode())

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        for start in range(0, batch.num_rows, _TEXT_ROWS):
            columns = [self._rendered(column) for column in batch.slice(start, _TEXT_ROWS).columns]
            lines = pc.binary_join_element_wise(*columns, self._sep, null_handling="replace")
            text = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")
            self._file.write(text[0].as_buffer())
            self._file.write(b"\n")

    def _rendered(self, column: Any) -> Any:
        """Return values as text, in quotes where they contain what would end them."""
        text, any_text = _as_text(column)
        if not any_text:
            return text
        if self._escapes:
            formula = pc.match_substring_regex(text, f"^[{''.join(_FORMULA)}]".replace("-", r"\-"))
            text = pc.if_else(formula, pc.binary_join_element_wise("'", text, ""), text)
        special = pc.match_substring_regex(text, self._special)
        doubled = pc.replace_substring(text, '"', '""')
        return pc.if_else(special, pc.binary_join_element_wise('"', doubled, '"', ""), text)

    def close(self) -> None:
        """Nothing belongs at the end."""


def _as_text(column: Any) -> tuple[Any, bool]:
    """Return an Arrow array as texts, and whether they may hold any characters; lists and structs become JSON."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    # Numbers, times and truth values hold nothing that would have to be quoted.
    any_text = not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))
    try:
        return column.cast(pa.string()), any_text
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        texts = [_plain(value) if isinstance(value, bytes) else _json_text(value) for value in column.to_pylist()]
        return pa.array(texts, pa.string()), True


class _Json:
    """JSON objects, one per line."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        for row in batch.to_pylist():
            finite = {name: _json_value(value) for name, value in row.items()}
            line = json.dumps(finite, ensure_ascii=False, allow_nan=False, default=_plain)
            self._file.write(line.encode() + b"\n")

    def close(self) -> None:
        """Nothing belongs at the end."""


def _json_text(value: Any) -> str | None:
    return None if value is None else json.dumps(_json_value(value), ensure_ascii=False, default=_plain)


def _plain(value: Any) -> str:
    """Return a value that JSON does not know as text; bytes that are not text as they are written in Python."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def _json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _json_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


_SHEET = '<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="%s/main"><sheetData>'
_NAMES = "http://schemas.openxmlformats.org/spreadsheetml/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"
#: Characters that XML cannot hold.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


class _Workbook:
    """A workbook whose first sheet is the table; texts are never formulas."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, sink: Sink) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._sink, self._rows = sink, 0
        self._sheet = self._zip.open("xl/worksheets/sheet1.xml", "w", force_zip64=True)
        self._sheet.write((_SHEET % _NAMES).encode())
        self._write([schema.names])

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        if self._rows + batch.num_rows > _SHEET_ROWS:
            raise TableError(f"a sheet holds {_SHEET_ROWS - 1:,} rows at most: write .csv or .parquet.")
        columns = [column.to_pylist() for column in batch.columns]
        self._write(zip(*columns, strict=True))

    def _write(self, rows: Iterable[Sequence[Any]]) -> None:
        lines = [f"<row>{''.join(map(_cell, row))}</row>" for row in rows]
        self._rows += len(lines)
        self._sheet.write("".join(lines).encode())

    def close(self) -> None:
        """Write the summary, and what makes a workbook of the sheets."""
        if self._sheet.closed:
            return
        self._sheet.write(b"</sheetData></worksheet>")
        self._sheet.close()
        names = ["table"]
        if self._sink.summary is not None:
            names.append("summary")
            lines = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in self._sink.summary)
            self._zip.writestr("xl/worksheets/sheet2.xml", f"{_SHEET % _NAMES}{lines}</sheetData></worksheet>")
        for name, text in _package(names).items():
            self._zip.writestr(name, '<?xml version="1.0" encoding="UTF-8"?>' + text)
        self._zip.close()


def _cell(value: Any) -> str:
    """Return a cell: a number, a truth value, a time, or text."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**15):
        return f"<c><v>{value!r}</v></c>"
    if isinstance(value, (date, datetime)) and value.year >= 1900:
        moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
        moment = moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
        days = (moment - datetime(1899, 12, 30)).total_seconds() / 86_400
        return f'<c s="1"><v>{days!r}</v></c>'
    text = _json_text(value) if isinstance(value, (dict, list)) else _plain(value)
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(_ILLEGAL.sub("", str(text))[:32_767])}</t></is></c>'


def _package(sheets: Sequence[str]) -> dict[str, str]:
    """Return the files that tell what a workbook holds."""
    numbers = range(1, len(sheets) + 1)
    parts = "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPES}.worksheet+xml"/>' for n in numbers
    )
    listed = "".join(f'<sheet name={quoteattr(sheets[n - 1])} sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
    links = "".join(
        f'<Relationship Id="rId{n}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    return {
        "[Content_Types].xml": (
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}.styles+xml"/>{parts}</Types>'
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
            f'Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
        ),
        "xl/workbook.xml": f'<workbook xmlns="{_NAMES}/main" xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": (
            f'<Relationships xmlns="{_PACKAGE}/relationships">{links}<Relationship Id="rId9" Type="{_OFFICE}/styles" '
            'Target="styles.xml"/></Relationships>'
        ),
        "xl/styles.xml": (
            f'<styleSheet xmlns="{_NAMES}/main"><fonts count="1"><font/></fonts><fills count="2"><fill>'
            '<patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>'
            '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf/>'
            '<xf numFmtId="22" applyNumberFormat="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" '
            'xfId="0" builtinId="0"/></cellStyles></styleSheet>'
        ),
    }
