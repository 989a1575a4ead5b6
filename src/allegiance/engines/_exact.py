"""Exact volumes: fixed cells, triangulated once, each query cuts them with one plane."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from allegiance._core._rows import row_dots, row_sums
from allegiance._core._threads import for_row_blocks, kernel_ready
from allegiance._core._typing import BoolArray, FloatArray
from allegiance.geometry import TooManySimplicesError, Triangulation, triangulate

from ._estimate import EXACT, Estimate, Queries, Settings
from ._tessellation import Scene

#: The largest triangulation ``method="exact"`` will build, and the largest dimension it will try.
MAX_SIMPLICES = 500_000
MAX_DIM = 8
#: Where the query is ahead of the sites by less than this share of the size of their functions, rounding of the
#: functions would show: the cell is measured again, from the query's own position.
_SHALLOW = 1e-3
#: Cells thinner than this, in a domain of size one, are so small that rounding of the vertices would show: they are
#: left to a walk around the query, or to the limit of a vanishing cell.
_THIN = 1e-11
#: How exactly the cells must fill the domain.
_TILING = 1e-10


class ExactEngine:
    """Measure shares by exact volumes.

    Inside the cell of site i nobody is closer than i, so the part that a query takes from it is cut off by the single
    plane f_x = f_i. The cells do not depend on the query: they are triangulated once, and a query only needs the
    values of its function at their vertices.

    Raises
    ------
    TooManySimplicesError
        If the cells need more than ``max_simplices`` simplices.
    ArithmeticError
        If the cells do not tile the domain to ten digits.
    """

    # Small enough that the numbers of a block stay in the cache from one step to the next.
    block = 8192

    def __init__(self, scene: Scene, settings: Settings, max_simplices: int = MAX_SIMPLICES) -> None:
        if scene.dim > MAX_DIM:
            raise TooManySimplicesError(f"cells in {scene.dim} dimensions have too many corners to list")
        self._scene = scene
        self._threads = settings.threads
        self._pack(self._triangulate(max_simplices, joggle=False))
        if not self._tiles():
            self._pack(self._triangulate(max_simplices, joggle=True))
            if not self._tiles():
                raise ArithmeticError("the triangulated cells overlap or leave gaps")

    def _triangulate(self, max_simplices: int, *, joggle: bool) -> list[Triangulation]:
        cells: list[Triangulation] = []
        for i in range(self._scene.n_sites):
            cells.append(triangulate(*self._scene.cell(i), max_simplices, joggle=joggle))
            max_simplices -= cells[-1].simplices.shape[0]
        return cells

    def _pack(self, cells: list[Triangulation]) -> None:
        self._vertex_start = np.cumsum([0, *(cell.vertices.shape[0] for cell in cells)])
        self._simplex_start = np.cumsum([0, *(cell.simplices.shape[0] for cell in cells)])
        vertices = np.concatenate([cell.vertices for cell in cells])
        self._vertices = np.ascontiguousarray(vertices.T)
        a, b = self._scene.functions
        self._values = np.concatenate([b[i] - cell.vertices @ a[i] for i, cell in enumerate(cells)])
        self._simplices = np.concatenate(
            [cell.simplices + start for cell, start in zip(cells, self._vertex_start, strict=False)]
        ).astype(np.int32)
        self._volumes = np.concatenate([cell.volumes for cell in cells])
        self._cell_volumes = np.array([cell.volumes.sum() for cell in cells])

    def _tiles(self) -> bool:
        """Check that the volumes of the cells add up to that of the domain."""
        domain = self._scene.domain
        if domain.walls.shape[0]:
            whole = triangulate(domain.walls, domain.wall_offsets, MAX_SIMPLICES).volumes.sum()
        else:
            whole = (2.0 * domain.half_width) ** self._scene.dim
        return bool(abs(self._cell_volumes.sum() - whole) <= _TILING * whole)

    @property
    def n_simplices(self) -> int:
        """The size of the triangulation."""
        return self._simplices.shape[0]

    def estimate(self, queries: Queries) -> Estimate:
        """Measure; rows of zeros where the cell is empty or too thin to measure."""
        estimate = Estimate.blank(queries.n, self._scene.n_sites, EXACT)
        stolen = self.stolen(queries)
        total = row_sums(stolen)[:, None]
        np.divide(stolen, total, out=estimate.affinity, where=total > 0)
        return estimate

    def stolen(self, queries: Queries) -> FloatArray:
        """Return the volumes (n, k) each query takes from each cell, zeros if its own cell is empty or too thin."""
        stolen, depth = self._cut(queries, np.empty((0, self._scene.n_sites)))
        size = max(float(np.abs(part).max()) for part in self._scene.functions)
        shallow = np.flatnonzero(depth <= _SHALLOW * size)
        if shallow.size:
            part = queries.take(shallow)
            again, thickness = self._cut(part, self._scene.clearance(part))
            again[thickness <= _THIN] = 0.0
            stolen[shallow] = again
        return stolen

    def _cut(self, queries: Queries, clearance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return volumes (n, k), and how deep (n,) each cell is: a length if measured by its ``clearance`` (n, k)."""
        from allegiance._kernels._simplex_fraction import stolen_volumes

        stolen = np.empty((queries.n, self._scene.n_sites))
        depth = np.empty(queries.n)
        cells = kernel_ready(
            self._scene.functions.a,
            self._vertices,
            self._values,
            self._vertex_start,
            self._simplices,
            self._volumes,
            self._simplex_start,
            self._cell_volumes,
        )

        def work(rows: slice) -> None:
            stolen_volumes(
                queries.a[rows],
                queries.b[rows],
                queries.position[rows],
                clearance[rows],
                *cells,
                stolen[rows],
                depth[rows],
            )

        for_row_blocks(work, queries.n, self._threads)
        return stolen, depth

    def reaches_walls(self, queries: Queries) -> BoolArray:
        """Tell which queries own a corner of the arrangement that lies on a wall of the domain."""
        on_wall = np.abs(self._vertices).max(axis=0) > self._scene.domain.half_width * (1.0 - 1e-9)
        clearance = self._scene.clearance(queries)
        reaches: BoolArray = np.zeros(queries.n, dtype=bool)
        for i, (start, stop) in enumerate(pairwise(self._vertex_start)):
            corners = self._vertices.T[start:stop][on_wall[start:stop]]
            if corners.size:
                # f_x - f_i as in the kernel, from the query's position: at far walls its rounding would matter.
                slope = queries.a - self._scene.functions.a[i]
                offset = row_dots(slope, queries.position) - clearance[:, i]
                for corner in corners:
                    reaches |= offset < row_dots(slope, corner)
        return reaches
