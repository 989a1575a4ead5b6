"""Grouping weighted lifts: the clusters of a consensus."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray, IntArray
from allegiance.clusterers import KMeansStarts

#: Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-13


def group_by_kmeans(
    gram: FloatArray, weights: FloatArray, n_clusters: int, n_init: int, rng: np.random.Generator
) -> IntArray:
    """Return the group (m,) of each lift by weighted k-means (LiftKm).

    Parameters
    ----------
    gram
        (m, m) inner products of the lifts.
    weights
        (m,) their weights.
    n_clusters
        The number of groups, at most m.
    n_init, rng
        The number of starts, and where their seeds come from.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > _ROUNDING * gram.shape[0] * values[-1]
    positions = vectors[:, kept] * np.sqrt(values[kept])
    labels = KMeansStarts(n_init).best(positions, n_clusters, rng, weights=weights).labels
    return np.unique(labels, return_inverse=True)[1]


def group_by_linkage(gram: FloatArray, weights: FloatArray, n_clusters: int) -> IntArray:
    """Return the group (m,) of each lift by merging, again and again, the two groups that it costs least (LiftHAC).

    The cost is Ward's, by which merging raises the weighted sum of squared distances to the means that k-means lowers.

    Parameters
    ----------
    gram
        (m, m) inner products of the lifts.
    weights
        (m,) their weights.
    n_clusters
        The number of groups, at most m.
    """
    mass = weights.astype(np.float64)
    norms = np.diagonal(gram)
    squares = np.maximum(norms + norms[:, None] - 2.0 * gram, 0.0)
    cost = squares * mass * mass[:, None] / (mass + mass[:, None])
    np.fill_diagonal(cost, np.inf)
    groups = np.arange(mass.size)
    for _ in range(mass.size - n_clusters):
        a, b = sorted(divmod(int(cost.argmin()), mass.size))
        with np.errstate(invalid="ignore"):  # inf - inf at merged groups, which stay out
            merged = (mass[a] + mass) * cost[a] + (mass[b] + mass) * cost[b] - mass * cost[a, b]
            merged /= mass[a] + mass[b] + mass
        merged[~np.isfinite(merged)] = np.inf
        cost[a], cost[:, a] = merged, merged
        cost[a, a] = np.inf
        cost[b], cost[:, b] = np.inf, np.inf
        mass[a] += mass[b]
        groups[groups == b] = a
    return np.unique(groups, return_inverse=True)[1]
