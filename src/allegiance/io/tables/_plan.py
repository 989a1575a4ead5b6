"""Which columns of a table are features, and what must be known of them before the first row is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.io import TableError

from ._features import Features, Scale, numbers_of, texts_of
from ._source import Source

if TYPE_CHECKING:
    import pyarrow as pa

IMPUTATIONS = ("median", "drop")
CATEGORICAL = ("one-hot", "drop")
#: A column with more distinct values than this is an identifier or free text, not a category.
_MOST_CATEGORIES = 1_000
#: Values of a column kept to find its median: all up to this many, beyond it every second, fourth, ...
_MOST_VALUES = 1_000_000
#: Names of columns that frame libraries add by themselves.
_INDEX_NAMES = ("", "__index_level_0__")


def plan_features(
    source: Source,
    *,
    features: Sequence[str] = (),
    drop: Sequence[str] = (),
    apart: Sequence[str] = (),
    one_hot: Sequence[str] = (),
    categorical: str | None = None,
    impute: str | None = None,
    standardize: bool = False,
) -> Features:
    r"""Decide which columns of a table are features, reading it once, or twice to standardize.

    Parameters
    ----------
    source
        The table.
    features
        The columns to use; by default all but those of ``drop`` and ``apart``, and columns without a name.
    drop
        Columns to leave out.
    apart
        Columns that are something else than features, such as identifiers and labels.
    one_hot
        Columns whose distinct values become one column of zeros and ones each.
    categorical
        What happens to other columns that are not numbers: None, an error; "one-hot", those of text are encoded as
        well; "drop", all are left out.
    impute
        What happens to missing values: None, an error; "median", the median of the column, or for categories the most
        frequent one, stands in; "drop", the row is left out.
    standardize
        Give every feature mean 0 and variance 1.

    Returns
    -------
    Features
        To be applied to each batch.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from allegiance.io.tables import open_source, plan_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "points.csv"
    ...     _ = path.write_text("id,x,colour\n7,1.5,red\n8,,blue\n")
    ...     source = open_source(path)
    ...     plan = plan_features(source, apart=["id"], one_hot=["colour"], impute="median")
    ...     print(plan.names)
    ...     print(plan.prepare(source.read()).matrix)
    ('x', 'colour=blue', 'colour=red')
    [[1.5 0.  1. ]
     [1.5 1.  0. ]]
    """
    if impute is not None and impute not in IMPUTATIONS:
        raise TableError(f"impute must be median or drop, got {impute!r}.")
    if categorical is not None and categorical not in CATEGORICAL:
        raise TableError(f"categorical must be one-hot or drop, got {categorical!r}.")
    columns, left_out = _chosen(source, features, drop, [*apart], one_hot)
    columns, encoded = _numeric(source, columns, one_hot, categorical)
    looked_at = _LookedAt(source.where, columns, encoded, impute)
    for batch in source.batches(columns=columns):
        looked_at.add(batch)
    found = looked_at.features(left_out, _is_single(source.schema, columns, encoded))
    return replace(found, _scale=_scale_of(source, found)) if standardize else found


def _chosen(
    source: Source, features: Sequence[str], drop: Sequence[str], apart: list[str], one_hot: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the columns to use, and those left out without being asked."""
    source.check_columns([*features, *drop, *apart, *one_hot])
    excluded = {*drop, *apart}
    both = [name for name in dict.fromkeys([*features, *one_hot]) if name in excluded]
    if both:
        raise TableError(f"column {both[0]!r} cannot be a feature and be dropped, an identifier or labels as well.")
    if features:
        return list(dict.fromkeys([*features, *one_hot])), ()
    named = set(one_hot)
    left_out = tuple(name for name in source.names if name in _INDEX_NAMES and name not in excluded | named)
    columns = [name for name in source.names if name not in excluded and name not in left_out]
    if not columns:
        raise TableError(f"{source.where} has no column left to be a feature.")
    return columns, left_out


def _numeric(
    source: Source, columns: list[str], one_hot: Sequence[str], categorical: str | None
) -> tuple[list[str], set[str]]:
    """Return the columns that can be numbers, and which of them by encoding; raise for others."""
    types = require("pyarrow", "io", "reading tables").types
    schema = source.schema
    kinds = {name: schema.field(name).type for name in columns}
    text = [name for name, kind in kinds.items() if _is_text(types, kind)]
    encoded = {*one_hot, *(text if categorical == "one-hot" else ())}
    unusable = [name for name, kind in kinds.items() if name not in encoded and not _is_number(types, kind)]
    if categorical == "drop":
        columns = [name for name in columns if name not in unusable]
        if not columns:
            raise TableError(f"{source.where} has no column of numbers.")
    elif unusable:
        listed = ", ".join(f"{name!r} ({kinds[name]})" for name in unusable)
        plural = "columns are not numbers" if len(unusable) > 1 else "column is not a number"
        raise TableError(
            f"{source.where}: {len(unusable)} {plural}: {listed}.",
            "not-numbers",
        )
    return columns, encoded


