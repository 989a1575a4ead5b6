"""Has the data drifted since a scorer was fitted? Two periods compared, with one finding for each cause.

A :class:`Profile` holds what two periods are compared by: counts by cluster, moments and quantiles of the features.
Profiles of parts of a period add up, so that streams and Dask compute them where the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from scipy import special, stats
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ._core import (
    AnyArray,
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    OrNone,
    Part,
    Rows,
    Sizes,
    check_number,
    dense,
    floats,
    is_lazy,
    is_sparse,
    stored,
)
from .calibration import RowSample
from .engines import Z95
from .fitting import Fitted
from .influence import Kernel
from .notebook import Card
from .results import ATYPICAL, AffinityResult, Distances, FrameLike, count, text_table

if TYPE_CHECKING:
    from ._scorer import AffinityScorer

__all__ = ["Finding", "PeriodComparison", "Profile", "compare_periods", "compare_profiles", "profile_rows"]

UNIT, SHIFTED, NEW, VANISHED, MOVED, MIX, ATYPICAL_SHARE = KINDS = (
    "unit",
    "shifted",
    "new cluster",
    "vanished",
    "moved",
    "mix",
    "atypical",
)
#: Columns of the counts.
POINTS, N_ATYPICAL = range(2)
#: Most features that are compared one by one.
_MOST_FEATURES = 1000
#: Rows of a period whose values are kept while it is read: of all points, and of atypical ones.
_VALUES, _STRANGE = 4096, 1024
#: Levels of the quantiles that are kept of each feature.
_LEVELS = np.linspace(0.0, 1.0, 129)
#: Changes up to these do not matter: of a cluster's share (of all points, and of itself, whichever is smaller), of the
#: share of atypical points, and of a mean in standard deviations. Relative changes up to the last are rounding.
_SMALL_SHARE, _SMALL_PART, _SMALL_ATYPICAL, _SMALL_MOVE, _ROUNDING = 0.01, 0.1, 0.005, 0.1, 1e-7
#: What a profile is called among the parts of a fitted object.
_BASELINE = "baseline"
_MOST_CLUSTERS = 20


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
    quantiles=OrNone(floats(len(_LEVELS), "d")),
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
        quantiles = np.nanquantile(np.where(n_values > 0, values, 0.0), _LEVELS, axis=0)
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
        return np.where(pooled > _ROUNDING * np.abs(whole.mean[0]), pooled, np.sqrt(whole.variance[0]))


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
    bar = np.maximum(ATYPICAL, 1.5 / (1.0 + _member_sizes(fitted)))
    with np.errstate(invalid="ignore"):
        # A cluster without members has nothing to be unlike.
        return (codes >= 0) & (typicality < bar[codes]) & (typicality < 1.0)


def _member_sizes(fitted: Fitted) -> IntArray:
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


class Finding(NamedTuple):
    """Something that changed, beyond chance and beyond what does not matter."""

    kind: str
    """"unit", "shifted", "new cluster", "vanished", "moved", "mix" or "atypical"."""
    clusters: tuple[Any, ...]
    """Labels of the clusters that changed, of a new one that of the nearest; -1 is noise. Empty for all points."""
    feature: str | None
    """The feature that changed, or changed most; None if none did."""
    then: float
    """A share of the points; a mean for "moved" and "shifted"; 1 for "unit"."""
    now: float
    """The same; the factor for "unit"."""
    interval: tuple[float, float] | None
    """95 % interval of ``now - then``; None for "unit" and "shifted"."""
    p_value: float
    """Adjusted for all comparisons that were made."""
    severity: float
    """The least share of the points that must have changed, from 0 to 1."""
    sentence: str


class Change(NamedTuple):
    """How figures changed: each field is an array of one shape."""

    then: FloatArray
    now: FloatArray
    low: FloatArray
    """Of the 95 % interval of ``now - then``."""
    high: FloatArray
    p: FloatArray
    """Chance of a change this far beyond what is allowed for, if there is none."""


Pair = tuple[FloatArray, FloatArray]


def means_differ(n: Pair, mean: Pair, variance: Pair, allowed: FloatArray | float) -> Change:
    """Compare means of then and now by Welch's test; changes up to ``allowed`` are not looked at."""
    (n1, n2), (m1, m2), (v1, v2) = n, mean, variance
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = v1 / n1, v2 / n2
        error = np.sqrt(parts[0] + parts[1])
        freedom = error**4 / (parts[0] ** 2 / np.maximum(n1 - 1.0, 1.0) + parts[1] ** 2 / np.maximum(n2 - 1.0, 1.0))
        freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)
        change = m2 - m1
        excess = np.maximum(np.abs(change) - allowed, 0.0)
        t = np.where(error > 0.0, excess / error, np.where(excess > 0.0, np.inf, 0.0))
        # A single value says nothing about the spread.
        p = np.where((n1 < 2) | (n2 < 2), 1.0, np.minimum(2.0 * stats.t.sf(t, freedom), 1.0))
        half = stats.t.ppf(0.975, freedom) * error
    return Change(m1, m2, change - half, change + half, np.nan_to_num(p, nan=1.0))


