"""What one reading of the columns of a table finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, FloatArray
from allegiance.io import TableError

from ._readings import Readings, column_values

if TYPE_CHECKING:
    import pyarrow as pa

#: A column with more distinct values than this is an identifier or free text, not a category.
_MOST_CATEGORIES = 1_000
#: Values of a column kept to find its median: all up to this many, beyond it every second, fourth, ...
_MOST_VALUES = 1_000_000
#: Numbers that people put where there is none.
_SENTINELS = np.array([-9, -99, -999, -9999, -99999, 99, 999, 9999, 99999], dtype=float)
#: A sentinel is worth a word if this share of the values, and more than one, are equal to it.
_NOTABLE = 0.001


class LookedAt:
    """Missing values, categories, medians, spread, and what looks odd, column by column.

    Parameters
    ----------
    where
        What to call the table.
    readings
        How the columns are read.
    medians
        Whether to find medians, for which values are kept.
    known
        The categories of a model, if there is one: then only others are counted.
    """

    def __init__(
        self,
        where: str,
        readings: Readings,
        *,
        medians: bool,
        known: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.where = where
        self.rows = 0
        self.complete = 0
        self._readings = readings
        self._known = None if known is None else {name: set(values) for name, values in known.items()}
        categories = [name for name, reading in readings.items() if reading.holds == "categories"]
        self.numbers = {name: NumberColumn(medians) for name in readings if name not in categories}
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in categories}
        self.missing = dict.fromkeys(readings, 0)

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at some more rows."""
        complete = np.ones(batch.num_rows, dtype=bool)
        for name, reading in self._readings.items():
            try:
                values = reading.read(column_values(batch.column(name), reading, name), name)
            except ValueError as error:
                raise error if isinstance(error, TableError) else TableError(f"{self.where}: {error}") from error
            if name in self.counts:
                missing = values == ""
                self._count(name, values[~missing])
            else:
                missing = np.isnan(values)
                self.numbers[name].add(values, missing)
            self.missing[name] += int(missing.sum())
            complete &= ~missing
        self.rows += batch.num_rows
        self.complete += int(complete.sum())

    def _count(self, name: str, texts: AnyArray) -> None:
        counts = self.counts[name]
        if self._known is not None:
            counts.update(text for text in texts.tolist() if text not in self._known[name])
            self.counts[name] = Counter(dict(counts.most_common(_MOST_CATEGORIES)))
            return
        counts.update(texts.tolist())
        if len(counts) > _MOST_CATEGORIES:
            raise TableError(
                f"{self.where}: column {name!r} has more than {_MOST_CATEGORIES:,} distinct values, too many to "
                "encode.",
                "many-categories",
            )

    def check(self, impute: str | None) -> None:
        """Raise for what stands in the way: no rows, infinite values, missing ones that nothing is done about.

        Parameters
        ----------
        impute
            What is done about missing values.
        """
        planned = self._known is not None
        if self.rows == 0:
            raise TableError(f"{self.where} has a header, but no rows.")
        infinite = {name: column.infinite for name, column in self.numbers.items() if column.infinite}
        if infinite:
            raise TableError(f"{self.where} has infinite values in {_listed(infinite)}.")
        missing = {name: count for name, count in self.missing.items() if count}
        if missing and impute is None:
            total = sum(missing.values())
            remedy = "missing-for-model" if planned else "missing-values"
            raise TableError(f"{self.where} has {_values(total)} missing: {_listed(missing)}.", remedy)
        empty = [name for name, count in missing.items() if count == self.rows]
        if empty and not planned:
            raise TableError(f"{self.where}: column {empty[0]!r} has no values at all.", "no-values")
        if impute == "drop" and self.complete == 0:
            remedy = "missing-for-model" if planned else "no-complete-row"
            raise TableError(f"{self.where} has no row without a missing value.", remedy)

    def typical(self) -> dict[str, Any]:
        """Return what stands for each column: its median, or its most frequent category, of several the first."""
        numbers = {name: column.median() for name, column in self.numbers.items()}
        return numbers | {
            name: min(counts, key=lambda text: (-counts[text], text)) for name, counts in self.counts.items()
        }

    def unknown(self) -> dict[str, dict[str, int]]:
        """Return how often each category occurs that a model does not know, by column, the most frequent first."""
        return {name: dict(counts.most_common()) for name, counts in self.counts.items() if counts}

    def counting(self) -> tuple[str, ...]:
        """Return the columns of whole numbers, each one more than in the row before."""
        found = [name for name, column in self.numbers.items() if column.last is not None and self.rows > 2]
        return tuple(name for name in found if self._readings[name].holds != "dates")

    def sentinels(self) -> dict[str, tuple[float, float]]:
        """Return numbers that may mean a missing value, with their share of the values, by column."""
        found = {name: column.sentinel() for name, column in self.numbers.items()}
        return {name: notable for name, notable in found.items() if notable is not None}

    def dominant(self) -> tuple[str, float] | None:
        """Return the column with most of the variance, with its share; None if there is no variance."""
        variance = {name: column.squares / max(column.seen, 1) for name, column in self.numbers.items()}
        for name, counts in self.counts.items():
            shares = np.array(list(counts.values())) / max(sum(counts.values()), 1)
            variance[name] = float((shares * (1 - shares)).sum())
        total = sum(variance.values())
        name = max(variance, key=variance.__getitem__)
        return (name, variance[name] / total) if total > 0 and np.isfinite(total) else None


