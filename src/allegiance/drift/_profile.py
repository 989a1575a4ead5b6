"""The profile of a period: counts by cluster, moments and quantiles of features. Profiles of its parts add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from allegiance._core.stored import Array, OrNone, Part, Sizes, floats, stored
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, Rows, dense, is_sparse
from allegiance.calibration import RowSample
from allegiance.fitting import Fitted
from allegiance.influence import Kernel
from allegiance.results import ATYPICAL, AffinityResult, Distances

#: Columns of the counts.
POINTS, N_ATYPICAL = range(2)
#: Most features that are compared one by one.
_MOST_FEATURES = 1000
#: Rows of a period whose values are kept while it is read: of all points, and of atypical ones.
_VALUES, _STRANGE = 4096, 1024
#: Levels of the quantiles that are kept of each feature.
LEVELS = np.linspace(0.0, 1.0, 129)
#: Relative differences up to this are rounding, that of float32 included.
ROUNDING = 1e-7
#: What a profile is called among the parts of a fitted object.
_BASELINE = "baseline"


@stored("moments", count=floats("g", "d", low=0.0), mean=floats("g", "d"), squares=floats("g", "d", low=0.0))
@dataclass(frozen=True, eq=False)
class Moments:
    """Counts, means and sums of squared deviations, each (g, d), of d features in g groups; NaN is left out."""

    count: FloatArray
    mean: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, features: Rows, groups: IntArray, n_groups: int) -> Moments:
        """Take features (n, d), dense or sparse, of points in these groups (n,)."""
        n = groups.size
        member = sp.csr_array((np.ones(n), groups, np.arange(n + 1)), shape=(n, n_groups)).T
        if is_sparse(features):
            count = np.repeat(np.bincount(groups, minlength=n_groups)[:, None], features.shape[1], axis=1).astype(float)
            mean = dense(member @ features) / np.maximum(count, 1.0)
            squares = dense(member @ features.multiply(features)) - count * mean**2
            return cls(count, mean, np.maximum(squares, 0.0))
        known = ~np.isnan(features)
        values = np.where(known, features, 0.0).astype(np.float64, copy=False)
        count = member @ known.astype(np.float64)
        mean = (member @ values) / np.maximum(count, 1.0)
        deviations = np.where(known, values - mean[groups], 0.0)
        return cls(count, mean, member @ deviations**2)

    @classmethod
    def merged(cls, parts: Sequence[Moments]) -> Moments:
        """Return the moments of the points of all parts, group by group."""
        count, mean, squares = (
            np.stack([getattr(part, name) for part in parts]) for name in ("count", "mean", "squares")
        )
        total = count.sum(axis=0)
        joint = (count * mean).sum(axis=0) / np.maximum(total, 1.0)
        return cls(total, joint, (squares + count * (mean - joint) ** 2).sum(axis=0))

    def rows(self, chosen: slice) -> Moments:
        """Return the moments of some groups."""
        return Moments(self.count[chosen], self.mean[chosen], self.squares[chosen])

    @property
    def variance(self) -> FloatArray:
        """(g, d) variances, 0 where there are fewer than two values."""
        return self.squares / np.maximum(self.count - 1.0, 1.0)


def _two_groups(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless there are moments of two groups for each cluster and for noise."""
    if parts["moments"] is not None and len(parts["moments"]["count"]) != 2 * (sizes["k"] + 1):
        raise ValueError("moments must be those of two groups for each cluster.")


