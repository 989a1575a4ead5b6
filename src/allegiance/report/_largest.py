"""Affinities by cluster number, whether a result keeps all of them or only the largest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import AnyArray, FloatArray, IntArray, Rows
from allegiance.results import AffinityResult, RankedResult, TopAffinityResult

#: Affinities listed for each point.
N_AFFINITIES = 3


class Largest(NamedTuple):
    """The largest affinities of some points, in falling order, at most N_AFFINITIES."""

    cluster: IntArray
    """(m, at most N_AFFINITIES) cluster numbers."""
    affinity: FloatArray


def number_labels(classes: AnyArray, labels: AnyArray) -> IntArray:
    """Return the cluster number of each label, and k for labels of no cluster."""
    number = {name: code for code, name in enumerate(classes.tolist())}
    distinct, inverse = np.unique(labels, return_inverse=True)
    codes = np.array([number.get(label, classes.size) for label in distinct.tolist()], dtype=np.int64)
    return codes[inverse].reshape(labels.shape)


def largest_affinities(result: RankedResult, rows: IntArray) -> Largest:
    """Return the largest affinities of the given rows."""
    if isinstance(result, TopAffinityResult):
        kept = result.clusters[rows, :N_AFFINITIES]
        return Largest(number_labels(result.classes, kept), result.affinity[rows, :N_AFFINITIES])
    assert isinstance(result, AffinityResult)
    affinity = result.affinity[rows]
    cluster = np.argsort(-affinity, axis=1, kind="stable")[:, :N_AFFINITIES]
    return Largest(cluster, np.take_along_axis(affinity, cluster, axis=1))


def all_affinities(result: RankedResult) -> Rows:
    """Return affinities (n, k); sparse, and 0 where they were not kept, if the result keeps only the largest."""
    if isinstance(result, AffinityResult):
        return result.affinity
    assert isinstance(result, TopAffinityResult)
    row = np.repeat(np.arange(result.n_points), result.affinity.shape[1])
    cluster = number_labels(result.classes, result.clusters).ravel()
    return sp.csr_array((result.affinity.ravel(), (row, cluster)), shape=(result.n_points, result.n_clusters))
