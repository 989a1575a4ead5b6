"""The default domain: a box around the data."""

from __future__ import annotations

import numpy as np

from allegiance._typing import FloatArray

from ._base import no_walls


class BoxDomain:
    """The bounding box of data and sites, widened by ``margin`` of its extent on each side.

    The axes are those of the diagram's coordinates: the user's own if the sites span the space.
    """

    name = "box"
    half_width = 1.0
    radius = np.inf

    def __init__(self, lower: FloatArray, upper: FloatArray, margin: float) -> None:
        extent = upper - lower
        # An extent of zero can only come from a single point in that direction; any width serves.
        extent = np.where(extent > 0, extent, max(float(extent.max(initial=0.0)), 1.0))
        self.center = (lower + upper) / 2.0
        self.scale = extent * (0.5 + margin)
        self.walls, self.wall_offsets = no_walls(lower.shape[0])

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` independent uniform points (n, r)."""
        return rng.uniform(-1.0, 1.0, (n, self.center.shape[0]))
