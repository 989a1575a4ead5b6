"""Clusterers that scikit-learn lacks: k-means with any Bregman divergence, Leiden and Louvain."""

from __future__ import annotations

import random
import warnings
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ._core.arithmetic import row_dots
from ._core.parallel import resolve_seed, stream
from ._core.validation import (
    FloatArray,
    IntArray,
    Rows,
    check_centers,
    check_count,
    check_number,
    check_rows,
    dense,
    is_sparse,
    require,
)
from .influence import INFLUENCES, KL, BregmanInfluence, ItakuraSaito

__all__ = ["BregmanKMeans", "Leiden", "Louvain"]

#: Divergences below these shares of the largest from the mean are rounding: between rows, and from a row to a mean.
_ROUNDING_OF_ROWS, _ROUNDING_OF_MEANS = 1e-14, 1e-12


class BregmanKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Cluster by divergence from the mean.

    Whatever the Bregman divergence, the mean of a cluster is the point from which its members diverge least, so that
    only the divergence in Lloyd's algorithm changes (Banerjee et al., 2005).

    Parameters
    ----------
    n_clusters
        The number of clusters.
    influence
        The divergence: "kl", "itakura-saito" or "logistic"; or an object such as ``KL(smoothing=0.5)`` for counts with
        zeros, or ``Bregman`` for a divergence of your own.
    init
        "k-means++", which draws starting centers that diverge from each other, or the centers (n_clusters, d).
    n_init
        Number of starts; the one with the lowest inertia wins. An array of centers starts once.
    max_iter
        Maximum number of iterations of one start.
    tol
        Stop when an iteration lowers the inertia by no more than this share.
    random_state
        Seed, generator, or None for a new seed at each fit.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) means of the clusters, smoothing not included.
    labels_
        (n,) cluster of each row.
    inertia_
        Sum of the divergences of all rows from their centers, times their weights.
    n_iter_
        Iterations of the best start.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance.clusterers import BregmanKMeans
    >>> counts = np.array([[9, 1], [8, 1], [1, 7], [2, 9]])
    >>> model = BregmanKMeans(2, influence="kl", random_state=0).fit(counts)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        influence: str | BregmanInfluence = "kl",
        init: Any = "k-means++",
        n_init: int = 5,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.influence = influence
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> BregmanKMeans:
        """Find the clusters of X (n, d) by Lloyd's algorithm. A row with a ``sample_weight`` of 2 counts as two."""
        influence, points = self._prepare(X, reset=True)
        influence.check_functions(points.shape[1])
        lloyd = Lloyd(self, points, sample_weight, influence)
        if isinstance(self.init, str):
            if self.init != "k-means++":
                raise ValueError(f"init must be 'k-means++' or an array of centers, got {self.init!r}.")
            seed = resolve_seed(self.random_state)
            runs = [lloyd.run(lloyd.seeding(stream(seed, start))) for start in range(lloyd.n_init)]
            best = min(runs, key=lambda run: run.inertia)
        else:
            starts = check_centers(self.init, points.shape[1])
            if starts.shape[0] != lloyd.n_clusters:
                raise ValueError(
                    f"init has {starts.shape[0]} centers but n_clusters is {lloyd.n_clusters}: they must be equal."
                )
            best = lloyd.run(lloyd.from_centers(influence.prepare(starts, "init")).argmin(axis=1))
        warn_if_empty(best.n_filled, lloyd.n_clusters, stacklevel=2)
        centers = lloyd.means(best.codes, np.arange(best.n_filled))
        # Clusters without members have the first center, which is the nearest one before them.
        numbers = np.arange(lloyd.n_clusters)
        self.cluster_centers_ = influence.restore(centers[np.where(numbers < best.n_filled, numbers, 0)])
        self.labels_, self.inertia_, self.n_iter_ = best.labels.astype(np.int32), best.inertia, best.n_iter
        self._n_features_out = lloyd.n_clusters
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the number (n,) of the center from which each row diverges least."""
        return self.transform(X).argmin(axis=1).astype(np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Return the divergences (n, n_clusters) of rows from centers."""
        check_is_fitted(self)
        influence, points = self._prepare(X, reset=False)
        return influence.between(points, influence.prepare(self.cluster_centers_, "cluster_centers_"))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the inertia of X."""
        nearest = self.transform(X).min(axis=1)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return -float(nearest @ weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        named = isinstance(self.influence, str) and self.influence in ("kl", "itakura-saito")
        tags.input_tags.positive_only = named or isinstance(self.influence, KL | ItakuraSaito)
        return tags

    def _prepare(self, X: Any, *, reset: bool) -> tuple[BregmanInfluence, FloatArray]:
        """Return the divergence of Bregman k-means, and X as it needs it: float64, smoothed, inside the domain."""
        influence = INFLUENCES.resolve(self.influence)
        if not isinstance(influence, BregmanInfluence):
            raise ValueError(
                "influence of BregmanKMeans must be one of 'kl', 'itakura-saito', 'logistic', or a Bregman object, got "
                f"{self.influence!r}."
            )
        rows = check_rows(self, X, reset=reset)
        if is_sparse(rows):
            raise TypeError(f"X is sparse, but {type(self).__name__} needs dense X: call X.toarray() first.")
        points: FloatArray = dense(rows)
        if self.__sklearn_tags__().input_tags.positive_only and points.min() < 0:
            raise ValueError(
                f"Negative values in data passed to {type(self).__name__}: influence={self.influence!r} needs X > 0."
            )
        return influence, influence.prepare(points)


class Clustering(NamedTuple):
    """The result of one start of Lloyd's algorithm."""

    labels: IntArray
    """(n,) number of the nearest mean of each row."""
    codes: IntArray
    """(n,) the clusters that the means come from; those with members come first."""
    n_filled: int
    """The number of clusters with members."""
    inertia: float
    """Weighted sum of the divergences of rows from their nearest means."""
    n_iter: int


