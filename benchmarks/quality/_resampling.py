"""Scores from clustering again: how steady a point's cluster is when the data change a little."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ._case import RUNS, Case
from ._clusterers import Floats, Ints
from ._misassigned import contingency

_SHARE = 0.8


def bootstrap_agreement(case: Case) -> Floats:
    """Return how often (n,) a clustering of a bootstrap sample, extended to all points, leaves a point in its cluster.

    The clusters of each run are matched one to one with the judged ones by most agreement.
    """
    return np.mean([matched(other, case.labels) == case.labels for other in case.bootstraps], axis=0)


def bootstrap_stability(case: Case) -> Floats:
    """Return the observation-wise stability (n,) of bootcluster (Yu et al. 2019), its first scheme.

    The clustering of a bootstrap sample is extended to all points. The Jaccard overlap of the judged cluster of a point
    and the one that it falls into is averaged over the runs; the judged clustering is the reference.
    """
    return np.mean([_jaccard(case.labels, other) for other in case.bootstraps], axis=0)


def prediction_strength(case: Case) -> Floats:
    """Return the prediction strength of each observation (n,) (Tibshirani and Walther 2005).

    Half of the points are clustered again and label the other half: the share of a point's companions there, those of
    its judged cluster, that get the label that the point gets. Mean over ten divisions, each half labeled once.
    """
    rng = np.random.default_rng([case.seed, 3])
    n = case.X.shape[0]
    kept, seen = np.zeros(n), np.zeros(n)
    for division in range(RUNS // 2):
        order = rng.permutation(n)
        halves = order[: n // 2], order[n // 2 :]
        for side in (0, 1):
            train, test = halves[side], halves[1 - side]
            predicted = case.recluster(train, 2 * division + side).predict(case.X[test])
            companions, together = _company(case.labels[test], predicted)
            kept[test] += np.where(companions > 0, together / np.maximum(companions, 1), 0.0)
            seen[test] += companions > 0
    return kept / np.maximum(seen, 1.0)


def item_consensus(case: Case) -> Floats:
    """Return the mean consensus (n,) of each point with the others of its cluster (Monti et al. 2003).

    The consensus of two points is how often they fall in one cluster, among those runs that hold both. Each run takes
    80% of the points, drawn without replacement.
    """
    rng = np.random.default_rng([case.seed, 2])
    n = case.X.shape[0]
    together = np.zeros((n, n), dtype=np.float32)
    sampled = np.zeros((n, n), dtype=np.float32)
    for run in range(RUNS):
        rows = rng.permutation(n)[: round(_SHARE * n)]
        labels = case.recluster(rows, run).labels
        member = np.zeros((n, int(labels.max()) + 1), dtype=np.float32)
        member[rows, labels] = 1.0
        together += member @ member.T
        present = member.sum(axis=1)
        sampled += np.outer(present, present)
    consensus = together / np.maximum(sampled, 1.0)
    np.fill_diagonal(consensus, 0.0)
    same = (case.labels[:, None] == case.labels).astype(np.float32)
    np.fill_diagonal(same, 0.0)
    return ((consensus * same).sum(axis=1) / np.maximum(same.sum(axis=1), 1.0)).astype(np.float64)


def matched(codes: Ints, wanted: Ints) -> Ints:
    """Rename the clusters ``codes`` (n,) to agree most with ``wanted`` (n,); -1 where a cluster has no match."""
    known = codes >= 0
    names = np.full(int(codes.max()) + 1, -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(contingency(codes[known], wanted[known]), maximize=True)
    names[rows] = columns
    return np.where(known, names[np.where(known, codes, 0)], -1)


def _jaccard(labels: Ints, other: Ints) -> Floats:
    """Return the overlap (n,) of the clusters that a point has in two clusterings: their intersection over union."""
    table = contingency(labels, other + 1)
    union = table.sum(axis=1)[:, None] + table.sum(axis=0) - table
    return (table / np.maximum(union, 1))[labels, other + 1]


def _company(labels: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return how many others (n,) share a point's label, and how many of them also share its other label."""
    table = contingency(labels, other + 1)
    return table.sum(axis=1)[labels] - 1, table[labels, other + 1] - 1
