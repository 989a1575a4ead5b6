"""Numbers about all labels, small enough for the page: counts for every threshold, sorted values of each cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray
from allegiance.results import AffinityResult, ClusterFigures

#: The slider moves in steps of 1 / STEPS, and the histogram has as many bins.
STEPS = 100
#: Vertices of all bands of the profile together, and of one band at most and at least.
_ALL_VERTICES, _MOST_VERTICES, _LEAST_VERTICES = 40_000, 200, 12
#: The part of a band's height that is drawn; the rest separates it from its neighbours.
_FILLED = 0.84


class Groups(NamedTuple):
    """The clusters in the order of the page, and the points of each."""

    names: list[str]
    """(k,) the clusters with the most trouble first."""
    place: IntArray
    """(k,) where in this order each cluster of ``classes`` stands."""
    code: IntArray
    """(n,) the place of each point's cluster; k for noise, which comes last."""


class Profile(NamedTuple):
    """Sorted values, one band of height 1 for each cluster, the largest values of a band on top."""

    position: FloatArray
    """(n,) the height at which each point lies, NaN for noise."""
    bands: list[tuple[FloatArray, FloatArray]]
    """Outline of each cluster's band, thinned: value, height."""


def group_points(result: AffinityResult, lines: list[ClusterFigures]) -> Groups:
    """Return the clusters in the order of ``lines``, in which noise comes last if it is there."""
    number = {name: cluster for cluster, name in enumerate(result.classes.tolist())}
    order = [number[line.name] for line in lines if line.name is not None]
    place = np.argsort(order)
    names = [str(result.classes[cluster]) for cluster in order]
    return Groups(names, place, np.where(result.noise, len(names), place[result.codes]))


def level_of(values: FloatArray) -> IntArray:
    """Return for each value (n,) how many of the thresholds 0, 1 / STEPS, ..., 1 lie below it; 0 for NaN.

    A label is above the threshold t / STEPS if its level is above t.
    """
    return np.searchsorted(np.arange(STEPS + 1) / STEPS, np.nan_to_num(values), side="left")


def count_levels(level: IntArray, values: FloatArray, groups: Groups) -> tuple[IntArray, FloatArray]:
    """Count the labels of each cluster at each level, and add up their values.

    Parameters
    ----------
    level, values
        (n,) as in :func:`level_of`.
    groups
        The cluster of each point.

    Returns
    -------
    counts, sums
        (k, STEPS + 1)
    """
    k = len(groups.names)
    labelled = groups.code < k
    place = groups.code[labelled] * (STEPS + 1) + level[labelled]
    counts: AnyArray = np.bincount(place, minlength=k * (STEPS + 1))
    sums: AnyArray = np.bincount(place, weights=values[labelled], minlength=k * (STEPS + 1))
    return counts.reshape(k, -1), sums.reshape(k, -1)


def counts_in_bins(levels: IntArray) -> IntArray:
    """Return how many labels lie in each bin (STEPS,) of the histogram, given their counts by level (STEPS + 1,).

    Bins are open on the left, but the first one holds 0 as well.
    """
    return np.append(levels[0] + levels[1], levels[2:])


def sorted_profile(values: FloatArray, groups: Groups) -> Profile:
    """Stack the sorted values (n,) of the clusters."""
    vertices = int(np.clip(_ALL_VERTICES // len(groups.names), _LEAST_VERTICES, _MOST_VERTICES))
    margin = (1 - _FILLED) / 2
    position = np.full(values.size, np.nan)
    bands = []
    for group in range(len(groups.names)):
        rows = np.flatnonzero(groups.code == group)
        rows = rows[np.argsort(-values[rows], kind="stable")]
        position[rows] = group + margin + _FILLED * (np.arange(rows.size) + 0.5) / max(rows.size, 1)
        bands.append(_outline(values[rows], group + margin, vertices))
    return Profile(position, bands)


def _outline(falling: FloatArray, top: float, vertices: int) -> tuple[FloatArray, FloatArray]:
    """Return a polygon between 0 and the falling values of one cluster."""
    if not falling.size:
        return np.zeros(0), np.zeros(0)
    share = np.linspace(0, 1, min(vertices, falling.size + 1))
    nearest: AnyArray = np.minimum((share * falling.size).astype(np.int64), falling.size - 1)
    height = top + _FILLED * share
    return np.concatenate([falling[nearest], [0.0, 0.0]]), np.concatenate([height, [height[-1], height[0]]])
