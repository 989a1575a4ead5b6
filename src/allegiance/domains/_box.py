"""The default domain: a box around the data."""

from __future__ import annotations

import numpy as np

from allegiance._core._typing import AnyArray, FloatArray

from ._base import no_walls


class BoxDomain:
    """The bounding box of data and sites, widened by ``margin`` of its extent on each side.

    The axes are those of the diagram's coordinates: the user's own if the sites span the space. The box ends where the
    ``bounds`` of the diagram do.
    """

    name = "box"
    half_width = 1.0
    radius = np.inf

    def __init__(
        self, lower: FloatArray, upper: FloatArray, margin: float, bounds: tuple[FloatArray, FloatArray] | None = None
    ) -> None:
        extent = upper - lower
        # An extent of zero can only come from a single point in that direction; any width serves.
        reach = margin * extent + np.where(extent > 0, 0.0, max(float(extent.max(initial=0.0)), 1.0) / 2.0)
        lower, upper = lower - reach, upper + reach
        if bounds is not None:
            lower, upper = np.maximum(lower, bounds[0]), np.minimum(upper, bounds[1])
        self.center = (lower + upper) / 2.0
        self.scale = (upper - lower) / 2.0
        self.walls, self.wall_offsets = no_walls(lower.shape[0])

    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Draw ``n`` independent uniform points (n, r)."""
        # Single precision is drawn in half the time, and is all that the counting kernel keeps. Coordinate after
        # coordinate, as it wants them.
        z = rng.random((self.center.shape[0], n), dtype=np.float32)
        z *= 2.0
        z -= 1.0
        return z.T
