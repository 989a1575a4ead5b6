"""Drift: changes between two periods of data that one scorer labels, sorted by severity.

Tests compare the values of each column (unit and level), cluster means, cluster shares, and the share of atypical
points. Atypical points that lie together form a new group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse, special, stats
from sklearn.utils.validation import check_is_fitted

from allegiance._core.progress import Verbose, progress
from allegiance._core.stored import Array, OrNone, floats, json_value, stored
from allegiance._core.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    Rows,
    check_number,
    dense,
    is_lazy,
    is_sparse,
)
from allegiance.calibration import RowSample
from allegiance.fitting import NOISE, Fitted
from allegiance.influence import Kernel
from allegiance.notebook import Card, CardMixin, count
from allegiance.results import ATYPICAL, AffinityResult, FrameLike, count_by_cluster
from allegiance.typicality import distance_and_closeness

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io import Model

__all__ = ["DriftFinding", "PeriodComparison", "Profile", "compare_periods", "compare_profiles"]

#: Features compared one by one, and rows whose moments are computed at a time.
_MAX_FEATURES, _BLOCK_ROWS = 1000, 8192
#: Sample sizes for one period, in rows: all points, and atypical points.
_SAMPLE_ROWS, _ATYPICAL_ROWS = 4096, 1024
#: Levels of the stored quantiles of each feature, and those of the middle 95%.
_LEVELS = np.linspace(0.0, 1.0, 129)
_MIDDLE = (_LEVELS > 0.025) & (_LEVELS < 0.975)
#: Relative differences up to this are rounding, in single precision too.
_ROUNDING = 1e-7
#: Largest changes that are ignored: in a cluster's share (as a share of all points and of the cluster, whichever is
#: smaller), in the share of atypical points, and in a mean (in standard deviations).
_SMALL_SHARE, _SMALL_PART, _SMALL_ATYPICAL, _SMALL_MOVE = 0.01, 0.1, 0.005, 0.1
#: Smallest factor of a unit change, fewest values of a column, and the 99% quantile of Kolmogorov's distribution.
_MIN_FACTOR, _MIN_VALUES, _KS_BY_CHANCE = 1.5, 20, 1.63
#: A shifted column: the distance of the distributions above which labels change, and the share of points that move
#: with the column below it.
_LARGE_SHIFT, _SHIFT_SHARE = 0.5, 0.75
#: A group of atypical points: radius in standard deviations, minimum number of sampled points, and minimum share.
_GROUP_RADIUS, _GROUP_POINTS, _GROUP_SHARE = 1.5, 10, 0.15
_MAX_CLUSTERS = 20


@stored(
    "profile",
    names=Array(("d",), "label"),
    dates=Array(("d",), "label"),
    counts=Array(("k+1", 2), "int", low=0),
    moments=floats(2, 3, "k+1", "d"),
    quantiles=OrNone(floats(len(_LEVELS), "d")),
    n_values=OrNone(Array(("d",), "int", low=0)),
)
@dataclass(frozen=True, eq=False)
class Profile:
    """The drift profile of a period: counts, means and quantiles. Profiles of disjoint points add up with ``+``.

    Attributes
    ----------
    names
        (d,) feature names; empty for more than 1,000 features, which are not compared one by one.
    dates
        (d,) whether a feature is a date, in days since 1970-01-01.
    counts
        (k + 1, 2) numbers of points and of atypical points per cluster; the last row is noise.
    moments
        (2, 3, k + 1, d) counts, means and sums of squared deviations of the features per cluster, first for its typical
        points, then for its atypical ones.
    quantiles, n_values
        (129, d) quantiles of each feature, and (d,) the number of values they come from; set by :meth:`without_rows`.
    values, atypical
        Samples of all rows and of the atypical rows. They are not saved.
    """

    names: AnyArray
    dates: AnyArray
    counts: IntArray
    moments: FloatArray
    quantiles: FloatArray | None = None
    n_values: IntArray | None = None
    values: RowSample | None = field(default=None, repr=False)
    atypical: RowSample | None = field(default=None, repr=False)

    def __add__(self, other: Profile) -> Profile:
        """Return the profile of the union of two disjoint sets of points."""
        if self.values is None or self.atypical is None or other.values is None or other.atypical is None:
            raise ValueError("a saved profile has no rows, so nothing can be added to it.")
        return replace(
            self,
            counts=self.counts + other.counts,
            moments=_pool_moments(np.stack([self.moments, other.moments]), axis=2),
            values=self.values.merge(other.values),
            atypical=self.atypical.merge(other.atypical),
        )

    def without_rows(self) -> Profile:
        """Return the form of a drift profile that is saved, with quantiles instead of sampled rows."""
        quantiles, n_values = self.column_quantiles()
        return replace(self, quantiles=quantiles, n_values=n_values, values=None, atypical=None)

    def column_quantiles(self) -> tuple[FloatArray, IntArray]:
        """Return the quantiles (129, d) of each feature of a period, and the number (d,) of values they come from."""
        if self.quantiles is not None and self.n_values is not None:
            return self.quantiles, self.n_values
        assert self.values is not None
        values = dense(self.values.rows).astype(np.float64, copy=False)
        n_values = (~np.isnan(values)).sum(axis=0)
        return np.nanquantile(np.where(n_values > 0, values, 0.0), _LEVELS, axis=0), n_values

    @property
    def n_points(self) -> int:
        """The number of points of the period, noise included."""
        return int(self.counts[:, 0].sum())

    def by_cluster(self, *, typical: BoolArray | bool = False) -> FloatArray:
        """Return counts, means and squares (3, k + 1, d) of all or only typical members of each cluster in a period."""
        return np.where(np.reshape(typical, (-1, 1)), self.moments[0], _pool_moments(self.moments))

    def overall(self) -> FloatArray:
        """Return counts, means and squares (3, d) of all points of a period."""
        return _pool_moments(self.by_cluster().swapaxes(0, 1))

    def spread(self) -> FloatArray:
        """Return the standard deviation (d,) of each feature within clusters in a period; overall where it is 0."""
        number, _, squares = self.by_cluster(typical=True)
        freedom = np.maximum(number - 1.0, 0.0).sum(axis=0)
        pooled = np.sqrt(squares.sum(axis=0) / np.maximum(freedom, 1.0))
        overall = self.overall()
        return np.where(pooled > _ROUNDING * np.abs(overall[1]), pooled, np.sqrt(_variance(overall)))


def profile_rows(
    fitted: Fitted,
    X: Any,
    *,
    result: AffinityResult | None = None,
    features: Rows | None = None,
    names: Sequence[str] | AnyArray | None = None,
    dates: Any = None,
    start: int = 0,
) -> Profile:
    """Return the drift profile of the rows X (n, d) of a period, which start at row ``start``; profiles can be added.

    ``result`` has their scores, if known; with ``features`` as well, X is not transformed. ``features`` (n, d) are the
    columns to compare with their ``names`` and whether they are ``dates``, in days since 1970-01-01; by default the
    numeric columns of X.
    """
    if fitted.influence == Kernel("precomputed"):
        raise ValueError("comparing periods needs points, but influence='precomputed' has only their kernel values.")
    if fitted.members is None:
        raise ValueError("comparing periods needs member distances, which this scorer does not have: fit it again.")
    members, settings = fitted.members.value, fitted.specification.settings
    if result is None:
        points = fitted.prepare_input(X, named=features is None)
        located = fitted.locate(points.rows)
        codes = fitted.codes_of(points, located)
        distance, _ = distance_and_closeness(fitted.diagram, located, codes, settings.threads)
        typicality = members.typicality(codes, distance)
    else:
        codes, typicality = result._codes, result.typicality
    if features is None:
        columns, names = fitted.columns, fitted.columns.known_names
        features = columns.check(X) if columns.preparation is None else _numeric_columns(X, names)
        names = [f"x{i}" for i in range(features.shape[1])] if names is None else names
    if features.shape[1] > _MAX_FEATURES:
        features, names, dates = features[:, :0], [], None
    # In clusters of fewer than 100 members, a point is atypical if it lies farther out than every member.
    limit = np.maximum(ATYPICAL, 1.5 / (1.0 + np.diff(members.starts)))
    with np.errstate(invalid="ignore"):
        # Nothing is atypical for a cluster without members.
        atypical = (codes >= 0) & (typicality < limit[codes]) & (typicality < 1.0)
    k, seed = fitted.classes.size, settings.seed
    group = np.where(codes < 0, k, codes) + (k + 1) * atypical
    return Profile(
        np.array(names, dtype=object),
        np.zeros(features.shape[1], dtype=bool) if dates is None else np.asarray(dates, dtype=bool),
        count_by_cluster(codes, k, [np.ones(codes.size, dtype=bool), atypical]),
        _group_moments(features, group, 2 * (k + 1)).reshape(3, 2, k + 1, -1).swapaxes(0, 1),
        values=RowSample.of(features, group, limit=_SAMPLE_ROWS, seed=seed, start=start),
        atypical=RowSample.of(features, np.where(atypical, codes, -1), limit=_ATYPICAL_ROWS, seed=seed, start=start),
    )


def _numeric_columns(X: Any, names: AnyArray | None) -> Rows:
    """Return the columns X (n, d) of a period as numbers in their own units, NaN for all other values."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        columns = [frame[name] for name in (frame.columns if names is None else names)]
        return np.column_stack(
            [
                column.cast(nw.Float64).to_numpy().astype(np.float64)
                if column.dtype.is_numeric() or column.dtype == nw.Boolean
                else np.full(len(column), np.nan)
                for column in columns
            ]
        )
    values = X if is_sparse(X) else np.asarray(X)
    return values if values.dtype.kind in "biuf" else np.full(values.shape, np.nan)


