"""Which points lie in the hull of others."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from allegiance._core import BoolArray, FloatArray

#: Up to this dimension the facets of the hull are listed; above, each point is tested by itself.
_MAX_FACET_DIM = 6
#: Distances, relative to the size of the hull, that count as zero.
_ROUNDING = 1e-10


class Hull:
    """The convex hull of ``points`` (k, r), which span the space.

    Points on the boundary count as outside: their Voronoi cell is not bounded.
    """

    def __init__(self, points: FloatArray) -> None:
        self._center = points.mean(axis=0)
        self._size = float(np.abs(points - self._center).max())
        self._points = (points - self._center) / self._size
        r = points.shape[1]
        self._facets: FloatArray | None = None
        if r == 1:
            self._facets = np.array([[1.0, -self._points.max()], [-1.0, self._points.min()]])
        elif r <= _MAX_FACET_DIM:
            self._facets = ConvexHull(self._points).equations

    def contains(self, points: FloatArray) -> BoolArray:
        """Tell which rows (n, r) lie inside."""
        points = (points - self._center) / self._size
        if self._facets is None:
            return np.array([self._is_combination(point) for point in points], dtype=bool)
        inside = np.ones(points.shape[0], dtype=bool)
        for facet in self._facets:
            inside &= (points * facet[:-1]).sum(axis=1) + facet[-1] < -_ROUNDING
        return inside

    def _is_combination(self, point: FloatArray) -> bool:
        # A little farther out than the point itself, so that the boundary is outside here too.
        system = np.vstack([self._points.T, np.ones(self._points.shape[0])])
        target = np.append(point * (1.0 + _ROUNDING), 1.0)
        return bool(nnls(system, target)[1] < _ROUNDING)
