"""A table on disk, read in batches of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from allegiance._core import require
from allegiance.io import TableError

from ._error import check_names, unknown_column

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch unless told: a few megabytes of numbers for tables of usual width.
BATCH_ROWS = 65_536


class Source(ABC):
    """A table of columns, read in order as often as needed, never all of it at once unless asked to.

    Built by :func:`open_source`.

    Attributes
    ----------
    where
        What to call the table in messages.
    files
        The paths it is read from, as strings; empty for standard input.
    names
        The names of the columns.
    has_names
        Whether the table gave the columns these names; those of arrays are numbered.
    """

    has_names = True

    def __init__(self, where: str, files: Sequence[str], names: list[str]) -> None:
        self.where = where
        self.files = tuple(files)
        self.names = check_names(names, where)

    @property
    @abstractmethod
    def n_rows(self) -> int | None:
        """The number of rows, or None until they had to be counted."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of the columns. For text files this reads the file once."""

    @abstractmethod
    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows from ``start`` on, in order, in pieces of any size, ``rows`` being a good one."""

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns of text files as they are written from now on: before the first row is read.

        Parameters
        ----------
        columns
            Their names. Other kinds of files have types, which stay.
        """
        return

    def batches(
        self, rows: int = BATCH_ROWS, columns: Sequence[str] | None = None, *, start: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, ``rows`` at a time; only the last batch may be shorter.

        Where batches end does not depend on how the file is laid out, so row ``i`` of batch ``b`` is always row
        ``start + b * rows + i`` of the table.

        Parameters
        ----------
        rows
            Rows in a batch.
        columns
            Names of the columns to read, in the order wanted; all by default.
        start
            The first row to read.
        """
        wanted = self.check_columns(self.names if columns is None else columns)
        return _regrouped(self._chunks(wanted, start, rows), rows)

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the table, or some of its columns, in memory.

        Parameters
        ----------
        columns
            Names of the columns to read, in the order wanted; all by default.
        """
        arrow = require("pyarrow", "io", "reading tables")
        wanted = self.check_columns(self.names if columns is None else columns)
        whole = self.schema
        schema = arrow.schema([whole.field(name) for name in wanted])
        return arrow.Table.from_batches(list(self.batches(columns=wanted)), schema=schema)

    def check_columns(self, columns: Iterable[str]) -> list[str]:
        """Return names of columns if the table has them all.

        Parameters
        ----------
        columns
            The names.
        """
        known = set(self.names)
        wanted = list(columns)
        for name in wanted:
            if name not in known:
                raise unknown_column(name, self.names, self.where)
        return wanted

    def __repr__(self) -> str:
        rows = "unknown" if self.n_rows is None else f"{self.n_rows:,}"
        return f"{type(self).__name__}({self.where!r}, {len(self.names)} columns, {rows} rows)"


class JoinedSource(Source):
    """Several tables with the same columns, one after the other.

    Parameters
    ----------
    where
        What to call them together.
    parts
        The tables, in order.
    """

    def __init__(self, where: str, parts: Sequence[Source]) -> None:
        first = parts[0]
        for part in parts[1:]:
            if sorted(part.names) != sorted(first.names):
                odd = sorted(set(first.names) ^ set(part.names))
                listed = ", ".join(repr(name) for name in odd[:5])
                raise TableError(
                    f"{first.where} and {part.where} have different columns: {listed} is in one of them only."
                )
        super().__init__(where, [path for part in parts for path in part.files], first.names)
        self._parts = list(parts)
        self._schema: Any = None

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns of text files as they are written, in all parts.

        Parameters
        ----------
        columns
            Their names.
        """
        wanted = list(columns)
        for part in self._parts:
            part.read_as_written(wanted)

    @property
    def n_rows(self) -> int | None:
        """The number of rows of all, or None until they had to be counted."""
        counts = [part.n_rows for part in self._parts]
        return sum(count for count in counts if count is not None) if None not in counts else None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns: the widest type of each."""
        if self._schema is None:
            arrow = require("pyarrow", "io", "reading tables")
            try:
                self._schema = arrow.unify_schemas(
                    [part.schema.remove_metadata() for part in self._parts], promote_options="permissive"
                )
            except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
                raise TableError(f"{self.where}: a column has another type in one of the files. {error}") from error
        return self._schema

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        arrow = require("pyarrow", "io", "reading tables")
        schema = arrow.schema([self.schema.field(name) for name in columns])
        for part in self._parts:
            # The schema is known by now, and with it the number of rows.
            count = part.n_rows or 0
            if start < count:
                for chunk in part._chunks(columns, start, rows):
                    yield chunk.cast(schema)
            start = max(0, start - count)


def skipped(chunks: Iterable[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
    """Yield chunks without their first ``start`` rows."""
    for chunk in chunks:
        if start < chunk.num_rows:
            yield chunk.slice(start)
        start = max(0, start - chunk.num_rows)


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
    arrow = require("pyarrow", "io", "reading tables")
    return arrow.Table.from_batches(filled).combine_chunks().to_batches()[0]