def _scale_of(source: Source, features: Features) -> Scale:
    """Return the means and standard deviations of all rows, in one pass; constant features are only centred."""
    n = 0
    mean = np.zeros(len(features.names))
    squares = np.zeros(len(features.names))
    for batch in source.batches(columns=features.columns):
        matrix = features.prepare(batch).matrix.astype(np.float64)
        m = matrix.shape[0]
        if m:
            # Sums of squares about the means of two sets combine to that of both without cancellation.
            own = matrix.mean(axis=0)
            squares += ((matrix - own) ** 2).sum(axis=0) + (own - mean) ** 2 * (n * m / (n + m))
            mean += (own - mean) * (m / (n + m))
            n += m
    deviation = np.sqrt(squares / n)
    return Scale(mean, np.where(deviation == 0, 1.0, deviation))


class _LookedAt:
    """What one reading of the columns finds: how many values are missing, the categories, the medians."""

    def __init__(self, where: str, columns: list[str], encoded: set[str], impute: str | None) -> None:
        self._where = where
        self._columns = columns
        self._impute = impute
        self._rows = 0
        self._complete = 0
        self._missing = dict.fromkeys(columns, 0)
        self._infinite = dict.fromkeys(columns, 0)
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in columns if name in encoded}
        #: The last value of each column that has counted up by one so far; None once it did not.
        self._last: dict[str, float | None] = dict.fromkeys((name for name in columns if name not in encoded), np.nan)
        self._values = {name: _ThinnedValues() for name in columns if name not in encoded and impute == "median"}

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at some more rows."""
        complete = np.ones(batch.num_rows, dtype=bool)
        for name in self._columns:
            if name in self._counts:
                texts = texts_of(batch.column(name))
                missing = texts == ""
                self._count(name, texts[~missing])
            else:
                numbers = numbers_of(batch.column(name))
                missing = np.isnan(numbers)
                self._infinite[name] += int(np.isinf(numbers).sum())
                self._last[name] = _counted(self._last[name], numbers)
                if name in self._values:
                    self._values[name].add(numbers[~missing])
            self._missing[name] += int(missing.sum())
            complete &= ~missing
        self._rows += batch.num_rows
        self._complete += int(complete.sum())

    def _count(self, name: str, texts: AnyArray) -> None:
        self._counts[name].update(texts.tolist())
        if len(self._counts[name]) > _MOST_CATEGORIES:
            raise TableError(
                f"{self._where}: column {name!r} has more than {_MOST_CATEGORIES:,} distinct values, too many to "
                "encode.",
                "many-categories",
            )

    def features(self, left_out: tuple[str, ...], single: bool) -> Features:
        """Return what was found, or raise for what was not expected."""
        self._check()
        categories = {name: tuple(sorted(counts)) for name, counts in self._counts.items()}
        substitutes: dict[str, Any] = {}
        if self._impute == "median":
            substitutes = {name: values.median() for name, values in self._values.items()}
            substitutes |= {name: counts.most_common(1)[0][0] for name, counts in self._counts.items()}
        names = [
            feature
            for name in self._columns
            for feature in ([f"{name}={value}" for value in categories[name]] if name in categories else [name])
        ]
        return Features(
            columns=tuple(self._columns),
            names=tuple(names),
            left_out=left_out,
            counting=tuple(name for name, last in self._last.items() if last is not None and self._rows > 2),
            n_rows=self._rows,
            n_dropped=self._rows - self._complete if self._impute == "drop" else 0,
            n_filled=sum(self._missing.values()) if self._impute == "median" else 0,
            _categories=categories,
            _substitutes=substitutes,
            _single=single,
        )

    def _check(self) -> None:
        if self._rows == 0:
            raise TableError(f"{self._where} has a header, but no rows.")
        infinite = {name: count for name, count in self._infinite.items() if count}
        if infinite:
            raise TableError(f"{self._where} has infinite values in {_listed(infinite)}.")
        missing = {name: count for name, count in self._missing.items() if count}
        if missing and self._impute is None:
            total = sum(missing.values())
            raise TableError(f"{self._where} has {_values(total)} missing: {_listed(missing)}.", "missing-values")
        empty = [name for name, count in missing.items() if count == self._rows]
        if empty:
            raise TableError(f"{self._where}: column {empty[0]!r} has no values at all.", "no-values")
        if self._impute == "drop" and self._complete == 0:
            raise TableError(f"{self._where} has no row without a missing value.", "no-complete-row")


class _ThinnedValues:
    """The values of a column, thinned out evenly when they become too many for memory."""

    def __init__(self) -> None:
        self._kept: list[AnyArray] = []
        self._size = 0
        self._step = 1
        self._seen = 0

    def add(self, values: AnyArray) -> None:
        first = -self._seen % self._step
        self._seen += values.size
        self._kept.append(values[first :: self._step])
        self._size += self._kept[-1].size
        while self._size > _MOST_VALUES:
            self._kept = [np.concatenate(self._kept)[::2]]
            self._size = self._kept[0].size
            self._step *= 2

    def median(self) -> float:
        return float(np.median(np.concatenate(self._kept)))


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


def _is_text(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_number(types: Any, kind: Any) -> bool:
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def _is_single(schema: Any, columns: list[str], encoded: set[str]) -> bool:
    """Return whether all columns are in single precision, so that the matrix may be."""
    types = require("pyarrow", "io", "reading tables").types
    return not encoded and all(types.is_float32(schema.field(name).type) for name in columns)
