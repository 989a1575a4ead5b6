"""How two profiles differ, with intervals and p-values: shares, means, whole columns, and groups of atypical points.

Every test allows for a change that does not matter, so that a million rows do not make news of nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, dense
from allegiance.engines import Z95
from allegiance.results import ATYPICAL

from ._profile import LEVELS, N_ATYPICAL, POINTS, ROUNDING, Profile

#: Changes up to these do not matter: of a cluster's share (of all points, and of itself, whichever is smaller), of the
#: share of atypical points, and of a mean in standard deviations.
_SMALL_SHARE, SMALL_PART, _SMALL_ATYPICAL, SMALL_MOVE = 0.01, 0.1, 0.005, 0.1


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


def compare_means(then: Profile, now: Profile, near: BoolArray) -> Moves:
    """Compare the means of clusters; of those ``near`` (k + 1,) a new group only typical members."""
    pairs = [(profile.by_cluster(typical=True), profile.by_cluster()) for profile in (then, now)]
    (n1, m1, v1), (n2, m2, v2) = (
        tuple(
            np.where(near[:, None], getattr(some, name), getattr(every, name)) for name in ("count", "mean", "variance")
        )
        for some, every in pairs
    )
    rounding = ROUNDING * np.maximum(np.abs(m1), np.abs(m2))
    spread = np.where(v1 > rounding**2, np.sqrt(v1), then.spread())
    change = means_differ((n1, n2), (m1, m2), (v1, v2), np.maximum(SMALL_MOVE * spread, rounding))
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
_LEAST_FACTOR, _SPREADS, _LEFT_BY_FACTOR, _LEFT_BY_OFFSET, _MOST_POINTS = 1.5, 1.3, 0.15, 0.05, 0.75


def compare_columns(then: Profile, now: Profile, moves: Moves) -> list[Column]:
    """Return for each feature whether all its values were rescaled or shifted."""
    # A single cluster that moves brings distributions no farther apart than its share. Where many points are atypical,
    # labels do not tell which clusters moved.
    most = then.counts[:-1, POINTS].max(initial=0) / then.n_points
    if now.counts[:, N_ATYPICAL].sum() < now.n_points / 4:
        most = max(most, 0.5)
    shares = now.counts[:-1, POINTS] / now.n_points
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
                limit = max(by_chance, max(_LEFT_BY_OFFSET, apart / 8.0) if offset else _LEFT_BY_FACTOR)
                along = moves.change.now[:, i] - moves.change.then[:, i]
                together = float(shares[along * np.sign(offset) >= abs(offset) / 4.0].sum())
                common = not offset or apart > most or (factor == 1.0 and together >= _MOST_POINTS)
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
    rounding = ROUNDING * max(np.abs(before).max(), np.abs(after).max())
    if 1.0 / _SPREADS < ratio < _SPREADS and abs(offset) > max(SMALL_MOVE * spread, rounding):
        found.append((1.0, offset))
    if ratio > 0.0 and abs(np.log(ratio)) >= np.log(_LEAST_FACTOR):
        found.append((ratio, float(np.median(after - ratio * before))))
    return found


def _width(quantiles: FloatArray) -> float:
    """Return how wide a distribution is: the mean distance from its median, without the outer 2.5 % on either side."""
    middle = quantiles[(LEVELS > 0.025) & (LEVELS < 0.975)]
    width = float(np.abs(middle - np.median(middle)).mean())
    return width if width > ROUNDING * float(np.abs(quantiles).max()) else 0.0


def _ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return a lower bound of how far two distributions lie apart, both given by quantiles (q,) at the same levels."""
    rounding = ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    places = np.concatenate([first, second])
    apart = 0.0
    for aside in (-rounding, rounding):
        one, other = (
            np.searchsorted(values, places + aside, "left" if aside < 0.0 else "right") / values.size
            for values in (first, second)
        )
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
_REACH, _AWAY, FEWEST, _SMALLEST, _MOST_GROUPS = 1.5, 4.0, 10, 0.15, 5
#: Chance of so many points in a group, or of so great a loss of a cluster, must be below this. A group belongs to a
#: cluster if so much of it is nearest to it, or if the typical members moved as many spreads towards it.
SURE, _MOSTLY, _ALONG = 0.01, 0.9, 1.0


