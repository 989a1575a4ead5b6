"""The whole space."""

from __future__ import annotations

import numpy as np

from allegiance._core._typing import FloatArray

from ._base import no_walls


class UnboundedDomain:
    """No walls at all: the literal definition, for points in the hull of the sites."""

    name = "None"
    half_width = np.inf
    radius = np.inf

    def __init__(self, positions: FloatArray) -> None:
        self.center = positions.mean(axis=0)
        size = float(np.abs(positions - self.center).max(initial=0.0))
        self.scale = np.full(positions.shape[1], size if size > 0 else 1.0)
        self.walls, self.wall_offsets = no_walls(positions.shape[1])

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Refuse: there is no uniform point in the whole space."""
        raise TypeError("an unbounded domain has no uniform samples")
