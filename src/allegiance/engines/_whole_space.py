"""The whole space as domain: closed form, and shares among directions to infinity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.spatial import ConvexHull

from allegiance._core.arithmetic import row_dots, row_sums
from allegiance._core.parallel import for_row_blocks
from allegiance._core.validation import AnyArray, BoolArray, FloatArray
from allegiance.domains import Region
from allegiance.geometry import Hull
from allegiance.influence import AffineFunctions, Diagram, product_by_rows

from ._base import CLOSED_FORM, ENGINES, EXACT, Engine, Estimate, FittedEngine, Queries, Settings
from ._hit_and_run import FittedHitAndRun
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
    >>> from allegiance import affinity
    >>> from allegiance.engines import ClosedForm
    >>> centers = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> affinity([[1.0, 1.0]], centers=centers, influence="euclidean", engine=ClosedForm(), domain="space").affinity
    array([[0.5 , 0.25, 0.25]])
    """

    def why_unsupported(self, tessellation: Tessellation) -> str | None:
        """Say why there is no closed form; None if there is one."""
        if tessellation.region.bounded:
            return "engine='closed-form' supports only cells that no wall cuts: use domain='space' or engine='auto'."
        if not tessellation.affinely_independent:
            return (
                f"engine='closed-form' needs affinely independent sites, but {tessellation.n_sites} distinct sites "
                f"span only {tessellation.dim} dimensions. Use engine='auto'."
            )
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> FittedEngine:
        """Build the closed form."""
        return FittedClosedForm(tessellation, settings)


class FittedClosedForm(FittedEngine):
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
        """Return barycentric coordinates (n, k), the closed form of affinities; one is negative outside the hull."""
        shares = np.empty(queries.a.shape)

        def solve_rows(rows: slice) -> None:
            shares[rows] = product_by_rows(queries.a[rows], self._last, self._inverse.T)[0]

        for_row_blocks(solve_rows, queries.n, self._threads)
        return np.column_stack([shares, 1.0 - shares.sum(axis=1)])

    def estimate(self, queries: Queries) -> Estimate:
        """Return barycentric coordinates as affinities; rows of zeros outside the hull."""
        coordinates = self.coordinates(queries)
        outside = (coordinates < -_ROUNDING).any(axis=1)
        # The deepest point of the cell lies where all sites are level: with weights it may be negative.
        depth = row_dots(coordinates, self._constants) - queries.b
        estimate = Estimate.blank(queries.n, self._n_sites, CLOSED_FORM)
        estimate.empty_cell[:] = ~outside & (depth < -_ROUNDING * np.abs(self._constants).max())
        shares = np.maximum(coordinates, 0.0)
        shares[outside] = 0.0
        total = row_sums(shares)[:, None]
        np.divide(shares, total, out=estimate.affinity, where=total > 0)
        return estimate


_TURN = 2.0 * np.pi


class PlaneDirections(FittedEngine):
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
        """Measure arcs of directions; every query must lie outside the hull."""
        center = queries.a - self._sites.mean(axis=0)
        facing = np.arctan2(center[:, 1], center[:, 0])
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


class RecessionDiagram:
    """Only the slopes (k, r) of a diagram: who owns the far end of each ray from the origin.

    Cells become cones. Points outside the hull of the sites have an unbounded cell, and its shares in a growing ball
    tend to the shares of this diagram in the unit ball. Positions here are the slopes themselves.
    """

    def __init__(self, slopes: FloatArray) -> None:
        self.positions = slopes
        self.functions = AffineFunctions(slopes, np.zeros(slopes.shape[0]))

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return how much farther (n, k) out in direction ``position`` of the whole space queries reach than sites."""
        ahead = np.empty((position.shape[0], self.positions.shape[0]))
        for i, site in enumerate(self.positions):
            ahead[:, i] = row_dots(queries.a - site, position)
        return ahead

    @property
    def clearance_scale(self) -> float:
        """Zero: in the recession diagram only differences of slopes are taken."""
        return 0.0

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the cone of one site in the recession diagram."""
        return self.positions - self.positions[site], np.zeros(self.positions.shape[0])


