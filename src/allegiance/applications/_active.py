"""k-means on a small sample of stable and unstable points; nearest centers, which incremental clustering shares."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from allegiance._core.parallel import effective_threads, on_one_thread, resolve_seed, slices, stream
from allegiance._core.progress import Verbose
from allegiance._core.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    Rows,
    check_count,
    check_jobs,
    check_number,
    check_rows,
    dense,
)
from allegiance._scorer import AffinityScorer
from allegiance.clusterers import warn_if_empty
from allegiance.fitting import Fitted
from allegiance.influence import LinearEmbedding, PowerDiagram, nearest_sites

#: One random stream per purpose.
_SEEDS, _SAMPLE, _STARTS = range(3)
#: Rows per block, so that memory beyond X stays O(n).
BLOCK = 8192


class NearestCenterMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """predict, transform and score for a model with ``cluster_centers_`` and a parameter ``n_jobs``."""

    n_jobs: int | None
    cluster_centers_: FloatArray

    def predict(self, X: Any) -> AnyArray:
        """Return the index (n,) of the center of active or incremental k-means nearest to each row of X (n, d)."""
        return self._nearest().assign(check_rows(self, X, reset=False))[0].astype(np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Return the distances (n, n_clusters) of rows of X (n, d) to the centers of active or incremental k-means."""
        return np.sqrt(self._nearest().squared_distances(check_rows(self, X, reset=False)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the negative sum of squared distances from rows of X (n, d) to their nearest centers."""
        return -float(self._nearest().assign(check_rows(self, X, reset=False))[1].sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cluster_centers_")

    def _forget(self, *private: str) -> None:
        """Remove the results of the last fit of active or incremental k-means, so that a failing fit leaves none."""
        for name in [name for name in vars(self) if name.endswith("_") or name in private]:
            delattr(self, name)

    @property
    def _n_features_out(self) -> int:
        """The number of columns that transform returns: one per center of active or incremental k-means."""
        return self.cluster_centers_.shape[0]

    def _nearest(self) -> NearestCenters:
        """Return the distances to the fitted centers of active or incremental k-means."""
        check_is_fitted(self)
        return NearestCenters.of(self.cluster_centers_, check_jobs(self.n_jobs))


class ActiveKMeans(NearestCenterMixin, BaseEstimator):
    """Cluster a sample of stable and unstable points, and assign the remaining points to the nearest center.

    Initial centers are drawn by k-means++, and every point is scored against them: it is stable if it takes more than
    half of its territory from one of them. The sample is drawn at random from the stable and the unstable points, and
    k-means on the sample gives the final centers. Memory beyond X is O(n).

    Parameters
    ----------
    n_clusters
        The number of clusters.
    sample_size
        Number of points, or a share of them above 0 and at most 1. None for twice the square root of n. The sample has
        at least ``n_clusters`` points.
    stable_fraction
        Share of the sample that comes from the stable points, from 0 to 1; None for their share of all points. If one
        kind has too few points, the other kind fills the sample, with a warning.
    n_init
        Number of k-means starts on the sample: the first from the initial centers, the others from new centers drawn
        from the sample. The start with the lowest inertia on the sample wins.
    n_jobs, random_state, verbose
        As in :class:`AffinityScorer`, but each fit has a new seed by default.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) centers.
    labels_
        (n,) index of the nearest center of each point.
    sample_indices_
        (m,) rows of the sample, in ascending order.
    stable_fraction_
        Share of the sample that comes from the stable points.
    n_stable_sampled_, n_unstable_sampled_
        Number of sampled points of each kind.
    n_stable_, n_unstable_
        Number of points of each kind, measured against the initial centers.
    inertia_
        Sum of squared distances from all points to their nearest centers.
    n_iter_
        Number of iterations of the best start.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    See Also
    --------
    IncrementalKMeans : For data that arrives in batches.

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
        sample_size: float | None = None,
        stable_fraction: float | None = None,
        n_init: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Verbose = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.sample_size = sample_size
        self.stable_fraction = stable_fraction
        self.n_init = n_init
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ActiveKMeans:
        """Find the clusters of X (n, d), dense or sparse, by k-means on a sample of stable and unstable points."""
        self._forget()
        k, n_init = check_count(self.n_clusters, "n_clusters"), check_count(self.n_init, "n_init")
        fraction = self.stable_fraction
        if fraction is not None and check_number(fraction, "stable_fraction", low=0.0, closed=True) > 1.0:
            raise ValueError(f"stable_fraction must be None or a number from 0 to 1, got {fraction!r}.")
        seed, n_jobs = resolve_seed(self.random_state), check_jobs(self.n_jobs)
        X = check_rows(self, X, reset=True)
        n = X.shape[0]
        if n < k:
            raise ValueError(f"n_samples={n} must be at least n_clusters={k}: X has too few rows.")
        size = _sample_size(self.sample_size, n, k)
        seeds = dense(kmeans_plusplus(X, k, random_state=int(stream(seed, _SEEDS).integers(2**31)))[0])
        extremes = X[NearestCenters.of(seeds, n_jobs).extreme_rows(X)]
        stable = stability(fit_to_centers(seeds, extremes, seed, n_jobs, self.verbose), X)[0] > 0.5
        sample = _draw_sample(stable, size, fraction, stream(seed, _SAMPLE))
        best = best_kmeans(X[sample], k, n_init, stream(seed, _STARTS), seeds=seeds)
        warn_if_empty(np.unique(best.labels_).size, k, stacklevel=2)
        centers = np.asarray(best.cluster_centers_, dtype=np.float64)
        codes, squared = NearestCenters.of(centers, n_jobs).assign(X)

        self.cluster_centers_, self.n_iter_ = centers, int(best.n_iter_)
        self.labels_, self.inertia_ = codes.astype(np.int32), float(squared.sum())
        self.n_stable_ = int(stable.sum())
        self.n_unstable_ = n - self.n_stable_
        self.sample_indices_ = sample
        self.n_stable_sampled_ = int(stable[sample].sum())
        self.n_unstable_sampled_ = sample.size - self.n_stable_sampled_
        self.stable_fraction_ = self.n_stable_sampled_ / sample.size
        return self


def _draw_sample(stable: BoolArray, size: int, fraction: float | None, rng: np.random.Generator) -> IntArray:
    """Draw ``size`` rows for active k-means, a share of them stable; if one kind has too few, the other fills up."""
    rows = rng.permutation(stable.size)
    pools = rows[stable[rows]], rows[~stable[rows]]
    goal = round((stable.mean() if fraction is None else fraction) * size)
    n_stable = min(max(goal, size - pools[1].size), pools[0].size)
    if fraction is not None and n_stable != goal:
        kinds = ("stable", "unstable") if n_stable < goal else ("unstable", "stable")
        target = goal if n_stable < goal else size - goal
        warnings.warn(
            f"stable_fraction={fraction:g} needs {target} {kinds[0]} points in a sample of {size}, but there are only "
            f"{pools[0 if n_stable < goal else 1].size}; {kinds[1]} points fill the sample.",
            UserWarning,
            stacklevel=3,
        )
    return np.sort(np.concatenate([pools[0][:n_stable], pools[1][: size - n_stable]]))


def _sample_size(sample_size: Any, n: int, n_clusters: int) -> int:
    """Return the sample size of active k-means for ``n`` points."""
    if sample_size is None:
        size = round(2.0 * np.sqrt(n))
    elif isinstance(sample_size, Integral):
        size = check_count(sample_size, "sample_size")
    elif (share := check_number(sample_size, "sample_size", low=0.0)) <= 1.0:
        size = round(share * n)
    else:
        raise ValueError(f"sample_size={sample_size!r} is above 1: pass an integer for a number of points.")
    return min(max(size, n_clusters), n)


@dataclass(frozen=True)
class NearestCenters:
    """Distances to the k centers of active and incremental k-means, split into parts inside and outside their span."""

    diagram: PowerDiagram
    threads: int

    @classmethod
    def of(cls, centers: FloatArray, n_jobs: int | None = None) -> NearestCenters:
        """Prepare for centers (k, d) of active k-means. Use ``n_jobs=1`` for few rows, where threads do not pay off."""
        return cls(PowerDiagram(LinearEmbedding.of_sites(centers)), effective_threads(n_jobs))

    def assign(self, X: Rows) -> tuple[IntArray, FloatArray]:
        """Return the nearest center (n,) of active k-means to each row of X (n, d), and the squared distance (n,)."""
        codes, squared = np.empty(X.shape[0], dtype=np.int64), np.empty(X.shape[0])
        for part in slices(X.shape[0], BLOCK):
            located = self.diagram.locate(X[part], self.threads)
            codes[part] = nearest_sites(self.diagram, located.position)
            squared[part] = self.diagram.divergences(located, codes[part])
        return codes, squared

    def squared_distances(self, X: Rows) -> FloatArray:
        """Return the squared distances (n, k) from the rows of X to all centers of active k-means."""
        k = self.diagram.positions.shape[0]
        out = np.empty((X.shape[0], k))
        for part in slices(X.shape[0], BLOCK):
            located = self.diagram.locate(X[part], self.threads)
            for i in range(k):
                out[part, i] = self.diagram.divergences(located, np.full(located.position.shape[0], i))
        return out

    def extreme_rows(self, X: Rows) -> IntArray:
        """Return at most 2 (k - 1) rows with the bounding box of X, in the span of the centers of active k-means."""
        r = self.diagram.positions.shape[1]
        axes = np.arange(r)
        reach = np.full((2, r), -np.inf)
        rows = np.zeros((2, r), dtype=np.int64)
        for part in slices(X.shape[0], BLOCK):
            position = self.diagram.locate(X[part], self.threads).position
            for side, outwards in enumerate((-position, position)):
                farthest = outwards.argmax(axis=0)
                farther = outwards[farthest, axes] > reach[side]
                reach[side, farther] = outwards[farthest, axes][farther]
                rows[side, farther] = part.start + farthest[farther]
        # Coinciding centers span no axis; any row will do.
        return np.unique(rows) if r else np.zeros(1, dtype=np.int64)


def fit_to_centers(
    centers: FloatArray, extremes: Rows, seed: int, n_jobs: int | None, verbose: Verbose = False
) -> Fitted:
    """Return a fitted scorer for the centers (k, d) of active k-means, in the box around the rows ``extremes``."""
    settings: dict[str, Any] = {"influence": "euclidean", "random_state": seed, "n_jobs": n_jobs, "verbose": verbose}
    return AffinityScorer(centers=centers, **settings).fit(extremes).fitted_


def stability(fitted: Fitted, X: Rows) -> tuple[FloatArray, IntArray]:
    """Return the largest affinity (n,) of each row for active k-means, above one half if stable, and its center."""
    ranks = fitted.score(X, top=1)._ranks
    return ranks.largest, ranks.first


def best_kmeans(
    rows: Rows, k: int, n_init: int, rng: np.random.Generator, *, seeds: FloatArray | None = None, weights: Any = None
) -> KMeans:
    """Fit the k-means of active, incremental and consensus clustering: the best start, one from ``seeds`` (k, d)."""
    inits: list[tuple[Any, int]] = [] if seeds is None else [(seeds, 1)]
    if n_init > len(inits):
        inits.append(("k-means++", n_init - len(inits)))
    runs = []
    for init, starts in inits:
        model = KMeans(k, init=init, n_init=starts, random_state=int(rng.integers(2**31)))
        with on_one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the caller counts the clusters
            runs.append(model.fit(rows, sample_weight=weights))
    return min(runs, key=lambda run: run.inertia_)