def _group_moments(features: Rows, groups: IntArray, n_groups: int) -> FloatArray:
    """Return counts, means and squares (3, g, d) of a period's features (n, d) by group (n,), ignoring NaN."""
    parts = []
    for start in range(0, max(groups.size, 1), _BLOCK_ROWS):
        rows, group = dense(features[start : start + _BLOCK_ROWS]), groups[start : start + _BLOCK_ROWS]
        member = sparse.csr_array((np.ones(group.size), group, np.arange(group.size + 1)), (group.size, n_groups)).T
        present = ~np.isnan(rows)
        values = np.where(present, rows, 0.0).astype(np.float64, copy=False)
        number = member @ present.astype(np.float64)
        mean = (member @ values) / np.maximum(number, 1.0)
        parts.append([number, mean, member @ np.where(present, values - mean[group], 0.0) ** 2])
    return _pool_moments(np.array(parts))


def _pool_moments(parts: FloatArray, axis: int = 1) -> FloatArray:
    """Merge counts, means and squares of parts of a period (m, 3, ...); ``axis`` is the axis of the three."""
    number, mean, squares = np.moveaxis(parts, axis, 0)
    total = number.sum(axis=0)
    joint = (number * mean).sum(axis=0) / np.maximum(total, 1.0)
    return np.stack([total, joint, (squares + number * (mean - joint) ** 2).sum(axis=0)], axis=axis - 1)


