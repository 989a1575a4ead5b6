"""Rand distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import IntArray

from ._memberships import check_codes, separate_noise


def rand_distance(labels_a: Any, labels_b: Any) -> float:
    """Return the share of the pairs of points that one clustering puts together and the other apart.

    It is 1 minus the Rand index: 0 for equal partitions, 1 if one puts all points together and the other none. It is a
    metric, and counts pairs in whole numbers. Time and memory are O(n) for any number of clusters.

    Parameters
    ----------
    labels_a, labels_b
        (n,) labels: integers or strings. Points of noise (-1) are together with no other point.

    Returns
    -------
    float
        From 0 to 1; 0 for a single point.

    See Also
    --------
    lift_emd : A distance that knows where the points are.

    Examples
    --------
    One of the six pairs is treated differently: the last two points.

    >>> from allegiance.metrics import rand_distance
    >>> rand_distance(["a", "a", "b", "b"], [0, 0, 1, 2])
    0.16666666666666666
    """
    codes_a = separate_noise(check_codes(labels_a, _length(labels_a, "labels_a"), "labels_a"))
    codes_b = separate_noise(check_codes(labels_b, codes_a.size, "labels_b"))
    pairs = codes_a.size * (codes_a.size - 1) // 2
    together_in_both = _pairs_together(codes_a * (int(codes_b.max()) + 1) + codes_b)
    treated_differently = _pairs_together(codes_a) + _pairs_together(codes_b) - 2 * together_in_both
    return treated_differently / pairs if pairs else 0.0


def _pairs_together(codes: IntArray) -> int:
    sizes = np.unique(codes, return_counts=True)[1]
    return int((sizes * (sizes - 1) // 2).sum())


def _length(labels: Any, name: str) -> int:
    try:
        return len(labels)
    except TypeError as error:
        raise TypeError(f"{name} must be one label per point, got {type(labels).__name__}.") from error
