"""Which points of a clustering are misassigned, given reference classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]


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
    from scipy.optimize import linear_sum_assignment

    table = contingency(labels, classes)
    matched = np.full(table.shape[0], -1, dtype=np.intp)
    rows, columns = linear_sum_assignment(table, maximize=True)
    matched[rows] = columns
    return matched[labels] != classes
