"""All scores that are compared: those of other packages, ingredients of ours, and the silhouette of whitened data.

The review order and trust themselves are measured by ``replication.py --only order`` on the same clusterings.
"""

import warnings

import numpy as np
from sklearn.covariance import ledoit_wolf

from allegiance import affinity

from ._case import Case
from ._clusterers import Floats
from ._peers import PEER_SCORES, silhouette


def own_affinity_and_closeness(case: Case) -> Floats:
    """Return the mean (n,) of the two scores from which trust and the review order are made."""
    result = affinity(case.X, case.labels, n_jobs=1)
    return (result.own_affinity + result.frame(details=True)["closeness"].to_numpy()) / 2.0


def confidence_euclidean(case: Case) -> Floats:
    """Return the paper's score (n,): the largest affinity under plain Euclidean influence."""
    return affinity(case.X, case.labels, n_jobs=1, influence="euclidean").affinity.max(axis=1)


def whitened(case: Case) -> Floats:
    """Return the data (n, d) with unit covariance within clusters, shrunk after Ledoit and Wolf."""
    covariance = ledoit_wolf(case.X - case.centers[case.labels], assume_centered=True)[0]
    values, axes = np.linalg.eigh(covariance)
    return case.X @ (axes / np.sqrt(values))


def whitened_silhouette(case: Case) -> Floats:
    """Return the silhouette (n,) of the whitened data, which nobody ships, to see what affinity adds to it."""
    return silhouette(Case(whitened(case), case.k, case.seed, lambda X, k, seed: case.clustering))


SCORES = PEER_SCORES | {
    "own affinity + closeness": own_affinity_and_closeness,
    "confidence euclidean": confidence_euclidean,
    "whitened silhouette": whitened_silhouette,
}


def all_scores(case: Case) -> dict[str, Floats]:
    """Score a clustering in every way; (n,) each, higher meaning more trustworthy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mixtures that did not converge, samples that ran out: part of "as shipped"
        scores = {name: score(case) for name, score in SCORES.items()}
    for name, values in scores.items():
        if values.shape != (case.X.shape[0],) or not np.isfinite(values).all():
            raise AssertionError(f"{name} gives {values.shape} with {np.isnan(values).sum()} NaN")
    return scores
