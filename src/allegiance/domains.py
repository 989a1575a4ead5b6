"""Domains and regions: where volume is measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from allegiance._core.arithmetic import row_dots
from allegiance._core.parameters import Parameters, Registry
from allegiance._core.stored import POSITIVE, Number, Text, floats, stored
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, check_number, real_array
from allegiance.geometry import bounding_box, chebyshev_center, check_scaling, is_bounded, sample_polytope, unit_rows
from allegiance.influence import Diagram, Influence

__all__ = ["Ball", "Box", "Polytope", "Space"]


class Extent(NamedTuple):
    """The extent of points."""

    lower: FloatArray
    """(r,) smallest coordinates."""
    upper: FloatArray
    """(r,) largest coordinates."""
    squared_radius: float
    """Largest squared distance from the mean of the sites; 0 if no domain needs it."""

    @classmethod
    def of(cls, diagram: Diagram, position: FloatArray, *, radius: bool) -> Extent:
        """Return the extent of points at ``position`` (n, r), in the coordinates of the diagram."""
        squared_radius = 0.0
        if radius:
            away = position - diagram.positions.mean(axis=0)
            squared_radius = float(row_dots(away, away).max(initial=0.0))
        return cls(position.min(axis=0), position.max(axis=0), squared_radius)

    def merge(self, other: Extent) -> Extent:
        """Return the extent of both sets of points."""
        lower, upper = np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper)
        return Extent(lower, upper, max(self.squared_radius, other.squared_radius))


class Domain(Parameters, ABC):
    """The domain in which volume is measured: the base of ``Box``, ``Ball``, ``Space`` and ``Polytope``.

    A new kind is one class with :meth:`region`, registered with ``@DOMAINS.register("name")``.
    """

    #: Whether it is defined in the coordinates of X, so that the space must not be reduced to the span of the sites.
    keeps_axes: ClassVar[bool] = False
    #: Whether it needs ``Extent.squared_radius``.
    needs_radius: ClassVar[bool] = False

    def check_with(self, influence: Influence) -> None:
        """Raise ValueError if the domain does not support a kind of influence."""

    @abstractmethod
    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the region around the sites of ``diagram`` and points of some extent, the sites included."""


DOMAINS: Registry[Domain] = Registry("domain", Domain, first="box")


#: Points drawn at a time where some of them are rejected.
_DRAW = 8192
#: Share of accepted points below which rejection sampling is hopeless.
_MIN_ACCEPTANCE = 1e-3
#: A wall farther than this on the wrong side of the cube [-1, 1]^r leaves nothing of it.
_FAR = 1e6


