"""Where trust fails: handwritten digits in fewer clusters than digits. Merged classes are stable and wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance import trust

from ._misassigned import by_majority, contingency

CLUSTERS = (5, 8, 10, 12, 20)
SHOWN = 8
_STARTS = 5


class Digits(NamedTuple):
    """What trust says of one clustering of the digits, beside what is right by majority."""

    clusters: int
    expected: float
    interval: tuple[float, float]
    right: float


class Cluster(NamedTuple):
    """One cluster of the digits."""

    holds: str
    """Its most frequent digits, with their counts."""
    points: int
    expected: float
    right: float


def digits_rows(clusters: tuple[int, ...] = CLUSTERS) -> list[Digits]:
    """Return what is expected and what is right for each number of clusters."""
    return [_clustered(k)[0] for k in clusters]


def cluster_rows(k: int = SHOWN) -> list[Cluster]:
    """Return the clusters of one clustering, the one with most of its labels wrong first."""
    return sorted(_clustered(k)[1], key=lambda cluster: cluster.right)


def _clustered(k: int) -> tuple[Digits, list[Cluster]]:
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    labels = KMeans(k, n_init=_STARTS, random_state=0).fit_predict(X)
    result = trust(X, labels)
    right = ~by_majority(labels, digits)
    counts = contingency(labels, digits)
    clusters = [
        Cluster(
            _holds(counts[c]),
            int(counts[c].sum()),
            float(result.trust[labels == c].mean()),
            float(right[labels == c].mean()),
        )
        for c in range(k)
    ]
    return Digits(k, result.replication, result.replication_interval, float(right.mean())), clusters


def _holds(counts: np.ndarray) -> str:
    """Name the digits that make up at least a tenth of a cluster."""
    order = np.argsort(counts)[::-1]
    return ", ".join(f"{counts[d]} of the {d}" for d in order if counts[d] >= 0.1 * counts.sum())
