"""Peers after the whitening of "within", to see what affinity adds to it.

Ablations, not products: nobody ships them. The data are mapped so that the pooled covariance of the clusters around
their means, shrunk after Ledoit and Wolf, becomes the identity.
"""

from __future__ import annotations

import numpy as np

from ._case import Case
from ._clusterers import Floats
from ._peers import distance_gap, distance_ratio, silhouette

WHITENED_SCORES = {
    "whitened silhouette": silhouette,
    "whitened distance ratio": distance_ratio,
    "whitened distance gap": distance_gap,
}


def whitened_scores(case: Case) -> dict[str, Floats]:
    """Return all of them, each (n,), more meaning more trusted."""
    clustering = case.clustering
    mapped = Case(whitened(case), case.k, case.seed, lambda X, k, seed: clustering)
    return {name: score(mapped) for name, score in WHITENED_SCORES.items()}


def whitened(case: Case) -> Floats:
    """Return the data (n, d) with unit covariance within clusters."""
    from sklearn.covariance import ledoit_wolf

    covariance = ledoit_wolf(case.X - case.centers[case.labels], assume_centered=True)[0]
    values, axes = np.linalg.eigh(covariance)
    return case.X @ (axes / np.sqrt(values))