@stored(
    "region",
    name=Text(),
    center=floats("r"),
    scale=floats("r", low=POSITIVE),
    half_width=Number(low=POSITIVE, infinite=True),
    radius=Number(low=POSITIVE, infinite=True),
    walls=floats("w", "r", low=-1.0 - 1e-9, high=1.0 + 1e-9),
    wall_offsets=floats("w", low=-_FAR),
)
@dataclass(frozen=True, eq=False)
class Region:
    """A region in unit coordinates z, with y = center + scale * z in the coordinates of the diagram.

    It is {z: |z_c| <= half_width, |z| <= radius, walls z <= wall_offsets}, with unit normals as rows of ``walls``. Any
    of the three may be absent (inf, inf, no row); if all are, the region is the whole space. Bounded regions lie inside
    the cube [-1, 1]^r. ``name`` is the name of its domain.
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
        """Return the region of domain "box" between two corners (r,)."""
        return cls(name, (lower + upper) / 2.0, (upper - lower) / 2.0, 1.0, np.inf, *_no_walls(lower.size))

    @classmethod
    def ball(
        cls, name: str, center: FloatArray, radius: float, bounds: tuple[FloatArray, FloatArray] | None = None
    ) -> Region:
        """Return the region of domain "ball" around ``center`` (r,), cut where ``bounds`` end; on a line a cube."""
        r = center.size
        scale = np.full(r, radius if radius > 0 else 1.0)
        walls, offsets = _no_walls(r)
        if bounds is not None and np.isfinite(bounds).any():
            axes = np.eye(r)
            rows = np.vstack([-axes, axes])
            offsets = np.concatenate([center - bounds[0], bounds[1] - center]) / np.tile(scale, 2)
            cutting = offsets < 1.0
            walls, offsets = np.ascontiguousarray(rows[cutting]), offsets[cutting]
        cube, ball = (1.0, np.inf) if r == 1 else (np.inf, 1.0)
        return cls(name, center, scale, cube, ball, walls, offsets)

    @classmethod
    def everywhere(cls, name: str, center: FloatArray, size: float) -> Region:
        """Return the region of domain "space", with ``size`` as the unit of length around ``center`` (r,)."""
        scale = np.full(center.size, size if size > 0 else 1.0)
        return cls(name, center, scale, np.inf, np.inf, *_no_walls(center.size))

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of the domain's region."""
        return self.center.size

    @cached_property
    def bounded(self) -> bool:
        """Whether the region is not the whole space."""
        return bool(np.isfinite(self.half_width) or np.isfinite(self.radius) or self.walls.shape[0])

    @property
    def polyhedral(self) -> bool:
        """Whether all walls of the region are flat."""
        return bool(np.isinf(self.radius))

    def halfspaces(self) -> tuple[FloatArray, FloatArray]:
        """Return all flat walls of the region as rows (m, r) and offsets (m,), the cube's included."""
        if np.isinf(self.half_width):
            return self.walls, self.wall_offsets
        cube = np.vstack([np.eye(self.dim), -np.eye(self.dim)])
        offsets = np.full(2 * self.dim, self.half_width)
        return np.vstack([cube, self.walls]), np.concatenate([offsets, self.wall_offsets])

    def contains(self, z: FloatArray) -> BoolArray:
        """Return which rows of ``z`` (n, r) lie strictly inside the domain's region."""
        inside = np.asarray((np.abs(z) < self.half_width).all(axis=1))
        if np.isfinite(self.radius):
            inside &= (z * z).sum(axis=1) < self.radius**2
        if self.walls.shape[0]:
            inside &= (z @ self.walls.T < self.wall_offsets).all(axis=1)
        return inside

    def sample(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Draw ``n`` independent uniform points (n, r), in single precision at least."""
        if not self.walls.shape[0]:
            return self._sample_without_walls(n, rng)
        parts: list[FloatArray] = []
        n_inside, n_draws = 0, 0
        while n_inside < n:
            z = self._sample_without_walls(max(n, _DRAW), rng)
            parts.append(z[(z @ self.walls.T <= self.wall_offsets).all(axis=1)])
            n_inside += parts[-1].shape[0]
            n_draws += z.shape[0]
            if n_inside < n_draws * _MIN_ACCEPTANCE:
                if self.polyhedral:
                    halfspaces, thin = self.halfspaces(), 2 * self.dim**2
                    return sample_polytope(*halfspaces, n, thin=thin, directions="coordinate", random_state=rng)
                raise ValueError(
                    f"domain={self.name!r} lies almost entirely outside the domain of the divergence: use domain='box'."
                )
        return np.concatenate(parts)[:n]

    def sample_columns(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Draw an even number of independent uniform points of the domain, as columns (r, n) in single precision."""
        if self.walls.shape[0] or np.isfinite(self.radius):
            return np.asarray(self.sample(n, rng).T, dtype=np.float32)
        return _uniform((self.dim, n), rng, drop=0)

    def _sample_without_walls(self, n: int, rng: np.random.Generator) -> AnyArray:
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
        # Single precision is all that the counting kernels keep.
        if r * n % 2 or rng.bit_generator.state["has_uint32"]:
            return 2.0 * rng.random((r, n), dtype=np.float32).T - 1.0
        return _uniform((r, n), rng, drop=8).T


def _uniform(shape: tuple[int, int], rng: np.random.Generator, *, drop: int) -> AnyArray:
    """Draw an even number of coordinates in the domain [-1, 1], in single precision: ``rng.random`` is slower."""
    from allegiance._kernels.pcg64 import draw_uniform

    generator: Any = rng.bit_generator
    numbers = generator.state["state"]
    state = np.array([[numbers[name] >> 64, numbers[name] % 2**64] for name in ("state", "inc")], np.uint64)
    z = np.empty(shape, np.float32)
    draw_uniform(state, drop, z.reshape(-1))
    generator.advance(z.size // 2)
    return z


def _no_walls(r: int) -> tuple[FloatArray, FloatArray]:
    """Return the walls of a region in r dimensions that has none."""
    return np.empty((0, r)), np.empty(0)


#: Wider margins leave too few digits for the inside. Cells that no wall cuts are those of domain='space'.
_WIDEST = 1e12


@DOMAINS.register("box")
@dataclass(frozen=True, eq=False, repr=False)
class Box(Domain):
    """The bounding box of data and representatives, slightly enlarged.

    Its axes are those of X if the representatives span the space, else those of their span.

    Parameters
    ----------
    margin
        How much wider the box is than the data, on each side, as a share of its extent; less than 1e12.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.domains import Box
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> affinity(X, labels, influence="euclidean", domain=Box(margin=0.5)).affinity[3].round(2)
    array([0. , 0.8, 0.2])
    """

    margin: float = 0.1

    def check(self) -> None:
        """Raise unless the margin is a number that is not negative."""
        check_number(self.margin, "margin of Box", low=0.0, high=_WIDEST, closed=True)

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the box; it ends where the functions of the diagram do."""
        lower, upper = extent.lower, extent.upper
        width = upper - lower
        # A width of zero can only come from a single point in that direction; any width serves.
        reach = self.margin * width + np.where(width > 0, 0.0, max(float(width.max(initial=0.0)), 1.0) / 2.0)
        low, high = diagram.bounds
        return Region.box("box", np.maximum(lower - reach, low), np.minimum(upper + reach, high))


@DOMAINS.register("ball")
@dataclass(frozen=True, eq=False, repr=False)
class Ball(Domain):
    """The ball around the mean of the representatives that contains the data. It does not depend on the axes.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.domains import Ball
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> affinity(X, labels, influence="euclidean", domain=Ball()).affinity[3].round(2)
    array([0.  , 0.86, 0.14])
    """

    needs_radius: ClassVar[bool] = True

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the ball, cut where the functions of the diagram end."""
        center = diagram.positions.mean(axis=0)
        return Region.ball("ball", center, float(np.sqrt(extent.squared_radius)), diagram.bounds)


@DOMAINS.register("space")
@dataclass(frozen=True, eq=False, repr=False)
class Space(Domain):
    """The whole space, the paper's literal definition.

    Points outside the hull of the representatives would claim infinite territory; they get the limit of a growing ball.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.domains import Space
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> affinity(X, labels, influence="euclidean", domain=Space()).affinity[3].round(2)
    array([0.  , 0.83, 0.17])
    """

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the whole space, if the functions of the diagram are defined everywhere."""
        if np.isfinite(diagram.bounds).any():
            raise ValueError("domain='space' needs a divergence that is defined everywhere: use domain='box'.")
        center = diagram.positions.mean(axis=0)
        return Region.everywhere("space", center, float(np.abs(diagram.positions - center).max(initial=0.0)))


@DOMAINS.register("polytope")
@stored("polytope", A=floats("m", "d"), b=floats("m"))
@dataclass(frozen=True, eq=False, repr=False)
class Polytope(Domain):
    """The region {x: A x <= b} in the coordinates of X.

    Parameters
    ----------
    A
        (m, d) outward normals, one wall per row.
    b
        (m,) offsets.

    Examples
    --------
    >>> from allegiance.domains import Polytope
    >>> Polytope.box([0, 0], [1, 2])
    Polytope(4 walls in 2 dimensions)
    """

    A: Any
    b: Any

    keeps_axes: ClassVar[bool] = True

    @classmethod
    def box(cls, lower: ArrayLike, upper: ArrayLike) -> Polytope:
        """Return the box between the corners ``lower`` and ``upper``, both (d,)."""
        low, high = real_array("lower of Polytope.box", lower, 1), real_array("upper of Polytope.box", upper, 1)
        if low.shape != high.shape or not (low < high).all():
            raise ValueError("lower and upper must be vectors of one length, lower below upper in every coordinate.")
        eye = np.eye(low.shape[0])
        return cls(np.vstack([eye, -eye]), np.concatenate([high, -low]))

    def check(self) -> None:
        """Raise ValueError if the domain is empty, flat or unbounded, or its shapes do not fit."""
        A, b = self._walls()
        check_scaling(A)
        if not is_bounded(A):
            raise ValueError("Polytope is unbounded: add walls until it is finite, or use domain='space'.")
        if chebyshev_center(A, b)[1] <= 0:
            raise ValueError("Polytope has no interior: no x satisfies A x < b.")

    def _walls(self) -> tuple[FloatArray, FloatArray]:
        """Return normals (m, d) and offsets (m,), walls that exclude nothing left out."""
        A, b = real_array("A of Polytope", self.A, 2), real_array("b of Polytope", self.b, 1)
        if b.shape != A.shape[:1] or not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ValueError(
                f"Polytope needs finite A and b, one b for each row of A, got shapes {A.shape} and {b.shape}."
            )
        real = A.any(axis=1) | (b < 0)
        return A[real], b[real]

    def check_with(self, influence: Influence) -> None:
        """Raise ValueError if the influence leaves the coordinates of X."""
        if not influence.flat_sides:
            raise ValueError(
                f"domain=Polytope is in the coordinates of X, which influence={influence!r} transforms: use 'box' or "
                "'ball'."
            )

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the polytope in the coordinates of the diagram, its bounding box scaled to the unit cube."""
        A, b = self._walls()
        d, n_features = A.shape[1], diagram.positions.shape[1]
        if d != n_features:
            raise ValueError(
                f"domain is a Polytope in {d} dimensions but X has {n_features} columns: they must be equal."
            )
        origin = diagram.locate(np.zeros((1, d))).position[0]
        A = np.linalg.solve(diagram.locate(np.eye(d)).position - origin, A.T).T
        low, high = diagram.bounds
        axes, below, above = np.eye(d), np.isfinite(low), np.isfinite(high)
        b = np.concatenate([b + A @ origin, -low[below], high[above]])
        A = np.vstack([A, -axes[below], axes[above]])
        lower, upper = bounding_box(A, b)
        center, scale = (lower + upper) / 2.0, (upper - lower) / 2.0
        return Region("polytope", center, scale, np.inf, np.inf, *unit_rows(A * scale, b - A @ center))

    def __repr__(self) -> str:
        m, d = np.shape(self.A)
        return f"Polytope({m} walls in {d} dimensions)"
