"""Points unlike anything seen that lie together: a new cluster, or an old one that has moved away."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, dense
from allegiance.results import DOUBTFUL, FINE, N_UNLIKE, POINTS, Profile

from ._period_tests import shares_differ

#: A group reaches no farther than this many times the usual spread of a cluster.
_REACH = 1.5
#: A group lies at least this many spreads of its cluster away from it, in the direction in which it lies.
_AWAY = 4.0
#: And holds at least this many points of the sample, and this share of them.
_FEWEST, _SMALLEST = 10, 0.15
_MOST_GROUPS = 5
#: A cluster is taken to have moved away only if chance would rarely make it lose so much.
_SURE = 0.01
#: A group is a cluster's own if so much of it is nearest to it; or if its other members moved as many spreads along.
_MOSTLY = 0.9
_ALONG = 1.0


class Group(NamedTuple):
    """Points unlike anything seen that lie together."""

    points: float
    """Their number, estimated from the sample."""
    cluster: int
    """The cluster that most of them are nearest to."""
    taken: FloatArray
    """(k + 1,) how many points of each cluster they are."""
    center: FloatArray
    """(d,) their mean."""
    origin: int | None = None
    """The cluster that they are likely to be, since it has lost about as many points; None for a new cluster."""


def groups_of(then: Profile, now: Profile) -> list[Group]:
    """Find groups among the points of now that are unlike anything seen, the largest first."""
    if now.unlike is None or then.moments is None or now.unlike.codes.size < _FEWEST:
        return []
    known = then.moments.take((FINE, DOUBTFUL))
    scale = pooled_spread(then)
    used = scale > 0.0
    if not used.any():
        return []
    rows = dense(now.unlike.rows).astype(np.float64)
    means = known.mean[now.unlike.codes]
    rows = np.where(np.isnan(rows), means, rows)
    codes, left = now.unlike.codes, np.arange(rows.shape[0])
    fewest = max(_FEWEST, _SMALLEST * left.size)
    each = now.counts[:, N_UNLIKE].sum() / left.size
    found: list[Group] = []
    while left.size >= fewest and len(found) < _MOST_GROUPS:
        scaled = rows[left][:, used] / scale[used]
        inside = _densest(scaled)
        if inside.sum() < fewest:
            break
        chosen = left[inside]
        left = left[~inside]
        host = int(np.bincount(codes[chosen]).argmax())
        center = rows[chosen].mean(axis=0)
        if _lies_away(now.typical(host)[:, used] / scale[used], scaled[inside], known.mean[host, used] / scale[used]):
            taken = np.bincount(codes[chosen], minlength=then.counts.shape[0]) * each
            found.append(Group(float(chosen.size * each), host, taken, center))
    return sorted(found, key=lambda group: -group.points)


def with_origins(groups: list[Group], then: Profile, now: Profile) -> list[Group]:
    """Return groups with the clusters that they are likely to be, each cluster once.

    Groups that are the far end of the cluster they are nearest to, which has moved, are left out: its mean tells.
    """
    lost = _lost(groups, then, now)
    found = []
    for group in groups:
        candidate = int(lost.argmax())
        origin = candidate if lost[candidate] >= group.points / 2.0 else None
        if _follows(group, then, now):
            origin = group.cluster
        if origin is not None:
            lost[origin] = 0.0
        if origin is None or group.taken[origin] < _MOSTLY * group.points:
            found.append(group._replace(origin=origin))
    return found


def _lost(groups: list[Group], then: Profile, now: Profile) -> FloatArray:
    """Return how many members like those known each cluster (k,) has lost; 0 where chance may have done it."""
    usual, here = (
        (profile.counts[:-1, POINTS] - profile.counts[:-1, N_UNLIKE]).astype(np.float64) for profile in (then, now)
    )
    outside = max(now.n_points - sum(group.points for group in groups), 1.0)
    n = np.full_like(usual, then.n_points), np.full_like(usual, outside)
    change = shares_differ((usual, np.minimum(here, outside)), n, (0.0, 0.0))
    shrank = (change.now < change.then) & (change.p * usual.size <= _SURE)
    return np.where(shrank, usual / then.n_points * now.n_points - here, 0.0)


def _follows(group: Group, then: Profile, now: Profile) -> bool:
    """Tell whether the members like those known have moved towards a group as well: then it is not another cluster."""
    assert then.moments is not None
    assert now.moments is not None
    spread = pooled_spread(then)
    known, moved = (moments.take((FINE, DOUBTFUL)) for moments in (then.moments, now.moments))
    if moved.count[group.cluster].min(initial=np.inf) < _FEWEST:
        return False
    used = spread > 0.0
    offset, shift = (
        ((place - known.mean[group.cluster]) / np.where(used, spread, 1.0))[used]
        for place in (group.center, moved.mean[group.cluster])
    )
    return bool(shift @ offset >= _ALONG * np.linalg.norm(offset))


def pooled_spread(profile: Profile) -> FloatArray:
    """Return the usual standard deviation (d,) of each feature inside a cluster; that of all where it is 0."""
    assert profile.moments is not None
    inside = profile.moments.take((FINE, DOUBTFUL))
    freedom = np.maximum(inside.count - 1.0, 0.0).sum(axis=0)
    pooled = np.sqrt(inside.squares.sum(axis=0) / np.maximum(freedom, 1.0))
    return np.where(pooled > 0.0, pooled, np.sqrt(profile.moments.overall().variance[0]))


def _densest(points: FloatArray) -> IntArray:
    """Return which points (m,) lie in the ball, no larger than a usual cluster, that holds the most of them."""
    from sklearn.metrics import pairwise_distances

    reach = _REACH * np.sqrt(points.shape[1])
    # Two points of a cluster lie farther from each other than from their middle.
    near = pairwise_distances(points) <= np.sqrt(2.0) * reach
    center = points[near[near.sum(axis=1).argmax()]].mean(axis=0)
    for _ in range(3):
        inside = np.linalg.norm(points - center, axis=1) <= reach
        if not inside.any():
            break
        center = points[inside].mean(axis=0)
    return inside


def _lies_away(members: FloatArray, group: FloatArray, mean: FloatArray) -> bool:
    """Tell whether a group lies apart from a cluster with this mean and these members, all in units of spread."""
    offset = group.mean(axis=0) - mean
    distance = float(np.linalg.norm(offset))
    if distance == 0.0:
        return False
    members = members[~np.isnan(members).any(axis=1)]
    along = members @ (offset / distance)
    spread = float(along.std()) if along.size >= 10 else 1.0
    return distance >= _AWAY * max(spread, 0.25)
