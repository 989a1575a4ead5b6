"""Affinity is not distance: one point, some centers, and how often k-means gives the point to each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from allegiance import affinity
from reproduction.datasets import FloatArray, IntArray, stream
from reproduction.settings import EUCLIDEAN, WHOLE_SPACE

_CENTERS = ((0.0, -2.0), (-3.0, 0.0), (3.0, 0.0), (3.0, 3.0))
_QUERY = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class AffinityAgainstDistance:
    """What affinity and distance say of one point, and where runs of k-means put it.

    Attributes
    ----------
    centers
        (k, d) the centers.
    query
        (d,) the point.
    affinity
        (k,) its affinity to each center, in the whole space.
    distance_share
        (k,) its inverse distance from each center, as shares that sum to 1.
    assigned
        (n_runs,) the number of the center that each run of k-means gave it to.
    X
        (n + 1, d) the points that k-means clustered; the last row is the query.
    origin
        (n + 1,) the number of the center each row of X was drawn around, -1 for the query.
    """

    centers: FloatArray
    query: FloatArray
    affinity: FloatArray
    distance_share: FloatArray
    assigned: IntArray
    X: FloatArray
    origin: IntArray

    @property
    def names(self) -> list[str]:
        """Names of the centers, counted from 1 as in the paper: c1, c2 and so on."""
        return [f"c{i + 1}" for i in range(self.centers.shape[0])]

    @property
    def distance(self) -> FloatArray:
        """(k,) distance of the query from each center."""
        return np.linalg.norm(self.centers - self.query, axis=1)

    @property
    def runs(self) -> IntArray:
        """(k,) the number of runs that gave the query to each center."""
        return np.bincount(self.assigned, minlength=self.centers.shape[0])


def affinity_against_distance(
    centers: ArrayLike = _CENTERS,
    query: ArrayLike = _QUERY,
    *,
    spread: float = 0.7,
    n_per_cluster: int = 50,
    n_runs: int = 100,
    random_state: int = 0,
) -> AffinityAgainstDistance:
    """Compare what affinity, distance and repeated k-means say of one point.

    This is the paper's example of a point q that is equally far from the centers c2 and c3, while c4 is next to c3
    and takes influence from it. The paper gives neither coordinates nor data. Ours: q is the origin; c1 = (0, -2) is
    the nearest center; c2 = (-3, 0) and c3 = (3, 0) are equally far; c4 is (3, 3). Around every center lies a round
    Gaussian cluster of 50 points. Their spread makes the closest clusters about as separate as those of 2D5C.

    Parameters
    ----------
    centers
        (k, d) the centers.
    query
        (d,) the point.
    spread
        Standard deviation of the points around each center.
    n_per_cluster
        Number of points around each center.
    n_runs
        Number of runs of k-means, each from k of the points drawn at random (``init="random", n_init=1``).
    random_state
        Seed for the points and the runs.

    Returns
    -------
    AffinityAgainstDistance
        Affinities, shares by distance, runs, and the data behind them.

    Notes
    -----
    The clusters of a run need not be those that were drawn: two of them may be merged and another split. The query
    counts for the center around which most of the other points of its cluster were drawn. Of centers that tie, as all
    do if the query is alone, it counts for the one nearest to the mean of its cluster.

    Examples
    --------
    >>> from reproduction.against_distance import affinity_against_distance
    >>> result = affinity_against_distance(n_runs=10)
    >>> result.distance_share.round(2)
    array([0.36, 0.24, 0.24, 0.17])
    >>> result.affinity.round(2)
    array([0.28, 0.36, 0.17, 0.19])
    """
    point, sites = np.asarray(query, dtype=np.float64), np.asarray(centers, dtype=np.float64)
    if len(np.unique(sites, axis=0)) < len(sites):
        raise ValueError("centers: two of them are equal, so that k-means cannot tell them apart.")
    drawn = np.repeat(np.arange(sites.shape[0]), n_per_cluster)
    around = sites[drawn] + spread * stream(random_state, 0).normal(size=(drawn.size, point.size))
    X, origin = np.vstack([around, point]), np.append(drawn, -1)
    seeds = stream(random_state, 1).integers(2**31, size=n_runs)
    # Threads would wait for each other longer than they work on so few points.
    with threadpool_limits(1):
        assigned = np.array([_given_to(X, origin, sites, int(run)) for run in seeds])
    result = affinity(point[None], centers=sites, random_state=random_state, **EUCLIDEAN | WHOLE_SPACE)
    return AffinityAgainstDistance(
        sites, point, result.affinity[0], _shares_by_distance(sites, point), assigned, X, origin
    )


def _shares_by_distance(sites: FloatArray, point: FloatArray) -> FloatArray:
    distance = np.linalg.norm(sites - point, axis=1)
    at_center = distance == 0
    if at_center.any():
        return at_center.astype(float)
    return (1 / distance) / (1 / distance).sum()


def _given_to(X: FloatArray, origin: IntArray, sites: FloatArray, seed: int) -> int:
    """Run k-means once, and return the number of the center that the cluster of the last row stands for."""
    k = sites.shape[0]
    run = KMeans(k, init="random", n_init=1, random_state=seed).fit(X)
    companions = origin[:-1][run.labels_[:-1] == run.labels_[-1]]
    votes = np.bincount(companions, minlength=k)
    far = np.linalg.norm(sites - run.cluster_centers_[run.labels_[-1]], axis=1)
    return int(np.where(votes == votes.max(), far, np.inf).argmin())
