"""What a cluster is like: the features in which it differs most from all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray

from ._centers import Centers

#: Features named for each cluster.
N_TRAITS = 8


class Traits(NamedTuple):
    """For each cluster the features in which it differs most from the rest, the strongest first."""

    feature: IntArray
    """(k, at most N_TRAITS) columns of X, -1 where fewer differ."""
    inside: FloatArray
    """(k, at most N_TRAITS) mean of the feature in the cluster."""
    outside: FloatArray
    """(k, at most N_TRAITS) mean of the feature in all other clusters together."""
    difference: FloatArray
    """(k, at most N_TRAITS) inside minus outside, in standard deviations within clusters."""


def cluster_traits(centers: Centers) -> Traits:
    """Compare each cluster with the rest."""
    sizes = centers.sizes[:, None]
    means = np.nan_to_num(centers.means)
    total = (sizes * means).sum(axis=0)
    rest = (total - sizes * means) / np.maximum(centers.sizes.sum() - sizes, 1)
    difference = np.where(sizes > 0, np.nan_to_num((means - rest) / centers.spread), 0.0)
    if len(sizes) == 1:  # Nothing to compare with.
        difference = np.zeros_like(difference)
    strongest = np.argsort(-np.abs(difference), axis=1, kind="stable")[:, :N_TRAITS]
    taken = [np.take_along_axis(values, strongest, axis=1) for values in (means, rest, difference)]
    scale = centers.scale[strongest]
    return Traits(np.where(taken[2] != 0, strongest, -1), taken[0] * scale, taken[1] * scale, taken[2])
