"""The figures of two periods beside each other, with intervals and p-values: the one place that decides what is tested.

Every test allows for a change that would not matter, so that a million rows do not make news of nothing, and for what
the first period flatters if the scorer was fitted to it. All p-values are adjusted together, by Holm's procedure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray
from allegiance.results import (
    ATYPICAL,
    DOUBTFUL,
    FINE,
    N_CONTESTED,
    N_CONTRADICTED,
    N_UNLIKE,
    POINTS,
    UNLIKE,
    Moments,
    Profile,
    unlike_rate,
)

from ._period_groups import Group, groups_of, pooled_spread, with_origins
from ._period_tests import Change, holm, means_differ, shares_differ
from ._period_units import UnitChange, unit_changes

SHARE, RIGHT, CONTESTED, CONTRADICTED, UNLIKE_SHARE = "share", "right", "contested", "contradicted", "unlike"
#: What is compared, in the order in which it is shown.
MEASURES = (SHARE, RIGHT, CONTESTED, CONTRADICTED, UNLIKE_SHARE)
#: Changes up to these would not matter: of expected right, contested and contradicted shares; of the share of points
#: unlike anything seen; of a cluster's share (of all points, and relative to itself, the smaller); of a mean, in
#: standard deviations.
SMALL, SMALL_UNLIKE, SMALL_SHARE, SMALL_PART, SMALL_MOVE = 0.01, 0.005, 0.01, 0.1, 0.1
#: How much more than the estimated optimism is allowed for: the estimate itself is one.
_OPTIMISM = 2.0
#: Groups with more points than chance would rarely bring together. Whether they are findings the shares decide.
_GROUP_LEVEL = 0.01


class Moves(NamedTuple):
    """How far clusters moved."""

    shift: FloatArray
    """(k, d) change of the mean of each feature, in its spread then."""
    then: FloatArray
    """(k, d) means."""
    now: FloatArray
    low: FloatArray
    """(k, d) of the 95 % intervals of ``now - then``."""
    high: FloatArray
    p: FloatArray
    """(k,) chance that any feature moved so far, if none did."""


@dataclass(frozen=True, eq=False)
class Changes:
    """All that was compared.

    Attributes
    ----------
    by_measure
        For each measure how it changed in each cluster, in the noise, and in all (k + 2,); p-values are adjusted.
    moves
        How far clusters moved; None if there are too many features to compare. p-values are adjusted.
    units
        For each feature whether its unit changed; p-values are adjusted.
    groups
        Points of now unlike anything seen that lie together.
    resettled
        How the shares of the clusters changed with those points set apart, or given back to where they came from.
    """

    by_measure: dict[str, Change]
    moves: Moves | None
    units: list[UnitChange]
    groups: list[Group]
    resettled: Change


def changes_of(then: Profile, now: Profile, member_sizes: IntArray) -> Changes:
    """Compare two periods that one scorer scored; ``member_sizes`` (k,) tells how well it knows each cluster."""
    unlike = _unlike(then, now, member_sizes)
    groups = with_origins(_beyond_chance(groups_of(then, now), then, now, unlike), then, now)
    shares = _shares(then, now, [])
    resettled = _shares(then, now, groups) if groups else shares
    by_measure = {
        SHARE: shares._replace(p=resettled.p),
        RIGHT: _trust(then, now),
        CONTESTED: _verdicts(then, now, N_CONTESTED, then.optimism[:, 1]),
        CONTRADICTED: _verdicts(then, now, N_CONTRADICTED, then.optimism[:, 2]),
        UNLIKE_SHARE: unlike,
    }
    moves = _moves(then, now, groups)
    units = unit_changes(then, now)
    p_units = np.array([unit.p for unit in units])
    p_moves = np.ones(0) if moves is None else moves.p
    *adjusted, p_moves, p_units = holm(*(change.p for change in by_measure.values()), p_moves, p_units)
    return Changes(
        {name: change._replace(p=p) for (name, change), p in zip(by_measure.items(), adjusted, strict=True)},
        None if moves is None else moves._replace(p=p_moves),
        [unit._replace(p=float(p)) for unit, p in zip(units, p_units, strict=True)],
        groups,
        resettled._replace(p=adjusted[MEASURES.index(SHARE)]),
    )


def _with_all(by_cluster: AnyArray) -> FloatArray:
    """Return figures (k + 1, ...) with their sum as one more row."""
    return np.concatenate([by_cluster, by_cluster.sum(axis=0, keepdims=True)]).astype(np.float64)


def _without_noise(values: FloatArray) -> FloatArray:
    """Return figures (k + 2,) of all that have a label in the last row: noise is taken out."""
    values = values.copy()
    values[-1] -= values[-2]
    values[-2] = 0.0
    return values


def _shares(then: Profile, now: Profile, groups: list[Group]) -> Change:
    """Compare the shares of the clusters and of noise.

    Points of groups are left out of now, or counted to the cluster that they come from.
    """
    counts = [_with_all(profile.counts[:, POINTS]) for profile in (then, now)]
    for group in groups:
        moved = -np.rint(group.taken)
        if group.origin is not None:
            moved[group.origin] -= moved.sum()
        counts[1] = np.maximum(counts[1] + _with_all(moved), 0.0)
    n = tuple(np.full_like(count, count[-1]) for count in counts)
    small = np.minimum(SMALL_SHARE, SMALL_PART * counts[0] / max(counts[0][-1], 1.0))
    change = shares_differ((counts[0], counts[1]), (n[0], n[1]), (-small, small))
    change.p[-1] = 1.0
    return change


def _trust(then: Profile, now: Profile) -> Change:
    n, means, variances = [], [], []
    for profile in (then, now):
        number = _without_noise(_with_all(profile.counts[:, POINTS]))
        total, squares = _without_noise(_with_all(profile.trust[:, 0])), _without_noise(_with_all(profile.trust[:, 1]))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / number
            variance = np.maximum(squares / number - mean**2, 0.0) * number / np.maximum(number - 1.0, 1.0)
        n.append(number)
        means.append(mean)
        variances.append(variance)
    allowed = _allowed(then.optimism[:, 0])
    return means_differ((n[0], n[1]), (means[0], means[1]), (variances[0], variances[1]), allowed)


def _allowed(optimism: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the changes (k + 2,) that are not looked at: small ones, and what known points may flatter."""
    known = _OPTIMISM * np.concatenate([optimism[:-1], [0.0], optimism[-1:]])
    return np.minimum(known, 0.0) - SMALL, np.maximum(known, 0.0) + SMALL


