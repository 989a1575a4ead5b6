"""Which points of a clustering are misassigned, given reference classes, and how well scores find them."""

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import average_precision_score, roc_auc_score

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

#: With fewer misassigned points a clustering says too little about finding them.
LEAST_WRONG = 5


def contingency(labels: Ints, classes: Ints) -> Ints:
    """Count the points of every cluster and class, (clusters, classes)."""
    table = np.zeros((int(labels.max()) + 1, int(classes.max()) + 1), dtype=np.intp)
    np.add.at(table, (labels, classes), 1)
    return table


def by_majority(labels: Ints, classes: Ints) -> Bools:
    """Return (n,) whether a point's class is not the most frequent one of its cluster; the first of equals counts."""
    return contingency(labels, classes).argmax(axis=1)[labels] != classes


def by_matching(labels: Ints, classes: Ints) -> Bools:
    """Return (n,) whether a point's class is not the one matched to its cluster.

    Clusters and classes are matched one to one with the most agreement (the Hungarian method); all points of a cluster
    without a match are misassigned.
    """
    table = contingency(labels, classes)
    matched = np.full(table.shape[0], -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(table, maximize=True)
    matched[rows] = columns
    return matched[labels] != classes


def measures(trust: Floats, wrong: Bools, unmatched: Bools) -> dict[str, float]:
    """Return how well low scores (n,) find misassigned points; NaN with too few of them, or too few of the others."""
    if min(int(wrong.sum()), int((~wrong).sum())) < LEAST_WRONG:
        return dict.fromkeys(("auroc", "ap", "matched_auroc"), float("nan"))
    return {
        "auroc": float(roc_auc_score(wrong, -trust)),
        "ap": float(average_precision_score(wrong, -trust)),
        "matched_auroc": float(roc_auc_score(unmatched, -trust)),
    }