def _variance(moments: FloatArray) -> FloatArray:
    """Return the variance from a period's counts, means and squares (3, ...)."""
    variance: FloatArray = moments[2] / np.maximum(moments[0] - 1.0, 1.0)
    return variance


class Change(NamedTuple):
    """Values of two periods, with intervals and p-values, in arrays of the same shape; means have one p per cluster."""

    then: FloatArray
    now: FloatArray
    low: FloatArray  # of the 95% interval of ``now - then``
    high: FloatArray
    p: FloatArray  # probability of a change this far beyond the allowed one if nothing changed

    def at(self, *place: int) -> tuple[float, float, tuple[float, float]]:
        """Return one value in both periods, and the interval of the difference."""
        then, now, low, high = (float(values[place]) for values in self[:4])
        return then, now, (low, high)


def _test_changes(
    then: FloatArray, now: FloatArray, change: FloatArray, error: FloatArray, freedom: Any, allowed: tuple[Any, Any]
) -> Change:
    """Test changes between periods with Student's t distribution; those within ``allowed`` do not count."""
    excess = np.maximum(np.maximum(change - allowed[1], allowed[0] - change), 0.0)
    half = stats.t.ppf(0.975, freedom) * error
    p = np.minimum(2.0 * stats.t.sf(excess / error, freedom), 1.0)
    return Change(then, now, change - half, change + half, np.nan_to_num(p, nan=1.0))


def _compare_shares(then: AnyArray, now: AnyArray, n: tuple[Any, Any], allowed: tuple[Any, Any]) -> Change:
    """Compare shares in two periods, counts among ``n`` points, with the Agresti-Caffo interval; NaN without points."""
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = ((cases + 1.0) / (total + 2.0) for cases, total in zip((then, now), n, strict=True))
        error = np.sqrt(a * (1.0 - a) / (n[0] + 2.0) + b * (1.0 - b) / (n[1] + 2.0))
        error = np.where(np.minimum(n[0], n[1]) > 0, error, np.nan)
        return _test_changes(then / n[0], now / n[1], b - a, error, np.inf, allowed)


