"""Where each point stands among the clusters: all that results need of an affinity vector but the vector itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray


class Standing(NamedTuple):
    """Columns and affinities of the clusters that matter to each of n points; all arrays are (n,)."""

    first: IntArray
    """Column of the largest affinity; of equals the first one."""
    second: IntArray
    """Column of the second largest; the same as ``first`` if there is only one cluster."""
    largest: FloatArray
    largest_error: FloatArray
    second_largest: FloatArray
    """0 if there is only one cluster."""
    own: FloatArray
    """Affinity to the point's own cluster; 0 for noise."""
    own_error: FloatArray
    rival: IntArray
    """Column of the largest affinity to another cluster than the own one."""
    rival_affinity: FloatArray
    """0 if there is only one cluster."""
    rival_error: FloatArray
    worst_error: FloatArray
    """Largest standard error of all affinities."""


def standing_of(affinity: FloatArray, error: FloatArray, codes: AnyArray) -> Standing:
    """Rank affinities (n, k) with standard errors (n, k), for points of clusters ``codes`` (n,), -1 for noise."""
    n, k = affinity.shape
    rows = np.arange(n)
    first = affinity.argmax(axis=1)
    largest, largest_error = affinity[rows, first], error[rows, first]
    worst = error.max(axis=1, initial=0.0)
    labelled = codes >= 0
    own = np.where(labelled, affinity[rows, codes], 0.0)
    own_error = np.where(labelled, error[rows, codes], 0.0)
    if k == 1:
        none = np.zeros(n)
        return Standing(first, first, largest, largest_error, none, own, own_error, first, none, none, worst)
    rest = affinity.copy()
    rest[rows, first] = -1.0
    second = rest.argmax(axis=1)
    rival = np.where(labelled & (first == codes), second, first)
    return Standing(
        first,
        second,
        largest,
        largest_error,
        affinity[rows, second],
        own,
        own_error,
        rival,
        affinity[rows, rival],
        error[rows, rival],
        worst,
    )
