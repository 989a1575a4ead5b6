"""Which pairs of points stay together when the data are clustered anew: clusters that come apart, or come as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray

#: Pairs that are together more often than not belong to one cluster, and otherwise to two.
_MORE_OFTEN_THAN_NOT = 0.5


class PairCompany(NamedTuple):
    """How often two points, drawn at random from two clusters, are in the same new cluster."""

    together: FloatArray
    """(k, k) symmetric; the diagonal for two points of one cluster. NaN where there are no such pairs."""
    chance: float
    """The same for any two points."""

    def is_split(self, cluster: int) -> bool:
        """Tell whether most pairs of points of a cluster lose each other's company."""
        return bool(self.together[cluster, cluster] < _MORE_OFTEN_THAN_NOT)

    def merged_with(self, cluster: int) -> IntArray:
        """Return the other clusters whose points mostly share a new cluster with those of this one, closest first."""
        row = np.nan_to_num(self.together[cluster], nan=-1.0)
        row[cluster] = -1.0
        order = np.argsort(-row, kind="stable")
        return order[row[order] > _MORE_OFTEN_THAN_NOT]


def pair_company(codes: IntArray, new: IntArray, n_clusters: int) -> PairCompany:
    """Count pairs that share a new cluster, on average over new clusterings.

    Parameters
    ----------
    codes
        (m,) cluster numbers, without noise.
    new
        (n_resamples, m) new cluster numbers, -1 for noise, which is left out.
    n_clusters
        Number of clusters, whether or not they occur.
    """
    same, pairs, alike, all_pairs = np.zeros((n_clusters, n_clusters)), np.zeros((n_clusters, n_clusters)), 0.0, 0.0
    for found in new:
        placed = found >= 0
        columns = int(found.max(initial=-1)) + 1
        cells = codes[placed] * columns + found[placed]
        common = np.bincount(cells, minlength=n_clusters * columns).reshape(n_clusters, columns).astype(np.float64)
        sizes, new_sizes = common.sum(axis=1), common.sum(axis=0)
        # On the diagonal, no point makes a pair with itself.
        same += common @ common.T - np.diag(sizes)
        pairs += np.outer(sizes, sizes) - np.diag(sizes)
        alike += float((new_sizes * (new_sizes - 1.0)).sum())
        all_pairs += float(sizes.sum() * (sizes.sum() - 1.0))
    with np.errstate(invalid="ignore"):
        return PairCompany(np.where(pairs > 0, same / pairs, np.nan), alike / max(all_pairs, 1.0))
