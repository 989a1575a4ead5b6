"""A dataset clustered once by k-means, and which of its labels are wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import roc_auc_score

from reproduction.datasets import AnyArray, DataSet, FloatArray, IntArray


class Clustered(NamedTuple):
    """Points with their k-means labels, and the rows that are examined."""

    X: FloatArray
    labels: IntArray
    centers: FloatArray
    """(k, d) means of the clusters."""
    wrong: AnyArray
    """(n,) whether the class of a point is not the most common of its cluster."""
    rows: IntArray
    """The points to examine: all, or a random choice."""
    seed: int

    def auroc(self, shares: FloatArray) -> float:
        """Return how well low largest shares of the rows (m, k) find wrong labels; NaN if none is wrong."""
        wrong = self.wrong[self.rows]
        return float(roc_auc_score(wrong, -shares.max(axis=1))) if 0 < wrong.sum() < wrong.size else np.nan


def cluster(data: DataSet, seed: int, most_rows: int) -> Clustered:
    """Run k-means with one start, and choose at most ``most_rows`` rows to examine."""
    X = data.X.astype(np.float64)
    labels = KMeans(data.n_clusters, n_init=1, random_state=seed).fit_predict(data.X).astype(np.intp)
    counts = np.zeros((data.n_clusters, data.n_clusters), np.int64)
    np.add.at(counts, (labels, data.reference), 1)
    rows = np.arange(X.shape[0])
    if rows.size > most_rows:
        rows = np.sort(np.random.default_rng(seed).choice(rows.size, most_rows, replace=False))
    centers = np.array([X[labels == i].mean(axis=0) for i in range(data.n_clusters)])
    return Clustered(X, labels, centers, counts.argmax(axis=1)[labels] != data.reference, rows, seed)
