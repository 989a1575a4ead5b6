"""Affinities by cluster number, whether a result keeps all of them or only the largest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import FloatArray, IntArray, Rows
from allegiance.results import AffinityResult

#: Affinities listed for each point.
N_AFFINITIES = 3


class Largest(NamedTuple):
    """The largest affinities of some points, in falling order, at most N_AFFINITIES."""

    cluster: IntArray
    """(m, at most N_AFFINITIES) cluster numbers."""
    affinity: FloatArray


def largest_affinities(result: AffinityResult, rows: IntArray) -> Largest:
    """Return the largest affinities of the given rows."""
    if result.clusters is not None:
        return Largest(_kept_clusters(result)[rows, :N_AFFINITIES], result.affinity[rows, :N_AFFINITIES])
    affinity = result.affinity[rows]
    cluster = np.argsort(-affinity, axis=1, kind="stable")[:, :N_AFFINITIES]
    return Largest(cluster, np.take_along_axis(affinity, cluster, axis=1))


def all_affinities(result: AffinityResult) -> Rows:
    """Return affinities (n, k); sparse, and 0 where they were not kept, if the result keeps only the largest."""
    if result.clusters is None:
        return result.affinity
    row = np.repeat(np.arange(result.n_points), result.affinity.shape[1])
    cluster = _kept_clusters(result).ravel()
    return sp.csr_array((result.affinity.ravel(), (row, cluster)), shape=(result.n_points, result.n_clusters))


def _kept_clusters(result: AffinityResult) -> IntArray:
    """Return the cluster numbers (n, top) of the affinities that were kept."""
    assert result.clusters is not None
    order = np.argsort(result.classes)
    return order[np.searchsorted(result.classes, result.clusters, sorter=order)]
