"""A region of the user's own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from allegiance._core._arrays import real_array
from allegiance._core._typing import AnyArray, FloatArray
from allegiance.geometry import bounding_box, chebyshev_center, is_bounded

#: Share of the bounding box below which drawing by rejection gives way to hit-and-run.
_MIN_ACCEPTANCE = 1e-3


class Polytope:
    """The region {x: A x <= b} in the coordinates of the data, for use as ``domain``.

    Parameters
    ----------
    A
        (m, d) outward normals, one wall per row.
    b
        (m,) offsets.

    Raises
    ------
    ValueError
        If the region is empty, flat or unbounded, or the shapes do not fit.

    Examples
    --------
    >>> from allegiance import Polytope
    >>> Polytope.box([0, 0], [1, 2])
    Polytope(4 walls in 2 dimensions)
    """

    def __init__(self, A: AnyArray, b: AnyArray) -> None:
        self.A, self.b = real_array("A of Polytope", A, 2).copy(), real_array("b of Polytope", b, 1).copy()
        if self.b.shape != self.A.shape[:1]:
            raise ValueError(f"Polytope needs a b for each row of A, got shapes {self.b.shape} and {self.A.shape}.")
        if not (np.isfinite(self.A).all() and np.isfinite(self.b).all()):
            raise ValueError("Polytope needs finite A and b: leave out walls that are infinitely far away.")
        real = self.A.any(axis=1) | (self.b < 0)
        self.A, self.b = self.A[real], self.b[real]
        if not is_bounded(self.A):
            raise ValueError("Polytope is unbounded: add walls until it is finite, or use domain=None.")
        radius = chebyshev_center(self.A, self.b)[1]
        if radius <= 0:
            raise ValueError("Polytope has no interior: no x satisfies A x < b.")

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

    def __repr__(self) -> str:
        return f"Polytope({self.A.shape[0]} walls in {self.A.shape[1]} dimensions)"


class PolytopeDomain:
    """A :class:`Polytope` in the coordinates of the diagram, its bounding box scaled to the unit cube."""

    name = "polytope"
    half_width = np.inf
    radius = np.inf

    def __init__(self, A: FloatArray, b: FloatArray) -> None:
        lower, upper = bounding_box(A, b)
        self.center = (lower + upper) / 2.0
        self.scale = (upper - lower) / 2.0
        walls = A * self.scale
        offsets = b - A @ self.center
        norms = np.sqrt((walls * walls).sum(axis=1))
        self.walls = np.ascontiguousarray(walls / norms[:, None])
        self.wall_offsets = offsets / norms

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw ``n`` uniform points (n, r): by rejection from the bounding box, in thin regions by hit-and-run."""
        from allegiance.geometry import sample_polytope

        r = self.center.shape[0]
        kept: list[FloatArray] = []
        found, tried = 0, 0
        while found < n:
            batch = rng.uniform(-1.0, 1.0, (max(n, 8192), r))
            inside = batch[(batch @ self.walls.T <= self.wall_offsets).all(axis=1)]
            kept.append(inside)
            found += inside.shape[0]
            tried += batch.shape[0]
            if found < tried * _MIN_ACCEPTANCE:
                return sample_polytope(
                    self.walls,
                    self.wall_offsets,
                    n,
                    thin=2 * r * r,
                    directions="coordinate",
                    random_state=rng,
                )
        return np.concatenate(kept)[:n]
