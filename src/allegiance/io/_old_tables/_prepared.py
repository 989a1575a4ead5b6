"""A table of identifiers and numbers only, made from any table as it is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from allegiance._core import require

from ._features import Features
from ._source import Source, skipped

if TYPE_CHECKING:
    import pyarrow as pa


class PreparedSource(Source):
    r"""The features of a table, ready to be scored, and columns that are carried over.

    Parameters
    ----------
    source
        The table.
    features
        What :func:`plan_features` found in it.
    carried
        Columns to carry over.
    number
        Put a column first with the number of each row in the table; by default if nothing is carried over.

    Attributes
    ----------
    features
        As given.
    row_column
        The name of that column: ``row``, with underscores behind it if the table has such a column itself; None if rows
        are not numbered.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io._old_tables import PreparedSource, open_source, plan_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("x,colour\n1,red\n2,blue\n,red\n")
    ...     source = open_source(path)
    ...     features = plan_features(source, one_hot=["colour"], impute="drop")
    ...     prepared = PreparedSource(source, features).read().to_pydict()
    >>> prepared
    {'row': [0, 1], 'x': [1.0, 2.0], 'colour=blue': [0.0, 1.0], 'colour=red': [1.0, 0.0]}
    """

    def __init__(
        self, source: Source, features: Features, carried: Sequence[str] = (), *, number: bool | None = None
    ) -> None:
        self._source = source
        self.features = features
        self._carried = source.check_columns(carried)
        names = [*self._carried, *features.names]
        self.row_column = _free_name("row", names) if (number or (number is None and not self._carried)) else None
        super().__init__(source.where, source.files, names if self.row_column is None else [self.row_column, *names])

    @property
    def n_rows(self) -> int:
        """The number of rows that are left."""
        return self.features.noticed.n_rows - self.features.noticed.n_dropped

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        arrow = require("pyarrow", "io", "reading tables")
        whole = self._source.schema
        carried = [whole.field(name) for name in self._carried]
        if self.row_column is not None:
            carried = [arrow.field(self.row_column, arrow.int64()), *carried]
        kind = arrow.float32() if self.features.dtype == np.float32 else arrow.float64()
        return arrow.schema([*carried, *(arrow.field(name, kind) for name in self.features.names)])

    def _chunks(self, columns: list[str], start: int, rows: int) -> Iterator[pa.RecordBatch]:
        # Rows are counted after incomplete ones were left out, so that only reading tells which one is the first.
        first = start if self.features.noticed.n_dropped == 0 else 0
        chunks = self._prepared(columns, first, rows)
        yield from skipped(chunks, start - first)

    def _prepared(self, columns: list[str], first: int, rows: int) -> Iterator[pa.RecordBatch]:
        arrow = require("pyarrow", "io", "reading tables")
        positions = {name: column for column, name in enumerate(self.features.names)}
        needed = list(dict.fromkeys([*self.features.columns, *self._carried]))
        for batch in self._source.batches(rows, needed, start=first):
            matrix, kept = self.features.prepare(batch)
            numbers = np.flatnonzero(kept)
            arrays = []
            for name in columns:
                if name in positions:
                    arrays.append(arrow.array(np.ascontiguousarray(matrix[:, positions[name]])))
                elif name != self.row_column:
                    arrays.append(batch.column(name).take(arrow.array(numbers)))
                else:
                    arrays.append(arrow.array(first + numbers))
            first += batch.num_rows
            yield arrow.RecordBatch.from_arrays(arrays, names=columns)


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
