"""A ball around the sites."""

from __future__ import annotations

import numpy as np

from allegiance._typing import FloatArray

from ._base import no_walls


class BallDomain:
    """The ball around the mean of the sites that reaches ``radius``: the same whatever way the axes are turned.

    In one dimension a ball is an interval, so it is given as the cube, which every engine can measure.
    """

    name = "ball"

    def __init__(self, center: FloatArray, radius: float) -> None:
        r = center.shape[0]
        self.center = center
        self.scale = np.full(r, radius if radius > 0 else 1.0)
        self.half_width = 1.0 if r == 1 else np.inf
        self.radius = np.inf if r == 1 else 1.0
        self.walls, self.wall_offsets = no_walls(r)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` independent uniform points (n, r)."""
        r = self.center.shape[0]
        direction = rng.standard_normal((n, r))
        direction /= np.sqrt((direction * direction).sum(axis=1, keepdims=True))
        return direction * rng.random((n, 1)) ** (1.0 / r)