def find_groups(then: Profile, now: Profile, usual: float) -> list[Group]:
    """Find groups among the atypical points of now, the largest first; ``usual`` is the share of atypical points."""
    if now.strange is None or now.strange.codes.size < FEWEST:
        return []
    scale, known = then.spread(), then.by_cluster(typical=True)
    used = scale > 0.0
    if not used.any():
        return []
    codes, rows = now.strange.codes, dense(now.strange.rows).astype(np.float64)
    rows = np.where(np.isnan(rows), known.mean[codes], rows)
    left, fewest = np.arange(codes.size), max(FEWEST, _SMALLEST * codes.size)
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
        if by_chance <= SURE and _lies_away(now, host, scaled[inside], known.mean[host], scale):
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
    return distance >= _AWAY * max(float(along.std()) if along.size >= FEWEST else 1.0, 0.25)


def _with_origins(groups: list[Group], then: Profile, now: Profile) -> list[Group]:
    """Return groups with the clusters that they are likely to be, each cluster once.

    Groups that are the far end of the cluster they are nearest to, which moved, are left out: its mean tells.
    """
    typical = [(profile.counts[:-1, POINTS] - profile.counts[:-1, N_ATYPICAL]).astype(float) for profile in (then, now)]
    outside = max(now.n_points - sum(group.points for group in groups), 1.0)
    n = np.full_like(typical[0], then.n_points), np.full_like(typical[0], outside)
    change = shares_differ((typical[0], np.minimum(typical[1], outside)), n, (0.0, 0.0))
    shrank = (change.now < change.then) & (change.p * typical[0].size <= SURE)
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
        if moved.count[here].min(initial=np.inf) >= FEWEST and shift @ offset >= _ALONG * np.linalg.norm(offset):
            origin = here
        if origin is not None:
            lost[origin] = 0.0
        if origin is None or group.taken[origin] < _MOSTLY * group.points:
            found.append(group._replace(origin=origin))
    return found


def with_total(by_cluster: AnyArray) -> FloatArray:
    """Return figures (k + 2,) of clusters, noise, and all points."""
    return np.append(by_cluster, by_cluster.sum()).astype(np.float64)


def compare_shares(
    then: Profile, now: Profile, groups: list[Group], leak: float = 0.0, gone: Sequence[int] = ()
) -> Change:
    """Compare the shares (k + 2,) of clusters among those that are not ``gone``; a change by ``leak`` is allowed.

    Points of groups are left out, or counted where they come from.
    """
    counts = []
    for profile in (then, now):
        points = profile.counts[:, POINTS].copy()
        points[list(gone)] = 0
        counts.append(with_total(points))
    for group in groups:
        moved = -np.rint(group.taken)
        if group.origin is not None:
            moved[group.origin] -= moved.sum()
        counts[1] = np.maximum(counts[1] + with_total(moved), 0.0)
    n1, n2 = (np.full_like(each, each[-1]) for each in counts)
    small = np.minimum(_SMALL_SHARE, SMALL_PART * counts[0] / max(counts[0][-1], 1.0)) + leak
    change = shares_differ((counts[0], counts[1]), (n1, n2), (-small, small))
    change.p[-1] = 1.0
    return change


def compare_atypical(then: Profile, now: Profile, member_sizes: IntArray) -> Change:
    """Compare the shares (k + 2,) of atypical points: only more of them are news.

    Points of the fit are rarely atypical, so the share that new points like the members have stands in for a smaller
    one of then; and it is known only as well as the members that are kept tell it.
    """
    figures = []
    for profile in (then, now):
        for column in (POINTS, N_ATYPICAL):
            values = with_total(profile.counts[:, column])
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
