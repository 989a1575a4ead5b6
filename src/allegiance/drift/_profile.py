"""What is kept of a period, which adds up over its parts, and the tests that compare two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse, stats

from allegiance._core.stored import Array, OrNone, floats, stored
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, Rows, dense, is_sparse
from allegiance.calibration import RowSample
from allegiance.fitting import Fitted, PreparedInput
from allegiance.influence import Kernel
from allegiance.results import ATYPICAL, AffinityResult, count_by_cluster, distance_and_closeness

#: Most features that are compared one by one, and rows whose moments are computed at a time.
_MOST_FEATURES, _BLOCK = 1000, 8192
#: Rows of a period whose values are kept while it is read: of all points, and of atypical ones.
_VALUES, _STRANGE = 4096, 1024
#: Levels of the quantiles that are kept of each feature.
LEVELS = np.linspace(0.0, 1.0, 129)
#: Relative differences up to this are rounding, that of float32 included.
ROUNDING = 1e-7


@stored(
    "profile",
    names=Array(("d",), "label"),
    counts=Array(("k+1", 2), "int", low=0),
    moments=floats(2, 3, "k+1", "d"),
    quantiles=OrNone(floats(len(LEVELS), "d")),
    n_values=OrNone(Array(("d",), "int", low=0)),
)
@dataclass(frozen=True, eq=False)
class Profile:
    """What is kept of a period. Profiles of its parts add up: ``profile.plus(other)``.

    Attributes
    ----------
    names
        (d,) names of the features; none if there are more than 1,000, which are not compared one by one.
    counts
        (k + 1, 2) points and atypical points of each cluster; the last row is noise.
    moments
        (2, 3, k + 1, d) counts, means and sums of squared deviations of the features in each cluster, of its typical
        points and of its atypical ones.
    quantiles, n_values
        (129, d) quantiles of each feature, and (d,) how many values they come from: set by :meth:`without_rows`.
    values, strange
        Samples of the rows and of the atypical rows. They are not saved.
    """

    names: AnyArray
    counts: IntArray
    moments: FloatArray
    quantiles: FloatArray | None = None
    n_values: IntArray | None = None
    values: RowSample | None = field(default=None, repr=False)
    strange: RowSample | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, codes: IntArray, atypical: BoolArray, k: int, features: Rows, names: Any, *, seed: int, start: int = 0
    ) -> Profile:
        """Take points with cluster numbers (n,), -1 for noise, and features (n, d); ``start`` numbers the first."""
        counts = count_by_cluster(codes, k, [np.ones(codes.size, dtype=bool), atypical])
        if features.shape[1] > _MOST_FEATURES:
            features, names = features[:, :0], []
        group = np.where(codes < 0, k, codes) + (k + 1) * atypical
        strange = np.where(atypical, codes, -1)
        return cls(
            np.array(names, dtype=object),
            counts,
            _moments(features, group, 2 * (k + 1)).reshape(3, 2, k + 1, -1).swapaxes(0, 1),
            values=RowSample.of(features, group, limit=_VALUES, seed=seed, start=start),
            strange=RowSample.of(features, strange, limit=_STRANGE, seed=seed, start=start),
        )

    def plus(self, other: Profile) -> Profile:
        """Return the profile of both sets of points, which must not overlap."""
        if self.values is None or self.strange is None or other.values is None or other.strange is None:
            raise ValueError("a profile that was saved has no rows any more, and cannot be added to.")
        moments = _pooled(np.stack([self.moments, other.moments]), axis=2)
        values, strange = self.values.plus(other.values), self.strange.plus(other.strange)
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
        return int(self.counts[:, 0].sum())

    def by_cluster(self, *, typical: bool = False) -> FloatArray:
        """Return counts, means and squares (3, k + 1, d) of the members of each cluster, or of the typical ones."""
        return self.moments[0] if typical else _pooled(self.moments)

    def overall(self) -> FloatArray:
        """Return counts, means and squares (3, d) of all points."""
        return _pooled(self.by_cluster().swapaxes(0, 1))

    def spread(self) -> FloatArray:
        """Return the usual standard deviation (d,) of each feature inside a cluster; that of all where it is 0."""
        number, _, squares = self.by_cluster(typical=True)
        freedom = np.maximum(number - 1.0, 0.0).sum(axis=0)
        pooled = np.sqrt(squares.sum(axis=0) / np.maximum(freedom, 1.0))
        every = self.overall()
        return np.where(pooled > ROUNDING * np.abs(every[1]), pooled, np.sqrt(variance_of(every)))


def _moments(features: Rows, groups: IntArray, n_groups: int) -> FloatArray:
    """Return counts, means and squares (3, g, d) of features (n, d) of points in groups (n,); NaN is left out."""
    parts = []
    for start in range(0, max(groups.size, 1), _BLOCK):
        rows, group = dense(features[start : start + _BLOCK]), groups[start : start + _BLOCK]
        member = sparse.csr_array((np.ones(group.size), group, np.arange(group.size + 1)), (group.size, n_groups)).T
        known = ~np.isnan(rows)
        values = np.where(known, rows, 0.0).astype(np.float64, copy=False)
        number = member @ known.astype(np.float64)
        mean = (member @ values) / np.maximum(number, 1.0)
        parts.append([number, mean, member @ np.where(known, values - mean[group], 0.0) ** 2])
    return _pooled(np.array(parts))


def _pooled(parts: FloatArray, axis: int = 1) -> FloatArray:
    """Merge counts, means and squares of several sets of points (m, 3, ...), or with the three along ``axis``."""
    number, mean, squares = np.moveaxis(parts, axis, 0)
    total = number.sum(axis=0)
    joint = (number * mean).sum(axis=0) / np.maximum(total, 1.0)
    return np.stack([total, joint, (squares + number * (mean - joint) ** 2).sum(axis=0)], axis=axis - 1)


def variance_of(moments: FloatArray) -> FloatArray:
    """Return variances, 0 where there are fewer than two values."""
    variance: FloatArray = moments[2] / np.maximum(moments[0] - 1.0, 1.0)
    return variance


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
    if fitted.influence == Kernel("precomputed"):
        raise ValueError("comparing periods needs points, but influence='precomputed' has only their kernel values.")
    if fitted.members is None:
        raise ValueError("comparing periods needs the distances of members, which this scorer lacks: fit it again.")
    columns = fitted.columns
    if result is None:
        codes, typicality = _typicality(fitted, fitted.prepare_input(X, named=features is None))
    else:
        codes, typicality = result._codes, result.typicality
    if features is None:
        known = columns.known_names
        features = _numbers(X, known) if columns.preparation is not None else columns.check(X)
        names = [f"x{i}" for i in range(features.shape[1])] if known is None else list(known)
    # In clusters of under 100 members a point is atypical if it lies farther out than every member.
    bar = np.maximum(ATYPICAL, 1.5 / (1.0 + member_sizes(fitted)))
    with np.errstate(invalid="ignore"):
        # A cluster without members has nothing to be unlike.
        atypical = (codes >= 0) & (typicality < bar[codes]) & (typicality < 1.0)
    seed = fitted.specification.settings.seed
    return Profile.of(codes, atypical, fitted.classes.size, features, names, seed=seed, start=start)


def _typicality(fitted: Fitted, points: PreparedInput) -> tuple[IntArray, FloatArray]:
    """Return the clusters (n,) of points, and their typicality (n,). No volume is measured."""
    located = fitted.locate(points.rows)
    codes = fitted.codes_of(points, located)
    distance, _ = distance_and_closeness(fitted.diagram, located, codes, fitted.specification.settings.threads)
    assert fitted.members is not None
    return codes, fitted.members.value.typicality(codes, distance)


def member_sizes(fitted: Fitted) -> IntArray:
    assert fitted.members is not None
    return np.diff(fitted.members.value.starts)


def _numbers(X: Any, names: AnyArray | None) -> Rows:
    """Return the numbers (n, d) of X as they come, in their own units, NaN for what is not a number."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        return np.column_stack(
            [
                column.cast(nw.Float64).to_numpy().astype(np.float64)
                if column.dtype.is_numeric() or column.dtype == nw.Boolean
                else np.full(len(column), np.nan)
                for column in (frame[name] for name in (frame.columns if names is None else names))
            ]
        )
    values = X if is_sparse(X) else np.asarray(X)
    return values if values.dtype.kind in "biuf" else np.full(values.shape, np.nan)


