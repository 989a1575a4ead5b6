"""Columns of a table as the matrix of numbers that is clustered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core import BoolArray, FloatArray, require
from allegiance.io import TableError

from ._readings import Reading, Readings, column_values, text_values

if TYPE_CHECKING:
    import pyarrow as pa

IMPUTATIONS = ("median", "drop")


class Prepared(NamedTuple):
    """Rows ready to be clustered or scored."""

    matrix: FloatArray
    """(m, d) the numbers of the rows that are kept."""
    kept: BoolArray
    """(n,) which rows these are."""


@dataclass(frozen=True)
class Noticed:
    """What a reading of a table found that its user may want to know.

    Attributes
    ----------
    n_rows
        The rows of the table that was looked at.
    n_dropped
        How many of them are left out for a missing value.
    n_filled
        How many missing values get a substitute.
    left_out
        Columns that were not named, and that look like the index of a frame.
    counting
        Columns of whole numbers, each one more than in the row before: identifiers, more likely than features.
    dates
        Columns of dates, which become days.
    sentinels
        By column, a number that may mean a missing value, and its share of the values.
    dominant
        The column with most of the variance, and its share; None if all are scaled.
    ambiguous
        By column, a text that is another number with another decimal mark.
    unknown
        By column, categories that the model does not know, and how many rows have them.
    ignored
        Columns that the model does not know.
    """

    n_rows: int = 0
    n_dropped: int = 0
    n_filled: int = 0
    left_out: tuple[str, ...] = ()
    counting: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    sentinels: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    dominant: tuple[str, float] | None = None
    ambiguous: Mapping[str, str] = field(default_factory=dict)
    unknown: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Features:
    """Which columns become which numbers, and what stands in for missing values.

    Made by :func:`plan_features`; the same for every batch of a table and for other tables with its columns.

    Attributes
    ----------
    readings
        How each column that is used is read.
    preparation
        A fitted pipeline of scikit-learn, of which ``transform`` turns a frame with these columns into the matrix.
    impute
        What happens to missing values; see :func:`plan_features`.
    single
        Whether the matrix is in single precision, as all columns of the table were.
    noticed
        What was found in the table that was looked at.
    """

    readings: Readings
    preparation: Any = field(repr=False)
    impute: str | None
    single: bool
    noticed: Noticed = field(default_factory=Noticed, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are used."""
        return tuple(self.readings)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(d,) the names of the columns of the matrix: those of the table, or ``column=value`` for categories."""
        return tuple(str(name) for name in self.preparation.get_feature_names_out())

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The categories of each column that holds some."""
        found: dict[str, tuple[str, ...]] = {}
        for _, part, members in self.preparation.named_steps["columns"].transformers_:
            if hasattr(part, "named_steps") and "encode" in part.named_steps:
                known = part.named_steps["encode"].categories_
                found |= {name: tuple(values) for name, values in zip(members, known, strict=True)}
        return found

    @property
    def dtype(self) -> Any:
        """The precision of the matrix."""
        return np.float32 if self.single else np.float64

    def prepare(self, rows: pa.RecordBatch | pa.Table) -> Prepared:
        """Return the matrix of some rows; those without a value that nothing stands in for are left out.

        Parameters
        ----------
        rows
            A batch or table that has the columns.
        """
        frame = self.frame(rows)
        try:
            matrix = self.preparation.transform(frame)
        except ValueError as error:
            raise TableError(str(error)) from error
        if self.impute == "median":
            return Prepared(matrix, np.ones(rows.num_rows, dtype=bool))
        kept = ~np.isnan(matrix).any(axis=1)
        for name, reading in self.readings.items():
            if reading.holds == "categories":
                kept &= reading.read(frame[name].to_numpy(), name) != ""
        return Prepared(matrix if kept.all() else matrix[kept], kept)

    def frame(self, rows: pa.RecordBatch | pa.Table) -> Any:
        """Return some rows as the frame that the transformers take: numbers, times and texts.

        Parameters
        ----------
        rows
            A batch or table that has the columns.
        """
        frames = require("pandas", "io", "preparing tables")
        columns = {}
        for name, reading in self.readings.items():
            values = column_values(rows.column(name), reading, name)
            kind = values.dtype
            if kind.kind == "f":
                kind = np.dtype(self.dtype)
            columns[name] = frames.Series(values, dtype=kind, copy=False)
        return frames.DataFrame(columns)

    def scaled(self, matrix: FloatArray) -> FloatArray:
        """Return a matrix (m, d) of these features in the scale they are used in.

        Parameters
        ----------
        matrix
            The features in their own units.
        """
        scaler = self.preparation.named_steps.get("scale")
        return matrix if scaler is None else scaler.transform(matrix)

    def to_json(self) -> dict[str, Any]:
        """Return all but the transformers as JSON knows it."""
        readings = [{"column": name, **reading.to_json()} for name, reading in self.readings.items()]
        return {"columns": readings, "impute": self.impute, "single": self.single}

    @classmethod
    def from_json(cls, values: dict[str, Any], preparation: Any) -> Features:
        """Return what :meth:`to_json` described, with the transformers that belong to it."""
        readings = {str(entry["column"]): Reading.from_json(entry) for entry in values["columns"]}
        return cls(Readings(readings), preparation, values["impute"], bool(values["single"]))


def check_categories(features: Features, rows: Any, where: str) -> None:
    """Raise if a table holds a category that is not known, where it would be nothing at all."""
    for name, known in features.categories.items():
        values = features.readings[name].read(text_values(rows.column(name)), name)
        unknown = set(values) - {*known, ""}
        if unknown:
            raise TableError(f"{where}: column {name!r} holds {min(unknown)!r}, a category that the data did not have.")