class Lloyd:
    """Lloyd's algorithm for rows X (n, d) with weights (n,): move rows to the nearest mean until that changes little.

    Divergences are D(x ‖ c) = D(x ‖ m) + D(m ‖ c) - <∇phi(c) - ∇phi(m), x - m> with m the mean of the data: the first
    term is computed once, the others are one matrix product.
    """

    def __init__(self, model: BregmanKMeans, X: FloatArray, sample_weight: Any, divergence: BregmanInfluence) -> None:
        self.n_clusters = check_count(model.n_clusters, "n_clusters")
        self.n_init = check_count(model.n_init, "n_init")
        self.max_iter = check_count(model.max_iter, "max_iter")
        self.tol = check_number(model.tol, "tol", low=0.0, closed=True)
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} must be at least n_clusters={self.n_clusters}.")
        weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row: nothing is left to cluster.")
        self.X, self.weights, self.divergence = X, weights, divergence
        # Random choices depend on the contents of the rows, not on their order: rows are sorted along a fixed
        # direction, in which different rows almost surely differ.
        direction: FloatArray = stream(0, X.shape[1]).standard_normal((X.shape[1],))
        self.order = np.argsort(row_dots(X, direction), kind="stable")
        self.mean = weights @ X / weights.sum()
        self.from_mean = divergence.rowwise(X, self.mean)
        self.scale = float(self.from_mean.max())
        self.centered = X - self.mean

    def from_centers(self, centers: FloatArray) -> FloatArray:
        """Return divergences (n, k) of all rows from centers (k, d), for Lloyd's algorithm."""
        out = self.centered @ self.divergence.slopes(centers, self.mean).T
        np.subtract(self.divergence.rowwise(self.mean, centers), out, out=out)
        out += self.from_mean[:, None]
        return np.maximum(out, 0.0, out=out)

    def means(self, codes: IntArray, present: IntArray) -> FloatArray:
        """Return the weighted mean (f, d) of each of the clusters ``present`` (f,) of Bregman k-means."""
        means = np.empty((present.size, self.X.shape[1]))
        for row, i in enumerate(present):
            members = codes == i
            weights = self.weights[members]
            means[row] = self.mean + weights @ self.centered[members] / weights.sum()
        return means

    def seeding(self, rng: np.random.Generator) -> IntArray:
        """Draw the seeds of Lloyd's algorithm as greedy k-means++ does, and return the nearest one (n,) to each row."""
        trials = 2 + int(np.log(self.n_clusters))
        nearest, codes = np.full(self.order.size, np.inf), np.zeros(self.order.size, dtype=np.int64)
        for i in range(self.n_clusters):
            shares = self.weights * nearest if i else self.weights
            # If all rows lie on seeds, there are fewer distinct rows than clusters, and the others stay empty.
            if not shares.sum() > 0:
                break
            shares = shares[self.order]
            totals = np.cumsum(shares)
            places = np.searchsorted(totals, rng.random(trials if i else 1) * totals[-1], side="right")
            seeds = self.order[np.minimum(places, np.flatnonzero(shares)[-1])]
            away = self.from_centers(self.X[seeds])
            away = np.where(away > _ROUNDING_OF_ROWS * self.scale, away, 0.0)
            away = np.minimum(away, nearest[:, None])
            best = away[:, int((self.weights @ away).argmin())]
            codes[best < nearest] = i
            nearest = best
        return codes

    def run(self, codes: IntArray) -> Clustering:
        """Run Lloyd's algorithm from the means of some clusters (n,) until little changes."""
        before, rows = np.inf, np.arange(codes.size)
        for n_iter in range(1, self.max_iter + 1):
            present = np.unique(codes[self.weights > 0])
            away = self.from_centers(self.means(codes, present))
            nearest = away.argmin(axis=1)
            divergences = away[rows, nearest]
            inertia = float(self.weights @ divergences)
            labels = present[nearest]
            filled = self._without_empty(labels, divergences)
            # Clusters with members come first, so that a label is the number of a mean.
            run = Clustering(nearest, np.searchsorted(present, codes), present.size, inertia, n_iter)
            if (filled == codes).all() or (filled is labels and before - inertia <= self.tol * inertia):
                break
            codes, before = filled, inertia
        return run

    def _without_empty(self, codes: IntArray, away: FloatArray) -> IntArray:
        """Give each empty cluster of Bregman k-means the row that diverges most from its own mean, if any does."""
        empty = np.flatnonzero(np.bincount(codes, self.weights, minlength=self.n_clusters) == 0)
        if not empty.size:
            return codes
        codes, away = codes.copy(), np.where(self.weights > 0, away, 0.0)
        for i in empty:
            farthest = self.order[away[self.order].argmax()]
            if away[farthest] <= _ROUNDING_OF_MEANS * self.scale:
                break
            codes[farthest], away[farthest] = i, 0.0
        return codes


