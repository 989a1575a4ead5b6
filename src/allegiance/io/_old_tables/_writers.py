"""How rows become bytes, for each format."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import IO, TYPE_CHECKING, Any, Protocol

from allegiance._core import require

from ._binary import plain_batch, plain_schema

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows turned into text at a time: their bytes must stay below 2 GB.
_TEXT_ROWS = 65_536
#: With these a spreadsheet begins a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Writer(Protocol):
    """Writes batches of one schema to a file that the caller opened and will close."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None: ...

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""

    def close(self) -> None:
        """Write what belongs at the end."""


class CsvWriter:
    """Text with a header, quoted where it must be.

    Parameters
    ----------
    file
        Where to write.
    schema
        Names and types of the columns.
    escape_formulas
        Put an apostrophe before texts that a spreadsheet would take for a formula.
    """

    delimiter = ","

    def __init__(self, file: IO[bytes], schema: pa.Schema, escape_formulas: bool = False) -> None:
        self._file = file
        self._special = f'[{self.delimiter}"\r\n]'
        self._escapes = escape_formulas
        names = [f"'{name}" if escape_formulas and name.startswith(_FORMULA) else name for name in schema.names]
        header = io.StringIO()
        csv.writer(header, delimiter=self.delimiter, lineterminator="\n").writerow(names)
        file.write(header.getvalue().encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        arrow = require("pyarrow", "io", "writing tables")
        compute = require("pyarrow.compute", "io", "writing tables")
        for start in range(0, batch.num_rows, _TEXT_ROWS):
            columns = [self._rendered(column) for column in batch.slice(start, _TEXT_ROWS).columns]
            lines = compute.binary_join_element_wise(*columns, self.delimiter, null_handling="replace")
            text = compute.binary_join(arrow.ListArray.from_arrays([0, len(lines)], lines), "\n")
            self._file.write(text[0].as_buffer())
            self._file.write(b"\n")

    def _rendered(self, column: Any) -> Any:
        """Return values as text, in quotes where they contain what would end them."""
        compute = require("pyarrow.compute", "io", "writing tables")
        text, any_text = as_text(column)
        if not any_text:
            return text
        if self._escapes:
            formula = compute.match_substring_regex(text, f"^[{''.join(_FORMULA)}]".replace("-", r"\-"))
            text = compute.if_else(formula, compute.binary_join_element_wise("'", text, ""), text)
        special = compute.match_substring_regex(text, self._special)
        doubled = compute.replace_substring(text, '"', '""')
        return compute.if_else(special, compute.binary_join_element_wise('"', doubled, '"', ""), text)

    def close(self) -> None:
        """Nothing belongs at the end."""


class TsvWriter(CsvWriter):
    """Text with tabs.

    Parameters
    ----------
    file, schema, escape_formulas
        As in :class:`CsvWriter`.
    """

    delimiter = "\t"


class ParquetWriter:
    """Parquet.

    Parameters
    ----------
    file, schema
        As in :class:`CsvWriter`.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._schema = plain_schema(schema)
        self._writer = require("pyarrow.parquet", "io", "writing tables").ParquetWriter(file, self._schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch, as a row group of its own."""
        self._writer.write_batch(plain_batch(batch, self._schema.names, self._schema))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class ArrowWriter:
    """The Arrow IPC file format, which is also Feather version 2.

    Parameters
    ----------
    file, schema
        As in :class:`CsvWriter`.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._writer = require("pyarrow.ipc", "io", "writing tables").new_file(file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()


class JsonLinesWriter:
    """One JSON object per line.

    Parameters
    ----------
    file, schema
        As in :class:`CsvWriter`.
    """

    before, between, after = b"", b"\n", b"\n"

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file
        self._next = self.before

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        for row in batch.to_pylist():
            finite = {name: _json_value(value) for name, value in row.items()}
            line = json.dumps(finite, ensure_ascii=False, allow_nan=False, default=_plain)
            self._file.write(self._next + line.encode())
            self._next = self.between

    def close(self) -> None:
        """End the last line."""
        if self._next == self.between:
            self._file.write(self.after)
        else:
            self._file.write(self.before + self.after.lstrip(b"\n"))


class JsonWriter(JsonLinesWriter):
    """One JSON array of objects.

    Parameters
    ----------
    file, schema
        As in :class:`CsvWriter`.
    """

    before, between, after = b"[\n", b",\n", b"\n]\n"


def as_text(column: Any) -> tuple[Any, bool]:
    """Return an Arrow array as texts, and whether they may hold any characters; lists and structs become JSON."""
    arrow = require("pyarrow", "io", "writing tables")
    kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
    # Numbers, times and truth values hold nothing that would have to be quoted.
    any_text = not (arrow.types.is_primitive(kind) or arrow.types.is_decimal(kind) or arrow.types.is_null(kind))
    try:
        return column.cast(arrow.string()), any_text
    except (arrow.ArrowNotImplementedError, arrow.ArrowInvalid):
        texts = [_plain(value) if isinstance(value, bytes) else _json(value) for value in column.to_pylist()]
        return arrow.array(texts, arrow.string()), True


def _json(value: Any) -> str | None:
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


#: The writers that can keep texts from being taken for formulas.
ESCAPING: dict[str, type[CsvWriter]] = {"csv": CsvWriter, "tsv": TsvWriter}
WRITERS: dict[str, type[Writer]] = {
    "csv": CsvWriter,
    "tsv": TsvWriter,
    "parquet": ParquetWriter,
    "arrow": ArrowWriter,
    "jsonl": JsonLinesWriter,
    "json": JsonWriter,
}
