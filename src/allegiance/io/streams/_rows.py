"""Batches of a table as rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.io._old_tables import Source, TableError, labels_of_column, number_values, open_source


def as_source(source: Any, columns: Sequence[str], text: Sequence[str] = ()) -> Source:
    """Return a table that has ``columns``, from a :class:`Source` or anything :func:`open_source` takes.

    These columns hold names, not measurements: ``text`` stay as they are written, others if they tell more apart then.
    """
    if not isinstance(source, Source):
        return open_source(source, columns=columns, text=text, codes=columns)
    source.check_columns(columns)
    return source


def feature_columns(source: Source, columns: Sequence[str] | None, others: Sequence[str]) -> list[str]:
    """Return the columns to use as features: those named, or all but ``others``."""
    if columns is not None:
        return source.check_columns(columns)
    return [name for name in source.names if name not in others]


def matrix_of(batch: Any, columns: Sequence[str], first: int, where: str) -> AnyArray:
    """Return columns of a record batch as a matrix (m, d), in single precision if all of them are.

    ``first`` is the number of its first row in the table ``where``, for messages.
    """
    parts = []
    for name in columns:
        try:
            numbers = number_values(batch.column(name))
        except (ValueError, TypeError, NotImplementedError) as error:
            raise TableError(f"column {name!r} of {where} does not hold numbers: leave it out. {error}") from error
        if np.isnan(numbers).any():
            row = first + int(np.isnan(numbers).argmax())
            raise TableError(f"column {name!r} of {where} has no number in row {row}: fill or drop such rows first.")
        parts.append(numbers)
    return np.column_stack(parts)


def frame_of(batch: Any, columns: Sequence[str]) -> Any:
    """Return columns of a record batch as a pandas frame, for transformers that were fitted to a frame."""
    arrow = require("pyarrow", "io", "score_stream")
    require("pandas", "pandas", "a stream through transformers that know columns by name")
    return arrow.Table.from_batches([batch.select(list(columns))]).to_pandas()


def labels_in(batch: Any, column: str, first: int, where: str) -> AnyArray:
    """Return a column of labels of a record batch as an array (m,); ``first`` and ``where`` as in :func:`matrix_of`."""
    return labels_of_column(batch.column(column), column, where, first)


def matrices(source: Source, columns: Sequence[str], labels: str | None, rows: int) -> Iterator[tuple[AnyArray, Any]]:
    """Yield the features (m, d) of ``rows`` rows at a time, with the values (m,) of a column of labels, or None."""
    first = 0
    for batch in source.batches(rows, list(columns) if labels is None else [*columns, labels]):
        values = None if labels is None else labels_in(batch, labels, first, source.where)
        yield matrix_of(batch, columns, first, source.where), values
        first += batch.num_rows
