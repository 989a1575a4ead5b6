"""A diagram over a region, in unit coordinates: the input of every engine."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from allegiance._core.arithmetic import power_of_two, row_dots
from allegiance._core.validation import AnyArray, FloatArray
from allegiance.domains import Region
from allegiance.influence import AffineFunctions, Diagram, PowerDiagram

from ._base import Estimate, Queries

#: Two sites whose functions differ everywhere by less than this share of the largest one are told apart by rounding.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
#: Coefficients that differ by less than this share of the largest one among the sites are equal up to rounding.
_SITE_TOLERANCE = 1e-14
_SIDES: tuple[tuple[float, Literal["left", "right"]], ...] = ((-2.0, "left"), (2.0, "right"))


class Tessellation:
    """The distinct sites of a diagram as functions of size one over a region of size one.

    Sites that coincide exactly are one site here; their clusters share its affinity equally (:meth:`expand`). All
    functions are multiplied by the power of two ``unit``, which rounds nothing, so that tolerances are relative.
    """

    def __init__(self, diagram: Diagram, region: Region) -> None:
        self.diagram = diagram
        self.region = region
        self.unit = 1.0
        self.unit = power_of_two(max(np.abs(part).max(initial=0.0) for part in self._to_unit(diagram.functions)))
        everything = self._to_unit(diagram.functions)
        table = np.column_stack([everything.b, everything.a])
        _, first, member = np.unique(table, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        self._rows = first[order]
        self._member = np.argsort(order)[member.ravel()]
        self.functions = AffineFunctions(
            np.ascontiguousarray(everything.a[self._rows]), np.ascontiguousarray(everything.b[self._rows])
        )
        self.n_sites, self.dim = self.functions.a.shape
        """The number of distinct sites, and of coordinates."""

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
        """The functions of the tessellation in single precision."""
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
        """Return one cell of the tessellation, walls of the region included, as unit rows (m, r) and offsets (m,)."""
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
        """Return f_i - f_x (n, k) at the position of each query, in the units of the tessellation."""
        center, scale = self.region.center, self.region.scale
        home = center + scale * queries.position
        slopes = queries.a / self.unit / scale
        functions = AffineFunctions(slopes, queries.b / self.unit + row_dots(slopes, center))
        # ``take`` keeps C order, which an index does not: the kernels are compiled for one layout.
        return self.diagram.clearance(functions, home).take(self._rows, axis=1) * self.unit

    @property
    def clearance_scale(self) -> float:
        """Size of the numbers that the tessellation's :meth:`clearance` subtracts; see :class:`Diagram`."""
        return self.diagram.clearance_scale * self.unit

    def unscaled_slopes(self, queries: Queries) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return slopes of queries (n, r) and sites (k, r) before the tessellation scales them, and the factors (r,).

        In a power diagram their differences are exact for queries and sites that nearly coincide, where rounding the
        scaled slopes would turn the plane between them. They belong to the same positions as :meth:`clearance`.
        """
        center, scale = self.region.center, self.region.scale
        if isinstance(self.diagram, PowerDiagram):
            query_a = self.diagram.query_functions(center + scale * queries.position).a
        else:
            query_a = queries.a / self.unit / scale
        return query_a, self.diagram.functions.a[self._rows], scale * self.unit

    def coincident(self, queries: Queries) -> tuple[AnyArray, AnyArray]:
        """Return rows of queries whose function is that of a site up to rounding, and these sites.

        Such a query replaces the site: its affinity to it is 1, although rounding may leave its cell anything between
        the whole of the site's cell and nothing.
        """
        slopes, constants = self.functions
        tolerance = _SITE_TOLERANCE * np.abs(constants).max(initial=0.0)
        # Columns have tolerances of their own: a wide one must not hide differences in a narrow one.
        tolerances = _SITE_TOLERANCE * np.abs(slopes).max(axis=0, initial=0.0)
        ordered = np.sort(constants)
        first, last = (np.searchsorted(ordered, queries.b + side * tolerance, name) for side, name in _SIDES)
        near = np.flatnonzero(first < last)
        rows, sites = np.nonzero(np.abs(queries.b[near, None] - constants) <= tolerance)
        same = (np.abs(queries.a[near[rows]] - slopes[sites]) <= tolerances).all(axis=1)
        return near[rows[same]], sites[same]

    @property
    def has_indistinct_sites(self) -> bool:
        """Whether two sites with cells in the tessellation differ by rounding only, as with unlike columns."""
        a, b = self.functions
        spread = np.abs(a).sum(axis=1)
        owners = np.flatnonzero(b - spread <= (b + spread).min())
        owners = owners[np.argsort(b[owners])]
        a, b = a[owners], b[owners]
        tolerance = _ROUNDING * float((np.abs(b) + spread[owners]).max())
        for ahead in range(1, b.size):
            near = np.flatnonzero(b[ahead:] - b[:-ahead] <= tolerance)
            if not near.size:
                break
            if (np.abs(a[near + ahead] - a[near]).sum(axis=1) <= tolerance).any():
                return True
        return False

    def expand(self, estimate: Estimate) -> Estimate:
        """Spread the shares of the distinct sites over all k clusters: coinciding clusters share equally."""
        if self.n_sites == self._member.shape[0]:
            return estimate
        affinity, error = ((part / np.bincount(self._member))[:, self._member] for part in estimate[:2])
        return estimate._replace(affinity=affinity, standard_error=error)

    def _to_unit(self, functions: AffineFunctions) -> AffineFunctions:
        """Scale functions to the unit coordinates of the tessellation."""
        a, b = functions
        center, scale = self.region.center, self.region.scale
        return AffineFunctions(a * scale * self.unit, (b - row_dots(a, center)) * self.unit)


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
        """Round the functions of a tessellation, slopes (k, r) and constants (k,), to single precision."""
        from allegiance._kernels.affine_block import N_FUNCTIONS

        k, r = a.shape
        rows = -(-k // N_FUNCTIONS) * N_FUNCTIONS
        slopes, constants = np.zeros((rows, r), np.float32), np.zeros(rows, np.float32)
        # Beyond single precision is infinity: two of those compare equal, so double precision decides.
        with np.errstate(over="ignore"):
            slopes[:k], constants[:k] = a, -b
        return cls(slopes, constants, float(_CLOSE_VALUES * (np.abs(a).sum(axis=1) + np.abs(b)).max()))
