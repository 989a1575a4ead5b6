"""k-means on the few points that matter most."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import kmeans_plusplus

from allegiance._core import BoolArray, FloatArray, IntArray, Rows, check_count, check_rows, dense, resolve_seed, stream
from allegiance.clusterers import KMeansStarts, warn_if_empty
from allegiance.engines import Engine

from ._nearest_centers import NearestCenterMixin, NearestCenters, check_squares
from ._stable_points import StabilityTest
from ._stratified_sample import Pools, best_fraction, check_sample_size, check_stable_fraction, size_of_sample

#: What is drawn at random, one stream each.
_SEEDS, _SAMPLE, _STARTS, _TRIALS = range(4)


class ActiveKMeans(NearestCenterMixin, BaseEstimator):
    """Cluster a sample of stable and unstable points, and give all others to the nearest centre.

    Seeds are drawn as k-means++ does, and every point is scored with respect to them: it is stable if one seed gives
    more than half of its territory. The sample takes a fixed share from the stable points and the rest from the
    unstable ones, at random. k-means on the sample gives the centres. Besides X itself, memory is O(n).

    Parameters
    ----------
    n_clusters
        The number of clusters.
    sample_size
        "2*sqrt(n)"; or a number of points; or a share of them, above 0 and at most 1. Never fewer than ``n_clusters``
        points are taken, nor more than there are.
    stable_fraction
        The share of the sample that comes from the stable points, from 0 to 1. If one kind has too few points, the
        other fills up, with a warning. "auto" sets the share by repeated random sub-sampling validation: five times it
        sets up to five sample sizes of points aside, draws a sample of the rest for each of 0, 0.2, ..., 1 and for the
        share of stable points in the data, runs k-means on it from the seeds, and takes the mean squared distance of
        the points set aside from their nearest centre. The share with the lowest mean over the five wins.
    n_init
        Starts of k-means on the sample: the first from the seeds, the others from new seeds drawn from the sample. The
        one with the lowest inertia on the sample is kept.
    max_iter
        Maximum number of iterations of one start.
    tol
        When a start has converged, as in :class:`sklearn.cluster.KMeans`.
    engine, eps
        How affinity is measured: as in :class:`AffinityScorer`.
    n_jobs
        Number of threads for the affinities; None and -1 use all cores. Results do not depend on it.
    random_state
        Seed, generator, or None for a new seed at each fit.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) centres.
    labels_
        (n,) number of the nearest centre of each point.
    sample_indices_
        (m,) rows of the sample, in ascending order.
    stable_fraction_
        The share of the sample that came from the stable points.
    n_stable_sampled_, n_unstable_sampled_
        How many points of each kind were drawn.
    n_stable_, n_unstable_
        How many points of each kind there are, with respect to the seeds.
    inertia_
        Sum of the squared distances of all points from their nearest centres.
    n_iter_
        Iterations of the best start.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    See Also
    --------
    IncrementalKMeans : For data that come in batches.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import ActiveKMeans
    >>> X, _ = make_blobs(10_000, centers=5, random_state=1)
    >>> model = ActiveKMeans(5, random_state=0).fit(X)
    >>> model.sample_indices_.size, model.labels_.size
    (200, 10000)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sample_size: float | str = "2*sqrt(n)",
        stable_fraction: float | str = "auto",
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        engine: str | Engine = "auto",
        eps: float = 0.03,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.sample_size = sample_size
        self.stable_fraction = stable_fraction
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ActiveKMeans:
        """Find the clusters.

        Parameters
        ----------
        X
            (n, d) data: array, sparse matrix or frame.
        y
            Ignored.
        """
        self._forget()
        k, kmeans, test = self._check_settings()
        X = check_squares(check_rows(self, X, reset=True))
        n = X.shape[0]
        if n < k:
            raise ValueError(f"n_samples={n} must be at least n_clusters={k}: X has too few rows.")
        seeds = dense(kmeans_plusplus(X, k, random_state=int(stream(test.seed, _SEEDS).integers(2**31)))[0])
        extremes = NearestCenters.of(seeds, test.n_jobs).extreme_rows(X)
        stable = test.measure(X, seeds, X[extremes]).stable
        sample = self._sample(X, stable, seeds, kmeans, test.seed)
        best = kmeans.best(X[sample], k, stream(test.seed, _STARTS), seeds=seeds)
        warn_if_empty(best.n_found, k, stacklevel=2)
        assigned = NearestCenters.of(best.centers, test.n_jobs).assign(X)

        self.cluster_centers_, self.n_iter_ = best.centers, best.n_iter
        self.labels_, self.inertia_ = assigned.codes.astype(np.int32), float(assigned.squared.sum())
        self.n_stable_ = int(stable.sum())
        self.n_unstable_ = n - self.n_stable_
        self.sample_indices_ = sample
        self.n_stable_sampled_ = int(stable[sample].sum())
        self.n_unstable_sampled_ = sample.size - self.n_stable_sampled_
        self.stable_fraction_ = self.n_stable_sampled_ / sample.size
        return self

    def _check_settings(self) -> tuple[int, KMeansStarts, StabilityTest]:
        """Check the parameters that need no data."""
        k = check_count(self.n_clusters, "n_clusters")
        check_sample_size(self.sample_size)
        check_stable_fraction(self.stable_fraction)
        return k, KMeansStarts.of(self), StabilityTest.of(self, resolve_seed(self.random_state))

    def _sample(self, X: Rows, stable: BoolArray, seeds: FloatArray, kmeans: KMeansStarts, seed: int) -> IntArray:
        """Draw the rows to cluster."""
        size = size_of_sample(self.sample_size, X.shape[0], seeds.shape[0])
        pools = Pools.shuffled(np.arange(X.shape[0]), stable, stream(seed, _SAMPLE))
        if self.stable_fraction == "auto":
            fraction = best_fraction(X, stable, size, kmeans, seeds, stream(seed, _TRIALS))
        else:
            fraction = float(self.stable_fraction)
            pools.warn_of_shortage(size, fraction, stacklevel=3)
        return pools.sample(size, fraction)
