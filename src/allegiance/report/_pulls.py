"""The features in which a point leaves its cluster for the rival."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import FloatArray, IntArray, Rows, dense, is_sparse
from allegiance.results import Result

#: Features named for each point.
N_FEATURES = 3
#: Entries handled at a time.
_BLOCK = 4_000_000


class Pulls(NamedTuple):
    """For each point the features that pull it towards its rival, the strongest first."""

    feature: IntArray
    """(m, N_FEATURES) columns of X, -1 where fewer pull."""
    deviation: FloatArray
    """(m, N_FEATURES) how far the point lies from the centre of its cluster, in within-cluster standard deviations."""


def pulling_features(result: Result, X: Rows, rows: IntArray) -> Pulls:
    """Find the features that pull the given rows towards their rivals.

    The pull of a feature is the product of two differences, both in within-cluster standard deviations: of the point
    from the centre of its cluster, and of the rival's centre from the same. Only positive pulls count. For noise, the
    cluster of the largest affinity takes the place of the label's, and the runner-up that of the rival.

    Parameters
    ----------
    result
        The result, for labels and rivals.
    X
        (n, d) features.
    rows
        (m,) the points asked for.
    """
    standing, noise = result.standing, result.noise
    home = np.where(noise, standing.first, result.codes)
    rival = np.where(noise, standing.second, standing.rival)
    scale = _largest_of_each(X)
    centers, spread = _centers_and_spread(X, scale, result.codes, result.n_clusters)
    feature = np.full((rows.size, N_FEATURES), -1, dtype=np.int64)
    deviation = np.zeros((rows.size, N_FEATURES))
    for block in _blocks(rows.size, X.shape[1]):
        chosen = rows[block]
        own, other = centers[home[chosen]], centers[rival[chosen]]
        moved = (dense(X[chosen]) / scale - own) / spread
        pull = np.nan_to_num(moved * (other - own) / spread)
        strongest = np.argsort(-pull, axis=1, kind="stable")[:, :N_FEATURES]
        found = np.take_along_axis(pull, strongest, axis=1) > 0
        width = strongest.shape[1]
        feature[block, :width] = np.where(found, strongest, -1)
        deviation[block, :width] = np.where(found, np.take_along_axis(np.nan_to_num(moved), strongest, axis=1), 0.0)
    return Pulls(feature, deviation)


def _largest_of_each(X: Rows) -> FloatArray:
    """Return the largest size (d,) of a number in each column: divided by it, no square can overflow."""
    largest = abs(X).max(axis=0)
    return np.maximum(np.ravel(largest.toarray() if is_sparse(X) else largest).astype(np.float64), 1e-300)


def _centers_and_spread(X: Rows, scale: FloatArray, codes: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return means (k, d) and the pooled standard deviation (d,) within clusters, NaN where there is none."""
    d = scale.size
    sums, squares = np.zeros((k, d)), np.zeros(d)
    sizes = np.bincount(codes[codes >= 0], minlength=k)
    for block in _blocks(codes.size, d):
        inside = np.flatnonzero(codes[block] >= 0)
        members = sp.csr_array((np.ones(inside.size), (codes[block][inside], inside)), shape=(k, codes[block].size))
        sums += np.asarray(members @ (dense(X[block]) / scale))
    centers = np.full((k, d), np.nan)
    centers[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    for block in _blocks(codes.size, d):
        inside = np.flatnonzero(codes[block] >= 0)
        squares += ((dense(X[block])[inside] / scale - centers[codes[block][inside]]) ** 2).sum(axis=0)
    variance = squares / max(int(sizes.sum()), 1)
    # What is left of a constant feature is rounding.
    spread = np.where(variance > 1e-24, np.sqrt(variance), np.nan)
    return centers, spread


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