def warn_if_empty(n_filled: int, n_clusters: int, *, stacklevel: int) -> None:
    """Warn if some clusters of k-means have no points."""
    if n_filled < n_clusters:
        message = f"only {n_filled} of n_clusters={n_clusters} clusters have points: are there duplicates in X?"
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)


class Leiden(ClusterMixin, BaseEstimator):
    """Leiden clustering of scanpy's neighbor graph. Needs igraph, but not scanpy.

    Parameters
    ----------
    resolution
        Higher values give more clusters.
    n_neighbors
        Neighbors of each row in the graph, counting the row itself; fewer if there are fewer rows.
    metric
        Distance between rows, or "precomputed" if X is a graph: a sparse matrix (n, n) of edge weights, such as
        ``adata.obsp["connectivities"]``.
    n_iterations
        Iterations of the algorithm; -1 iterates until the result no longer improves.
    random_state
        Seed.

    Attributes
    ----------
    labels_
        (n,) cluster of each row.

    Examples
    --------
    >>> from allegiance.clusterers import Leiden
    >>> Leiden(0.5, n_neighbors=10)
    Leiden(n_neighbors=10, resolution=0.5)
    """

    def __init__(
        self,
        resolution: float = 1.0,
        *,
        n_neighbors: int = 15,
        metric: str = "euclidean",
        n_iterations: int = 2,
        random_state: int = 0,
    ) -> None:
        self.resolution = resolution
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_iterations = n_iterations
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Leiden:
        """Build the neighbor graph of X (n, d), unless X is a graph, and cluster it with Leiden or Louvain."""
        igraph = require("igraph", "anndata", type(self).__name__)
        rows = X if is_sparse(X) else np.asarray(X)
        graph = sp.coo_array(rows) if self.metric == "precomputed" else self._neighbor_graph(rows)
        kept = graph.data > 0
        pairs = np.column_stack([graph.row[kept], graph.col[kept]])
        with _IGRAPH_LOCK:
            try:
                state = np.random.RandomState(self.random_state)
                numbers = SimpleNamespace(  # as scanpy draws them
                    getrandbits=lambda k: int(state.tomaxint()) & ((1 << k) - 1),
                    randint=lambda a, b: int(state.randint(a, b + 1)),
                    random=state.random_sample,
                    gauss=state.normal,
                )
                igraph.set_random_number_generator(numbers)
                edges = igraph.Graph(n=graph.shape[0], edges=pairs), graph.data[kept].astype(np.float64)
                self.labels_: IntArray = np.array(self._partition(*edges).membership, dtype=np.int64)
            finally:
                igraph.set_random_number_generator(random)
        self.n_features_in_ = int(rows.shape[1])
        return self

    def _partition(self, graph: Any, weights: FloatArray) -> Any:
        """Return the Leiden clustering of a graph."""
        settings = {"resolution": self.resolution, "n_iterations": self.n_iterations}
        return graph.community_leiden("modularity", weights=weights, **settings)

    def _neighbor_graph(self, rows: Rows) -> Any:
        """Return the neighbor graph for Leiden or Louvain, that of scanpy and UMAP: weights fall off with distance."""
        from sklearn.neighbors import NearestNeighbors

        n = rows.shape[0]
        k = min(self.n_neighbors, n)
        distances, neighbors = NearestNeighbors(n_neighbors=k, metric=self.metric).fit(rows).kneighbors(rows)
        is_self = neighbors == np.arange(n)[:, None]
        distances = distances.astype(np.float64)
        nearest = np.where((distances > 0) & ~is_self, distances, np.inf).min(axis=1, keepdims=True)
        nearest = np.where(np.isfinite(nearest), nearest, 0.0)
        beyond = np.maximum(distances[:, 1:] - nearest, 0.0)
        low, scale, high = np.zeros((n, 1)), np.ones((n, 1)), np.full((n, 1), np.inf)
        for _ in range(64):  # each row's weights add up to log2(k)
            above = np.exp(-beyond / scale).sum(axis=1, keepdims=True) > np.log2(k)
            low, high = np.where(above, low, scale), np.where(above, scale, high)
            scale = np.where(np.isinf(high), 2.0 * scale, (low + high) / 2.0)
        means = distances.mean(axis=1, keepdims=True)
        scale = np.maximum(scale, 1e-3 * np.where(nearest > 0, means, distances.mean()))
        decay = np.exp(-np.maximum(distances - nearest, 0.0) / np.where(scale > 0, scale, 1.0))
        weights = np.where(is_self, 0.0, decay)
        one_way = sp.csr_array((weights.ravel(), neighbors.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
        return sp.coo_array(one_way + one_way.T - one_way * one_way.T)


class Louvain(Leiden):
    """Louvain clustering of scanpy's neighbor graph. Needs igraph, but not scanpy.

    Parameters
    ----------
    resolution, n_neighbors, metric, n_iterations, random_state
        As in :class:`Leiden`; ``n_iterations`` is ignored.

    Examples
    --------
    >>> from allegiance.clusterers import Louvain
    >>> Louvain(0.5, n_neighbors=10)
    Louvain(n_neighbors=10, resolution=0.5)
    """

    def _partition(self, graph: Any, weights: FloatArray) -> Any:
        """Return the Louvain clustering of a graph."""
        return graph.community_multilevel(weights=weights, resolution=self.resolution)


#: igraph has one random generator for the whole process.
_IGRAPH_LOCK = Lock()
