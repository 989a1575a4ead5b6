"""k-means in the feature space of a kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from allegiance._core import (
    AnyArray,
    FloatArray,
    IntArray,
    Rows,
    check_count,
    check_number,
    check_rows,
    dense,
    effective_threads,
    is_sparse,
    resolve_seed,
    row_dots,
    stream,
)
from allegiance.influence import Kernel, KernelMeans

#: Most rows for which all n² kernel values are kept, in 200 MB; for more they are computed again in each iteration.
_MOST_HELD = 5000
#: Rows of kernel values computed at a time.
_CHUNK = 1024


class KernelKMeans(ClusterMixin, BaseEstimator):
    """Cluster by squared distance to the means in the feature space of a kernel.

    Up to 5,000 rows all kernel values are kept; for more, every iteration computes them again in blocks, which takes
    n² kernel values of time but only O(n) memory beside the data. The clusters do not depend on the order of the rows,
    and a weight of 2 is the same as a row given twice, unless ``kernel="precomputed"``.

    Parameters
    ----------
    n_clusters
        The number of clusters.
    kernel
        "linear", "rbf", "polynomial", "laplacian", "cosine", "precomputed", or a function k(X, Y) -> (n, m).
    kernel_params
        gamma, degree and coef0, or the keywords of the function. gamma is by default 1 over the total variance of X,
        for "laplacian" 1 over the sum of the columns' standard deviations; degree is 3 and coef0 is 1.
    n_init
        Number of starts, each from another k-means++ seeding; the one with the least inertia is kept.
    max_iter
        Most iterations of one start.
    tol
        Stop when an iteration lowers the inertia by no more than this share.
    random_state
        Seed, generator, or None for a new seed at each fit.

    Attributes
    ----------
    labels_
        (n,) cluster of each row.
    inertia_
        Weighted sum of squared distances, in feature space, of the rows to the means of their clusters.
    n_iter_
        Iterations of the start that was kept.
    n_features_in_
        The number of columns of X.
    feature_names_in_
        Names of the columns of X, if it had any.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from allegiance.clusterers import KernelKMeans
    >>> X, ring = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> labels = KernelKMeans(2, kernel_params={"gamma": 5.0}, random_state=0).fit_predict(X)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        kernel_params: dict[str, Any] | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KernelKMeans:
        """Find the clusters.

        Parameters
        ----------
        X
            (n, d) array, sparse matrix or frame; for "precomputed" the matrix (n, n) of kernel values.
        y
            Ignored.
        sample_weight
            (n,) weights of the rows, none negative; 0 leaves a row out of the means, but it gets a label.
        """
        settings = _Settings(
            check_count(self.n_clusters, "n_clusters"),
            check_count(self.max_iter, "max_iter"),
            check_number(self.tol, "tol", low=0.0, closed=True),
        )
        n_init, seed = check_count(self.n_init, "n_init"), resolve_seed(self.random_state)
        X = check_rows(self, X, reset=True)
        if X.shape[0] < settings.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={settings.n_clusters}.")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight must not be zero for every row.")
        kernel = Kernel.of(self.kernel, self.kernel_params, X, weights)
        points = _Points.of(X, kernel, weights)
        runs = [_lloyd(points, settings, stream(seed, start)) for start in range(n_init)]
        best = min(runs, key=lambda run: run.inertia)
        found = np.unique(best.codes[weights > 0])
        if found.size < settings.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found.size}) found smaller than n_clusters ({settings.n_clusters}): X "
                "has too few distinct rows.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.n_iter
        self._found = found
        self._means, self._squares = _means(X, kernel, weights, best.codes, found), best.squares[found]
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the nearest cluster (n,) of each row of X (n, d), or of kernel values (n, n_train)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        g = self._means.means(X, effective_threads(None))
        labels: AnyArray = self._found[(self._squares - 2.0 * g).argmin(axis=1)]
        return labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


class _Settings(NamedTuple):
    n_clusters: int
    max_iter: int
    tol: float


class _Run(NamedTuple):
    """Where one start ended."""

    labels: AnyArray
    """(n,) nearest mean of each row."""
    codes: AnyArray
    """(n,) the clusters that the means are of."""
    squares: FloatArray
    """(k,) squared norms of the means, inf for a cluster without one."""
    inertia: float
    n_iter: int