def with_baseline(fitted: Fitted, profile: Profile) -> Fitted:
    """Return the same with the profile of a first period, which later ones are compared with."""
    return replace(fitted, baseline=profile.without_rows())


def baseline_of(fitted: Fitted) -> Profile | None:
    """Return the profile of the first period, if it was kept."""
    return fitted.baseline if isinstance(fitted.baseline, Profile) else None


#: Changes up to these do not matter: of a cluster's share (of all points, and of itself, whichever is smaller), of the
#: share of atypical points, and of a mean in standard deviations.
SMALL_SHARE, SMALL_PART, _SMALL_ATYPICAL, SMALL_MOVE = 0.01, 0.1, 0.005, 0.1
#: Factors closer to 1 are growth; spreads may differ by so much from the factor; distributions may differ by so much
#: once a change is undone: a factor, an offset. An offset must move clusters with this share of the points.
_LEAST_FACTOR, _SPREADS, _LEFT_BY_FACTOR, _LEFT_BY_OFFSET, _MOST_POINTS = 1.5, 1.3, 0.15, 0.05, 0.75
_INNER = (LEVELS > 0.025) & (LEVELS < 0.975)


class Change(NamedTuple):
    """How figures changed: each field is an array of one shape."""

    then: FloatArray
    now: FloatArray
    low: FloatArray
    """Of the 95 % interval of ``now - then``."""
    high: FloatArray
    p: FloatArray
    """Chance of a change this far beyond what is allowed for, if there is none."""

    def adjusted(self, tests: int) -> Change:
        """Return the same with Bonferroni's correction."""
        return self._replace(p=np.minimum(tests * self.p, 1.0))

    def at(self, *place: int) -> tuple[float, float, tuple[float, float]]:
        """Return one figure of then and of now, and the interval of their difference."""
        then, now, low, high = (float(values[place]) for values in self[:4])
        return then, now, (low, high)


