"""Dask collections as lists of partitions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from allegiance._core import is_lazy, require


@dataclass(frozen=True)
class Partitions:
    """The rows of a Dask array or frame, and perhaps their labels, partition by partition."""

    rows: list[Any]
    """Delayed arrays or frames (m, d)."""
    lengths: list[float]
    """Their numbers of rows, NaN where they are not known."""
    n_features: int
    names: list[str] | None
    """(d,) names of the columns of a frame."""
    labels: list[Any] | None = None
    """Delayed labels (m,)."""

    @classmethod
    def of(cls, X: Any, labels: Any = None) -> Partitions:
        """Cut a Dask array or frame into its partitions, and ``labels`` of any kind likewise."""
        require("dask", "dask", "a Dask collection")
        if not is_lazy(X) or getattr(X, "ndim", None) != 2:
            raise TypeError(f"X must be a Dask array or frame of two dimensions, got {type(X).__name__}.")
        if hasattr(X, "columns"):
            names = list(X.columns) if all(isinstance(name, str) for name in X.columns) else None
            rows, lengths = list(X.to_delayed()), [np.nan] * X.npartitions
        else:
            names = None
            X = X.rechunk({1: -1})
            rows, lengths = list(X.to_delayed().ravel()), [float(size) for size in X.chunks[0]]
        found = cls(rows, lengths, int(X.shape[1]), names)
        if labels is None:
            return found
        return cls(rows, lengths, found.n_features, names, found._labels(labels))

    def with_lengths(self) -> Partitions:
        """Return the same with the numbers of rows counted where they are not known."""
        if not np.isnan(self.lengths).any():
            return self
        dask = require("dask", "dask", "a Dask collection")
        return replace(self, lengths=[float(n) for n in dask.compute(*(dask.delayed(len)(rows) for rows in self.rows))])

    def _labels(self, labels: Any) -> list[Any]:
        known = not np.isnan(self.lengths).any()
        if not is_lazy(labels):
            labels = np.asarray(labels)
            if not known:
                raise ValueError(
                    "labels must be a Dask collection too, with the partitions of X: how many rows each has is unknown."
                )
            self._check_total(labels.shape[0])
            delayed = require("dask", "dask", "a Dask collection").delayed
            ends = np.cumsum([0, *self.lengths]).astype(int)
            return [delayed(labels[start:stop]) for start, stop in pairwise(ends)]
        chunks = getattr(labels, "chunks", None)
        if chunks is not None and known and not np.isnan(chunks[0]).any():
            self._check_total(int(sum(chunks[0])))
            labels = labels.rechunk({0: tuple(int(size) for size in self.lengths)})
        parts = labels.to_delayed()
        parts = list(parts.ravel()) if isinstance(parts, np.ndarray) else list(parts)
        if len(parts) != len(self.rows):
            raise ValueError(
                f"labels has {len(parts)} partitions but X has {len(self.rows)}: they must be cut in the same places."
            )
        return parts

    def _check_total(self, n_labels: int) -> None:
        n = int(sum(self.lengths))
        if n_labels != n:
            raise ValueError(f"labels has {n_labels} entries but X has {n} rows: they must be equal.")

    def pairs(self) -> list[tuple[Any, Any]]:
        """Return each partition with its labels, None if there are none."""
        return list(zip(self.rows, self.labels or [None] * len(self.rows), strict=True))
