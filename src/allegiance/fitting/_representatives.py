"""One point to stand for each cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from allegiance._core import AnyArray, FloatArray, Rows, dense, is_sparse

#: What stands for a cluster; for the last, the mean of a point's own cluster is taken without the point.
REPRESENTATIVES = ("mean", "median", "medoid")
#: Rows converted to float64 at a time.
_CHUNK = 8192


def representatives(X: Rows, codes: AnyArray, n_clusters: int, kind: str) -> FloatArray:
    """Return a representative (k, d) of each cluster.

    Parameters
    ----------
    X
        (n, d) dense or CSR.
    codes
        (n,) cluster numbers, -1 for noise. Every cluster has a member.
    kind
        "mean"; "median", coordinate by coordinate; or "medoid", the member with the smallest sum of distances to the
        others, which compares all pairs inside a cluster.
    """
    if kind == "mean":
        return mean_sums(X, codes, n_clusters).means
    if kind == "median" and is_sparse(X):
        raise TypeError(
            "representative='median' needs dense X: most coordinates of a sparse median are zero. Use 'mean'."
        )
    chosen = np.empty((n_clusters, X.shape[1]))
    for i in range(n_clusters):
        members = X[np.flatnonzero(codes == i)]
        if kind == "median":
            chosen[i] = np.median(np.asarray(members, dtype=np.float64), axis=0)
        else:
            chosen[i] = dense(members[[_medoid(members)]])[0]
    return chosen


class MeanSums(NamedTuple):
    """Sums from which means follow, around an origin in each cluster, so that a large common offset rounds nothing."""

    sizes: FloatArray
    """(k,) numbers of points."""
    origin: FloatArray
    """(k, d)"""
    sums: FloatArray
    """(k, d) of the points less the origin."""

    @property
    def means(self) -> FloatArray:
        """The means (k, d)."""
        return self.origin + self.sums / self.sizes[:, None]

    def plus(self, other: MeanSums) -> MeanSums:
        """Return the sums over both sets of points, around the origin of this one where it has members."""
        origin = np.where(self.sizes[:, None] > 0, self.origin, other.origin)
        moved = other.sums + other.sizes[:, None] * (other.origin - origin)
        return MeanSums(self.sizes + other.sizes, origin, self.sums + moved)

    def among(self, k: int, places: AnyArray) -> MeanSums:
        """Return the same sums among k clusters, of which these have the numbers ``places``; the others are empty."""
        spread = MeanSums(*(np.zeros((k, *part.shape[1:])) for part in self))
        for part, mine in zip(spread, self, strict=True):
            part[places] = mine
        return spread


def mean_sums(X: Rows, codes: AnyArray, n_clusters: int) -> MeanSums:
    """Sum the members of each cluster in float64, chunk by chunk; for parameters see :func:`representatives`."""
    n, d = X.shape
    if is_sparse(X) or n_clusters == 0:
        origin = np.zeros((n_clusters, d))
    else:
        first = np.array([np.argmax(codes == i) for i in range(n_clusters)])
        origin = np.asarray(X[first], dtype=np.float64)
    sums = np.zeros((n_clusters, d))
    sizes = np.zeros(n_clusters)
    for start in range(0, n, _CHUNK):
        part = codes[start : start + _CHUNK]
        members = np.flatnonzero(part >= 0)
        part = part[members]
        indicator = sp.csr_array((np.ones(part.size), (part, np.arange(part.size))), shape=(n_clusters, part.size))
        rows = X[start : start + _CHUNK][members]
        if not is_sparse(rows):
            rows = np.asarray(rows, dtype=np.float64) - origin[part]
        total = indicator @ rows
        sums += dense(total)
        sizes += np.bincount(part, minlength=n_clusters)
    return MeanSums(sizes, origin, sums)


def _medoid(members: Rows) -> int:
    from sklearn.metrics import pairwise_distances_chunked

    sums = [chunk.sum(axis=1) for chunk in pairwise_distances_chunked(members)]
    return int(np.concatenate(sums).argmin())
