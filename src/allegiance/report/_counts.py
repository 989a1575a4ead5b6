"""Numbers about all points, small enough for the page: counts for every threshold, sorted confidences per cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray
from allegiance.results import RankedResult

from ._largest import number_labels

#: The slider moves in steps of 1 / STEPS, and the histogram has as many bins.
STEPS = 100
#: Vertices of all bands of the profile together, and of one band at most and at least.
_ALL_VERTICES, _MOST_VERTICES, _LEAST_VERTICES = 40_000, 200, 12
#: The part of a band's height that is drawn; the rest separates it from its neighbours.
_FILLED = 0.84


class Groups(NamedTuple):
    """The points by label: one group for each cluster, and one for noise if there is any."""

    names: list[str]
    code: IntArray
    """(n,) the group of each point; clusters come first, in the order of ``classes``."""


class Profile(NamedTuple):
    """Sorted confidences, one band of height 1 for each group, the most confident points of a band on top."""

    position: FloatArray
    """(n,) the height at which each point lies."""
    bands: list[tuple[FloatArray, FloatArray]]
    """Outline of each group's band, thinned: confidence, height."""


def confidences(result: RankedResult) -> FloatArray:
    """Return the confidence of each point, without what rounding may put above 1."""
    return np.minimum(result.confidence, 1.0)


def group_points(result: RankedResult) -> Groups:
    """Return the group of each point."""
    code = number_labels(result.classes, result.label)
    names = [str(name) for name in result.classes.tolist()]
    return Groups([*names, "noise"] if (code == result.n_clusters).any() else names, code)


def counts_above(confidence: FloatArray, groups: Groups) -> IntArray:
    """Count the points of each group above each threshold.

    Parameters
    ----------
    confidence
        (n,) numbers from 0 to 1.
    groups
        The group of each point.

    Returns
    -------
    counts
        (groups, STEPS + 1) the number of points with confidence > t / STEPS. Column ``STEPS // 2`` counts stable ones.
    """
    thresholds = np.arange(STEPS + 1) / STEPS
    # Thresholds below the confidence of each point: it counts in the columns 0 to passed - 1.
    passed = np.searchsorted(thresholds, confidence, side="left")
    table = np.zeros((len(groups.names), STEPS + 2), dtype=np.int64)
    np.add.at(table, (groups.code, passed), 1)
    at_least = table[:, ::-1].cumsum(axis=1)[:, ::-1]
    return at_least[:, 1:]


def sorted_profile(confidence: FloatArray, groups: Groups) -> Profile:
    """Stack the sorted confidences of the groups."""
    vertices = int(np.clip(_ALL_VERTICES // len(groups.names), _LEAST_VERTICES, _MOST_VERTICES))
    margin = (1 - _FILLED) / 2
    position = np.empty(confidence.size)
    bands = []
    for group in range(len(groups.names)):
        rows = np.flatnonzero(groups.code == group)
        rows = rows[np.argsort(-confidence[rows], kind="stable")]
        position[rows] = group + margin + _FILLED * (np.arange(rows.size) + 0.5) / max(rows.size, 1)
        bands.append(_outline(confidence[rows], group + margin, vertices))
    return Profile(position, bands)


def _outline(falling: FloatArray, top: float, vertices: int) -> tuple[FloatArray, FloatArray]:
    """Return a polygon between 0 and the falling confidences of one group."""
    if not falling.size:
        return np.zeros(0), np.zeros(0)
    share = np.linspace(0, 1, min(vertices, falling.size + 1))
    nearest: AnyArray = np.minimum((share * falling.size).astype(np.int64), falling.size - 1)
    height = top + _FILLED * share
    return np.concatenate([falling[nearest], [0.0, 0.0]]), np.concatenate([height, [height[-1], height[0]]])
