"""Exact volumes: fixed cells, triangulated once, each query cuts them with one plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allegiance._core.arithmetic import row_dots, row_sums
from allegiance._core.parallel import for_row_blocks, kernel_ready, slices
from allegiance._core.validation import BoolArray, FloatArray
from allegiance.domains import Region
from allegiance.geometry import TooManySimplicesError, Triangulation, triangulate

from ._base import ENGINES, EXACT, Engine, Estimate, FittedEngine, Queries, Settings
from ._tessellation import Tessellation

#: The largest triangulation that will be built, and the largest dimension it will try.
MAX_SIMPLICES = 500_000
MAX_DIM = 8
#: Where the query is ahead of the sites by less than this share of the size of their functions, rounding of the
#: functions would show: the cell is measured again, from the query's own position.
_SHALLOW_DEPTH = 1e-4
#: Cells less deep than this share of the numbers they are then computed from are so small that rounding would show
#: again: they are left to a walk around the query, or to the limit of a vanishing cell.
_THIN_DEPTH = 1e-11
#: Clearances of shallow cells held at a time: small enough for the cache.
_NEAR_CLEARANCES = 2**15
#: Half-widths of the boxes in which bounded cells of the whole space are measured, in units of the sites' spread.
_HALF_WIDTHS = tuple(4.0 * 8.0**level for level in range(8))
#: How exactly the cells must fill the region.
_TILING_ERROR = 1e-10


@ENGINES.register("exact")
@dataclass(frozen=True, eq=False, repr=False)
class Exact(Engine):
    """Exact volumes of triangulated cells: for few dimensions and regions with flat walls.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.engines import Exact
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> float(affinity(X, labels, engine=Exact()).standard_error.max())
    0.0
    """

    exact_where_possible: ClassVar[bool] = True

    def why_unsupported(self, tessellation: Tessellation) -> str | None:
        """Say why there are no cells to triangulate; None if there are."""
        if not tessellation.region.polyhedral:
            return (
                f"engine='exact' needs a domain with flat walls, not domain={tessellation.region.name!r}: use 'box', "
                "'space' or a Polytope, or engine='shared'."
            )
        if tessellation.dim > MAX_DIM:
            return f"engine='exact' is limited to {MAX_DIM} dimensions, not {tessellation.dim}: use engine='auto'."
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> FittedEngine:
        """Build the engine of exact volumes; ValueError if cells need too many simplices, or cannot be triangulated."""
        try:
            if not tessellation.region.bounded:
                return GrowingBoxes(tessellation, settings)
            return FittedExact(tessellation, settings)
        except TooManySimplicesError as error:
            raise ValueError(
                f"engine='exact' is limited to {MAX_SIMPLICES:,} simplices: {error}. Use engine='auto' or 'shared'."
            ) from error
        except ArithmeticError as error:
            raise ValueError(f"engine='exact' failed on these sites: {error}. Use engine='auto'.") from error


class FittedExact(FittedEngine):
    """Measure shares by exact volumes.

    Inside the cell of site i no site is closer than i, so the part that a query takes from it is cut off by the single
    plane f_x = f_i. The cells do not depend on the query: they are triangulated once, and a query only needs the
    values of its function at their vertices. ArithmeticError if the cells do not tile the region to ten digits.
    """

    # Small enough that the numbers of a block stay in the cache from one step to the next.
    block = 8192

    def __init__(self, tessellation: Tessellation, settings: Settings, max_simplices: int = MAX_SIMPLICES) -> None:
        if tessellation.dim > MAX_DIM:
            raise TooManySimplicesError(f"cells in {tessellation.dim} dimensions have too many corners to list")
        self._tessellation = tessellation
        self._threads = settings.threads
        self._triangulate(max_simplices, joggle=False)
        if not self._tiles():
            self._triangulate(max_simplices, joggle=True)
            if not self._tiles():
                raise ArithmeticError("the triangulated cells overlap or leave gaps")

    def _triangulate(self, max_simplices: int, *, joggle: bool) -> None:
        """Triangulate the cells of all sites, one after another in the arrays of the kernel for exact volumes."""
        cells: list[Triangulation] = []
        for i in range(self._tessellation.n_sites):
            cells.append(triangulate(*self._tessellation.cell(i), max_simplices, joggle=joggle))
            max_simplices -= cells[-1].simplices.shape[0]
        self._vertex_start = np.cumsum([0, *(cell.vertices.shape[0] for cell in cells)])
        self._simplex_start = np.cumsum([0, *(cell.simplices.shape[0] for cell in cells)])
        self._vertices = np.ascontiguousarray(np.concatenate([cell.vertices for cell in cells]).T)
        a, b = self._tessellation.functions
        self._values = np.concatenate([b[i] - cell.vertices @ a[i] for i, cell in enumerate(cells)])
        self._simplices = np.concatenate(
            [cell.simplices + start for cell, start in zip(cells, self._vertex_start, strict=False)]
        ).astype(np.int32)
        self._volumes = np.concatenate([cell.volumes for cell in cells])
        self._cell_volumes = np.array([cell.volumes.sum() for cell in cells])

    def _tiles(self) -> bool:
        """Check that the volumes of the cells add up to that of the region."""
        region = self._tessellation.region
        if region.walls.shape[0]:
            whole = triangulate(region.walls, region.wall_offsets, MAX_SIMPLICES).volumes.sum()
        else:
            whole = (2.0 * region.half_width) ** self._tessellation.dim
        return bool(abs(self._cell_volumes.sum() - whole) <= _TILING_ERROR * whole)

    def estimate(self, queries: Queries) -> Estimate:
        """Measure exact volumes; rows of zeros where the cell is empty or too thin to measure."""
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, EXACT)
        stolen, depth = np.empty(estimate.affinity.shape), np.empty(queries.n)

        def cut_cells(rows: slice) -> None:
            self._cut(queries.take(rows), stolen[rows], depth[rows])

        for_row_blocks(cut_cells, queries.n, self._threads)
        size = max(float(np.abs(part).max()) for part in self._tessellation.functions)
        shallow = np.flatnonzero(depth <= _SHALLOW_DEPTH * size)

        def cut_shallow_cells(rows: slice) -> None:
            for part in slices(rows, max(_NEAR_CLEARANCES // self._tessellation.n_sites, 1)):
                near = queries.take(shallow[part])
                volumes, depths = np.empty((near.n, self._tessellation.n_sites)), np.empty(near.n)
                self._cut(near, volumes, depths, self._tessellation.clearance(near))
                volumes[depths <= _THIN_DEPTH] = 0.0
                stolen[shallow[part]] = volumes

        for_row_blocks(cut_shallow_cells, shallow.size, self._threads)
        total = row_sums(stolen)[:, None]
        np.divide(stolen, total, out=estimate.affinity, where=total > 0)
        return estimate

    def _cut(
        self, queries: Queries, stolen: FloatArray, depth: FloatArray, clearance: FloatArray | None = None
    ) -> None:
        """Write exact volumes (n, k), and how deep (n,) each cell is; see the kernel for what ``clearance`` changes."""
        from allegiance._kernels.cutting import stolen_volumes

        query_a, site_a, axis_scale = queries.a, self._tessellation.functions.a, np.ones(self._tessellation.dim)
        if clearance is None:
            clearance = np.empty((0, self._tessellation.n_sites))
        else:
            query_a, site_a, axis_scale = self._tessellation.unscaled_slopes(queries)
        query_a, site_a = kernel_ready(query_a, site_a)
        stolen_volumes(
            query_a, queries.b, queries.position, clearance, self._tessellation.clearance_scale, site_a, axis_scale,
            self._vertices, self._values, self._vertex_start, self._simplices, self._volumes, self._simplex_start,
            self._cell_volumes, stolen, depth,
        )  # fmt: skip

    def reaches_walls(self, queries: Queries) -> BoolArray:
        """Tell which queries own a vertex of the triangulated cells on a wall, so that a larger box is needed."""
        on_wall = np.abs(self._vertices).max(axis=0) > self._tessellation.region.half_width * (1.0 - 1e-9)
        cell_of = np.repeat(np.arange(self._tessellation.n_sites), np.diff(self._vertex_start))
        clearance = self._tessellation.clearance(queries)
        reaches: BoolArray = np.zeros(queries.n, dtype=bool)
        for v in np.flatnonzero(on_wall):
            # f_x - f_i as in the kernel, from the query's position: at far walls its rounding would matter.
            slope = queries.a - self._tessellation.functions.a[cell_of[v]]
            gap = -clearance[:, cell_of[v]] - row_dots(slope, self._vertices[:, v] - queries.position)
            reaches |= gap < 0.0
        return reaches


class GrowingBoxes(FittedEngine):
    """Exact volumes of bounded cells, each in the smallest box whose walls it does not reach."""

    block = 65_536

    def __init__(self, tessellation: Tessellation, settings: Settings) -> None:
        self._tessellation = tessellation
        self._settings = settings
        self._boxes: dict[float, tuple[FittedExact, float]] = {}
        self._box(_HALF_WIDTHS[0])

    def estimate(self, queries: Queries) -> Estimate:
        """Measure queries inside the hull of the sites; rows of zeros where a box cannot be triangulated."""
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, 0)
        waiting = np.arange(queries.n)
        for half_width in _HALF_WIDTHS:
            try:
                box, unit = self._box(half_width)
            except (ArithmeticError, TooManySimplicesError):
                break  # rows without an answer are left to a walk
            part = queries.take(waiting)
            part = Queries(part.a * (half_width * unit), part.b * unit, part.position / half_width)
            cut = box.reaches_walls(part)
            if half_width == _HALF_WIDTHS[-1]:
                cut[:] = False
            done = np.flatnonzero(~cut)
            estimate.put(waiting[done], box.estimate(part.take(done)))
            waiting = waiting[cut]
            if not waiting.size:
                break
        return estimate

    def _box(self, half_width: float) -> tuple[FittedExact, float]:
        """Return the exact engine of one growing box, and the unit of its functions relative to that of the space."""
        if half_width not in self._boxes:
            space = self._tessellation.region
            reach = half_width * space.scale
            box = Region.box(space.name, space.center - reach, space.center + reach)
            inner = Tessellation(self._tessellation.diagram, box)
            self._boxes[half_width] = FittedExact(inner, self._settings), inner.unit / self._tessellation.unit
        return self._boxes[half_width]