@stored(
    "profile",
    _two_groups,
    names=Array(("d",), "label"),
    counts=Array(("k+1", 2), "int", low=0),
    moments=OrNone(Part("moments", d="d")),
    quantiles=OrNone(floats(len(LEVELS), "d")),
    n_values=OrNone(Array(("d",), "int", low=0)),
)
@dataclass(frozen=True, eq=False)
class Profile:
    """What is kept of a period. Profiles of its parts add up: ``profile.plus(other)``.

    Attributes
    ----------
    names
        (d,) names of the features.
    counts
        (k + 1, 2) points and atypical points of each cluster; the last row is noise.
    moments
        Of the features in 2 (k + 1) groups: of each cluster the typical points, then the atypical ones. None if there
        are more than 1,000 features.
    quantiles, n_values
        (129, d) quantiles of each feature, and (d,) how many values they come from: set by :meth:`without_rows`.
    values, strange
        Samples of the rows and of the atypical rows, whose codes are groups and clusters. They are not saved.
    """

    names: AnyArray
    counts: IntArray
    moments: Moments | None
    quantiles: FloatArray | None = None
    n_values: IntArray | None = None
    values: RowSample | None = field(default=None, repr=False)
    strange: RowSample | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, codes: IntArray, atypical: BoolArray, k: int, features: Rows, names: Any, *, seed: int, start: int = 0
    ) -> Profile:
        """Take points with cluster numbers (n,), -1 for noise, and features (n, d); ``start`` numbers the first."""
        cluster = np.where(codes < 0, k, codes)
        flags = (np.ones(codes.size, dtype=bool), atypical)
        counts = np.stack([np.bincount(cluster[flag], minlength=k + 1) for flag in flags], axis=1)
        if features.shape[1] > _MOST_FEATURES:
            return cls(np.array([], dtype=object), counts, None)
        group = 2 * cluster + atypical
        return cls(
            np.array(names, dtype=object),
            counts,
            Moments.of(features, group, 2 * (k + 1)),
            values=RowSample.of(features, group, limit=_VALUES, seed=seed, start=start),
            strange=RowSample.of(features, np.where(atypical, codes, -1), limit=_STRANGE, seed=seed, start=start),
        )

    def plus(self, other: Profile) -> Profile:
        """Return the profile of both sets of points, which must not overlap."""
        moments = values = strange = None
        if self.moments is not None and other.moments is not None:
            moments = Moments.merged([self.moments, other.moments])
        if self.values is not None and other.values is not None:
            values = self.values.plus(other.values)
        if self.strange is not None and other.strange is not None:
            strange = self.strange.plus(other.strange)
        return Profile(self.names, self.counts + other.counts, moments, values=values, strange=strange)

    def without_rows(self) -> Profile:
        """Return the same with quantiles instead of samples of rows: this is what is saved."""
        if self.values is None:
            return self
        values = dense(self.values.rows).astype(np.float64, copy=False)
        n_values = (~np.isnan(values)).sum(axis=0)
        quantiles = np.nanquantile(np.where(n_values > 0, values, 0.0), LEVELS, axis=0)
        return replace(self, quantiles=quantiles, n_values=n_values, values=None, strange=None)

    @property
    def n_points(self) -> int:
        """The number of points, noise included."""
        return int(self.counts[:, POINTS].sum())

    def by_cluster(self, *, typical: bool = False) -> Moments:
        """Return the moments (k + 1, d) of the members of each cluster, or of the typical ones only."""
        assert self.moments is not None
        parts = [self.moments.rows(slice(0, None, 2)), self.moments.rows(slice(1, None, 2))]
        return parts[0] if typical else Moments.merged(parts)

    def spread(self) -> FloatArray:
        """Return the usual standard deviation (d,) of each feature inside a cluster; that of all where it is 0."""
        assert self.moments is not None
        inside = self.by_cluster(typical=True)
        freedom = np.maximum(inside.count - 1.0, 0.0).sum(axis=0)
        pooled = np.sqrt(inside.squares.sum(axis=0) / np.maximum(freedom, 1.0))
        every = self.by_cluster()
        whole = Moments.merged([every.rows(slice(i, i + 1)) for i in range(every.count.shape[0])])
        return np.where(pooled > ROUNDING * np.abs(whole.mean[0]), pooled, np.sqrt(whole.variance[0]))


