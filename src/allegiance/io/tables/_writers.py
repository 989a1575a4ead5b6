"""How rows become bytes, for each format."""

from __future__ import annotations

import csv
import io
import json
import math
from typing import IO, TYPE_CHECKING, Any, Protocol

from allegiance._core import require

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows turned into text at a time: their bytes must stay below 2 GB.
_TEXT_ROWS = 65_536


class Writer(Protocol):
    """Writes batches of one schema to a file that somebody else opened and will close."""

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
    """

    delimiter = ","

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file
        self._special = f'[{self.delimiter}"\r\n]'
        header = io.StringIO()
        csv.writer(header, delimiter=self.delimiter, lineterminator="\n").writerow(schema.names)
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
        arrow = require("pyarrow", "io", "writing tables")
        compute = require("pyarrow.compute", "io", "writing tables")
        text = column.cast(arrow.string())
        if not _is_text(arrow, column.type):
            return text
        special = compute.match_substring_regex(text, self._special)
        doubled = compute.replace_substring(text, '"', '""')
        return compute.if_else(special, compute.binary_join_element_wise('"', doubled, '"', ""), text)

    def close(self) -> None:
        """Nothing belongs at the end."""


class TsvWriter(CsvWriter):
    """Text with tabs.

    Parameters
    ----------
    file, schema
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
        self._writer = require("pyarrow.parquet", "io", "writing tables").ParquetWriter(file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch, as a row group of its own."""
        self._writer.write_batch(batch)

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
            line = json.dumps(finite, ensure_ascii=False, allow_nan=False, default=str)
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


def _is_text(arrow: Any, kind: Any) -> bool:
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(arrow.types.is_string(kind) or arrow.types.is_large_string(kind))


def _json_value(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


WRITERS: dict[str, type[Writer]] = {
    "csv": CsvWriter,
    "tsv": TsvWriter,
    "parquet": ParquetWriter,
    "arrow": ArrowWriter,
    "jsonl": JsonLinesWriter,
    "json": JsonWriter,
}
