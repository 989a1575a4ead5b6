"""Barycentric coordinates: the affinity of points in a simplex of sites, without measuring anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allegiance._core import FloatArray, for_row_blocks, kernel_ready, row_dots, row_sums

from ._engine import CLOSED_FORM, ENGINES, Engine, Estimate, Measurer, Queries, Settings
from ._tessellation import Tessellation

#: Coordinates below zero by less than this are rounding, not outside.
_ROUNDING = 1e-12


@ENGINES.register("closed-form")
@dataclass(frozen=True, eq=False, repr=False)
class ClosedForm(Engine):
    """Barycentric coordinates, without measuring: for the whole space and at most one cluster more than dimensions.

    Points must lie in the hull of the representatives.

    Examples
    --------
    >>> from allegiance import ClosedForm, affinity
    >>> centers = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> affinity([[1.0, 1.0]], centers=centers, engine=ClosedForm(), domain="space").affinity
    array([[0.5 , 0.25, 0.25]])
    """

    def refusal(self, tessellation: Tessellation) -> str | None:
        """Say why there is no closed form; None if there is one."""
        if tessellation.region.bounded:
            return (
                "engine='closed-form' holds for cells that no wall cuts: use domain='space' with it, or engine='auto'."
            )
        if not tessellation.affinely_independent:
            return (
                f"engine='closed-form' needs affinely independent sites, but {tessellation.n_sites} distinct sites "
                f"span only {tessellation.dim} dimensions. Use engine='auto'."
            )
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> Measurer:
        """Return what solves."""
        return ClosedFormMeasurer(tessellation, settings)


class ClosedFormMeasurer:
    """Affinity by one linear solve, if the sites are affinely independent and the query lies in their hull.

    There Sibson's identity, Σ alpha_i a_i = a_x with Σ alpha_i = 1, has only one solution.
    """

    block = 65_536

    def __init__(self, tessellation: Tessellation, settings: Settings) -> None:
        self._n_sites = tessellation.n_sites
        self._threads = settings.threads
        a = tessellation.functions.a
        self._constants = tessellation.functions.b
        self._last = a[-1]
        self._inverse = np.ascontiguousarray(np.linalg.inv(a[:-1] - a[-1])) if tessellation.dim else np.empty((0, 0))

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
        # The deepest point of the cell lies where all sites are level: with weights it may be negative.
        depth = row_dots(coordinates, self._constants) - queries.b
        estimate = Estimate.blank(queries.n, self._n_sites, CLOSED_FORM)
        estimate.hidden[:] = ~outside & (depth < -_ROUNDING * np.abs(self._constants).max())
        shares = np.maximum(coordinates, 0.0)
        shares[outside] = 0.0
        total = row_sums(shares)[:, None]
        np.divide(shares, total, out=estimate.affinity, where=total > 0)
        return estimate