def profile_rows(
    fitted: Fitted,
    X: Any,
    *,
    result: AffinityResult | None = None,
    features: Rows | None = None,
    names: Sequence[str] | None = None,
    start: int = 0,
) -> Profile:
    """Return the profile of rows: one period, or a part of it that is added to others.

    Parameters
    ----------
    fitted
        What labels new points: ``scorer.fitted_``.
    X
        (n, d) the rows. They pass the transformers of the scorer once.
    result
        Their scores, if they are known: then X does not pass the transformers at all where ``features`` are given.
    features, names
        (n, d) and (d,) what periods are compared by; by default the numbers of X, in their own units.
    start
        The number of the first row in the whole period.
    """
    _check_comparable(fitted)
    columns, baseline = fitted.columns, baseline_of(fitted)
    prepared = None
    if result is None:
        prepared = columns.check(X)
        codes, typicality = _typicality(fitted.without_preprocessing(), prepared)
    else:
        codes, typicality = result.codes, result.typicality
    if features is None:
        known = columns.known_names
        features = _numbers(X, known) if columns.preparation is not None else columns.check(X)
        made = None if columns.preparation is None or baseline is None else columns.prepared_names
        if baseline is not None and made is not None and list(baseline.names) == list(made):
            known = made
            features = in_own_units(columns.preparation, columns.check(X) if prepared is None else prepared)
        names = [f"x{i}" for i in range(features.shape[1])] if known is None else list(known)
    return Profile.of(
        codes,
        _atypical(fitted, codes, typicality),
        fitted.classes.size,
        features,
        names,
        seed=fitted.specification.settings.seed,
        start=start,
    )


def _typicality(fitted: Fitted, rows: Rows) -> tuple[IntArray, FloatArray]:
    """Return the clusters (n,) that new points get, and their typicality (n,). No volume is measured."""
    points = fitted.prepare_input(rows)
    located = fitted.locate(points.rows)
    codes = fitted.codes_of_new(points.rows, located) if points.codes is None else points.codes
    distances = Distances.of(fitted.diagram, located, codes, fitted.specification.settings.threads)
    assert fitted.members is not None
    return codes, fitted.members.value.typicality(codes, distances.own)


def _atypical(fitted: Fitted, codes: IntArray, typicality: FloatArray) -> BoolArray:
    """Return which points (n,) are atypical; in clusters of under 100 members those farther out than every member."""
    bar = np.maximum(ATYPICAL, 1.5 / (1.0 + member_sizes(fitted)))
    with np.errstate(invalid="ignore"):
        # A cluster without members has nothing to be unlike.
        return (codes >= 0) & (typicality < bar[codes]) & (typicality < 1.0)


def member_sizes(fitted: Fitted) -> IntArray:
    assert fitted.members is not None
    return np.diff(fitted.members.value.starts)


def _check_comparable(fitted: Fitted) -> None:
    if fitted.influence == Kernel("precomputed"):
        raise ValueError("comparing periods needs points, but influence='precomputed' has only their kernel values.")
    if fitted.members is None:
        raise ValueError("comparing periods needs the distances of members, which this scorer lacks: fit it again.")


def _numbers(X: Any, names: AnyArray | None) -> Rows:
    """Return the numbers (n, d) of X as they come, in their own units, NaN for what is not a number."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        chosen = [frame[name] for name in (frame.columns if names is None else names)]
        numeric = [column.dtype.is_numeric() or column.dtype == nw.Boolean for column in chosen]
        return np.column_stack(
            [
                column.cast(nw.Float64).to_numpy().astype(np.float64) if number else np.full(len(column), np.nan)
                for column, number in zip(chosen, numeric, strict=True)
            ]
        )
    values = X if is_sparse(X) else np.asarray(X)
    return values if values.dtype.kind in "biuf" else np.full(values.shape, np.nan)


def in_own_units(preparation: Any, matrix: Rows) -> Rows:
    """Return what a pipeline of transformers makes, before it is scaled in the last step."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    last = preparation.steps[-1][1] if isinstance(preparation, Pipeline) else None
    known = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
    return last.inverse_transform(matrix) if isinstance(last, known) else matrix


def with_baseline(fitted: Fitted, profile: Profile) -> Fitted:
    """Return the same with the profile of a first period, which later ones are compared with."""
    return fitted.with_part(_BASELINE, profile.without_rows())


def baseline_of(fitted: Fitted) -> Profile | None:
    """Return the profile of the first period, if it was kept."""
    found = fitted.parts.get(_BASELINE)
    return found if isinstance(found, Profile) else None
