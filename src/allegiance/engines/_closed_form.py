"""Barycentric coordinates: the affinity of points in a simplex of sites, without measuring anything."""

from __future__ import annotations

import numpy as np

from allegiance._core._rows import row_dots, row_sums
from allegiance._core._threads import for_row_blocks, kernel_ready
from allegiance._core._typing import FloatArray

from ._estimate import CLOSED_FORM, Estimate, Queries, Settings
from ._tessellation import Scene

#: Coordinates below zero by less than this are rounding, not outside.
_ROUNDING = 1e-12


class ClosedFormEngine:
    """Affinity by one linear solve, if the sites are affinely independent and the query lies in their hull.

    There Sibson's identity, Σ alpha_i a_i = a_x with Σ alpha_i = 1, has only one solution.
    """

    block = 65_536

    def __init__(self, scene: Scene, settings: Settings) -> None:
        self._n_sites = scene.n_sites
        self._threads = settings.threads
        a = scene.functions.a
        self._constants = scene.functions.b
        self._last = a[-1]
        self._inverse = np.ascontiguousarray(np.linalg.inv(a[:-1] - a[-1])) if scene.dim else np.empty((0, 0))

    def coordinates(self, queries: Queries) -> FloatArray:
        """Return barycentric coordinates (n, k); one is negative outside the hull."""
        from allegiance._kernels._projection import project_rows

        n, r = queries.a.shape
        coordinates = np.empty((n, r + 1))
        slopes, last, inverse = kernel_ready(queries.a, self._last, self._inverse.T)
        shares, unused = np.empty((n, r)), np.empty(n)

        def work(rows: slice) -> None:
            project_rows(slopes[rows], 1.0, last, inverse, shares[rows], unused[rows])

        for_row_blocks(work, n, self._threads)
        coordinates[:, :-1] = shares
        coordinates[:, -1] = 1.0 - shares.sum(axis=1)
        return coordinates

    def estimate(self, queries: Queries) -> Estimate:
        """Solve; rows of zeros outside the hull."""
        coordinates = self.coordinates(queries)
        outside = (coordinates < -_ROUNDING).any(axis=1)
        # The deepest point of the cell lies where all sites are level: with weights it may be below ground.
        depth = row_dots(coordinates, self._constants) - queries.b
        estimate = Estimate.blank(queries.n, self._n_sites, CLOSED_FORM)
        estimate.hidden[:] = ~outside & (depth < -_ROUNDING * np.abs(self._constants).max())
        shares = np.maximum(coordinates, 0.0)
        shares[outside] = 0.0
        total = row_sums(shares)[:, None]
        np.divide(shares, total, out=estimate.affinity, where=total > 0)
        return estimate