def _compare_moments(then: FloatArray, now: FloatArray, allowed: FloatArray) -> Change:
    """Compare counts, means and squares (3, ...) of two periods with Welch's test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = _variance(then) / then[0], _variance(now) / now[0]
        error = np.sqrt(first + second)
        n1, n2 = (np.maximum(moments[0] - 1.0, 1.0) for moments in (then, now))
        freedom = error**4 / (first**2 / n1 + second**2 / n2)
        freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)
        # A spread needs at least two values.
        error = np.where((then[0] < 2) | (now[0] < 2), np.nan, error)
        return _test_changes(then[1], now[1], now[1] - then[1], error, freedom, (-allowed, allowed))


def _compare_means(then: Profile, now: Profile, near: BoolArray) -> tuple[Change, FloatArray]:
    """Compare cluster means of two periods, only of typical members in clusters ``near`` (k + 1,) a new group.

    Return changes (k, d), with one p-value (k,) per cluster, and shifts in standard deviations of the first period.
    """
    first, second = (profile.by_cluster(typical=near) for profile in (then, now))
    (n1, m1, _), (n2, m2, _), variance = first, second, _variance(first)
    rounding = _ROUNDING * np.maximum(np.abs(m1), np.abs(m2))
    spread = np.where(variance > rounding**2, np.sqrt(variance), then.spread())
    change = _compare_moments(first, second, _SMALL_MOVE * spread)
    moved = (np.abs(m2 - m1) > rounding) & (n1 > 0) & (n2 > 0)
    shift = np.divide(m2 - m1, np.maximum(spread, rounding), out=np.zeros_like(m1), where=moved)
    # A few outliers move the mean of all members, but not that of the typical ones, unless most are atypical.
    typical = (now.counts[:, 1] <= now.counts[:, 0] / 2) | near
    first, second = (profile.by_cluster(typical=typical) for profile in (then, now))
    p = np.where(moved, _compare_moments(first, second, _SMALL_MOVE * spread).p, 1.0)
    p = np.minimum(p.min(axis=1, initial=1.0) * max(spread.shape[1], 1), 1.0)
    return Change(*(values[:-1] for values in (*change[:4], p))), shift[:-1]


def _compare_atypical(then: Profile, now: Profile, n_members: IntArray) -> Change:
    """Compare the shares (k + 2,) of atypical points in two periods, by cluster and overall; only a rise counts.

    Points of the fit are rarely atypical. If the first period has a smaller share than new members should have, the
    expected share replaces it; its precision is limited by the number of stored members.
    """
    # Noise points cannot be atypical, so they do not count.
    n1, x1, n2, x2 = (
        np.array([*column[:-1], 0, column[:-1].sum()], dtype=np.float64)
        for profile in (then, now)
        for column in profile.counts.T
    )
    plain = _compare_shares(x1, x2, (n1, n2), (-np.inf, np.inf))
    n_atypical = np.maximum(np.ceil(ATYPICAL * (1.0 + n_members)) - 1.0, 1.0)
    expected = np.where(n_members > 0, n_atypical / (1.0 + n_members), 0.0)
    rate = np.maximum(np.nan_to_num(plain.then[:-2]), expected)
    size = np.minimum(n1[:-2], n_members)
    overall = max(float(rate @ n2[:-2] / max(n2[-1], 1.0)), float(np.nan_to_num(plain.then[-1])))
    rates, sizes = np.concatenate([rate, [0.0, overall]]), np.concatenate([size, [0.0, size.sum()]])
    return plain._replace(p=_compare_shares(sizes * rates, x2, (sizes, n2), (-1.0, _SMALL_ATYPICAL)).p)


def _compare_mix(then: Profile, now: Profile, new_points: AnyArray, allowed: float = 0.0) -> Change:
    """Compare the shares (k + 2,) of clusters in two periods; ``new_points`` (k + 1,), in new groups, do not count."""
    first = np.append(then.counts[:, 0], then.n_points)
    second = np.append(now.counts[:, 0] - np.minimum(np.rint(new_points), now.counts[:, 0]), now.n_points)
    small = np.minimum(_SMALL_SHARE, _SMALL_PART * first / first[-1]) + allowed
    change = _compare_shares(first, second, (first[-1], second[-1]), (-small, small))
    change.p[-1] = 1.0
    return change


class Rescaling(NamedTuple):
    """A linear change of all values of a feature between periods: now = factor * then + offset."""

    factor: float = 1.0
    offset: float = 0.0
    difference: float = 0.0  # Kolmogorov-Smirnov distance between the periods
    p: float = 1.0


def _compare_columns(then: Profile, now: Profile, moves: Change) -> list[Rescaling]:
    """Test each feature for an offset, a factor, or both that map all values of one period to those of the other."""
    (first, n_then), (second, n_now) = then.column_quantiles(), now.column_quantiles()
    spread, shares, columns = then.spread(), now.counts[:-1, 0] / now.n_points, []
    for i, (n1, n2) in enumerate(zip(n_then.tolist(), n_now.tolist(), strict=True)):
        before, after = first[:, i], second[:, i]
        difference, rescaling = _ks_distance(before, after), Rescaling()
        if min(n1, n2) >= _MIN_VALUES and difference > 0.0:
            root = np.sqrt(n1 * n2 / (n1 + n2))
            limit = min(max(_KS_BY_CHANCE / root, difference / 8.0), difference / 3.0)
            along = moves.now[:, i] - moves.then[:, i]
            for factor, offset in _candidates(before, after, spread[i]):
                # A small shift leaves the labels alone, so the clusters show whether most points moved.
                together = shares[along * np.sign(offset) >= abs(offset) / 4.0].sum()
                is_common = not offset or difference > _LARGE_SHIFT or (factor == 1.0 and together >= _SHIFT_SHARE)
                if is_common and _ks_distance(before, (after - offset) / factor) <= limit:
                    rescaling = Rescaling(factor, offset, difference, float(stats.kstwobign.sf(difference * root)))
                    break
        columns.append(rescaling)
    return columns


def _candidates(before: FloatArray, after: FloatArray, spread: float) -> list[tuple[float, float]]:
    """Return candidate factors and offsets that map a feature of one period to the other, the simplest first."""
    rounding = _ROUNDING * max(np.abs(before).max(), np.abs(after).max())
    widths = [float(np.abs(q[_MIDDLE] - np.median(q[_MIDDLE])).mean()) for q in (before, after)]
    sizes = [float(np.abs(q[_MIDDLE]).mean()) for q in (before, after)]
    factor, ratio = (two / one if min(one, two) > rounding else 1.0 for one, two in (sizes, widths))
    offsets = [float(np.median(after - before)), 0.0, float(np.median(after - ratio * before))]
    large = [abs(offsets[0]) > max(_SMALL_MOVE * spread, rounding)]
    large += [abs(np.log(scale)) >= np.log(_MIN_FACTOR) for scale in (factor, ratio)]
    return [
        one for one, possible in zip(zip((1.0, factor, ratio), offsets, strict=True), large, strict=True) if possible
    ]


def _ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return a lower bound of the Kolmogorov-Smirnov distance between two periods, from quantiles (q,) of a feature."""
    rounding = _ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    places = np.concatenate([first, second])
    distance = 0.0
    for margin, side in ((-rounding, "left"), (rounding, "right")):
        one, other = (np.searchsorted(values, places + margin, side) / values.size for values in (first, second))  # type: ignore[call-overload]
        distance = max(distance, float(np.abs(one - other).max()))
    return max(distance - 2.0 / first.size, 0.0)


class Group(NamedTuple):
    """A new group: atypical points of a period that lie together."""

    points: float  # number of points, estimated from the sample
    cluster: int  # nearest to most of them
    counts: FloatArray  # (k + 1,) number of points by label
    center: FloatArray  # (d,) mean


