"""Rows in the feature space of a kernel, as Lloyd's algorithm sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, Rows, dense, effective_threads
from allegiance.influence import Kernel, KernelMeans, SettledKernel, divergence_by_name, features_of

from ._bregman_space import BregmanSpace
from ._lloyd import order_by_content

#: Most rows for which all n² kernel values are kept, in 200 MB; for more they are computed again in each iteration.
_MOST_HELD = 5000
#: Rows of kernel values computed at a time.
_CHUNK = 1024


def kernel_space(X: Rows, weights: FloatArray, kernel: Kernel, seed: int) -> KernelSpace | ApproximateSpace:
    """Return the space of rows X (n, d), or of a matrix (n, n) of kernel values, with weights (n,)."""
    settled = kernel.settle(X, weights)
    if kernel.approximation is None:
        return KernelSpace(X, weights, settled)
    return ApproximateSpace(X, weights, kernel.approximation.fit(settled, seed, X))


class KernelSpace:
    """The feature space itself, known through kernel values: all of them if there are not too many rows."""

    def __init__(self, X: Rows, weights: FloatArray, kernel: SettledKernel) -> None:
        self.weights, self.kernel = weights, kernel
        self.values_of, self.values_kernel = X, kernel
        if kernel.name == "precomputed":
            if X.shape[1] != X.shape[0]:
                raise ValueError(f"X must be square for Kernel('precomputed'), got shape {X.shape}.")
            self.own, self.order = dense(X.diagonal()), np.arange(X.shape[0])
        else:
            self.own, self.order = np.concatenate(_in_parts(X, kernel, kernel.diagonal)), order_by_content(X)
            if X.shape[0] <= _MOST_HELD:
                self.values_of = self._columns(np.arange(X.shape[0]))
                self.values_kernel = SettledKernel("precomputed", {})
        self.scale = float(np.abs(self.own).max())

    def from_rows(self, rows: IntArray) -> FloatArray:
        """Return the squared distances (n, m) of all rows from some."""
        return self.own[:, None] + self.own[rows] - 2.0 * self._columns(rows)

    def from_means(self, codes: IntArray, found: IntArray) -> FloatArray:
        """Return the squared distances (n, f) of all rows from the means of the clusters ``found`` (f,)."""
        numbers = np.where(self.weights > 0, np.searchsorted(found, codes), -1)
        means, g = ClusterMeans.of(self.values_of, numbers, found.size, self.values_kernel, self.weights)
        return np.maximum(self.own[:, None] - 2.0 * g + means.squares, 0.0)

    def cluster_means(self, X: Rows, codes: IntArray, n_found: int) -> ClusterMeans:
        """Return the means of the first clusters, to which rows of the future can be compared."""
        numbers = np.where(self.weights > 0, codes, -1)
        return ClusterMeans.of(X, numbers, n_found, self.kernel, self.weights)[0]

    def _columns(self, rows: IntArray) -> FloatArray:
        """Return the kernel values (n, m) of all rows with some."""
        if self.values_kernel.name == "precomputed":
            return dense(self.values_of[:, rows])
        others = self.kernel.prepare(self.values_of[rows])
        blocks = _in_parts(self.values_of, self.kernel, lambda part: self.kernel.block(part, others))
        return np.concatenate(blocks)


def _in_parts(X: Rows, kernel: SettledKernel, compute: Any) -> list[FloatArray]:
    """Call ``compute`` with some prepared rows of X at a time."""
    return [compute(kernel.prepare(X[start : start + _CHUNK])) for start in range(0, X.shape[0], _CHUNK)]


class ClusterMeans(NamedTuple):
    """The means of clusters in the feature space of a kernel."""

    means: KernelMeans
    squares: FloatArray
    """(k,) their squared norms."""

    @classmethod
    def of(
        cls, X: Rows, codes: IntArray, n_clusters: int, kernel: SettledKernel, weights: FloatArray
    ) -> tuple[ClusterMeans, FloatArray]:
        """Return the means of clusters of rows with ``codes`` (n,), -1 for none, and their products (n, k) with X."""
        means = KernelMeans.of_clusters(X, codes, n_clusters, kernel, weights)
        g = means.means(X, effective_threads(None))
        return cls(means, np.diagonal(means.over_clusters(g)).copy()), g

    def nearest(self, X: Rows) -> IntArray:
        """Return the number (n,) of the mean nearest to each row of X (n, d)."""
        return (self.squares - 2.0 * self.means.means(X, effective_threads(None))).argmin(axis=1)


class ApproximateSpace(BregmanSpace):
    """Finitely many features whose inner products are approximately a kernel: Euclidean distance among them."""

    def __init__(self, X: Rows, weights: FloatArray, transformer: Any) -> None:
        super().__init__(features_of(transformer, X), weights, divergence_by_name("squared"))
        self.transformer = transformer

    def cluster_means(self, X: Rows, codes: IntArray, n_found: int) -> FeatureMeans:
        """Return the means of the first clusters, to which rows of the future can be compared."""
        return FeatureMeans(self.transformer, self.means(codes, np.arange(n_found)))


class FeatureMeans(NamedTuple):
    """The means (k, f) of clusters among features."""

    transformer: Any
    centers: FloatArray

    def nearest(self, X: Rows) -> IntArray:
        """Return the number (n,) of the mean nearest to each row of X (n, d)."""
        return divergence_by_name("squared").between(features_of(self.transformer, X), self.centers).argmin(axis=1)
