"""Exact shares of directions in the plane."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull

from allegiance._core import AnyArray

from ._engine import EXACT, Estimate, Queries
from ._tessellation import Tessellation

_TURN = 2.0 * np.pi


class PlaneDirections:
    """Measure, in two dimensions, the far end of the cell of a query outside the hull of the sites.

    Far away a site owns the arc between the outward normals of its two edges of the hull, and the query owns the
    arc of the directions in which it lies beyond every site. Affinities are overlaps of arcs.
    """

    block = 16_384

    def __init__(self, tessellation: Tessellation) -> None:
        corners = tessellation.functions.a
        self._n_sites = tessellation.n_sites
        self._sites = corners
        self._owner: AnyArray = ConvexHull(corners).vertices
        ring = corners[self._owner]
        edges = np.roll(ring, -1, axis=0) - ring
        normal = np.arctan2(edges[:, 1], edges[:, 0]) - np.pi / 2.0
        self._from = np.roll(normal, 1)
        self._width = (normal - self._from) % _TURN

    def estimate(self, queries: Queries) -> Estimate:
        """Measure; every query must lie outside the hull."""
        centre = queries.a - self._sites.mean(axis=0)
        facing = np.arctan2(centre[:, 1], centre[:, 0])
        away = queries.a[:, None, :] - self._sites
        angle = np.arctan2(away[..., 1], away[..., 0]) - facing[:, None]
        angle = (angle + np.pi) % _TURN - np.pi
        low = angle.max(axis=1) - np.pi / 2.0
        length = np.maximum(angle.min(axis=1) + np.pi / 2.0 - low, 0.0)[:, None]
        begin = (self._from - (facing + low)[:, None]) % _TURN
        end = begin + self._width
        overlap = np.maximum(np.minimum(length, end) - begin, 0.0) + np.clip(end - _TURN, 0.0, length)
        estimate = Estimate.blank(queries.n, self._n_sites, EXACT)
        total = overlap.sum(axis=1, keepdims=True)
        shares = np.divide(overlap, total, out=np.zeros_like(overlap), where=total > 0)
        estimate.affinity[:, self._owner] = shares
        return estimate
