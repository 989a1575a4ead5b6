"""Parts of a table: one file or frame each, with its columns and its excluded rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from allegiance.drivers import Finding

from .files import TableError
from .values import plain_schema


class Part:
    """One file of a table, or a frame: its columns, and a function that reads rows.

    ``read(columns, start, rows)`` yields record batches of any size, preferably ``rows``, from the row ``start`` on.
    ``written`` is true for unparsed text, whose types come from the profile. ``keys`` holds the columns from folders
    such as year=2024, each with its value.
    """

    has_names = True
    #: The line of the first row in the file.
    first_line = 1
    keys: Mapping[str, str | None] = MappingProxyType({})
    #: Columns that describe observations and are not measurements.
    annotations: tuple[str, ...] = ()

    def __init__(
        self,
        where: str,
        format: str,
        schema: Any,
        n_rows: int | None,
        read: Callable[[list[str], int, int], Iterable[pa.RecordBatch]],
        *,
        written: bool = False,
    ) -> None:
        self.where, self.format, self.n_rows, self.written, self._read = where, format, n_rows, written, read
        self.files: tuple[str, ...] = () if format == "frame" else (where,)
        self.findings: list[Finding] = []
        self.excluded: set[int] = set()
        self.set_schema(schema)

    @classmethod
    def of(cls, where: str, table: Any, format: str = "frame", *, written: bool = False) -> Part:
        """Return a part in memory."""
        table = table if isinstance(table, pa.Table) else pa.Table.from_batches([table])
        return cls(
            *(where, format, table.schema, table.num_rows),
            lambda columns, start, rows: table.select(columns).slice(start).to_batches(max_chunksize=rows),
            written=written,
        )

    def set_schema(self, schema: Any) -> None:
        """Set the columns of the part, after checking their names."""
        self.schema = plain_schema(schema)
        try:
            self.names = list(self.schema.names)
        except UnicodeDecodeError as error:
            raise TableError(f"{self.where} is damaged: the name of a column is not UTF-8.") from error
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise TableError(f"{self.where} has several columns named {twice[0]!r}. Rename all but one.")
        if not self.names:
            raise TableError(f"{self.where} has no columns.")

    @property
    def n_kept(self) -> int | None:
        """The number of rows of the part without excluded ones; None if it is unknown."""
        return None if self.n_rows is None else self.n_rows - len(self.excluded)

    def raw_row(self, row: int) -> int:
        """Return the number of a row in the file of the part, excluded rows included."""
        for other in sorted(self.excluded):
            if other > row:
                break
            row += 1
        return row

    def lines_of(self, rows: list[int]) -> list[int]:
        """Return the lines of rows in the file of the part, counted from 1."""
        return [self.first_line + row for row in rows]

    def kept_chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the part from ``start`` on, in order, without excluded ones."""
        first = self.raw_row(start)
        excluded = np.array(sorted(self.excluded), dtype=np.int64)
        for chunk in self.chunks(columns, first, rows, first_pass):
            low, high = np.searchsorted(excluded, [first, first + chunk.num_rows])
            keep = np.ones(chunk.num_rows, dtype=bool)
            keep[excluded[low:high] - first] = False
            first += chunk.num_rows
            yield chunk if high == low else chunk.filter(pa.array(keep))

    def chunks(self, columns: list[str], start: int, rows: int, first_pass: bool) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the part from ``start`` on in chunks of any size, after validating every buffer."""
        try:
            for chunk in self._read(columns, start, rows):
                chunk.validate(full=True)
                yield chunk
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"{self.where} is damaged. {error}") from error


def drop_first_rows(chunks: Iterable[pa.RecordBatch], start: int) -> Iterator[pa.RecordBatch]:
    """Yield the chunks of a part without their first ``start`` rows."""
    for chunk in chunks:
        if start < chunk.num_rows:
            yield chunk.slice(start)
        start = max(0, start - chunk.num_rows)


def reading_finding(where: str, text: str, level: str = "note", remedy: str = "") -> Finding:
    """Return a finding on how a part of a table was read."""
    return Finding("reading", (), f"{where}: {text}", remedy, level)
