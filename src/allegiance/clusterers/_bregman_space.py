"""Rows under a Bregman divergence, as Lloyd's algorithm sees them."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray, IntArray
from allegiance.influence import BregmanDivergence

from ._lloyd import order_by_content


class BregmanSpace:
    """Rows X (n, d) with weights (n,), whose divergence from a cluster is that from its mean.

    Divergences are D(x ‖ c) = D(x ‖ m) + D(m ‖ c) - <∇phi(c) - ∇phi(m), x - m> with m the mean of the data: the first
    term is computed once, and the rest is one matrix product.
    """

    def __init__(self, X: FloatArray, weights: FloatArray, divergence: BregmanDivergence) -> None:
        self.X, self.weights, self.divergence = X, weights, divergence
        self.order = order_by_content(X)
        self.mean = weights @ X / weights.sum()
        self.from_mean = divergence.rowwise(X, self.mean)
        self.scale = float(self.from_mean.max())
        self.centred = X - self.mean

    def from_centers(self, centers: FloatArray) -> FloatArray:
        """Return divergences (n, k) of all rows from centres (k, d)."""
        out = self.centred @ self.divergence.slopes(centers, self.mean).T
        np.subtract(self.divergence.rowwise(self.mean, centers), out, out=out)
        out += self.from_mean[:, None]
        return np.maximum(out, 0.0, out=out)

    def from_rows(self, rows: IntArray) -> FloatArray:
        """Return the divergences (n, m) of all rows from some."""
        return self.from_centers(self.X[rows])

    def from_means(self, codes: IntArray, found: IntArray) -> FloatArray:
        """Return the divergences (n, f) of all rows from the means of the clusters ``found`` (f,) of ``codes`` (n,)."""
        return self.from_centers(self.means(codes, found))

    def means(self, codes: IntArray, found: IntArray) -> FloatArray:
        """Return the weighted mean (f, d) of each of the clusters ``found`` (f,), which have weight."""
        means = np.empty((found.size, self.X.shape[1]))
        for row, i in enumerate(found):
            members = codes == i
            weights = self.weights[members]
            means[row] = self.mean + weights @ self.centred[members] / weights.sum()
        return means