def _find_groups(then: Profile, now: Profile) -> list[Group]:
    """Find new groups among the atypical points of the second period.

    Members of the nearest cluster that moved are not a new group: most of its typical points are gone, or their mean
    moved in the direction of the group.
    """
    spread = then.spread()
    used = spread > 0.0
    if now.atypical is None or now.atypical.codes.size < _GROUP_POINTS or not used.any():
        return []
    from sklearn.cluster import DBSCAN

    codes, before, after = now.atypical.codes, then.by_cluster(typical=True)[1], now.by_cluster(typical=True)[1]
    rows = dense(now.atypical.rows).astype(np.float64)
    rows = np.where(np.isnan(rows), before[codes], rows)
    weight, fewest = now.counts[:, 1].sum() / codes.size, max(_GROUP_POINTS, _GROUP_SHARE * codes.size)
    clusterer = DBSCAN(eps=_GROUP_RADIUS * np.sqrt(2.0 * used.sum()), min_samples=round(fewest))
    labels = clusterer.fit_predict(rows[:, used] / spread[used])
    # Typical points by cluster, as a share of all typical points.
    first, second = (n / max(n.sum(), 1) for n in (p.counts[:, 0] - p.counts[:, 1] for p in (then, now)))
    groups = []
    for label in range(labels.max() + 1):
        inside = labels == label
        counts = np.bincount(codes[inside], minlength=len(then.counts)) * weight
        nearest, center = int(counts.argmax()), rows[inside].mean(axis=0)
        offset, shift = ((place - before[nearest])[used] / spread[used] for place in (center, after[nearest]))
        if second[nearest] >= first[nearest] / 2.0 and shift @ offset < 0.5 * np.linalg.norm(offset):
            groups.append(Group(float(counts.sum()), nearest, counts, center))
    return groups


class DriftFinding(NamedTuple):
    """A change between periods that is larger than chance and large enough to matter."""

    kind: str
    """"unit", "shifted", "new cluster", "vanished", "moved", "mix" or "atypical"."""
    clusters: tuple[Any, ...]
    """Labels of the clusters that changed (for a new cluster, the nearest one; -1 is noise); empty for all points."""
    feature: str | None
    """The feature that changed most; None if none did."""
    then: float
    """The share of points; the mean for "moved" and "shifted"; 1 for "unit"."""
    now: float
    """The same in the second period; the factor for "unit"."""
    interval: tuple[float, float] | None
    """95% interval of ``now - then``; None for "unit" and "shifted"."""
    p_value: float
    """p-value, Bonferroni-corrected for all comparisons."""
    severity: float
    """Lower bound of the share of points that changed, from 0 to 1."""
    sentence: str