def shares_differ(cases: Pair, n: Pair, allowed: tuple[FloatArray | float, FloatArray | float]) -> Change:
    """Compare shares of then and now by Newcombe's interval of their difference, from Wilson's intervals of both.

    The p-value is 1 minus the largest level at which the interval excludes every change from ``allowed[0]`` to
    ``allowed[1]``, found by bisection.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        then, now = cases[0] / n[0], cases[1] / n[1]
        change = now - then
        bottom, top = np.zeros(np.shape(change)), np.full(np.shape(change), 40.0)
        for _ in range(50):
            z = (bottom + top) / 2.0
            low, high = _newcombe(then, n[0], now, n[1], z)
            excluded = (low > allowed[1]) | (high < allowed[0])
            bottom, top = np.where(excluded, z, bottom), np.where(excluded, top, z)
        low, high = _newcombe(then, n[0], now, n[1], np.full(np.shape(change), Z95))
    return Change(then, now, low, high, np.where((n[0] > 0) & (n[1] > 0), 2.0 * stats.norm.sf(bottom), 1.0))


def _newcombe(then: FloatArray, n1: FloatArray, now: FloatArray, n2: FloatArray, z: FloatArray) -> Pair:
    (low1, high1), (low2, high2) = _wilson(then, n1, z), _wilson(now, n2, z)
    change = now - then
    return change - np.hypot(now - low2, high1 - then), change + np.hypot(high2 - now, then - low1)


def _wilson(share: FloatArray, n: FloatArray, z: FloatArray) -> Pair:
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(np.maximum(share * (1 - share), 0.0) / n + z**2 / (4 * n**2))
    return center - half, center + half


class Moves(NamedTuple):
    """How far the means of clusters moved."""

    change: Change
    """(k, d), with p-values of single features."""
    shift: FloatArray
    """(k, d) in standard deviations of then."""
    p: FloatArray
    """(k,) chance that any feature moved so far, if none did."""


def _moves(then: Profile, now: Profile, near: BoolArray) -> Moves:
    """Compare the means of clusters; of those ``near`` (k + 1,) a new group only typical members."""
    pairs = [(profile.by_cluster(typical=True), profile.by_cluster()) for profile in (then, now)]
    (n1, m1, v1), (n2, m2, v2) = (
        tuple(
            np.where(near[:, None], getattr(some, name), getattr(every, name)) for name in ("count", "mean", "variance")
        )
        for some, every in pairs
    )
    rounding = _ROUNDING * np.maximum(np.abs(m1), np.abs(m2))
    spread = np.where(v1 > rounding**2, np.sqrt(v1), then.spread())
    change = means_differ((n1, n2), (m1, m2), (v1, v2), np.maximum(_SMALL_MOVE * spread, rounding))
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(np.abs(m2 - m1) <= rounding, 0.0, (m2 - m1) / np.maximum(spread, rounding))
    shift = np.where((n1 > 0) & (n2 > 0), np.nan_to_num(shift), 0.0)
    p = np.minimum(change.p.min(axis=1, initial=1.0) * max(spread.shape[1], 1), 1.0)
    return Moves(Change(*(values[:-1] for values in change)), shift[:-1], p[:-1])


class Column(NamedTuple):
    """What happened to all values of a feature: now = factor * then + offset."""

    factor: float
    offset: float
    apart: float
    """How far the distributions of then and now lie apart (Kolmogorov and Smirnov)."""
    p: float


_UNCHANGED = Column(1.0, 0.0, 0.0, 1.0)
#: Factors closer to 1 are growth; spreads may differ by so much from the factor; distributions may lie so far apart
#: once a change is undone: a factor, an offset. An offset must move clusters with this share of the points.
_LEAST_FACTOR, _SPREADS, _LEFT_BY_FACTOR, _LEFT_BY_OFFSET, _MOST_POINTS = 1.5, 1.3, 0.15, 0.05, 0.8


def _columns(then: Profile, now: Profile, moves: Moves) -> list[Column]:
    """Return for each feature whether all its values were rescaled or shifted."""
    shares = now.counts[:-1, POINTS] / max(now.n_points, 1)
    spread, found = then.spread(), []
    then, now = then.without_rows(), now.without_rows()
    assert then.quantiles is not None and now.quantiles is not None  # noqa: PT018
    assert then.n_values is not None and now.n_values is not None  # noqa: PT018
    for i, (before, after) in enumerate(zip(then.quantiles.T, now.quantiles.T, strict=True)):
        n1, n2 = float(then.n_values[i]), float(now.n_values[i])
        apart = _ks_distance(before, after)
        chosen = _UNCHANGED
        if min(n1, n2) >= 20 and apart > 0.0:
            by_chance = 1.63 * np.sqrt((n1 + n2) / (n1 * n2))
            p = float(stats.kstwobign.sf(apart * np.sqrt(n1 * n2 / (n1 + n2))))
            for factor, offset in _candidates(before, after, spread[i]):
                left = _ks_distance(before, (after - offset) / factor)
                limit = max(_LEFT_BY_OFFSET if offset else _LEFT_BY_FACTOR, by_chance)
                along = moves.change.now[:, i] - moves.change.then[:, i]
                together = float(shares[along * np.sign(offset) >= abs(offset) / 2.0].sum())
                # A single cluster that moves brings distributions no farther apart than its share.
                common = not offset or apart > shares.max(initial=0.0) or (factor == 1.0 and together >= _MOST_POINTS)
                if left <= min(limit, apart / 3.0) and common:
                    chosen = Column(factor, offset, apart, p)
                    break
        found.append(chosen)
    return found


def _candidates(before: FloatArray, after: FloatArray, spread: float) -> list[tuple[float, float]]:
    """Return the factors and offsets that may turn one distribution into the other, the simplest first."""
    found = []
    widths = _width(before), _width(after)
    ratio = widths[1] / widths[0] if min(widths) > 0.0 else 1.0 if max(widths) == 0.0 else np.nan
    known = np.abs(before) > 1e-12 * np.abs(before).max(initial=0.0)
    if known.any() and widths[0] > 0.0:
        order = np.argsort(after[known] / before[known])
        weights = np.abs(before[known])[order]
        middle = min(int(np.searchsorted(np.cumsum(weights), weights.sum() / 2.0)), order.size - 1)
        factor = float((after[known] / before[known])[order[middle]])
        alike = factor > 0.0 and 1.0 / _SPREADS < ratio / factor < _SPREADS
        if alike and abs(np.log(factor)) >= np.log(_LEAST_FACTOR):
            found.append((factor, 0.0))
    offset = float(np.median(after - before))
    rounding = _ROUNDING * max(np.abs(before).max(), np.abs(after).max())
    if 1.0 / _SPREADS < ratio < _SPREADS and abs(offset) > max(_SMALL_MOVE * spread, rounding):
        found.append((1.0, offset))
    if ratio > 0.0 and abs(np.log(ratio)) >= np.log(_LEAST_FACTOR):
        found.append((ratio, float(np.median(after - ratio * before))))
    return found


def _width(quantiles: FloatArray) -> float:
    """Return how wide a distribution is: the middle half, or if that is a single value the middle 95 %."""
    for low in (0.25, 0.025):
        width = float(np.interp(1.0 - low, _LEVELS, quantiles) - np.interp(low, _LEVELS, quantiles))
        if width > _ROUNDING * np.abs(quantiles).max():
            return width
    return 0.0


def _ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return a lower bound of how far two distributions lie apart, both given by quantiles (q,) at the same levels."""
    rounding = _ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    places = np.concatenate([first, second])
    apart = 0.0
    for side, aside in (("left", -rounding), ("right", rounding)):
        one, other = (np.searchsorted(values, places + aside, side=side) / values.size for values in (first, second))
        apart = max(apart, float(np.abs(one - other).max()))
    return max(apart - 2.0 / first.size, 0.0)