class Moves(NamedTuple):
    """How far the means of clusters moved."""

    change: Change
    """(k, d), with p-values of single features."""
    shift: FloatArray
    """(k, d) in standard deviations of then."""
    p: FloatArray
    """(k,) chance that any feature moved so far, if none did."""


class Column(NamedTuple):
    """What happened to all values of a feature: now = factor * then + offset."""

    factor: float = 1.0
    offset: float = 0.0
    difference: float = 0.0
    """Of the distributions of then and now, by Kolmogorov and Smirnov."""
    p: float = 1.0


def compare_means(then: Profile, now: Profile, near: BoolArray) -> Moves:
    """Compare the means of clusters; of those ``near`` (k + 1,) a new group only typical members."""
    first, second = (
        np.where(near[:, None], profile.by_cluster(typical=True), profile.by_cluster()) for profile in (then, now)
    )
    (n1, m1, _), (n2, m2, _), variance = first, second, variance_of(first)
    rounding = ROUNDING * np.maximum(np.abs(m1), np.abs(m2))
    spread = np.where(variance > rounding**2, np.sqrt(variance), then.spread())
    allowed = np.maximum(SMALL_MOVE * spread, rounding)
    change = _means_differ(first, second, allowed)
    moved = (np.abs(m2 - m1) > rounding) & (n1 > 0) & (n2 > 0)
    shift = np.divide(m2 - m1, np.maximum(spread, rounding), out=np.zeros_like(m1), where=moved)
    # A few far points move the mean of all members, but not that of the typical ones; unless most are atypical.
    far = (now.counts[:, 1] > now.counts[:, 0] / 2) & ~near
    first, second = (
        np.where(far[:, None], profile.by_cluster(), profile.by_cluster(typical=True)) for profile in (then, now)
    )
    tested = _means_differ(first, second, allowed)
    p = np.minimum(tested.p.min(axis=1, initial=1.0) * max(spread.shape[1], 1), 1.0)
    return Moves(Change(*(values[:-1] for values in change)), shift[:-1], p[:-1])


