"""A diagram seen from infinitely far away."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray, Rows, row_dots

from ._diagram import AffineFunctions, Located, no_bounds


class RecessionDiagram:
    """Only the slopes of a diagram: who owns the far end of each ray from the origin.

    Cells become cones. Points outside the hull of the sites have an unbounded cell, and its shares in a growing ball
    tend to the shares of this diagram in the unit ball. Positions here are the slopes themselves.

    Parameters
    ----------
    slopes
        (k, r) slopes a_i of the diagram.
    """

    def __init__(self, slopes: FloatArray) -> None:
        self.positions = slopes
        self.functions = self.query_functions(slopes)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """No limits: directions point everywhere."""
        return no_bounds(self.positions.shape[1])

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Take slopes as they are."""
        return Located(np.asarray(X, dtype=np.float64), np.zeros(X.shape[0]))

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the linear function of each slope."""
        return AffineFunctions(position, np.zeros(position.shape[0]))

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return how much farther (n, k) in direction ``position`` each query reaches than each site."""
        ahead = np.empty((position.shape[0], self.positions.shape[0]))
        for i, site in enumerate(self.positions):
            ahead[:, i] = row_dots(queries.a - site, position)
        return ahead

    @property
    def clearance_scale(self) -> float:
        """Zero: only differences of slopes are taken."""
        return 0.0

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the cone of one site."""
        return self.positions - self.positions[site], np.zeros(self.positions.shape[0])

    affine = axis_aligned = False

    def unprojected(self, X: Rows, located: Located) -> FloatArray:
        """Return the slopes."""
        return located.position

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Refuse: slopes have no divergence from each other."""
        raise TypeError("a recession diagram has no divergence")

    def distances(self, located: Located, codes: AnyArray) -> FloatArray:
        """Refuse: slopes have no distance from each other."""
        raise TypeError("a recession diagram has no distance")

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Refuse: slopes have no divergence from each other."""
        raise TypeError("a recession diagram has no divergence")

    def weighted(self, weights: FloatArray, query_weight: float) -> RecessionDiagram:
        """Return this diagram: infinitely far away weights do not count."""
        return self