class Group(NamedTuple):
    """Atypical points that lie together: a new cluster, or an old one that moved away."""

    points: float
    """Their number, estimated from the sample."""
    cluster: int
    """The cluster that most of them are nearest to."""
    taken: FloatArray
    """(k + 1,) how many points of each cluster they are."""
    center: FloatArray
    """(d,) their mean."""
    origin: int | None = None
    """The cluster that they are likely to be, since it lost about as many points; None for a new cluster."""


#: A group reaches no farther than so many usual spreads, lies at least so many spreads of its cluster away from it,
#: and holds at least so many points of the sample, and this share of them.
_REACH, _AWAY, _FEWEST, _SMALLEST, _MOST_GROUPS = 1.5, 4.0, 10, 0.15, 5
#: Chance of so many points in a group, or of so great a loss of a cluster, must be below this. A group belongs to a
#: cluster if so much of it is nearest to it, or if the typical members moved as many spreads towards it.
_SURE, _MOSTLY, _ALONG = 0.01, 0.9, 1.0


def _groups(then: Profile, now: Profile, usual: float) -> list[Group]:
    """Find groups among the atypical points of now, the largest first; ``usual`` is the share of atypical points."""
    if now.strange is None or now.strange.codes.size < _FEWEST:
        return []
    scale, known = then.spread(), then.by_cluster(typical=True)
    used = scale > 0.0
    if not used.any():
        return []
    codes, rows = now.strange.codes, dense(now.strange.rows).astype(np.float64)
    rows = np.where(np.isnan(rows), known.mean[codes], rows)
    left, fewest = np.arange(codes.size), max(_FEWEST, _SMALLEST * codes.size)
    each = now.counts[:, N_ATYPICAL].sum() / codes.size
    n = np.array([float(then.n_points)]), np.array([float(now.n_points)])
    found: list[Group] = []
    while left.size >= fewest and len(found) < _MOST_GROUPS:
        scaled = rows[left][:, used] / scale[used]
        inside = _densest(scaled)
        if inside.sum() < fewest:
            break
        chosen, left = left[inside], left[~inside]
        host = int(np.bincount(codes[chosen]).argmax())
        points = float(chosen.size * each)
        by_chance = shares_differ((n[0] * usual / 2.0, np.array([points])), n, (-1.0, 0.0)).p[0]
        if by_chance <= _SURE and _lies_away(now, host, scaled[inside], known.mean[host], scale):
            taken = np.bincount(codes[chosen], minlength=then.counts.shape[0]) * each
            found.append(Group(points, host, taken, rows[chosen].mean(axis=0)))
    return _with_origins(sorted(found, key=lambda group: -group.points), then, now)


def _densest(points: FloatArray) -> BoolArray:
    """Return which points (m,) lie in the ball, no larger than a usual cluster, that holds the most of them."""
    from sklearn.metrics import pairwise_distances

    reach = _REACH * np.sqrt(points.shape[1])
    # Two points of a cluster lie farther from each other than from their middle.
    near = pairwise_distances(points) <= np.sqrt(2.0) * reach
    center = points[near[near.sum(axis=1).argmax()]].mean(axis=0)
    for _ in range(3):
        inside: BoolArray = np.linalg.norm(points - center, axis=1) <= reach
        if not inside.any():
            break
        center = points[inside].mean(axis=0)
    return inside


