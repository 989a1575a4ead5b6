"""The region in which volume is measured, in unit coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allegiance._core import (
    POSITIVE,
    AnyArray,
    BoolArray,
    FloatArray,
    Number,
    Text,
    floats,
    stored,
)
from allegiance.geometry import sample_polytope

#: Points drawn at a time where some of them must be thrown away.
_DRAW = 8192
#: Share of points kept below which drawing and throwing away is hopeless.
_MIN_ACCEPTANCE = 1e-3


@stored(
    "region",
    name=Text(),
    center=floats("r"),
    scale=floats("r", low=POSITIVE),
    half_width=Number(low=POSITIVE, infinite=True),
    radius=Number(low=POSITIVE, infinite=True),
    walls=floats("w", "r", low=-1.0 - 1e-9, high=1.0 + 1e-9),
    wall_offsets=floats("w"),
)
@dataclass(frozen=True, eq=False)
class Region:
    """A region in unit coordinates z, with y = center + scale * z in the coordinates of the diagram.

    It is {z: |z_c| <= half_width, |z| <= radius, walls z <= wall_offsets}. Any of the three may be absent; if all are,
    the region is the whole space. Bounded regions lie inside the cube [-1, 1]^r.

    Attributes
    ----------
    name
        What users call the domain it comes from.
    center, scale
        (r,) the map between the coordinates.
    half_width
        Of the cube around the centre; inf for none.
    radius
        Of the ball around the centre; inf for none.
    walls, wall_offsets
        (m, r) unit normals and (m,) offsets of further walls.
    """

    name: str
    center: FloatArray
    scale: FloatArray
    half_width: float
    radius: float
    walls: FloatArray
    wall_offsets: FloatArray

    @classmethod
    def box(cls, name: str, lower: FloatArray, upper: FloatArray) -> Region:
        """Return the box between two corners (r,)."""
        return cls(name, (lower + upper) / 2.0, (upper - lower) / 2.0, 1.0, np.inf, *_no_walls(lower.size))

    @classmethod
    def ball(
        cls, name: str, center: FloatArray, radius: float, bounds: tuple[FloatArray, FloatArray] | None = None
    ) -> Region:
        """Return the ball around ``center`` (r,), cut where ``bounds`` end. On a line it is an interval, as a cube."""
        r = center.size
        scale = np.full(r, radius if radius > 0 else 1.0)
        walls, offsets = _no_walls(r)
        if bounds is not None:
            axes = np.eye(r)
            rows = np.vstack([-axes, axes])
            offsets = np.concatenate([center - bounds[0], bounds[1] - center]) / np.tile(scale, 2)
            cutting = offsets < 1.0
            walls, offsets = np.ascontiguousarray(rows[cutting]), offsets[cutting]
        cube, ball = (1.0, np.inf) if r == 1 else (np.inf, 1.0)
        return cls(name, center, scale, cube, ball, walls, offsets)

    @classmethod
    def everywhere(cls, name: str, center: FloatArray, size: float) -> Region:
        """Return the whole space, with ``size`` as the unit of length around ``center`` (r,)."""
        scale = np.full(center.size, size if size > 0 else 1.0)
        return cls(name, center, scale, np.inf, np.inf, *_no_walls(center.size))

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.center.size

    @property
    def bounded(self) -> bool:
        """Whether the region is not the whole space."""
        return bool(np.isfinite(self.half_width) or np.isfinite(self.radius) or self.walls.shape[0])

    @property
    def polyhedral(self) -> bool:
        """Whether all walls of the region are flat."""
        return bool(np.isinf(self.radius))

    def halfspaces(self) -> tuple[FloatArray, FloatArray]:
        """Return all flat walls as rows (m, r) and offsets (m,), the cube's included."""
        if np.isinf(self.half_width):
            return self.walls, self.wall_offsets
        cube = np.vstack([np.eye(self.dim), -np.eye(self.dim)])
        offsets = np.full(2 * self.dim, self.half_width)
        return np.vstack([cube, self.walls]), np.concatenate([offsets, self.wall_offsets])

    def contains(self, z: FloatArray) -> BoolArray:
        """Tell which rows of ``z`` (n, r) lie strictly inside the region."""
        inside = np.asarray((np.abs(z) < self.half_width).all(axis=1))
        if np.isfinite(self.radius):
            inside &= (z * z).sum(axis=1) < self.radius**2
        if self.walls.shape[0]:
            inside &= (z @ self.walls.T < self.wall_offsets).all(axis=1)
        return inside

    def sample(self, n: int, rng: np.random.Generator, *, by_point: bool = False) -> AnyArray:
        """Draw ``n`` independent uniform points (n, r), in single precision at least.

        In a box coordinate after coordinate, or point after point, which is faster where there are many coordinates.
        """
        if not self.walls.shape[0]:
            return self._sample_without_walls(n, rng, by_point)
        kept: list[FloatArray] = []
        found, tried = 0, 0
        while found < n:
            z = self._sample_without_walls(max(n, _DRAW), rng)
            kept.append(z[(z @ self.walls.T <= self.wall_offsets).all(axis=1)])
            found += kept[-1].shape[0]
            tried += z.shape[0]
            if found < tried * _MIN_ACCEPTANCE:
                return self._sample_by_walk(n, rng)
        return np.concatenate(kept)[:n]

    def _sample_without_walls(self, n: int, rng: np.random.Generator, by_point: bool = False) -> AnyArray:
        """Draw from the ball or the cube around the region."""
        if not self.bounded:
            raise TypeError("the whole space has no uniform samples")
        r = self.dim
        if np.isfinite(self.radius):
            direction = rng.standard_normal((n, r))
            direction /= np.sqrt((direction * direction).sum(axis=1, keepdims=True))
            return direction * rng.random((n, 1)) ** (1.0 / r)
        if self.walls.shape[0]:
            return rng.uniform(-1.0, 1.0, (n, r))
        # Single precision is drawn in half the time, and is all that the counting kernels keep.
        z = rng.random((n, r) if by_point else (r, n), dtype=np.float32)
        z *= 2.0
        z -= 1.0
        return z if by_point else z.T

    def _sample_by_walk(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw in a region so thin that points of the cube around it hardly ever hit it."""
        if not self.polyhedral:
            raise ValueError(
                f"domain={self.name!r} lies almost wholly outside the domain of the divergence: use domain='box'."
            )
        return sample_polytope(*self.halfspaces(), n, thin=2 * self.dim**2, directions="coordinate", random_state=rng)


def _no_walls(r: int) -> tuple[FloatArray, FloatArray]:
    """Return an empty list of walls in r dimensions."""
    return np.empty((0, r)), np.empty(0)
