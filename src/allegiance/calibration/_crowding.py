"""A prior: large and wide clusters more often hold several classes, so their points are trusted a little less."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from allegiance._core import FloatArray, IntArray, of_moderate_size

#: The spread of logits counts as at least this, so that the prior works where all points look alike.
_LEAST_SPREAD = 0.2
#: The shift that puts the mean back is searched for within this distance of zero.
_LARGEST_SHIFT = 50.0


def crowding_offsets(
    logits: FloatArray, codes: IntArray, distance: FloatArray, n_clusters: int, strength: float
) -> FloatArray:
    """Return what is added to the logit of the points of each cluster (k,); the mean chance stays as it is.

    Parameters
    ----------
    logits
        (m,) of the chances before.
    codes
        (m,) cluster numbers, without noise.
    distance
        (m,) from the own representative.
    strength
        Standard deviations of the logits per standard deviation of log(size x spread).
    """
    crowding = _log_crowding(codes, distance, n_clusters)
    mean, deviation = crowding[codes].mean(), crowding[codes].std()
    if strength == 0.0 or deviation < 1e-9:
        return np.zeros(n_clusters)
    occurs = np.bincount(codes, minlength=n_clusters) > 0
    standard = np.where(occurs, (crowding - mean) / deviation, 0.0)
    offsets = -strength * max(float(logits.std()), _LEAST_SPREAD) * standard
    moved, target = logits + offsets[codes], float(expit(logits).mean())
    shift = brentq(lambda h: float(expit(moved + h).mean()) - target, -_LARGEST_SHIFT, _LARGEST_SHIFT)
    return offsets + shift


def _log_crowding(codes: IntArray, distance: FloatArray, n_clusters: int) -> FloatArray:
    """Return log(size x spread) (k,), the spread being the root mean square distance from the representative.

    One more member at the distance usual in all clusters is added to each, since few members say little of a spread.
    """
    sizes = np.bincount(codes, minlength=n_clusters)
    squares = of_moderate_size(distance) ** 2
    usual = float(squares.mean())
    if usual == 0.0:
        return np.log(np.maximum(sizes, 1))
    spread = (np.bincount(codes, weights=squares, minlength=n_clusters) + usual) / (sizes + 1)
    return np.log(np.maximum(sizes, 1)) + np.log(spread) / 2.0
