"""A region of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from allegiance._core import (
    FloatArray,
    floats,
    real_array,
    stored,
)
from allegiance.geometry import bounding_box, chebyshev_center, is_bounded
from allegiance.influence import Diagram, Influence

from ._domain import DOMAINS, Domain, Extent
from ._region import Region


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
    >>> from allegiance import Polytope
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
        if low.shape != high.shape:
            raise ValueError(f"lower and upper must be vectors of one length, got {low.shape} and {high.shape}.")
        if not (low < high).all():
            raise ValueError("lower must be below upper in every coordinate.")
        eye = np.eye(low.shape[0])
        return cls(np.vstack([eye, -eye]), np.concatenate([high, -low]))

    def check(self) -> None:
        """Raise ValueError if the region is empty, flat or unbounded, or the shapes do not fit."""
        A, b = self._walls()
        if not is_bounded(A):
            raise ValueError("Polytope is unbounded: add walls until it is finite, or use domain='space'.")
        if chebyshev_center(A, b)[1] <= 0:
            raise ValueError("Polytope has no interior: no x satisfies A x < b.")

    def _walls(self) -> tuple[FloatArray, FloatArray]:
        """Return normals (m, d) and offsets (m,), walls that exclude nothing left out."""
        A, b = real_array("A of Polytope", self.A, 2), real_array("b of Polytope", self.b, 1)
        if b.shape != A.shape[:1]:
            raise ValueError(f"Polytope needs a b for each row of A, got shapes {b.shape} and {A.shape}.")
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ValueError("Polytope needs finite A and b: leave out walls that are infinitely far away.")
        real = A.any(axis=1) | (b < 0)
        return A[real], b[real]

    def check_with(self, influence: Influence) -> None:
        """Raise ValueError if the influence leaves the coordinates of X."""
        if not influence.flat_sides:
            raise ValueError(
                f"domain=Polytope is given in the coordinates of X, which influence={influence!r} leaves: use 'box' or "
                "'ball'."
            )

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the polytope in the coordinates of the diagram, its bounding box scaled to the unit cube."""
        A, b = _with_bounds(*_in_diagram_coordinates(*self._walls(), diagram), *diagram.bounds)
        lower, upper = bounding_box(A, b)
        center, scale = (lower + upper) / 2.0, (upper - lower) / 2.0
        walls, offsets = A * scale, b - A @ center
        norms = np.sqrt((walls * walls).sum(axis=1))
        return Region(
            "polytope", center, scale, np.inf, np.inf, np.ascontiguousarray(walls / norms[:, None]), offsets / norms
        )

    def describe(self) -> str:
        """Say in a few words where volume is measured."""
        return "polytope"

    def __repr__(self) -> str:
        m, d = np.shape(self.A)
        return f"Polytope({m} walls in {d} dimensions)"


def _with_bounds(A: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add the bounds of a diagram to the walls of a polytope."""
    axes = np.eye(lower.size)
    rows = [A, -axes[np.isfinite(lower)], axes[np.isfinite(upper)]]
    offsets = [b, -lower[np.isfinite(lower)], upper[np.isfinite(upper)]]
    return np.vstack(rows), np.concatenate(offsets)


def _in_diagram_coordinates(A: FloatArray, b: FloatArray, diagram: Diagram) -> tuple[FloatArray, FloatArray]:
    """Return walls, given in the coordinates of X, in those of the diagram."""
    d, n_features = A.shape[1], diagram.positions.shape[1]
    if d != n_features:
        raise ValueError(f"domain is a Polytope in {d} dimensions but X has {n_features} columns: must be equal.")
    origin = diagram.locate(np.zeros((1, d))).position[0]
    unit = diagram.locate(np.eye(d)).position - origin
    moved = np.linalg.solve(unit, A.T).T
    return moved, b + moved @ origin
