"""What every kind of influence becomes: affine functions over the space where volume is measured."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from allegiance._core import AnyArray, FloatArray, Rows


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
    off_span: FloatArray
    """(n,) distance, for Bregman diagrams divergence, of each row from the span of the sites, in the user's units."""


def no_bounds(r: int) -> tuple[FloatArray, FloatArray]:
    """Return limits that exclude nothing in r dimensions."""
    return np.full(r, -np.inf), np.full(r, np.inf)


class Diagram(Protocol):
    """A kind of influence. Domains, engines and outputs ask for nothing else, so a new kind is one new class."""

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites."""

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) outside which the functions mean nothing; infinite where there are none."""

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or sparse, to the space where volume is measured."""

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each query, as if it were a cluster of its own."""

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return f_i - f_x (n, k) at ``position`` (n, r) for queries with these functions.

        At home a query is ahead of each site by its divergence from the site, which can be computed without the
        cancellation of subtracting two values of large functions.
        """

    @property
    def clearance_scale(self) -> float:
        """Size of the numbers that :meth:`clearance` subtracts, differences of positions aside; 0 if there are none.

        A clearance is known to the rounding of such numbers, and otherwise to its own last digits.
        """

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return N (k, r) and o (k,) with cell = {y: N y <= o}; the row of the site itself is zero.

        Equal to the differences of ``functions`` in exact arithmetic, but computed so that sites which nearly
        coincide keep an accurate bisector.
        """

    @property
    def affine(self) -> bool:
        """Whether coordinates are an invertible affine map of those of X."""

    @property
    def axis_aligned(self) -> bool:
        """Whether every coordinate is one of X, scaled and shifted."""

    def unprojected(self, X: Rows, located: Located) -> Rows:
        """Return rows (n, p), dense or CSR, not reduced to the span of the sites, where distance is influence."""

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the divergence (n,) of each row from the site with its code, weights aside, in the user's units."""

    def distances(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the root (n,) of the divergence of each row from the site with its code, in the user's units.

        Unlike the divergence it neither overflows nor vanishes where numbers of that size cannot be squared.
        """

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`distances` (n,) from the site with its code, and from the nearest other one.

        For rows of no cluster (-1) both are the distance from the nearest of all; if there is only one site the second
        is infinite.
        """

    def weighted(self, weights: FloatArray, query_weight: float) -> Diagram:
        """Return this diagram with weights (k,) of the sites and of a query, in units of the divergence."""
