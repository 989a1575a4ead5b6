"""Lloyd's algorithm and its seeding, for every space in which clusters have means."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight

from allegiance._core import FloatArray, IntArray, Rows, check_count, check_number, dense, is_sparse, row_dots, stream

#: Rows multiplied at a time.
_CHUNK = 1024
#: Divergences below these shares of the scale of the space are rounding: between rows, and from a row to a mean.
_ROUNDING_OF_ROWS, _ROUNDING_OF_MEANS = 1e-14, 1e-12


class Space(Protocol):
    """Weighted rows, and how far they are from each other and from means of each other."""

    weights: FloatArray
    """(n,) weights of the rows, none negative."""
    order: IntArray
    """(n,) the rows in an order that depends only on their contents: see :func:`order_by_content`."""
    scale: float
    """The size of divergences in this space, to tell them from rounding."""

    def from_rows(self, rows: IntArray) -> FloatArray:
        """Return the divergences (n, m) of all rows from some."""

    def from_means(self, codes: IntArray, found: IntArray) -> FloatArray:
        """Return the divergences (n, f) of all rows from the means of the clusters ``found`` (f,) of ``codes`` (n,)."""


class Clustering(NamedTuple):
    """Where one start of the algorithm ended."""

    labels: IntArray
    """(n,) number of the nearest mean of each row."""
    codes: IntArray
    """(n,) the clusters whose means these are; those with members come first."""
    n_found: int
    """The number of clusters with members."""
    inertia: float
    """Weighted sum of the divergences of rows from their nearest means."""
    n_iter: int


@dataclass(frozen=True)
class Lloyd:
    """Lloyd's algorithm: move rows to the nearest mean until that changes little."""

    n_clusters: int
    n_init: int
    max_iter: int
    tol: float

    @classmethod
    def of(cls, model: Any) -> Lloyd:
        """Check the parameters that an estimator has under these names."""
        return cls(
            check_count(model.n_clusters, "n_clusters"),
            check_count(model.n_init, "n_init"),
            check_count(model.max_iter, "max_iter"),
            check_number(model.tol, "tol", low=0.0, closed=True),
        )

    def check_rows(self, X: Any, sample_weight: Any) -> FloatArray:
        """Return weights (n,) of the rows of X, if there are enough rows."""
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} must be at least n_clusters={self.n_clusters}.")
        weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.any():
            raise ValueError("sample_weight is zero for every row: nothing is left to cluster.")
        return weights

    def best_start(self, space: Space, seed: int) -> Clustering:
        """Run from several seedings by greedy k-means++, and keep the run with the lowest inertia."""
        runs = [self.run(space, self.seeding(space, stream(seed, start))) for start in range(self.n_init)]
        return min(runs, key=lambda run: run.inertia)

    def seeding(self, space: Space, rng: np.random.Generator) -> IntArray:
        """Draw seeds as greedy k-means++ does, and return the nearest of them (n,) to each row."""
        trials = 2 + int(np.log(self.n_clusters))
        nearest, codes = np.full(space.order.size, np.inf), np.zeros(space.order.size, dtype=np.int64)
        for i in range(self.n_clusters):
            shares = space.weights * nearest if i else space.weights
            # If no row is away from a seed, there are fewer distinct rows than clusters, and the others stay empty.
            if not shares.sum() > 0:
                break
            away = space.from_rows(_draw(space.order, shares, rng.random(trials if i else 1)))
            away = np.where(away > _ROUNDING_OF_ROWS * space.scale, away, 0.0)
            away = np.minimum(away, nearest[:, None])
            best = away[:, int((space.weights @ away).argmin())]
            codes[best < nearest] = i
            nearest = best
        return codes

    def run(self, space: Space, codes: IntArray) -> Clustering:
        """Iterate from the means of some clusters (n,) until little changes."""
        before, rows = np.inf, np.arange(codes.size)
        for n_iter in range(1, self.max_iter + 1):
            found = np.unique(codes[space.weights > 0])
            away = space.from_means(codes, found)
            nearest = away.argmin(axis=1)
            own = away[rows, nearest]
            inertia = float(space.weights @ own)
            labels = found[nearest]
            filled = self._without_empty(space, labels, own)
            # Clusters with members come first, so that a label is the number of a mean.
            run = Clustering(nearest, np.searchsorted(found, codes), found.size, inertia, n_iter)
            if (filled == codes).all() or (filled is labels and before - inertia <= self.tol * inertia):
                break
            codes, before = filled, inertia
        return run

    def _without_empty(self, space: Space, codes: IntArray, away: FloatArray) -> IntArray:
        """Give each cluster without weight the row farthest from its own mean, if any is away from it."""
        empty = np.flatnonzero(np.bincount(codes, space.weights, minlength=self.n_clusters) == 0)
        if not empty.size:
            return codes
        codes, away = codes.copy(), np.where(space.weights > 0, away, 0.0)
        for i in empty:
            farthest = space.order[away[space.order].argmax()]
            if away[farthest] <= _ROUNDING_OF_MEANS * space.scale:
                break
            codes[farthest], away[farthest] = i, 0.0
        return codes


def warn_if_empty(n_found: int, n_clusters: int, *, stacklevel: int) -> None:
    """Warn if some clusters have no points."""
    if n_found < n_clusters:
        warnings.warn(
            f"only {n_found} of n_clusters={n_clusters} clusters have points: are there duplicates in X?",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def order_by_content(X: Rows) -> IntArray:
    """Return the rows (n,) of X (n, d) in an order that depends only on what is in them, for random choices.

    They are sorted along a fixed direction, in which different rows almost surely differ.
    """
    direction = stream(0, X.shape[1]).standard_normal(X.shape[1])
    if is_sparse(X):
        return np.argsort(np.asarray(X @ direction, dtype=np.float64), kind="stable")
    parts = [slice(start, start + _CHUNK) for start in range(0, X.shape[0], _CHUNK)]
    return np.argsort(np.concatenate([row_dots(dense(X[part]), direction) for part in parts]), kind="stable")


def _draw(order: IntArray, shares: FloatArray, uniform: FloatArray) -> IntArray:
    """Return rows drawn in proportion to ``shares`` (n,), for uniform numbers (m,)."""
    shares = shares[order]
    totals = np.cumsum(shares)
    places = np.searchsorted(totals, uniform * totals[-1], side="right")
    rows: IntArray = order[np.minimum(places, np.flatnonzero(shares)[-1])]
    return rows
