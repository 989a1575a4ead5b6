"""Affinities by rejection: uniform points, kept where the query is closest. Slow, obvious, unbiased."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rejection(
    centers: Floats, x: Floats, points: Floats, weights: Floats | float = 0.0, query_weight: float = 0.0
) -> tuple[Floats, int]:
    """Return the shares (k,) of what x takes from each centre of uniform points (n, d), and how many it takes."""
    power = ((points[:, None, :] - centers) ** 2).sum(axis=2) - weights
    stolen = ((points - x) ** 2).sum(axis=1) - query_weight <= power.min(axis=1)
    kept = int(stolen.sum())
    return np.bincount(power[stolen].argmin(axis=1), minlength=len(centers)) / max(kept, 1), kept