@dataclass(frozen=True, repr=False, eq=False)
class PeriodComparison(CardMixin):
    """The changes between two periods of data that one scorer labels.

    Returned by :func:`compare_periods`. ``print(comparison)`` gives a summary, :meth:`frame` one row per cluster.

    Attributes
    ----------
    findings
        The changes, most severe first; empty if nothing changed.
    classes
        (k,) cluster labels.
    then, now
        The profiles of both periods.
    level
        The probability of at least one finding if nothing changed.
    """

    findings: tuple[DriftFinding, ...]
    classes: AnyArray
    then: Profile = field(repr=False)
    now: Profile = field(repr=False)
    level: float
    _mix: Change = field(repr=False)
    _atypical: Change = field(repr=False)
    _moves: Change = field(repr=False)
    _shift: FloatArray = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def drifted(self) -> bool:
        """Whether there are any drift findings."""
        return bool(self.findings)

    @property
    def severity(self) -> float:
        """The largest severity of all drift findings, a lower bound of the share of points that changed."""
        return max((finding.severity for finding in self.findings), default=0.0)

    def frame(self) -> Any:
        """Return the comparison of periods by cluster: a row each, one for noise (-1) if any, and one for all points.

        Columns are ``cluster``, ``points_then``, ``points_now``; ``share`` and ``atypical`` then and now, with the 95%
        interval of the difference (``share_low``, ``share_high``, ...) and its p-value, adjusted for all comparisons;
        and ``moved`` and ``moved_by``: the feature whose mean moved most, and by how many standard deviations.
        """
        rows = self._cluster_rows()
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        return self._frame.build(columns | {"cluster": np.array([str(row["cluster"]) for row in rows])})

    def features(self, cluster: Any = None, *, n: int | None = 10) -> Any:
        """Return the features whose means changed most between periods: ``n`` for each cluster, or all with None.

        By default for the clusters named by findings, or every cluster if there are none; ``cluster`` is the label of
        one. Columns are ``cluster``, ``feature``, ``then``, ``now``, ``low`` and ``high`` (the 95% interval of the
        difference) and ``shift`` (in standard deviations of the first period). Dates are days since 1970-01-01.
        """
        rows, names = self._feature_rows(cluster, n), ("cluster", "feature", "then", "now", "low", "high", "shift")
        return self._frame.build({name: np.array([row[name] for row in rows]) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison of periods as plain values for JSON; unknown values are None."""
        return {
            "drifted": self.drifted,
            "severity": self.severity,
            "level": self.level,
            "points": {"then": self.then.n_points, "now": self.now.n_points},
            "findings": [json_value(finding._asdict()) for finding in self.findings],
            "clusters": json_value(self._cluster_rows()),
            "features": json_value(self._feature_rows(None, 10)),
        }

    def _cluster_rows(self) -> list[dict[str, Any]]:
        """Return the rows of :meth:`frame`: each cluster in both periods."""
        k, shift = self.classes.size, self._shift
        points = [np.append(profile.counts[:, 0], profile.n_points).tolist() for profile in (self.then, self.now)]
        names, rows = [*self.classes.tolist(), NOISE, "all"], []
        for i in [*range(k), *([k] if points[0][k] or points[1][k] else []), k + 1]:
            row: dict[str, Any] = {"cluster": names[i], "points_then": points[0][i], "points_now": points[1][i]}
            for name, change in (("share", self._mix), ("atypical", self._atypical)):
                row |= {f"{name}_{part}": float(values[i]) for part, values in change._asdict().items()}
            most = int(np.abs(shift[i]).argmax()) if i < k and shift.shape[1] else None
            row["moved"] = "" if most is None else str(self.then.names[most])
            row["moved_by"] = 0.0 if most is None else float(shift[i, most])
            rows.append(row)
        return rows

    def _feature_rows(self, cluster: Any, n: int | None) -> list[dict[str, Any]]:
        """Return the lines of :meth:`features`, the changes of features between periods."""
        labels, shift, rows = [str(label) for label in self.classes], self._shift, []
        named = {str(label) for finding in self.findings for label in finding.clusters} or set(labels)
        if cluster is not None:
            if str(cluster) not in labels:
                raise ValueError(f"cluster={cluster!r} is not among the clusters: {', '.join(labels)}.")
            named = {str(cluster)}
        for i in (i for i, label in enumerate(labels) if label in named):
            for feature in np.argsort(-np.abs(shift[i]), kind="stable")[:n]:
                then, now, (low, high) = self._moves.at(i, feature)
                figures = {"then": then, "now": now, "low": low, "high": high, "shift": shift[i, feature]}
                rows.append({"cluster": labels[i], "feature": str(self.then.names[feature]), **figures})
        return rows

    def headline(self) -> str:
        """Return one sentence: whether the data drifted, and the share of atypical points."""
        verdict = (
            f"Drifted: {count(len(self.findings), 'finding')}" if self.drifted else "Nothing changed beyond chance"
        )
        then, now = np.nan_to_num([shares[-1] for shares in self._atypical[:2]])
        return f"{verdict}. Atypical points: {then:.1%} then, {now:.1%} now"

    def _card(self) -> Card:
        """Return the card that displays the comparison of periods."""
        lines = [self.headline()]
        for finding in self.findings:
            p = "< 0.0001" if finding.p_value < 1e-4 else f"= {finding.p_value:.2g}"
            lines.append(f"- {finding.sentence} (p {p})")
        *rows, total = self._cluster_rows()
        rows.sort(key=lambda row: (min(row["share_p"], row["atypical_p"]), -abs(row["moved_by"])))
        cells = []
        for row in [*rows[:_MAX_CLUSTERS], total]:
            pairs = [(row[f"{name}_then"], row[f"{name}_now"]) for name in ("share", "atypical")]
            texts = [" to ".join("-" if x != x else f"{x:.1%}" for x in pair) for pair in pairs]
            moved = f"{row['moved']} {row['moved_by']:+.1f} sd" if row["moved"] else ""
            cells.append((str(row["cluster"]), *texts, moved))
        hidden = len(rows) - _MAX_CLUSTERS
        more = f"... and {hidden:,} more clusters, which changed less" if hidden > 0 else ""
        title = f"{count(self.then.n_points, 'point')} then, {self.now.n_points:,} now"
        headings, left = ("cluster", "share", "atypical", "moved most"), ("cluster", "moved most")
        return Card(title, lines, headings=headings, rows=cells, words=left, notes=[more])


def compare_periods(
    scorer: AffinityScorer | Model, X_then: Any, X_now: Any, *, level: float = 0.05, verbose: Verbose = False
) -> PeriodComparison:
    """Compare two periods of data with one scorer, and report what changed.

    The scorer labels the points of both periods as new points; affinities are not computed. The comparison covers the
    unit and level of each feature, the cluster means, the cluster shares, and the share of atypical points (typicality
    below 1%). A finding is a change larger than chance and large enough to matter: more than one percentage point of
    a share, or 0.1 standard deviations.

    Parameters
    ----------
    scorer
        A fitted scorer, or a model for tables.
    X_then
        (n, d) points of the first period, often the training data; None uses the baseline from ``keep_baseline``.
    X_now
        (m, d) points of the second period. Both periods may be arrays, sparse matrices, frames or Dask collections.
    level
        The probability of at least one finding if nothing changed.
    verbose
        Whether to show progress.

    Returns
    -------
    PeriodComparison
        Findings, most severe first, and the values they are based on.

    Notes
    -----
    Rows are assumed to be independent. If they are not, for example because customers have several rows, the tests
    report too many changes: compare one row per customer.

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
    with progress(2, "comparing periods", verbose, unit="periods") as advance:
        then = None if X_then is None else scorer.profile(X_then)
        advance(1)
        now = scorer.profile(X_now)
        advance(1)
    frame = FrameLike() if is_lazy(X_now) else FrameLike.of(X_now).without_index()
    return replace(compare_profiles(scorer, then, now, level=level), _frame=frame)


def compare_profiles(
    scorer: AffinityScorer | Model, then: Profile | None, now: Profile, *, level: float = 0.05
) -> PeriodComparison:
    """Compare the profiles of two periods.

    Parameters
    ----------
    scorer
        A fitted scorer, or a model for tables.
    then, now
        The profiles of the periods. For ``then``, None uses the baseline from ``keep_baseline``; ``now`` cannot come
        from a file, which has no sampled rows.
    level
        As in :func:`compare_periods`.
    """
    inner: Any = getattr(scorer, "scorer", scorer)
    check_is_fitted(inner)
    fitted: Fitted = inner.fitted_
    then = fitted.baseline if then is None else then
    if then is None:
        raise ValueError(
            "there is no first period to compare with: pass one, or call scorer.keep_baseline(X) with its points."
        )
    level = check_number(level, "level", low=0.0, high=1.0)
    for name, profile in (("X_then", then), ("X_now", now)):
        if not profile.n_points:
            raise ValueError(f"{name} has no points, so there is nothing to compare.")
    assert fitted.members is not None
    n_members, groups = np.diff(fitted.members.value.starts), _find_groups(then, now)
    new_points = np.sum([np.zeros(len(then.counts)), *(group.counts for group in groups)], axis=0)
    moves, shift = _compare_means(then, now, new_points > 0.0)
    columns = _compare_columns(then, now, moves)
    mix, atypical = _compare_mix(then, now, new_points), _compare_atypical(then, now, n_members)
    # Bonferroni's correction for all comparisons: shares, atypical shares, means of clusters, columns.
    tests = 2 * mix.p.size + moves.p.size + len(columns)
    mix, atypical, moves = (each._replace(p=np.minimum(tests * each.p, 1.0)) for each in (mix, atypical, moves))
    columns = [column._replace(p=min(tests * column.p, 1.0)) for column in columns]
    findings = [_column_finding(then, now, i, column) for i, column in enumerate(columns) if column.p <= level]
    if not findings:  # after a change of unit or level, labels are not comparable
        labels = [*fitted.classes.tolist(), NOISE]
        vanished = (mix.p <= level) & (mix.now <= _SMALL_PART * mix.then)
        moved = (moves.p <= level) & (np.abs(shift).max(axis=1, initial=0.0) >= _SMALL_MOVE)
        moved &= ~vanished[: moved.size]
        findings += _group_findings(labels, then, now, groups, atypical, level)
        findings += _vanished_findings(labels, mix, vanished)
        findings += _move_findings(labels, then, now, moves, shift, moved)
        findings += [] if findings else _atypical_findings(labels, atypical, level)
        # New groups, vanished clusters and moved ones exchange points with others, which changes the other shares.
        changed = np.append(moved, [False, False]) | vanished
        allowed = float(new_points.sum() / now.n_points + np.abs(mix.now - mix.then)[changed].sum())
        rest = _compare_mix(then, now, new_points, allowed)
        rest = rest._replace(p=np.minimum(tests * rest.p, 1.0))
        findings += _mix_findings(labels, rest, (rest.p <= level) & ~changed)
    findings.sort(key=lambda finding: -finding.severity)
    raw_mix = _compare_mix(then, now, np.zeros(len(then.counts)))._replace(p=mix.p)
    return PeriodComparison(
        tuple(findings), fitted.classes, then, now, level, raw_mix, atypical, moves, shift, FrameLike()
    )


def _column_finding(then: Profile, now: Profile, i: int, column: Rescaling) -> DriftFinding:
    """Return the drift finding about a column whose unit or level changed in all clusters."""
    name = str(then.names[i])
    if column.factor == 1.0:
        first, second = (float(profile.overall()[1, i]) for profile in (then, now))
        verb = "rose" if column.offset > 0 else "fell"
        by = f"{abs(column.offset):.4g}" + " days" * bool(then.dates[i])
        text = f"{name} {verb} by {by} in all clusters ({_means(then, i, first, second)})"
        return DriftFinding("shifted", (), name, first, second, None, column.p, column.difference, text)
    power = 10.0 ** round(float(np.log10(column.factor)))
    factor = power if power != 1.0 and abs(column.factor / power - 1.0) <= 0.05 else column.factor
    shift = f" and shifted by {column.offset:+.4g}" if column.offset else ""
    by = f"{factor:,.0f}" if factor >= 100.0 else f"{factor:.3g}"
    text = f"{name} was multiplied by {by}{shift} (a change of unit?). Convert it back and compare again"
    return DriftFinding("unit", (), name, 1.0, column.factor, None, column.p, column.difference, text)


def _group_findings(
    labels: list[Any], then: Profile, now: Profile, groups: list[Group], atypical: Change, level: float
) -> Iterator[DriftFinding]:
    """Yield drift findings about new groups."""
    spread, means = then.spread(), then.by_cluster(typical=True)[1]
    for group in groups:
        p = float(min(atypical.p[-1], atypical.p[group.cluster]))
        if p > level:
            continue
        offset = group.center - means[group.cluster]
        shift = np.divide(offset, spread, out=np.zeros_like(offset), where=spread > 0.0)
        label, feature = labels[group.cluster], str(then.names[np.abs(shift).argmax()])
        n = float(then.n_points), float(now.n_points)
        _, share, interval = _compare_shares(np.zeros(1), np.array([group.points]), n, (0.0, 0.0)).at(0)
        text = (
            f"New cluster: {share:.1%} of the points ({round(group.points):,}) lie together in a region with no "
            f"earlier data, nearest to cluster {label}, from which they differ in {_shifts(then, shift)}"
        )
        yield DriftFinding("new cluster", (label,), feature, 0.0, share, interval, p, share, text)


def _vanished_findings(labels: list[Any], mix: Change, vanished: BoolArray) -> Iterator[DriftFinding]:
    """Yield drift findings about clusters with less than a tenth of their former share."""
    for i in np.flatnonzero(vanished).tolist():
        then, now, interval = mix.at(i)
        text = f"Cluster {labels[i]} vanished: {then:.1%} of the points then, {now:.1%} now"
        yield DriftFinding("vanished", (labels[i],), None, then, now, interval, float(mix.p[i]), then, text)


def _move_findings(
    labels: list[Any], then: Profile, now: Profile, moves: Change, shift: FloatArray, moved: BoolArray
) -> Iterator[DriftFinding]:
    """Yield one drift finding for each column along which cluster means moved most."""
    if not moved.any():
        return
    first = np.abs(shift).argmax(axis=1)
    by = shift[np.arange(first.size), first]
    severity = now.counts[:-1, 0] / now.n_points * special.erf(np.abs(by) / np.sqrt(8.0))
    for i in np.unique(first[moved]).tolist():
        numbers = np.flatnonzero(moved & (first == i))
        numbers = numbers[np.argsort(-severity[numbers], kind="stable")]
        lead = int(numbers[0])
        before, after, interval = moves.at(lead, i)
        moving, feature = tuple(labels[number] for number in numbers.tolist()), str(then.names[i])
        text = f"Cluster {moving[0]} moved: {_shifts(then, shift[lead])} ({feature} {_means(then, i, before, after)})"
        if len(moving) > 1:
            listed = ", ".join(map(str, moving[:5])) + (", ..." if len(moving) > 5 else "")
            span = f"{by[numbers].min():+.1f} to {by[numbers].max():+.1f} sd"
            text = f"{len(moving)} clusters ({listed}) moved along {feature}, by {span}"
        p, severe = float(moves.p[numbers].min()), float(severity[numbers].sum())
        yield DriftFinding("moved", moving, feature, before, after, interval, p, severe, text)


def _mix_findings(labels: list[Any], mix: Change, is_listed: BoolArray) -> Iterator[DriftFinding]:
    """Yield the drift finding about clusters that grew or shrank, if any did."""
    if not is_listed.any():
        return
    by = np.abs(mix.now - mix.then)
    order = [i for i in np.argsort(-by).tolist() if is_listed[i]]
    then, now, interval = mix.at(order[0])
    names, verbs = [*labels[:-1], "noise"], ("shrank", "grew")
    parts = [
        f"{names[i]} {verbs[int(mix.now[i] > mix.then[i])]} from {mix.then[i]:.1%} to {mix.now[i]:.1%}"
        for i in order[:3]
    ]
    more = f", and {len(order) - 3} more changed" if len(order) > 3 else ""
    text, severity = f"The mix of clusters changed: {', '.join(parts)}{more}", float(by[:-1].sum() / 2.0)
    changed = tuple(labels[i] for i in order)
    yield DriftFinding("mix", changed, None, then, now, interval, float(mix.p[order[0]]), severity, text)


def _atypical_findings(labels: list[Any], atypical: Change, level: float) -> Iterator[DriftFinding]:
    """Yield the drift finding that there are more atypical points, if there are."""
    hits = np.flatnonzero(atypical.p <= level).tolist()
    if not hits:
        return
    total = atypical.p.size - 1
    clusters = sorted((i for i in hits if i != total), key=lambda i: -atypical.now[i])
    number = total if total in hits or len(clusters) > 1 else clusters[0]
    then, now, interval = atypical.at(number)
    inside = tuple(labels[i] for i in clusters)
    where = f" in cluster {inside[0]}" if number != total else f", most of all in cluster {inside[0]}" if inside else ""
    text = f"Atypical points rose from {then:.1%} to {now:.1%}{where}"
    rise = max(float(np.nan_to_num(atypical.now[-1] - atypical.then[-1])), 0.0)
    yield DriftFinding("atypical", inside, None, then, now, interval, float(atypical.p[hits].min()), rise, text)


def _means(profile: Profile, i: int, then: float, now: float) -> str:
    """Return the means of a feature in both periods as text, dates in ISO format."""
    texts = [str(np.datetime64(round(mean), "D")) if profile.dates[i] else f"{mean:.4g}" for mean in (then, now)]
    return f"from {texts[0]} to {texts[1]} on average"


def _shifts(profile: Profile, shift: FloatArray) -> str:
    """Return the features with the largest changes between periods, in standard deviations, as text."""
    order = np.argsort(-np.abs(shift), kind="stable")[:3]
    large = [i for i in order if abs(shift[i]) >= max(_SMALL_MOVE, abs(shift[order[0]]) / 5)]
    return ", ".join(f"{profile.names[i]} {shift[i]:+.1f} sd" for i in large)
