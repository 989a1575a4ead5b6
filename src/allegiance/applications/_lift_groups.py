"""Grouping weighted lifts: the clusters of a consensus."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from allegiance._core import AnyArray, FloatArray

#: Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-13


def group_by_kmeans(gram: FloatArray, weights: FloatArray, n_clusters: int, n_init: int, seed: int) -> AnyArray:
    """Return the group (m,) of each lift by weighted k-means (LiftKm).

    Parameters
    ----------
    gram
        (m, m) inner products of the lifts.
    weights
        (m,) their weights.
    n_clusters
        The number of groups, at most m.
    n_init, seed
        The number of starts and their seed.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > _ROUNDING * gram.shape[0] * values[-1]
    positions = vectors[:, kept] * np.sqrt(values[kept])
    with warnings.catch_warnings():
        # Lifts that coincide: the estimator counts the groups itself.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(n_clusters, n_init=n_init, random_state=seed).fit(positions, sample_weight=weights)
    return np.unique(model.labels_, return_inverse=True)[1]


def group_by_linkage(gram: FloatArray, weights: FloatArray, n_clusters: int) -> AnyArray:
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
