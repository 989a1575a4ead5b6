"""A ball around the sites."""

from __future__ import annotations

import numpy as np

from allegiance._core._typing import FloatArray

from ._base import no_walls

#: Share of the ball that must lie inside the bounds of the diagram.
_MIN_ACCEPTANCE = 1e-3


class BallDomain:
    """The ball around the mean of the sites that reaches ``radius``: the same whatever way the axes are turned.

    In one dimension a ball is an interval, so it is given as the cube, which every engine can measure.
    """

    name = "ball"

    def __init__(self, center: FloatArray, radius: float, bounds: tuple[FloatArray, FloatArray] | None = None) -> None:
        r = center.shape[0]
        self.center = center
        self.scale = np.full(r, radius if radius > 0 else 1.0)
        self.half_width = 1.0 if r == 1 else np.inf
        self.radius = np.inf if r == 1 else 1.0
        self.walls, self.wall_offsets = no_walls(r)
        if bounds is not None:
            self._add_bounds(*bounds)

    def _add_bounds(self, lower: FloatArray, upper: FloatArray) -> None:
        """Cut the ball where the diagram ends."""
        axes = np.eye(self.center.shape[0])
        rows = np.vstack([-axes, axes])
        offsets = np.concatenate([self.center - lower, upper - self.center]) / np.tile(self.scale, 2)
        cutting = offsets < 1.0
        self.walls, self.wall_offsets = np.ascontiguousarray(rows[cutting]), offsets[cutting]

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` independent uniform points (n, r)."""
        if not self.walls.shape[0]:
            return self._sample_whole(n, rng)
        kept: list[FloatArray] = []
        found, tried = 0, 0
        while found < n:
            z = self._sample_whole(max(n, 8192), rng)
            kept.append(z[(z @ self.walls.T <= self.wall_offsets).all(axis=1)])
            found += kept[-1].shape[0]
            tried += z.shape[0]
            if found < tried * _MIN_ACCEPTANCE:
                raise ValueError("domain='ball' lies almost wholly outside the domain of the divergence: use 'box'.")
        return np.concatenate(kept)[:n]

    def _sample_whole(self, n: int, rng: np.random.Generator) -> FloatArray:
        r = self.center.shape[0]
        direction = rng.standard_normal((n, r))
        direction /= np.sqrt((direction * direction).sum(axis=1, keepdims=True))
        return direction * rng.random((n, 1)) ** (1.0 / r)
