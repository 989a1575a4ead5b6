"""A diagram over a region, in unit coordinates: what every engine is given."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray, row_dots
from allegiance.domains import Region
from allegiance.influence import AffineFunctions, Diagram

from ._base import Queries

#: Functions closer than this, in a region of size one, are the same site up to rounding.
_SITE_TOLERANCE = 1e-14


class Tessellation:
    """The distinct sites of a diagram as functions over a region of size one.

    Sites that coincide exactly are one site here; their clusters share its affinity equally (:meth:`expand`).
    """

    def __init__(self, diagram: Diagram, region: Region) -> None:
        self.diagram = diagram
        self.region = region
        everything = self._to_unit(diagram.functions)
        table = np.column_stack([everything.b, everything.a])
        _, first, member = np.unique(table, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        self._rows = first[order]
        self._member = np.argsort(order)[member.ravel()]
        self.functions = AffineFunctions(
            np.ascontiguousarray(everything.a[self._rows]), np.ascontiguousarray(everything.b[self._rows])
        )

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.functions.a.shape[1]

    @property
    def positions(self) -> FloatArray:
        """(n_sites, r) where the distinct sites are, in the diagram's coordinates."""
        return self.diagram.positions[self._rows]

    @property
    def n_sites(self) -> int:
        """The number of distinct sites."""
        return self.functions.a.shape[0]

    @property
    def n_clusters(self) -> int:
        """The number of clusters, those that coincide included."""
        return self._member.shape[0]

    @cached_property
    def affinely_independent(self) -> bool:
        """Whether the sites are the corners of a simplex."""
        return self.n_sites == self.dim + 1

    @cached_property
    def single(self) -> SingleFunctions:
        """The functions in single precision."""
        return SingleFunctions.of(*self.functions)

    def queries(self, position: FloatArray) -> Queries:
        """Turn positions (n, r) in the diagram's coordinates into queries."""
        with np.errstate(over="ignore", invalid="ignore"):
            a, b = self._to_unit(self.diagram.query_functions(position))
        lost = int(np.count_nonzero(~np.isfinite(b)))
        if lost:
            raise ValueError(
                f"{lost} of {b.size} rows of X are so far from every cluster that their influence overflows: rescale X "
                "or drop these rows."
            )
        return Queries(a, b, (position - self.region.center) / self.region.scale)

    def cell(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the cell of one site, walls of the region included, as unit rows (m, r) and offsets (m,)."""
        normals, offsets = self.diagram.bisectors(int(self._rows[site]))
        normals, offsets = normals[self._rows], offsets[self._rows]
        offsets = offsets - row_dots(normals, self.region.center)
        normals = normals * self.region.scale
        others = np.arange(self.n_sites) != site
        size = np.abs(normals).max(axis=1, initial=0.0)
        if not size[others].all():
            raise ArithmeticError("two sites have parallel functions, up to the smallest number there is")
        # Squares of small numbers vanish; powers of two change no digit.
        exponents = np.frexp(size)[1]
        normals, offsets = np.ldexp(normals, -exponents[:, None]), np.ldexp(offsets, -exponents)
        norms = np.sqrt((normals * normals).sum(axis=1))
        walls, wall_offsets = self.region.halfspaces()
        return (
            np.vstack([normals[others] / norms[others, None], walls]),
            np.concatenate([offsets[others] / norms[others], wall_offsets]),
        )

    def clearance(self, queries: Queries) -> FloatArray:
        """Return f_i - f_x (n, k) at the position of each query: how far ahead of each site it is at home."""
        center, scale = self.region.center, self.region.scale
        home = center + scale * queries.position
        functions = AffineFunctions(queries.a / scale, queries.b + row_dots(queries.a / scale, center))
        return self.diagram.clearance(functions, home)[:, self._rows]

    def coincident(self, queries: Queries) -> tuple[AnyArray, AnyArray]:
        """Return rows of queries whose function is that of a site up to rounding, and these sites.

        Such a query replaces the site: its affinity to it is 1, although rounding may leave its cell anything between
        the whole of the site's cell and nothing.
        """
        tolerance = _SITE_TOLERANCE * max(np.abs(part).max(initial=1.0) for part in self.functions)
        constants = np.sort(self.functions.b)
        first, last = (np.searchsorted(constants, queries.b + side * tolerance) for side in (-2.0, 2.0))
        near = np.flatnonzero(first < last)
        places, sites = np.nonzero(np.abs(queries.b[near, None] - self.functions.b) <= tolerance)
        gap = np.abs(queries.a[near[places]] - self.functions.a[sites]).max(axis=1, initial=0.0)
        same = gap <= tolerance
        return near[places[same]], sites[same]

    def expand(self, values: FloatArray) -> FloatArray:
        """Spread values (n, distinct sites) over all k clusters: coinciding clusters share equally."""
        if self.n_sites == self._member.shape[0]:
            return values
        sharing = np.bincount(self._member)
        spread: FloatArray = (values / sharing)[:, self._member]
        return spread

    def _to_unit(self, functions: AffineFunctions) -> AffineFunctions:
        a, b = functions
        center, scale = self.region.center, self.region.scale
        return AffineFunctions(a * scale, b - row_dots(a, center))


#: Values closer than this, as a share of the numbers they are summed from, are compared in double precision.
_CLOSE_VALUES = 1e-6


class SingleFunctions(NamedTuple):
    """The functions -f_i(y) = <a_i, y> - b_i in single precision, highest for the owner of y."""

    slopes: AnyArray
    """(k, r) float32, with rows of zeros up to a multiple of those computed at a time."""
    constants: AnyArray
    """(k,) float32, likewise."""
    close: float
    """How close two values may come before rounding decides which is higher."""

    @classmethod
    def of(cls, a: FloatArray, b: FloatArray) -> SingleFunctions:
        """Return functions with slopes (k, r) and constants (k,)."""
        from allegiance._kernels.affine_block import N_FUNCTIONS

        k, r = a.shape
        rows = -(-k // N_FUNCTIONS) * N_FUNCTIONS
        slopes, constants = np.zeros((rows, r), np.float32), np.zeros(rows, np.float32)
        # Beyond single precision is infinity: two of those compare equal, so double precision decides.
        with np.errstate(over="ignore"):
            slopes[:k], constants[:k] = a, -b
        return cls(slopes, constants, float(_CLOSE_VALUES * (np.abs(a).sum(axis=1) + np.abs(b)).max()))