def compare_atypical(then: Profile, now: Profile, member_sizes: IntArray) -> Change:
    """Compare the shares (k + 2,) of atypical points; only a rise counts.

    Points of the fit are rarely atypical, so the share that new points like the members have stands in for a smaller
    one of then; and it is known only as well as the members that are kept tell it.
    """
    figures = []
    for profile in (then, now):
        for column in profile.counts.T:
            values = with_total(column)
            values[-1] -= values[-2]  # noise has no members to be unlike
            values[-2] = 0.0
            figures.append(values)
    n1, x1, n2, x2 = figures
    shown = shares_differ(x1, x2, (n1, n2), (-np.inf, np.inf))
    known = np.maximum(np.ceil(ATYPICAL * (1.0 + member_sizes)) - 1.0, 1.0)
    nominal = np.where(member_sizes > 0, known / (1.0 + member_sizes), 0.0)
    rate = np.maximum(np.nan_to_num(shown.then[:-2]), nominal)
    size = np.minimum(n1[:-2], member_sizes)
    overall = max(float(rate @ n2[:-2] / max(n2[-1], 1.0)), float(np.nan_to_num(shown.then[-1])))
    rates, sizes = np.concatenate([rate, [0.0, overall]]), np.concatenate([size, [0.0, size.sum()]])
    return shown._replace(p=shares_differ(sizes * rates, x2, (sizes, n2), (-1.0, _SMALL_ATYPICAL)).p)


def with_total(by_cluster: AnyArray) -> FloatArray:
    """Return figures (k + 2,) of clusters, noise, and all points."""
    return np.append(by_cluster, by_cluster.sum()).astype(np.float64)


def compare_columns(then: Profile, now: Profile, moves: Moves) -> list[Column]:
    """Return for each feature whether all its values were rescaled or shifted."""
    # A single cluster that moves makes distributions differ by no more than its share. Where many points are atypical,
    # labels do not tell which clusters moved.
    most = then.counts[:-1, 0].max(initial=0) / then.n_points
    if now.counts[:, 1].sum() < now.n_points / 4:
        most = max(most, 0.5)
    shares = now.counts[:-1, 0] / now.n_points
    spread, found = then.spread(), []
    then, now = then.without_rows(), now.without_rows()
    assert then.quantiles is not None and now.quantiles is not None  # noqa: PT018
    assert then.n_values is not None and now.n_values is not None  # noqa: PT018
    for i, (before, after) in enumerate(zip(then.quantiles.T, now.quantiles.T, strict=True)):
        n1, n2 = float(then.n_values[i]), float(now.n_values[i])
        difference, chosen = _ks_distance(before, after), Column()
        if min(n1, n2) >= 20 and difference > 0.0:
            by_chance = 1.63 * np.sqrt((n1 + n2) / (n1 * n2))
            p = float(stats.kstwobign.sf(difference * np.sqrt(n1 * n2 / (n1 + n2))))
            for factor, offset in _candidates(before, after, spread[i]):
                left = _ks_distance(before, (after - offset) / factor)
                limit = max(by_chance, max(_LEFT_BY_OFFSET, difference / 8.0) if offset else _LEFT_BY_FACTOR)
                along = moves.change.now[:, i] - moves.change.then[:, i]
                together = float(shares[along * np.sign(offset) >= abs(offset) / 4.0].sum())
                common = not offset or difference > most or (factor == 1.0 and together >= _MOST_POINTS)
                if left <= min(limit, difference / 3.0) and common:
                    chosen = Column(factor, offset, difference, p)
                    break
        found.append(chosen)
    return found