def _lies_away(now: Profile, cluster: int, group: FloatArray, mean: FloatArray, scale: FloatArray) -> bool:
    """Tell whether a group, in units of spread, lies outside a cluster with this mean."""
    assert now.values is not None
    used = scale > 0.0
    offset = group.mean(axis=0) - mean[used] / scale[used]
    distance = float(np.linalg.norm(offset))
    members = dense(now.values.rows[now.values.codes == 2 * cluster])[:, used] / scale[used]
    along = members[~np.isnan(members).any(axis=1)] @ (offset / max(distance, 1e-300))
    return distance >= _AWAY * max(float(along.std()) if along.size >= _FEWEST else 1.0, 0.25)


def _with_origins(groups: list[Group], then: Profile, now: Profile) -> list[Group]:
    """Return groups with the clusters that they are likely to be, each cluster once.

    Groups that are the far end of the cluster they are nearest to, which moved, are left out: its mean tells.
    """
    typical = [(profile.counts[:-1, POINTS] - profile.counts[:-1, N_ATYPICAL]).astype(float) for profile in (then, now)]
    outside = max(now.n_points - sum(group.points for group in groups), 1.0)
    n = np.full_like(typical[0], then.n_points), np.full_like(typical[0], outside)
    change = shares_differ((typical[0], np.minimum(typical[1], outside)), n, (0.0, 0.0))
    shrank = (change.now < change.then) & (change.p * typical[0].size <= _SURE)
    lost = np.where(shrank, typical[0] / then.n_points * now.n_points - typical[1], 0.0)
    scale, known, moved = then.spread(), then.by_cluster(typical=True), now.by_cluster(typical=True)
    used, found = scale > 0.0, []
    for group in groups:
        origin = int(lost.argmax()) if lost.max() >= group.points / 2.0 else None
        here = group.cluster
        offset, shift = (
            ((place - known.mean[here]) / np.where(used, scale, 1.0))[used]
            for place in (group.center, moved.mean[here])
        )
        if moved.count[here].min(initial=np.inf) >= _FEWEST and shift @ offset >= _ALONG * np.linalg.norm(offset):
            origin = here
        if origin is not None:
            lost[origin] = 0.0
        if origin is None or group.taken[origin] < _MOSTLY * group.points:
            found.append(group._replace(origin=origin))
    return found


def _with_total(by_cluster: AnyArray) -> FloatArray:
    """Return figures (k + 2,) of clusters, noise, and all points."""
    return np.append(by_cluster, by_cluster.sum()).astype(np.float64)


def _shares(then: Profile, now: Profile, groups: list[Group], leak: float = 0.0) -> Change:
    """Compare the shares (k + 2,) of clusters; points of groups are left out, or counted where they come from."""
    counts = [_with_total(profile.counts[:, POINTS]) for profile in (then, now)]
    for group in groups:
        moved = -np.rint(group.taken)
        if group.origin is not None:
            moved[group.origin] -= moved.sum()
        counts[1] = np.maximum(counts[1] + _with_total(moved), 0.0)
    n1, n2 = (np.full_like(each, each[-1]) for each in counts)
    small = np.minimum(_SMALL_SHARE, _SMALL_PART * counts[0] / max(counts[0][-1], 1.0)) + leak
    change = shares_differ((counts[0], counts[1]), (n1, n2), (-small, small))
    change.p[-1] = 1.0
    return change


def _atypical_shares(then: Profile, now: Profile, member_sizes: IntArray) -> Change:
    """Compare the shares (k + 2,) of atypical points: only more of them are news.

    Points of the fit are rarely atypical, so the share that new points like the members have stands in for a smaller
    one of then; and it is known only as well as the members that are kept tell it.
    """
    figures = []
    for profile in (then, now):
        for column in (POINTS, N_ATYPICAL):
            values = _with_total(profile.counts[:, column])
            values[-1] -= values[-2]  # noise has no members to be unlike
            values[-2] = 0.0
            figures.append(values)
    n1, x1, n2, x2 = figures
    shown = shares_differ((x1, x2), (n1, n2), (-np.inf, np.inf))
    known = np.maximum(np.ceil(ATYPICAL * (1.0 + member_sizes)) - 1.0, 1.0)
    nominal = np.where(member_sizes > 0, known / (1.0 + member_sizes), 0.0)
    rate = np.maximum(np.nan_to_num(shown.then[:-2]), nominal)
    size = np.minimum(n1[:-2], member_sizes)
    overall = max(float(rate @ n2[:-2] / max(n2[-1], 1.0)), float(np.nan_to_num(shown.then[-1])))
    rates, sizes = np.concatenate([rate, [0.0, overall]]), np.concatenate([size, [0.0, size.sum()]])
    return shown._replace(p=shares_differ((sizes * rates, x2), (sizes, n2), (-1.0, _SMALL_ATYPICAL)).p)


