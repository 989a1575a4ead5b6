"""Columns of a table as the matrix of numbers that is clustered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, require
from allegiance.io import TableError

if TYPE_CHECKING:
    import pyarrow as pa


class Prepared(NamedTuple):
    """Rows ready to be clustered or scored."""

    matrix: FloatArray
    """(m, d) the numbers of the rows that are kept."""
    kept: BoolArray
    """(n,) which rows these are."""


class Scale(NamedTuple):
    """What is subtracted from features, and what they are then divided by."""

    mean: FloatArray
    deviation: FloatArray


@dataclass(frozen=True)
class Features:
    """Which columns become which numbers, and what stands in for missing values.

    Made by :func:`plan_features`; the same for every batch of a table and for other tables with its columns.

    Attributes
    ----------
    columns
        The columns of the table that are used.
    names
        (d,) the names of the columns of the matrix: those of the table, or ``column=value`` for categories.
    left_out
        Columns that were not named, and that look like the index of a frame.
    counting
        Columns of whole numbers, each one more than in the row before: identifiers, more likely than features.
    n_rows
        The rows of the table that was looked at.
    n_dropped
        How many of them are left out for a missing value.
    n_filled
        How many missing values get a substitute.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    left_out: tuple[str, ...]
    counting: tuple[str, ...]
    n_rows: int
    n_dropped: int
    n_filled: int
    _categories: dict[str, tuple[str, ...]] = field(repr=False)
    _substitutes: dict[str, Any] = field(repr=False)
    _single: bool = field(repr=False)
    _scale: Scale | None = field(default=None, repr=False)

    @property
    def dtype(self) -> Any:
        """float32 if all columns are, else float64."""
        return np.float32 if self._single and self._scale is None else np.float64

    def prepare(self, rows: pa.RecordBatch | pa.Table) -> Prepared:
        """Return the matrix of some rows.

        Parameters
        ----------
        rows
            A batch or table that has the columns.
        """
        kept = np.ones(rows.num_rows, dtype=bool)
        parts: list[AnyArray] = []
        for name in self.columns:
            column = rows.column(name)
            if name in self._categories:
                values = texts_of(column)
                missing = values == ""
                if name in self._substitutes:
                    values[missing] = self._substitutes[name]
                    missing[:] = False
                self._check_known(name, values[~missing])
                known: AnyArray = np.array(self._categories[name], dtype=object)
                parts.append((values[:, None] == known[None, :]).astype(np.float64))
            else:
                numbers = numbers_of(column)
                missing = np.isnan(numbers)
                if name in self._substitutes and missing.any():
                    numbers = np.where(missing, self._substitutes[name], numbers)
                    missing[:] = False
                parts.append(numbers[:, None])
            kept &= ~missing
        matrix: Any = np.hstack(parts, dtype=self.dtype, casting="same_kind")
        return Prepared(self.scaled(matrix if kept.all() else matrix[kept]), kept)

    def scaled(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix (m, d) of these features in the scale they are used in.

        Parameters
        ----------
        matrix
            The features in their own units.
        """
        return matrix if self._scale is None else (matrix - self._scale.mean) / self._scale.deviation

    def _check_known(self, name: str, values: AnyArray) -> None:
        unknown = set(values) - set(self._categories[name])
        if unknown:
            raise TableError(f"column {name!r} holds {min(unknown)!r}, a category that the data did not have.")


def numbers_of(column: Any) -> AnyArray:
    """Return a column as floating-point numbers, NaN where one is missing."""
    arrow = require("pyarrow", "io", "reading tables")
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    single = arrow.types.is_float32(column.type)
    values = column.cast(arrow.float32() if single else arrow.float64(), safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False))


def texts_of(column: Any) -> AnyArray:
    """Return a column as texts, empty where one is missing."""
    arrow = require("pyarrow", "io", "reading tables")
    return np.asarray(column.cast(arrow.string()).fill_null("").to_numpy(zero_copy_only=False), dtype=object)