def _candidates(before: FloatArray, after: FloatArray, spread: float) -> list[tuple[float, float]]:
    """Return the factors and offsets that may turn one distribution into the other, the simplest first."""
    widths = _width(before), _width(after)
    ratio = widths[1] / widths[0] if min(widths) > 0.0 else 1.0 if max(widths) == 0.0 else np.nan
    sizes = np.abs(before[_INNER]).sum(), np.abs(after[_INNER]).sum()
    factor = sizes[1] / sizes[0] if sizes[0] > 0.0 else np.nan
    offset = float(np.median(after - before))
    rounding = ROUNDING * max(np.abs(before).max(), np.abs(after).max())
    rescaled = [each > 0.0 and abs(np.log(each)) >= np.log(_LEAST_FACTOR) for each in (factor, ratio)]
    candidates = [
        (rescaled[0] and 1.0 / _SPREADS < ratio / factor < _SPREADS, factor, 0.0),
        (1.0 / _SPREADS < ratio < _SPREADS and abs(offset) > max(SMALL_MOVE * spread, rounding), 1.0, offset),
        (rescaled[1], ratio, float(np.median(after - ratio * before))),
    ]
    return [(float(scale), shift) for possible, scale, shift in candidates if possible]


def _width(quantiles: FloatArray) -> float:
    """Return how wide a distribution is: the mean distance from its median, without the outer 2.5 % on either side."""
    middle = quantiles[_INNER]
    width = float(np.abs(middle - np.median(middle)).mean())
    return width if width > ROUNDING * float(np.abs(quantiles).max()) else 0.0


def _ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return a lower bound of the distance of two distributions, both given by quantiles (q,) at the same levels."""
    rounding = ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    places = np.concatenate([first, second])
    distance = 0.0
    for margin, side in ((-rounding, "left"), (rounding, "right")):
        one, other = (np.searchsorted(values, places + margin, side) / values.size for values in (first, second))  # type: ignore[call-overload]
        distance = max(distance, float(np.abs(one - other).max()))
    return max(distance - 2.0 / first.size, 0.0)


def _means_differ(then: FloatArray, now: FloatArray, allowed: FloatArray | float) -> Change:
    """Compare counts, means and squares (3, ...) of then and now by Welch's test."""
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = variance_of(then) / then[0], variance_of(now) / now[0]
        error = np.sqrt(parts[0] + parts[1])
        freedom = error**4 / (
            parts[0] ** 2 / np.maximum(then[0] - 1.0, 1.0) + parts[1] ** 2 / np.maximum(now[0] - 1.0, 1.0)
        )
        freedom = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0)
        # A single value says nothing about the spread.
        error = np.where((then[0] < 2) | (now[0] < 2), np.nan, error)
        return _change(then[1], now[1], now[1] - then[1], error, freedom, (-allowed, allowed))


def shares_differ(then: AnyArray, now: AnyArray, n: tuple[Any, Any], allowed: tuple[Any, Any]) -> Change:
    """Compare numbers of cases among ``n`` points by Agresti and Caffo's interval: one more of each kind, then and now.

    Without any points nothing is known.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = ((cases + 1.0) / (total + 2.0) for cases, total in zip((then, now), n, strict=True))
        error = np.sqrt(a * (1.0 - a) / (n[0] + 2.0) + b * (1.0 - b) / (n[1] + 2.0))
        error = np.where(np.minimum(n[0], n[1]) > 0, error, np.nan)
        return _change(then / n[0], now / n[1], b - a, error, np.inf, allowed)


def _change(
    then: FloatArray, now: FloatArray, change: FloatArray, error: FloatArray, freedom: Any, allowed: tuple[Any, Any]
) -> Change:
    """Judge changes with these standard errors by Student's t; those from ``allowed[0]`` to ``allowed[1]`` are none."""
    excess = np.maximum(np.maximum(change - allowed[1], allowed[0] - change), 0.0)
    half = stats.t.ppf(0.975, freedom) * error
    p = np.minimum(2.0 * stats.t.sf(excess / error, freedom), 1.0)
    return Change(then, now, change - half, change + half, np.nan_to_num(p, nan=1.0))
