"""Parquet and Arrow files.

Not by way of ``pyarrow.dataset``: it reads ahead a large part of the file whatever the size of batches (210 MB where
``iter_batches`` takes 45), cannot begin at a row, and does not know Arrow streams.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from allegiance._core import require
from allegiance.io import TableError

from ._source import Source, skipped

if TYPE_CHECKING:
    import pyarrow as pa


class ParquetSource(Source):
    """A Parquet file, of which only the columns asked for are read.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: str) -> None:
        arrow = require("pyarrow", "io", "reading tables")
        parquet = require("pyarrow.parquet", "io", "reading tables")
        try:
            self._file = parquet.ParquetFile(path)
        except arrow.ArrowInvalid as error:
            raise TableError(f"{path} is not a Parquet file, or it is damaged. {error}") from error
        # Each look at the file's own schema parses it again, which takes long for many columns.
        self._schema = plain_schema(self._file.schema_arrow)
        super().__init__(path, [path], list(self._schema.names))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self._file.metadata.num_rows)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._schema

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        arrow = require("pyarrow", "io", "reading tables")
        metadata = self._file.metadata
        groups = range(metadata.num_row_groups)
        starts = [0, *accumulate(metadata.row_group(group).num_rows for group in groups)]
        first = max(0, bisect_right(starts, start) - 1)
        if first >= len(groups):
            return
        batches = self._file.iter_batches(batch_size=rows, row_groups=list(groups)[first:], columns=columns)
        try:
            # Parquet keeps the order of the file, whatever was asked for.
            yield from (plain_batch(batch, columns, self._schema) for batch in skipped(batches, start - starts[first]))
        except (arrow.ArrowInvalid, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error


class ArrowSource(Source):
    """An Arrow IPC file (also Feather version 2), mapped into memory, or an Arrow stream in a file.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        arrow = require("pyarrow", "io", "reading tables")
        self._is_stream = False
        try:
            with self._reader(None) as reader:
                self._schema = plain_schema(reader.schema)
        except arrow.ArrowInvalid:
            self._is_stream = True
            try:
                with self._reader(None) as reader:
                    self._schema = plain_schema(reader.schema)
            except (arrow.ArrowInvalid, OSError) as error:
                raise TableError(
                    f"{path} is not an Arrow file (Feather version 2), or it is damaged. {error}"
                ) from error
        super().__init__(path, [path], list(self._schema.names))
        self._n_rows: int | None = None

    def _reader(self, columns: list[str] | None) -> Any:
        arrow = require("pyarrow", "io", "reading tables")
        ipc = require("pyarrow.ipc", "io", "reading tables")
        fields = None if columns is None else [self._schema.get_field_index(name) for name in columns]
        open_reader = ipc.open_stream if self._is_stream else ipc.open_file
        return open_reader(arrow.memory_map(self._path), options=ipc.IpcReadOptions(included_fields=fields))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        if self._n_rows is None:
            self._n_rows = sum(batch.num_rows for batch in self._all(self.names[:1]))
        return self._n_rows

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._schema

    def _all(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        arrow = require("pyarrow", "io", "reading tables")
        try:
            with self._reader(columns) as reader:
                if self._is_stream:
                    yield from reader
                else:
                    yield from (reader.get_batch(number) for number in range(reader.num_record_batches))
        except (arrow.ArrowInvalid, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        yield from (plain_batch(batch, columns, self._schema) for batch in skipped(self._all(columns), start))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with types that all of pyarrow knows in place of views and runs."""
    return require("pyarrow", "io", "reading tables").schema(
        [field.with_type(_plain_type(field.type)) for field in schema], metadata=schema.metadata
    )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    arrow = require("pyarrow", "io", "reading tables")
    if arrow.types.is_run_end_encoded(kind):
        return kind.value_type
    views = {arrow.string_view(): arrow.string(), arrow.binary_view(): arrow.binary()}
    return views.get(kind, kind)


def plain_batch(batch: pa.RecordBatch, columns: list[str], schema: pa.Schema) -> pa.RecordBatch:
    """Return some columns of a batch, in this order, as types that all of pyarrow knows."""
    arrow = require("pyarrow", "io", "reading tables")
    found = batch.select(columns)
    wanted = [schema.field(name).type for name in columns]
    if found.schema.types == wanted:
        return found
    arrays = [
        arrow.compute.run_end_decode(array) if arrow.types.is_run_end_encoded(array.type) else array.cast(kind)
        for array, kind in zip(found.columns, wanted, strict=True)
    ]
    return arrow.RecordBatch.from_arrays(arrays, names=columns)
