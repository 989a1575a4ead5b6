"""What the clusters are like: means of the features, and how far points lie from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import FloatArray, IntArray, Rows, dense, is_sparse

#: Entries handled at a time.
_BLOCK = 4_000_000


class Centers(NamedTuple):
    """Means and spread of the features, each divided by ``scale`` so that no square can overflow."""

    scale: FloatArray
    """(d,) the largest size of a number in each column."""
    means: FloatArray
    """(k, d) means of the clusters, NaN where a cluster has no points."""
    spread: FloatArray
    """(d,) pooled standard deviation within clusters, NaN where there is none."""
    sizes: IntArray
    """(k,)"""


def cluster_centers(X: Rows, codes: IntArray, k: int) -> Centers:
    """Return the centres of the clusters.

    Parameters
    ----------
    X
        (n, d) features.
    codes
        (n,) cluster numbers, -1 for noise.
    k
        How many clusters there are.
    """
    largest = abs(X).max(axis=0)
    scale = np.maximum(np.ravel(largest.toarray() if is_sparse(X) else largest).astype(np.float64), 1e-300)
    d = scale.size
    sums, squares = np.zeros((k, d)), np.zeros(d)
    sizes = np.bincount(codes[codes >= 0], minlength=k)
    for block in blocks(codes.size, d):
        inside = np.flatnonzero(codes[block] >= 0)
        members = sp.csr_array((np.ones(inside.size), (codes[block][inside], inside)), shape=(k, codes[block].size))
        sums += np.asarray(members @ (dense(X[block]) / scale))
    means = np.full((k, d), np.nan)
    means[sizes > 0] = sums[sizes > 0] / sizes[sizes > 0, None]
    for block in blocks(codes.size, d):
        inside = np.flatnonzero(codes[block] >= 0)
        squares += ((dense(X[block])[inside] / scale - means[codes[block][inside]]) ** 2).sum(axis=0)
    variance = squares / max(int(sizes.sum()), 1)
    # What is left of a constant feature is rounding.
    spread = np.where(variance > 1e-24, np.sqrt(variance), np.nan)
    return Centers(scale, means, spread, sizes)


def blocks(n: int, width: int) -> Iterator[slice]:
    """Cut n rows of a width into slices of a size that fits into memory."""
    step = max(1, _BLOCK // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
