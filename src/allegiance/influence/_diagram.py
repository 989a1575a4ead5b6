"""Diagrams: the affine functions of the clusters, and where rows are among them."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from allegiance._core.parallel import for_row_blocks, kernel_ready
from allegiance._core.parameters import Lazy
from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows


class AffineFunctions(NamedTuple):
    """Functions f_i(y) = b_i - <a_i, y>, one per row; lower means closer."""

    a: FloatArray
    """(m, r) slopes."""
    b: FloatArray
    """(m,) constants."""


class Located(NamedTuple):
    """Rows of X in the space where volume is measured."""

    position: FloatArray
    """(n, r) coordinates."""
    lazy_residual: Lazy[FloatArray]

    @property
    def residual(self) -> FloatArray:
        """(n,) distance of located rows from the span of the sites, in the user's units, or their divergence."""
        return self.lazy_residual.value


class Diagram(Protocol):
    """The clusters under a kind of influence: all that domains, engines and outputs need to know about it."""

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites of a diagram."""

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites of a diagram."""

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) of a diagram, outside which its functions are undefined; infinite without any."""

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or sparse, to the space where volume is measured."""

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function that each position (n, r) would have as a site of the diagram."""

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return f_i - f_x (n, k), how far queries are ahead of the diagram's sites at ``position`` (n, r).

        At its own position a query is ahead of each site by its divergence from the site, which needs no difference of
        two large values.
        """

    @property
    def clearance_scale(self) -> float:
        """Size of the numbers that :meth:`clearance` subtracts, without differences of positions; 0 if there are none.

        A clearance is known to the rounding of such numbers, and otherwise to its own last digits.
        """

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the cell of a site in the diagram, as N (k, r) and o (k,) of {y: N y <= o}; its own row is zero.

        Equal to the differences of ``functions`` in exact arithmetic, but computed so that sites which nearly
        coincide keep an accurate bisector.
        """

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the divergence (n,) of each row from the site with its code, without weights, in the user's units."""

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the roots (n,) of the divergences from the site with its code, and from the nearest other one.

        For rows of no cluster (-1) both are the distance from the nearest of all; if there is only one site the second
        is infinite.
        """

    def weighted(self, weights: FloatArray, query_weight: float) -> Diagram:
        """Return this diagram with weights (k,) of the sites and of a query, in units of the divergence."""


def nearest_sites(diagram: Diagram, position: FloatArray, threads: int = 1) -> IntArray:
    """Return the number (n,) of the site of a diagram with the lowest function at each position."""
    from allegiance._kernels.counting import owners_at

    position, columns, b = kernel_ready(position, diagram.functions.a.T, diagram.functions.b)
    nearest = np.empty(position.shape[0], np.int64)

    def find_nearest(rows: slice) -> None:
        owners_at(position[rows], columns, b, nearest[rows])

    for_row_blocks(find_nearest, position.shape[0], threads, products=position.size * b.size)
    return nearest