@dataclass(frozen=True)
class _Points:
    """The rows in feature space: their kernel values if there are not too many, else how to compute them."""

    X: Rows
    kernel: Kernel
    weights: FloatArray
    own: FloatArray
    """(n,) squared norms."""
    order: IntArray
    """(n,) the rows in an order that depends on what they are only, for random choices."""

    @classmethod
    def of(cls, X: Rows, kernel: Kernel, weights: FloatArray) -> _Points:
        n = X.shape[0]
        if kernel.name == "precomputed":
            if X.shape[1] != n:
                raise ValueError(f"X must be square for kernel='precomputed', got shape {X.shape}.")
            return cls(X, kernel, weights, dense(X.diagonal()), np.arange(n))
        order = np.argsort(_fingerprints(X), kind="stable")
        parts = [slice(start, start + _CHUNK) for start in range(0, n, _CHUNK)]
        own = np.concatenate([kernel.diagonal(kernel.prepare(X[part])) for part in parts])
        points = cls(X, kernel, weights, own, order)
        if n > _MOST_HELD:
            return points
        return cls(points.columns(np.arange(n)), Kernel("precomputed", {}), weights, own, order)

    def columns(self, rows: IntArray) -> FloatArray:
        """Return the kernel values (n, m) of all rows with some."""
        if self.kernel.name == "precomputed":
            return dense(self.X[:, rows])
        values, others = np.empty((self.X.shape[0], rows.size)), self.kernel.prepare(self.X[rows])
        for start in range(0, self.X.shape[0], _CHUNK):
            part = slice(start, start + _CHUNK)
            values[part] = self.kernel.block(self.kernel.prepare(self.X[part]), others)
        return values

    def draw(self, shares: FloatArray, rng: np.random.Generator, size: int) -> IntArray:
        """Draw rows with probability proportional to ``shares`` (n,)."""
        totals = np.cumsum(shares[self.order])
        chosen = np.searchsorted(totals, rng.random(size) * totals[-1], side="right")
        return self.order[np.minimum(chosen, totals.size - 1)]

    def distances(self, codes: AnyArray, n_clusters: int) -> tuple[FloatArray, FloatArray]:
        """Return squared distances (n, k) to the means of clusters and the squared norms (k,) of these."""
        found = np.unique(codes[self.weights > 0])
        means = _means(self.X, self.kernel, self.weights, codes, found)
        g = means.means(self.X, effective_threads(None))
        squares = np.full(n_clusters, np.inf)
        squares[found] = np.diagonal(means.over_clusters(g))
        distances = np.full((self.own.size, n_clusters), np.inf)
        distances[:, found] = np.maximum(self.own[:, None] - 2.0 * g + squares[found], 0.0)
        return distances, squares


def _means(X: Rows, kernel: Kernel, weights: FloatArray, codes: AnyArray, found: AnyArray) -> KernelMeans:
    """Return the means of the clusters ``found``, over the rows that have a weight."""
    numbers = np.where(weights > 0, np.searchsorted(found, codes), -1)
    return KernelMeans.of_clusters(X, numbers, found.size, kernel, weights)


def _fingerprints(X: Rows) -> FloatArray:
    """Return a number (n,) for each row of X (n, d), the same for equal rows and almost surely no others."""
    direction = stream(0, X.shape[1]).standard_normal(X.shape[1])
    if is_sparse(X):
        return np.asarray(X @ direction, dtype=np.float64)
    parts = [slice(start, start + _CHUNK) for start in range(0, X.shape[0], _CHUNK)]
    return np.concatenate([row_dots(dense(X[part]), direction) for part in parts])


def _seed(points: _Points, n_clusters: int, rng: np.random.Generator) -> AnyArray:
    """Return the nearest (n,) of the seeds of greedy k-means++ for each row."""
    trials = 2 + int(np.log(n_clusters))
    noise = 1e-14 * np.abs(points.own).max()
    nearest, codes = np.full(points.own.size, np.inf), np.zeros(points.own.size, dtype=np.int64)
    for i in range(n_clusters):
        shares = points.weights * nearest if i else points.weights
        # No row is away from a seed: there are fewer distinct rows than clusters, and the others stay empty.
        if not shares.sum() > 0:
            break
        candidates = points.draw(shares, rng, trials if i else 1)
        away = points.own[:, None] + points.own[candidates] - 2.0 * points.columns(candidates)
        away = np.minimum(np.where(away > noise, away, 0.0), nearest[:, None])
        best = away[:, int((points.weights @ away).argmin())]
        codes[best < nearest] = i
        nearest = best
    return codes


def _fill_empty(points: _Points, codes: AnyArray, distances: FloatArray, n_clusters: int) -> AnyArray:
    """Give each cluster without a member the row farthest from its own mean, if any is away from it."""
    sizes = np.bincount(codes[points.weights > 0], minlength=n_clusters)
    if sizes.all():
        return codes
    codes = codes.copy()
    away = np.where(points.weights > 0, distances[np.arange(codes.size), codes], 0.0)
    noise = 1e-12 * np.abs(points.own).max()
    for i in np.flatnonzero(sizes == 0):
        farthest = points.order[away[points.order].argmax()]
        if away[farthest] <= noise:
            break
        codes[farthest], away[farthest] = i, 0.0
    return codes


def _lloyd(points: _Points, settings: _Settings, rng: np.random.Generator) -> _Run:
    """Move rows to the nearest mean until that changes nothing, or next to nothing."""
    k = settings.n_clusters
    codes, before = _seed(points, k, rng), np.inf
    for iteration in range(1, settings.max_iter + 1):
        distances, squares = points.distances(codes, k)
        labels = distances.argmin(axis=1)
        inertia = float(points.weights @ distances[np.arange(labels.size), labels])
        filled = _fill_empty(points, labels, distances, k)
        run = _Run(labels, codes, squares, inertia, iteration)
        if (filled == codes).all() or (filled is labels and before - inertia <= settings.tol * inertia):
            break
        codes, before = filled, inertia
    return run
