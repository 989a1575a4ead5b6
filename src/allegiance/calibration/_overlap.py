"""Dice overlap of clusters: what two partitions share, and what chance alone would make them share."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray


def dice_overlap(old: AnyArray, new: AnyArray) -> FloatArray:
    """Return the overlap 2 |A and B| / (|A| + |B|) of every cluster A of ``old`` (n,) and B of ``new`` (n,).

    Both are cluster numbers from 0; the result has a row per cluster of ``old`` and a column per cluster of ``new``.
    """
    rows, columns = int(old.max(initial=-1)) + 1, int(new.max(initial=-1)) + 1
    common = np.bincount(old * columns + new, minlength=rows * columns).reshape(rows, columns)
    sizes = common.sum(axis=1)[:, None] + common.sum(axis=0)
    return 2.0 * common / np.maximum(sizes, 1)


def expected_dice(p: FloatArray, q: FloatArray) -> float:
    """Return the overlap that a point's clusters have on average if two partitions are unrelated.

    Parameters
    ----------
    p
        (k,) shares of the points in the clusters of one partition.
    q
        (m,) shares in those of the other.

    Returns
    -------
    float
        The sum over i and j of p_i q_j 2 p_i q_j / (p_i + q_j): 1 / k for k clusters of equal size in both.
    """
    both = np.outer(p, q)
    total = np.add.outer(np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64))
    return float((2.0 * both**2 / np.where(total > 0, total, 1.0)).sum())


def shares(codes: AnyArray) -> FloatArray:
    """Return the share of the points (n,) in each cluster."""
    return np.bincount(codes) / max(codes.size, 1)


def above_chance(expected: float, chance: float) -> float:
    """Return (expected - chance) / (1 - chance): 1 at best, 0 for labels that chance would do as well.

    A single cluster is what chance alone gives: 0.
    """
    return (expected - chance) / (1.0 - chance) if chance < 1.0 else 0.0
