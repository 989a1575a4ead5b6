"""The features in which a point leaves its cluster for the rival."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, Rows, dense
from allegiance.results import AffinityResult

from ._centers import Centers, blocks

#: Features named for each point.
N_FEATURES = 3


class Pulls(NamedTuple):
    """For each point the features that pull it towards its rival, the strongest first."""

    feature: IntArray
    """(m, N_FEATURES) columns of X, -1 where fewer pull."""
    deviation: FloatArray
    """(m, N_FEATURES) how far the point lies from the centre of its cluster, in within-cluster standard deviations."""


def pulling_features(result: AffinityResult, X: Rows, centers: Centers, rows: IntArray) -> Pulls:
    """Find the features that pull the given rows towards their rivals.

    The pull of a feature is the product of two differences, both in within-cluster standard deviations: of the point
    from the centre of its cluster, and of the rival's centre from the same. Only positive pulls count. For noise, the
    cluster of the largest affinity takes the place of the label's, and the runner-up that of the rival.

    Parameters
    ----------
    result
        The result, for labels and rivals.
    X
        (n, d) features.
    centers
        The centres of the clusters in X.
    rows
        (m,) the points asked for.
    """
    ranks, noise = result.ranks, result.noise
    home = np.where(noise, ranks.first, result.codes)
    rival = np.where(noise, ranks.second, ranks.rival)
    feature = np.full((rows.size, N_FEATURES), -1, dtype=np.int64)
    deviation = np.zeros((rows.size, N_FEATURES))
    for block in blocks(rows.size, X.shape[1]):
        chosen = rows[block]
        own, other = centers.means[home[chosen]], centers.means[rival[chosen]]
        moved = (dense(X[chosen]) / centers.scale - own) / centers.spread
        pull = np.nan_to_num(moved * (other - own) / centers.spread)
        strongest = np.argsort(-pull, axis=1, kind="stable")[:, :N_FEATURES]
        found = np.take_along_axis(pull, strongest, axis=1) > 0
        width = strongest.shape[1]
        feature[block, :width] = np.where(found, strongest, -1)
        deviation[block, :width] = np.where(found, np.take_along_axis(np.nan_to_num(moved), strongest, axis=1), 0.0)
    return Pulls(feature, deviation)
