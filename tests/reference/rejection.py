"""Affinities by rejection: uniform points of a box, kept where the query is closest. Slow, obvious, unbiased."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def rejection_affinity(
    centers: Floats,
    x: Floats,
    lower: Floats,
    upper: Floats,
    n_drawn: int,
    rng: np.random.Generator,
    weights: Floats | float = 0.0,
    query_weight: float = 0.0,
) -> tuple[Floats, int]:
    """Return the shares (k,) of what x takes from each centre inside a box, and of how many kept points."""
    y = rng.uniform(lower, upper, (n_drawn, len(x)))
    power = ((y[:, None, :] - centers) ** 2).sum(axis=2) - weights
    stolen = ((y - x) ** 2).sum(axis=1) - query_weight <= power.min(axis=1)
    kept = int(stolen.sum())
    return np.bincount(power[stolen].argmin(axis=1), minlength=len(centers)) / max(kept, 1), kept