def _verdicts(then: Profile, now: Profile, column: int, optimism: FloatArray) -> Change:
    n = [_without_noise(_with_all(profile.counts[:, POINTS])) for profile in (then, now)]
    cases = [_without_noise(_with_all(profile.counts[:, column])) for profile in (then, now)]
    return shares_differ((cases[0], cases[1]), (n[0], n[1]), _allowed(optimism))


def _unlike(then: Profile, now: Profile, member_sizes: IntArray) -> Change:
    """Compare the shares of points unlike anything seen: only more of them are news.

    Points of the fit are rarely unlike themselves, so the share that new points like the members have stands in for
    a smaller one of then; and it is known only as well as the members that are kept tell it.
    """
    n1, n2 = (_without_noise(_with_all(profile.counts[:, POINTS])) for profile in (then, now))
    x1, x2 = (_without_noise(_with_all(profile.counts[:, N_UNLIKE])) for profile in (then, now))
    shown = shares_differ((x1, x2), (n1, n2), (-np.inf, np.inf))
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.maximum(np.nan_to_num(x1[:-2] / n1[:-2]), unlike_rate(member_sizes))
    known = np.minimum(n1[:-2], member_sizes)
    usual = float(rate @ n2[:-2] / max(n2[-1], 1.0))
    rates = np.concatenate([rate, [0.0, max(usual, float(np.nan_to_num(shown.then[-1])))]])
    size = np.concatenate([known, [0.0, known.sum()]])
    tested = shares_differ((np.ceil(size * rates), x2), (size, n2), (-1.0, SMALL_UNLIKE))
    return shown._replace(p=tested.p)


def _beyond_chance(groups: list[Group], then: Profile, now: Profile, unlike: Change) -> list[Group]:
    """Return the groups with more points than half of all that are unlike anything seen by chance."""
    n = np.array([float(then.n_points)]), np.array([float(now.n_points)])
    rate = max(float(np.nan_to_num(unlike.then[-1])), ATYPICAL) / 2.0
    by_chance = np.ceil(n[0] * rate)
    return [
        group
        for group in groups
        if shares_differ((by_chance, np.floor([group.points])), n, (-1.0, 0.0)).p[0] <= _GROUP_LEVEL
    ]


def _moves(then: Profile, now: Profile, groups: list[Group]) -> Moves | None:
    """Compare the means of clusters; of those near a new group only members like those known."""
    if then.moments is None or now.moments is None:
        return None
    k = then.counts.shape[0] - 1
    everyone = [profile.moments.take((FINE, DOUBTFUL, UNLIKE)) for profile in (then, now) if profile.moments]
    typical = [profile.moments.take((FINE, DOUBTFUL)) for profile in (then, now) if profile.moments]
    near = np.zeros(k + 1, dtype=bool)
    for group in groups:
        near |= group.taken > 0.0
    before, after = (_either(near, some, every) for some, every in zip(typical, everyone, strict=True))
    spread = np.where(before.variance > 0.0, np.sqrt(before.variance), pooled_spread(then))
    allowed = SMALL_MOVE * spread
    change = means_differ(
        (before.count, after.count), (before.mean, after.mean), (before.variance, after.variance), (-allowed, allowed)
    )
    p = np.minimum(np.nan_to_num(change.p, nan=1.0).min(axis=1, initial=1.0) * max(spread.shape[1], 1), 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = np.where(change.now == change.then, 0.0, (change.now - change.then) / spread)
    return Moves(shift[:k], change.then[:k], change.now[:k], change.low[:k], change.high[:k], p[:k])


def _either(chosen: FloatArray, some: Moments, every: Moments) -> Moments:
    """Return the moments of ``some`` for the clusters chosen, of ``every`` for the others."""
    pairs = zip(some.arrays(), every.arrays(), strict=True)
    return Moments(*(np.where(chosen[:, None], one, other) for one, other in pairs))
