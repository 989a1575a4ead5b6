"""Scores from clustering again: how steady a point's cluster is when the data change a little."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from ._case import Case
from ._clusterers import Floats, Ints
from ._misassigned import contingency

RUNS = 20
_SHARE = 0.8


def bootstrap_stability(case: Case) -> Floats:
    """Return how often (n,) a clustering of a bootstrap sample, extended to all points, leaves a point in its cluster.

    The clusters of each run are matched one to one with the judged ones by most agreement.
    """
    rng = np.random.default_rng([case.seed, 1])
    n = case.X.shape[0]
    stays = np.zeros(n)
    for run in range(RUNS):
        rows = rng.integers(0, n, n)
        found = case.clusterer(case.X[rows], case.k, case.seed + 1000 * (run + 1)).predict(case.X)
        stays += matched(found, case.labels) == case.labels
    return stays / RUNS


def item_consensus(case: Case) -> Floats:
    """Return the mean consensus (n,) of each point with the others of its cluster (Monti et al. 2003).

    The consensus of two points is how often they fall in one cluster, among those runs that hold both. Each run takes
    80 % of the points, drawn without replacement.
    """
    rng = np.random.default_rng([case.seed, 2])
    n = case.X.shape[0]
    together = np.zeros((n, n), dtype=np.float32)
    drawn = np.zeros((n, n), dtype=np.float32)
    for run in range(RUNS):
        rows = rng.permutation(n)[: round(_SHARE * n)]
        labels = case.clusterer(case.X[rows], case.k, case.seed + 1000 * (run + 1)).labels
        member = np.zeros((n, int(labels.max()) + 1), dtype=np.float32)
        member[rows, labels] = 1.0
        together += member @ member.T
        present = member.sum(axis=1)
        drawn += np.outer(present, present)
    consensus = together / np.maximum(drawn, 1.0)
    np.fill_diagonal(consensus, 0.0)
    same = (case.labels[:, None] == case.labels).astype(np.float32)
    np.fill_diagonal(same, 0.0)
    return ((consensus * same).sum(axis=1) / np.maximum(same.sum(axis=1), 1.0)).astype(np.float64)


def matched(found: Ints, wanted: Ints) -> Ints:
    """Rename the clusters ``found`` (n,) to agree most with ``wanted`` (n,); -1 where a cluster has no match."""
    known = found >= 0
    names = np.full(int(found.max()) + 1, -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(contingency(found[known], wanted[known]), maximize=True)
    names[rows] = columns
    return np.where(known, names[np.where(known, found, 0)], -1)
