"""Centres and the points nearest to them: what the k-means models of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from allegiance._core import AnyArray, FloatArray, IntArray, Rows, check_jobs, check_rows, effective_threads, is_sparse
from allegiance.fitting import nearest_sites
from allegiance.influence import LinearEmbedding, PowerDiagram

#: Rows looked at together. Only the result is kept, so that memory beyond X stays O(n).
BLOCK = 8192
#: Entries whose squares can be added up.
_LARGEST = 1e150


class Assigned(NamedTuple):
    """Points given to their nearest centres."""

    codes: IntArray
    """(n,) number of the nearest centre."""
    squared: FloatArray
    """(n,) squared distance from it."""


@dataclass(frozen=True)
class NearestCenters:
    """Distances from k centres, measured in the span of the centres and off it.

    In the span there are at most k - 1 coordinates, however many columns the data have.
    """

    diagram: PowerDiagram
    threads: int

    @classmethod
    def of(cls, centers: FloatArray, n_jobs: int | None = None) -> NearestCenters:
        """Prepare for centres (k, d). For few rows use ``n_jobs=1``: threads cost more than they save."""
        return cls(PowerDiagram(LinearEmbedding.of_sites(centers)), effective_threads(n_jobs))

    def assign(self, X: Rows) -> Assigned:
        """Find the nearest centre of each row of X (n, d)."""
        codes, squared = np.empty(X.shape[0], dtype=np.int64), np.empty(X.shape[0])
        for part in row_blocks(X.shape[0]):
            located = self.diagram.locate(X[part], self.threads)
            codes[part] = nearest_sites(self.diagram, located.position)
            squared[part] = self.diagram.divergences(located, codes[part])
        return Assigned(codes, squared)

    def squared_distances(self, X: Rows) -> FloatArray:
        """Return the squared distances (n, k) of rows of X from all centres."""
        k = self.diagram.positions.shape[0]
        out = np.empty((X.shape[0], k))
        for part in row_blocks(X.shape[0]):
            located = self.diagram.locate(X[part], self.threads)
            for i in range(k):
                out[part, i] = self.diagram.divergences(located, np.full(located.off_span.shape, i))
        return out

    def extreme_rows(self, X: Rows) -> IntArray:
        """Return the rows of X that reach farthest, to either side, along the axes in which volume is measured.

        The box around these at most 2 (k - 1) rows is the box around all of X.
        """
        r = self.diagram.positions.shape[1]
        axes = np.arange(r)
        reach = np.full((2, r), -np.inf)
        rows = np.zeros((2, r), dtype=np.int64)
        for part in row_blocks(X.shape[0]):
            position = self.diagram.locate(X[part], self.threads).position
            for side, outwards in enumerate((-position, position)):
                farthest = outwards.argmax(axis=0)
                farther = outwards[farthest, axes] > reach[side]
                reach[side, farther] = outwards[farthest, axes][farther]
                rows[side, farther] = part.start + farthest[farther]
        # Coinciding centres span no axis at all; any row serves then.
        return np.unique(rows) if r else np.zeros(1, dtype=np.int64)


def check_squares(X: Rows) -> Rows:
    """Return X if squared distances of its rows can be computed."""
    values = X.data if is_sparse(X) else X
    if values.size and not max(float(values.max()), -float(values.min())) < _LARGEST:
        raise ValueError(f"X is too large to be squared: scale it down until no entry exceeds {_LARGEST:g}.")
    return X


def row_blocks(n: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


class NearestCenterMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """What users of k-means expect of a model with ``cluster_centers_`` and a parameter ``n_jobs``."""

    n_jobs: int | None
    cluster_centers_: FloatArray

    def predict(self, X: Any) -> AnyArray:
        """Return the number (n,) of the centre nearest to each row.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        return self._nearest().assign(self._checked(X)).codes.astype(np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Return the distances (n, n_clusters) of rows from centres.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        return np.sqrt(self._nearest().squared_distances(self._checked(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of the squared distances of rows from their nearest centres.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        y
            Ignored.
        """
        return -float(self._nearest().assign(self._checked(X)).squared.sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cluster_centers_")

    def _forget(self, *private: str) -> None:
        """Undo the last fit, so that one that fails leaves nothing behind."""
        for name in [name for name in vars(self) if name.endswith("_") or name in private]:
            delattr(self, name)

    @property
    def _n_features_out(self) -> int:
        return self.cluster_centers_.shape[0]

    def _nearest(self) -> NearestCenters:
        check_is_fitted(self)
        return NearestCenters.of(self.cluster_centers_, check_jobs(self.n_jobs))

    def _checked(self, X: Any) -> Rows:
        return check_rows(self, X, reset=False)
