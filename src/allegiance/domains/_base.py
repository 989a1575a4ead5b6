"""What an engine may ask of a domain."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from allegiance._core._typing import AnyArray, BoolArray, FloatArray


class Domain(Protocol):
    """A region in unit coordinates z, with y = center + scale * z in the coordinates of the diagram.

    The region is {z: |z_c| <= half_width, |z| <= radius, walls z <= wall_offsets}: any of the three may be absent
    (inf, inf, no rows). Bounded domains lie inside the cube [-1, 1]^r.
    """

    center: FloatArray
    scale: FloatArray
    half_width: float
    radius: float
    walls: FloatArray
    wall_offsets: FloatArray

    @property
    def name(self) -> str:
        """How the user called it."""

    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Draw ``n`` independent uniform points (n, r), in single precision at least."""


def halfspaces(domain: Domain) -> tuple[FloatArray, FloatArray]:
    """Return all flat walls of a domain as rows (m, r) and offsets (m,), the cube's included."""
    if np.isinf(domain.half_width):
        return domain.walls, domain.wall_offsets
    r = domain.center.shape[0]
    cube = np.vstack([np.eye(r), -np.eye(r)])
    return (
        np.vstack([cube, domain.walls]),
        np.concatenate([np.full(2 * r, domain.half_width), domain.wall_offsets]),
    )


def is_polyhedral(domain: Domain) -> bool:
    """Tell whether all walls of the domain are flat."""
    return bool(np.isinf(domain.radius))


def contains(domain: Domain, z: FloatArray) -> BoolArray:
    """Tell which rows of ``z`` (n, r) lie strictly inside the domain."""
    inside = np.asarray((np.abs(z) < domain.half_width).all(axis=1))
    if np.isfinite(domain.radius):
        inside &= (z * z).sum(axis=1) < domain.radius**2
    if domain.walls.shape[0]:
        inside &= (z @ domain.walls.T < domain.wall_offsets).all(axis=1)
    return inside


def no_walls(r: int) -> tuple[FloatArray, FloatArray]:
    """Return an empty list of walls in r dimensions."""
    return np.empty((0, r)), np.empty(0)