@dataclass(frozen=True, repr=False, eq=False)
class PeriodComparison:
    """Two periods of data, labelled by one scorer: what changed, and how surely.

    ``print(comparison)`` gives a summary, :meth:`frame` one row per cluster.

    Attributes
    ----------
    findings
        What happened, one for each cause, those that explain most first; empty if nothing changed.
    classes
        (k,) labels of the clusters.
    then, now
        The profiles of both periods.
    level
        The chance of any finding at all if nothing changed.

    See Also
    --------
    compare_periods : What returns it, with an example.
    """

    findings: tuple[Finding, ...]
    classes: AnyArray
    then: Profile = field(repr=False)
    now: Profile = field(repr=False)
    level: float
    _changes: tuple[Change, Change, Moves | None] = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def drifted(self) -> bool:
        """Whether anything changed, beyond chance and beyond what does not matter."""
        return bool(self.findings)

    @property
    def severity(self) -> float:
        """The largest severity of a finding: the least share of the points that must have changed."""
        return max((finding.severity for finding in self.findings), default=0.0)

    @property
    def atypical(self) -> tuple[float, float]:
        """Share of atypical points then and now."""
        change = self._changes[1]
        return float(np.nan_to_num(change.then[-1])), float(np.nan_to_num(change.now[-1]))

    def frame(self) -> Any:
        """Return one row per cluster, one for noise (-1) if there is any, and one for all points.

        Columns are ``cluster``, ``points_then``, ``points_now``; ``share`` and ``atypical`` then and now, with the 95 %
        interval of the difference (``share_low``, ``share_high``, ...) and its p-value, adjusted for all comparisons;
        and ``moved`` and ``moved_by``: the feature whose mean moved most, and by how many standard deviations.
        """
        rows = self._rows()
        columns: dict[str, list[Any]] = {"cluster": [str(self._label(row)) for row in rows]}
        for when, profile in (("then", self.then), ("now", self.now)):
            columns[f"points_{when}"] = _with_total(profile.counts[:, POINTS]).astype(int)[rows].tolist()
        for name, change in zip(("share", "atypical"), self._changes[:2], strict=True):
            for part in Change._fields:
                columns[f"{name}_{part}"] = getattr(change, part)[rows].tolist()
        moved = [self._most_moved(row) for row in rows]
        columns |= {"moved": [name for name, _ in moved], "moved_by": [by for _, by in moved]}
        return self._frame.build({name: np.array(values) for name, values in columns.items()})

    def features(self, cluster: Any = None, *, n: int | None = 10) -> Any:
        """Return the features whose means moved most, in the clusters that findings name.

        Columns are ``cluster``, ``feature``, ``then``, ``now``, ``low`` and ``high`` (of the 95 % interval of the
        difference) and ``shift`` (in standard deviations of then).

        Parameters
        ----------
        cluster
            The label of a cluster, to see that one only. By default those that findings name; every one if none does.
        n
            How many features of each cluster; None for all.
        """
        rows = self._feature_rows(self._numbers(cluster), n)
        names = ("cluster", "feature", "then", "now", "low", "high", "shift")
        return self._frame.build({name: np.array([row[name] for row in rows]) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON; what is not known is None."""
        rows, (share, atypical, _) = self._rows(), self._changes
        clusters = [
            {"cluster": self._label(row)}
            | {f"share_{part}": getattr(share, part)[row] for part in Change._fields}
            | {f"atypical_{part}": getattr(atypical, part)[row] for part in Change._fields}
            | dict(zip(("moved", "moved_by"), self._most_moved(row), strict=True))
            for row in rows
        ]
        return {
            "drifted": self.drifted,
            "severity": self.severity,
            "level": self.level,
            "points": {"then": self.then.n_points, "now": self.now.n_points},
            "findings": [_plain(finding._asdict()) for finding in self.findings],
            "clusters": [_plain(row) for row in clusters],
            "features": [_plain(row) for row in self._feature_rows(self._numbers(None), 10)],
        }

    def _rows(self) -> list[int]:
        """Return the rows of the tables: clusters, noise if there is any, all points."""
        k = self.classes.size
        noise = bool(self.then.counts[k, POINTS] or self.now.counts[k, POINTS])
        return [*range(k), *([k] if noise else []), k + 1]

    def _label(self, row: int) -> Any:
        return "all" if row > self.classes.size else _label(self.classes, row)

    def _numbers(self, cluster: Any) -> list[int]:
        """Return the numbers of clusters to show features of."""
        labels = [str(label) for label in self.classes]
        if cluster is not None:
            if str(cluster) not in labels:
                raise ValueError(f"cluster={cluster!r} is not among the clusters: {', '.join(labels)}.")
            return [labels.index(str(cluster))]
        named = {str(label) for finding in self.findings for label in finding.clusters}
        return [i for i, label in enumerate(labels) if not named or label in named]

    def _feature_rows(self, numbers: list[int], n: int | None) -> list[dict[str, Any]]:
        moves, rows = self._changes[2], []
        for i in numbers if moves is not None else []:
            assert moves is not None
            for feature in np.argsort(-np.abs(moves.shift[i]), kind="stable")[:n]:
                figures = {name: getattr(moves.change, name)[i, feature] for name in ("then", "now", "low", "high")}
                name = {"cluster": str(self._label(i)), "feature": str(self.then.names[feature])}
                rows.append(name | figures | {"shift": moves.shift[i, feature]})
        return rows

    def _most_moved(self, row: int) -> tuple[str, float]:
        moves = self._changes[2]
        if moves is None or row >= self.classes.size or not moves.shift.shape[1]:
            return "", 0.0
        first = int(np.abs(moves.shift[row]).argmax())
        return str(self.then.names[first]), float(moves.shift[row, first])

    def headline(self) -> str:
        """Say in one sentence whether it drifted."""
        atypical = "Atypical points: {:.1%} then, {:.1%} now".format(*self.atypical)
        if not self.drifted:
            return f"Nothing changed beyond chance. {atypical}"
        return f"Drifted: {count(len(self.findings), 'finding')}. {atypical}"

    def _sentences(self) -> list[str]:
        p = [("< 0.0001" if each.p_value < 1e-4 else f"= {each.p_value:.2g}") for each in self.findings]
        return [f"{each.sentence} (p {p})" for each, p in zip(self.findings, p, strict=True)]

    def __repr__(self) -> str:
        cells, more = self._cells()
        table = text_table(_HEADINGS, cells, left=("cluster", "moved most"))
        said = [f"- {sentence}" for sentence in self._sentences()]
        return "\n".join([self._title(), self.headline(), *said, "", *table, *([more] if more else [])])

    def _repr_html_(self) -> str:
        cells, more = self._cells()
        lines = [self.headline(), *self._sentences()]
        words = ("cluster", "moved most")
        return Card(self._title(), lines, headings=_HEADINGS, rows=cells, words=words, notes=[more]).html()

    def _title(self) -> str:
        return f"{count(self.then.n_points, 'point')} then, {self.now.n_points:,} now"

    def _cells(self) -> tuple[list[tuple[str, ...]], str]:
        """Return the rows to show, those that changed most surely first, and what to say about the others."""
        share, atypical, moves = self._changes
        surest = np.minimum(share.p, atypical.p)
        if moves is not None:
            surest[: self.classes.size] = np.minimum(surest[: self.classes.size], moves.p)
        *rows, last = self._rows()
        ordered = sorted(rows, key=lambda row: surest[row])
        cells = []
        for row in [*ordered[:_MOST_CLUSTERS], last]:
            feature, by = self._most_moved(row)
            pairs = [
                " to ".join(
                    "-" if np.isnan(value) else f"{100 * value:.1f}" for value in (change.then[row], change.now[row])
                )
                + " %"
                for change in (share, atypical)
            ]
            name = "noise" if row == self.classes.size else str(self._label(row))
            cells.append((name, *pairs, f"{feature} {by:+.1f} sd" if feature else ""))
        left = len(ordered) - _MOST_CLUSTERS
        return cells, f"... and {left:,} more clusters, in which less changed" if left > 0 else ""


_HEADINGS = ("cluster", "share", "atypical", "moved most")


def _label(classes: AnyArray, number: int) -> Any:
    """Return the label of a cluster; -1 for noise."""
    label = classes[number] if number < classes.size else -1
    return label.item() if isinstance(label, np.generic) else label


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def compare_periods(scorer: AffinityScorer, X_then: Any, X_now: Any, *, level: float = 0.05) -> PeriodComparison:
    """Say whether data has drifted since a scorer was fitted, and why: one finding for each cause.

    Points of both periods are labelled as new ones; no affinity is measured. Compared are the unit and the level of
    each feature, where clusters lie, the share of each cluster, and the share of atypical points (typicality below
    1 %). A finding is a change beyond chance and beyond what does not matter: a percentage point of a share, a tenth of
    a standard deviation.

    Parameters
    ----------
    scorer
        Fitted.
    X_then
        (n, d) points of the first period, often those of the fit; None for the baseline that
        :meth:`AffinityScorer.keep_baseline` kept.
    X_now
        (m, d) points of the second period: like X_then an array, a sparse matrix or a frame, or a Dask collection.
    level
        The chance of any finding at all if nothing changed.

    Returns
    -------
    PeriodComparison
        Findings, and the figures behind them.

    Notes
    -----
    Rows are taken to be independent. Rows that belong together, such as several of one customer, make chance look
    smaller than it is: compare one row of each.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from allegiance import AffinityScorer
    >>> from allegiance.drift import compare_periods
    >>> rng = np.random.default_rng(0)
    >>> centers = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    >>> january, february = (centers[rng.integers(3, size=600)] + rng.normal(size=(600, 2)) for _ in range(2))
    >>> scorer = AffinityScorer(KMeans(3, random_state=0)).fit(january)
    >>> compare_periods(scorer, january, february).drifted
    False
    >>> march = np.vstack([february, rng.normal([10.0, 10.0], 1.0, size=(60, 2))])
    >>> [finding.kind for finding in compare_periods(scorer, january, march).findings]
    ['new cluster']
    """
    check_is_fitted(scorer)
    then = baseline_of(scorer.fitted_) if X_then is None else scorer.profile(X_then)
    if then is None:
        raise ValueError(
            "X_then is None, but the scorer has no baseline: call scorer.keep_baseline(X) with the points of the "
            "first period, or pass them as X_then."
        )
    frame = FrameLike() if is_lazy(X_now) else FrameLike.of(X_now).without_index()
    return compare_profiles(scorer.fitted_, then, scorer.profile(X_now), level=level, frame=frame)


def compare_profiles(
    fitted: Fitted, then: Profile, now: Profile, *, level: float = 0.05, frame: FrameLike | None = None
) -> PeriodComparison:
    """Compare the profiles of two periods; see :func:`compare_periods`.

    Parameters
    ----------
    fitted
        What labelled the points of both: ``scorer.fitted_``.
    then, now
        The profiles. ``now`` must still have its samples of rows: it must not have been saved.
    level
        The chance of any finding at all if nothing changed.
    frame
        The kind of frame that tables are returned as; pandas by default.
    """
    level = check_number(level, "level", low=0.0, high=1.0)
    for name, profile in (("X_then", then), ("X_now", now)):
        if not profile.n_points:
            raise ValueError(f"{name} has no points: there is nothing to compare.")
    atypical = _atypical_shares(then, now, _member_sizes(fitted))
    groups: list[Group] = []
    moves, columns = None, list[Column]()
    if then.moments is not None and now.moments is not None:
        groups = _groups(then, now, max(float(np.nan_to_num(atypical.then[-1])), ATYPICAL))
        near = np.sum([group.taken for group in groups], axis=0) > 0.0 if groups else np.zeros(len(then.counts), bool)
        moves = _moves(then, now, near)
        columns = _columns(then, now, moves)
    shares = _shares(then, now, groups)
    # Bonferroni's correction for all comparisons: shares, atypical shares, means of clusters, columns.
    tests = 2 * shares.p.size + (0 if moves is None else moves.p.size) + len(columns)
    moves = None if moves is None else moves._replace(p=np.minimum(tests * moves.p, 1.0))
    columns = [column._replace(p=min(tests * column.p, 1.0)) for column in columns]
    atypical = atypical._replace(p=np.minimum(tests * atypical.p, 1.0))
    findings = _Causes(fitted.classes, then, now, level, tests).find(columns, groups, moves, atypical)
    shown = _shares(then, now, [])._replace(p=np.minimum(tests * shares.p, 1.0))
    return PeriodComparison(findings, fitted.classes, then, now, level, (shown, atypical, moves), frame or FrameLike())


class _Causes:
    """From figures that changed to what happened: a change that another one explains is not told again."""

    def __init__(self, classes: AnyArray, then: Profile, now: Profile, level: float, tests: int) -> None:
        self.classes, self.then, self.now, self.level, self.tests = classes, then, now, level, tests
        self.features = then.names

    def find(
        self, columns: list[Column], groups: list[Group], moves: Moves | None, atypical: Change
    ) -> tuple[Finding, ...]:
        """Return the findings, those that explain most first."""
        changed = self._changed_columns(columns)
        if moves is None:
            return (*self._mix([], set()), *self._more_atypical(atypical, set()))
        spread = self.then.spread()
        labels_hold = all(
            column.factor == 1.0 and abs(column.offset) < spread[i]
            for i, column in enumerate(columns)
            if column.p <= self.level
        )
        if changed and not labels_hold:
            return tuple(changed)
        told = [i for i, column in enumerate(columns) if column.p <= self.level]
        grouped, away, explained = self._grouped(groups, atypical)
        moved, which = self._moved(moves, away, told)
        found = [*changed, *grouped, *moved]
        if not changed:
            found += self._mix(groups, away | which)
            if not (grouped or moved):
                found += self._more_atypical(atypical, explained)
        return tuple(sorted(found, key=lambda finding: (KINDS.index(finding.kind), -finding.severity)))

    def _changed_columns(self, columns: list[Column]) -> list[Finding]:
        found = []
        for i, column in enumerate(columns):
            if column.p > self.level:
                continue
            name = str(self.features[i])
            if column.factor == 1.0:
                means = [_overall_mean(profile)[i] for profile in (self.then, self.now)]
                verb = "rose" if column.offset > 0 else "fell"
                said = f"{name} {verb} by {abs(column.offset):.4g} in all clusters (from {means[0]:.4g} to {means[1]:.4g} on average)"
                found.append(Finding(SHIFTED, (), name, *means, None, column.p, column.apart, said))
                continue
            power = 10.0 ** round(float(np.log10(column.factor)))
            factor = power if power != 1.0 and abs(column.factor / power - 1.0) <= 0.05 else column.factor
            shift = f" and shifted by {column.offset:+.4g}" if column.offset else ""
            said = f"{name} was rescaled by {factor:,.3g}{shift} (a change of unit?). Convert it back and compare again"
            found.append(Finding(UNIT, (), name, 1.0, column.factor, None, column.p, column.apart, said))
        return found

    def _grouped(self, groups: list[Group], atypical: Change) -> tuple[list[Finding], set[int], set[int]]:
        """Name groups; return also the clusters that moved away, and those whose atypical points are explained."""
        found: list[Finding] = []
        away: set[int] = set()
        explained: set[int] = set()
        spread, known = self.then.spread(), self.then.by_cluster(typical=True).mean
        n = np.array([float(self.then.n_points)]), np.array([float(self.now.n_points)])
        for group in groups:
            p = float(min(atypical.p[-1], atypical.p[group.cluster]))
            if p > self.level:
                continue
            explained |= {atypical.p.size - 1, *np.flatnonzero(group.taken).tolist()}
            number = group.cluster if group.origin is None else group.origin
            offset = group.center - known[number]
            shift = np.divide(offset, spread, out=np.zeros_like(offset), where=spread > 0.0)
            first, label = int(np.abs(shift).argmax()), _label(self.classes, number)
            feature, share = str(self.features[first]), group.points / self.now.n_points
            if group.origin is None:
                seen = shares_differ((np.zeros(1), np.array([group.points])), n, (0.0, 0.0))
                said = (
                    f"A new cluster appeared: {share:.1%} of the points ({round(group.points):,}) lie together in a "
                    f"region with no earlier data, nearest to cluster {label}, from which they differ in "
                    f"{self._shifts(shift)}"
                )
                interval = (float(seen.low[0]), float(seen.high[0]))
                found.append(Finding(NEW, (label,), feature, 0.0, share, interval, p, share, said))
                continue
            away.add(number)
            mean = float(known[number, first])
            half = Z95 * spread[first] / np.sqrt(max(group.points, 1.0))
            interval = (float(offset[first] - half), float(offset[first] + half))
            said = f"Cluster {label} moved to a region with no earlier data: {self._shifts(shift)}"
            there = float(group.center[first])
            found.append(Finding(MOVED, (label,), feature, mean, there, interval, p, share, said))
        return found, away, explained

    def _moved(self, moves: Moves, away: set[int], told: list[int]) -> tuple[list[Finding], set[int]]:
        """Name clusters that moved, one finding for all that moved along the same feature; return also which."""
        shift = moves.shift.copy()
        shift[:, told] = 0.0
        together: dict[tuple[int, bool], list[int]] = {}
        which: set[int] = set()
        for number in np.flatnonzero(moves.p <= self.level).tolist():
            first = int(np.abs(shift[number]).argmax())
            still = moves.change.p[number, first] * shift.shape[1] <= self.level
            if number not in away and abs(shift[number, first]) >= _SMALL_MOVE and still:
                together.setdefault((first, bool(shift[number, first] > 0.0)), []).append(number)
                which.add(number)
        found = []
        for (first, _), numbers in together.items():
            numbers.sort(key=lambda number: -abs(shift[number, first]))
            lead = numbers[0]
            then, now = float(moves.change.then[lead, first]), float(moves.change.now[lead, first])
            labels, feature = tuple(_label(self.classes, number) for number in numbers), str(self.features[first])
            average = f"({feature} from {then:.4g} to {now:.4g} on average)"
            said = f"Cluster {labels[0]} moved: {self._shifts(shift[lead])} {average}"
            if len(labels) > 1:
                by = f"{shift[numbers[-1], first]:+.1f} to {shift[lead, first]:+.1f} sd"
                said = f"{len(labels)} clusters ({_listed(labels)}) moved along {feature}, by {by}"
            interval = (float(moves.change.low[lead, first]), float(moves.change.high[lead, first]))
            shares = self.now.counts[numbers, POINTS] / self.now.n_points
            severity = float(shares @ special.erf(np.abs(shift[numbers, first]) / np.sqrt(8.0)))
            p = float(moves.p[numbers].min())
            found.append(Finding(MOVED, labels, feature, then, now, interval, p, severity, said))
        return found, which

    def _mix(self, groups: list[Group], moved: set[int]) -> list[Finding]:
        """Name clusters that vanished, and those that grew or shrank, beyond what moved clusters gave and took."""
        change = _shares(self.then, self.now, groups)
        leak = float(np.abs((change.now - change.then)[sorted(moved)]).sum()) if moved else 0.0
        if leak:
            change = _shares(self.then, self.now, groups, leak)
        p = np.minimum(change.p * self.tests, 1.0)
        found, listed = [], []
        by = np.abs(change.now - change.then)
        for number in sorted(np.flatnonzero(p <= self.level).tolist(), key=lambda number: -by[number]):
            label = _label(self.classes, number)
            then, now, low, high = (float(values[number]) for values in change[:4])
            if number in moved:
                continue
            if now <= _SMALL_PART * then and number < self.classes.size:
                said = f"Cluster {label} vanished: {then:.1%} of the points then, {now:.1%} now"
                found.append(Finding(VANISHED, (label,), None, then, now, (low, high), float(p[number]), then, said))
            else:
                listed.append(number)
        if listed:
            first = listed[0]
            then, now, low, high = (float(values[first]) for values in change[:4])
            names = ["noise" if number == self.classes.size else str(_label(self.classes, number)) for number in listed]
            parts = [
                f"{name} {'grew' if change.now[number] > change.then[number] else 'shrank'} from "
                f"{change.then[number]:.1%} to {change.now[number]:.1%}"
                for name, number in zip(names[:3], listed[:3], strict=True)
            ]
            more = f", and {len(listed) - 3} more changed" if len(listed) > 3 else ""
            said = f"The mix of clusters changed: {', '.join(parts)}{more}"
            labels = tuple(_label(self.classes, number) for number in listed)
            severity = float(by[:-1].sum() / 2.0)
            found.append(Finding(MIX, labels, None, then, now, (low, high), float(p[first]), severity, said))
        return found

    def _more_atypical(self, atypical: Change, explained: set[int]) -> list[Finding]:
        hits = [number for number in np.flatnonzero(atypical.p <= self.level).tolist() if number not in explained]
        if not hits:
            return []
        total = atypical.p.size - 1
        clusters = sorted((each for each in hits if each != total), key=lambda each: -atypical.now[each])
        number = total if total in hits or len(clusters) > 1 else clusters[0]
        then, now, low, high = (float(values[number]) for values in atypical[:4])
        labels = tuple(_label(self.classes, each) for each in clusters)
        where = f", most of all in cluster {labels[0]}" if labels and number == total else ""
        where = f" in cluster {labels[0]}" if number != total else where
        said = f"Atypical points rose from {then:.1%} to {now:.1%}{where}"
        rise = float(np.nan_to_num(atypical.now[-1] - atypical.then[-1]))
        p = float(atypical.p[hits].min())
        return [Finding(ATYPICAL_SHARE, labels, None, then, now, (low, high), p, max(rise, 0.0), said)]

    def _shifts(self, shift: FloatArray) -> str:
        """Return the features that moved most, and by how many standard deviations."""
        order = np.argsort(-np.abs(shift), kind="stable")[:3]
        large = [i for i in order if abs(shift[i]) >= max(_SMALL_MOVE, abs(shift[order[0]]) / 5)]
        return ", ".join(f"{self.features[i]} {shift[i]:+.1f} sd" for i in large)


def _listed(labels: Sequence[Any]) -> str:
    return ", ".join(str(label) for label in labels[:5]) + (", ..." if len(labels) > 5 else "")


def _overall_mean(profile: Profile) -> FloatArray:
    every = profile.by_cluster()
    mean: FloatArray = (every.count * every.mean).sum(axis=0) / np.maximum(every.count.sum(axis=0), 1.0)
    return mean