class FittedWholeSpace(FittedEngine):
    """Measure over the whole space, with an engine for each side of the hull of the sites.

    Queries inside the hull have a bounded cell, which the engine measures where it can. Outside the hull the cell is
    unbounded, and the limit of a growing ball is measured: the shares of the directions in which the query lies
    beyond every site. ValueError where the engine asked for can serve neither side, or not some of the queries.
    """

    block = 4096

    def __init__(self, tessellation: Tessellation, settings: Settings, engine: Engine) -> None:
        self._tessellation = tessellation
        self._engine = engine
        independent = tessellation.affinely_independent
        self._hull = None if independent else Hull(tessellation.functions.a)
        self._corners = FittedClosedForm(tessellation, settings) if independent else None
        ball = Region.ball("ball", np.zeros(tessellation.dim), 1.0)
        # Of a diagram it has only what engines use.
        self._far_away = Tessellation(cast("Diagram", RecessionDiagram(tessellation.functions.a)), ball)
        self._inside = None if engine.why_unsupported(tessellation) else engine.build(tessellation, settings)
        in_plane = tessellation.dim == 2 and engine.exact_where_possible
        self._outside: FittedEngine | None = PlaneDirections(self._far_away) if in_plane else None
        if not in_plane and engine.why_unsupported(self._far_away) is None:
            self._outside = engine.build(self._far_away, settings)
        if self._inside is None and self._outside is None:
            raise ValueError(engine.why_unsupported(tessellation))
        self._walk_inside = FittedHitAndRun(tessellation, settings, engine.max_samples)
        self._walk_outside = FittedHitAndRun(self._far_away, settings, engine.max_samples)

    def estimate(self, queries: Queries) -> Estimate:
        """Measure inside and outside the hull, each in its own way."""
        inside = self._in_hull(queries)
        rows_in, rows_out = np.flatnonzero(inside), np.flatnonzero(~inside)
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, 0)
        if rows_in.size:
            if self._inside is None:
                raise ValueError(
                    self._unserved(rows_in, "inside the hull of the sites, where no bounded region is shared")
                )
            part = queries.take(rows_in)
            shares = self._inside.estimate(part)
            shares.fill(part, self._walk_inside)
            estimate.put(rows_in, shares)
        if rows_out.size:
            if self._outside is None:
                raise ValueError(self._unserved(rows_out, "outside the hull of the sites, where its cell is unbounded"))
            estimate.put(rows_out, self._estimate_outside(self._outside, queries.take(rows_out)))
        return estimate

    def _unserved(self, rows: AnyArray, where: str) -> str:
        """Return the message for points of the whole space that the engine does not support."""
        return (
            f"engine={self._engine!r} with domain='space' does not support {rows.size} of the points. The first is row "
            f"{rows[0]}, which lies {where}. Use engine='auto', or domain='box'."
        )

    def _in_hull(self, queries: Queries) -> BoolArray:
        """Tell which queries have a bounded cell in the whole space."""
        if self._corners is not None:
            return np.asarray((self._corners.coordinates(queries) > 1e-12).all(axis=1))
        assert self._hull is not None
        return self._hull.contains(queries.a)

    def _estimate_outside(self, engine: FittedEngine, queries: Queries) -> Estimate:
        """Return the shares of the directions in which queries outside the hull own the whole space."""
        slopes = queries.a * self._far_away.unit
        away = slopes - self._far_away.functions.a.mean(axis=0)
        start = away / (2.0 * np.sqrt((away * away).sum(axis=1, keepdims=True)))
        directions = Queries(slopes, np.zeros(queries.n), start)
        estimate = engine.estimate(directions)
        # Near the hull the cone of directions is too thin to be hit; a walk inside it still finds its shares.
        estimate.fill(directions, self._walk_outside)
        estimate.empty_cell[:] = False
        return self._far_away.expand(estimate)