class NumberColumn:
    """The numbers of one column, as they go by.

    Parameters
    ----------
    keeps
        Whether to keep values for the median.
    """

    def __init__(self, keeps: bool) -> None:
        self.infinite = 0
        self.seen = 0
        self.squares = 0.0
        #: The last value if the column has counted up by one so far; None once it did not.
        self.last: float | None = np.nan
        self._mean = 0.0
        self._values = ThinnedValues() if keeps else None
        self._first = np.nan
        self._sentinels = np.zeros(_SENTINELS.size, dtype=np.int64)
        self._low, self._high = np.inf, -np.inf

    def add(self, numbers: FloatArray, missing: AnyArray) -> None:
        """Look at some more values, of which some are missing."""
        self.last = _counted(self.last, numbers)
        values = np.asarray(numbers[~missing] if missing.any() else numbers, dtype=np.float64)
        self.infinite += int(np.isinf(values).sum())
        if self.infinite or not values.size:
            return
        if self._values is not None:
            self._values.add(values)
        elif np.isnan(self._first):
            self._first = float(values[0])
        self._spread(values)
        odd = np.isin(values, _SENTINELS)
        if odd.any():
            self._sentinels += (values[odd, None] == _SENTINELS).sum(axis=0)
            values = values[~odd]
        if values.size:
            self._low, self._high = min(self._low, float(values.min())), max(self._high, float(values.max()))

    def _spread(self, values: FloatArray) -> None:
        n, m = self.seen, values.size
        with np.errstate(over="ignore"):
            # Sums of squares about the means of two sets combine to that of both without cancellation.
            own = float(values.mean())
            self.squares += float(((values - own) ** 2).sum()) + (own - self._mean) ** 2 * (n * m / (n + m))
            self._mean += (own - self._mean) * (m / (n + m))
        self.seen = n + m

    def median(self) -> float:
        """Return the median, or any value where none is asked for."""
        return self._first if self._values is None else self._values.median()

    def sentinel(self) -> tuple[float, float] | None:
        """Return a number that stands apart from all others as one does that means a missing value, and its share."""
        width = self._high - self._low
        for value, count in zip(_SENTINELS.tolist(), self._sentinels.tolist(), strict=True):
            below, above = self._low - value, value - self._high
            apart = (below > 0 and (below > width or self._low >= 0)) or above > max(width, 0)
            alone = np.isfinite(width) and (self._sentinels > 0).sum() == 1
            if alone and apart and count > 1 and count >= _NOTABLE * self.seen:
                return value, count / self.seen
        return None


class ThinnedValues:
    """The values of a column, thinned out evenly when they become too many for memory."""

    def __init__(self) -> None:
        self._kept: list[AnyArray] = []
        self._size = 0
        self._step = 1
        self._seen = 0

    def add(self, values: AnyArray) -> None:
        """Keep some more values."""
        first = -self._seen % self._step
        self._seen += values.size
        self._kept.append(values[first :: self._step])
        self._size += self._kept[-1].size
        while self._size > _MOST_VALUES:
            self._kept = [np.concatenate(self._kept)[::2]]
            self._size = self._kept[0].size
            self._step *= 2

    def median(self) -> float:
        """Return the median of those kept; NaN if there are none."""
        return float(np.median(np.concatenate(self._kept))) if self._size else np.nan


def _counted(last: float | None, numbers: AnyArray) -> float | None:
    """Return the last number if all are one more than the number before, whole, and go on from ``last``."""
    if last is None or not (np.diff(numbers) == 1).all() or numbers[0] != np.floor(numbers[0]):
        return None
    return float(numbers[-1]) if np.isnan(last) or numbers[0] == last + 1 else None


def _values(count: int) -> str:
    return f"{count:,} value{'' if count == 1 else 's'}"


def _listed(counts: dict[str, int]) -> str:
    worst = sorted(counts.items(), key=lambda item: -item[1])
    more = f" and {len(worst) - 10} more columns" if len(worst) > 10 else ""
    return ", ".join(f"{name} ({count:,})" for name, count in worst[:10]) + more
