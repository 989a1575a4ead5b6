"""Influence by squared distance minus weight: Voronoi diagrams where all weights are equal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from allegiance._core import (
    AnyArray,
    FloatArray,
    Number,
    OrNone,
    Part,
    Rows,
    floats,
    kernel_ready,
    row_dots,
    stored,
)

from ._diagram import AffineFunctions, Located, no_bounds
from ._embedding import Embedding

#: Where sites are subnormal numbers apart, the true unit is larger than any number; they have no digits to lose.
_LARGEST_UNIT = 2.0**1023
#: Clearances, and rows, handled at a time: small enough for the cache.
_CHUNK, _ROWS = 2**15, 2**12


@stored(
    "power",
    embedding=Part("linear", "features", "kernel", k="k", d="d", r="r"),
    weights=OrNone(floats("k")),
    query_weight=Number(),
)
@dataclass(frozen=True)
class PowerDiagram:
    """The power diagram of the sites: |y - c_i|² - w_i is |y|² plus the affine function |c_i|² - w_i - 2 <c_i, y>.

    Attributes
    ----------
    embedding
        Where the sites are, and how points get there.
    weights
        (k,) weights of the sites, in squared units of the user's distance; None for no weights.
    query_weight
        The weight of every query, in the same units.
    """

    embedding: Embedding
    weights: FloatArray | None = None
    query_weight: float = 0.0

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""
        return self.embedding.positions

    @cached_property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites."""
        return AffineFunctions(2.0 * self.positions, row_dots(self.positions, self.positions) - self._site_weights)

    @cached_property
    def _site_weights(self) -> FloatArray:
        """(k,) weights in squared units of the coordinates."""
        if self.weights is None:
            return np.zeros(self.positions.shape[0])
        return self._to_coordinates(self.weights)

    @cached_property
    def _own_weight(self) -> float:
        return float(self._to_coordinates(np.array(self.query_weight))) if self.query_weight else 0.0

    def _to_coordinates(self, weight: FloatArray) -> FloatArray:
        """Scale by the square of the unit, one factor at a time: the square itself may overflow."""
        return weight * self.embedding.unit * self.embedding.unit

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """No limits: distances are defined everywhere."""
        return no_bounds(self.positions.shape[1])

    @property
    def affine(self) -> bool:
        """Whether coordinates are an invertible affine map of those of X."""
        return self.embedding.affine

    @property
    def axis_aligned(self) -> bool:
        """Whether every coordinate is one of X, scaled and shifted."""
        return self.embedding.axis_aligned

    def unprojected(self, X: Rows, located: Located) -> Rows:
        """Return rows (n, p), dense or CSR, whose distances are those of the diagram, off the span of the sites too."""
        return self.embedding.unprojected(X, located)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X to the space where volume is measured."""
        return self.embedding.locate(X, threads)

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r)."""
        return AffineFunctions(2.0 * position, row_dots(position, position) - self._own_weight)

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return the squared distance (n, k) of each position from each site, less the site's lead in weight."""
        lead = self._own_weight - self._site_weights
        ahead = np.empty((position.shape[0], lead.size))
        size = max(1, _CHUNK // lead.size)
        for start in range(0, position.shape[0], size):
            rows = slice(start, start + size)
            squares = np.zeros(ahead[rows].shape)
            for here, there in zip(position[rows].T, self.positions.T, strict=True):
                away = here[:, None] - there
                squares += np.square(away, out=away)
            np.add(squares, lead, out=ahead[rows])
        return ahead

    @property
    def clearance_scale(self) -> float:
        """The largest lead in weight."""
        return float(np.abs(self._own_weight - self._site_weights).max())

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces {y: <c_j - c_i, y> <= <c_j - c_i, midpoint> + (w_i - w_j) / 2} of one site's cell."""
        normals = self.embedding.differences(site)
        midpoints = (self.positions + self.positions[site]) / 2.0
        lead = self._site_weights[site] - self._site_weights
        return normals, row_dots(normals, midpoints) + lead / 2.0

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the squared distance (n,) of each row from the site with its code, in the user's units."""
        with np.errstate(over="ignore"):
            return self._squares(located, codes) / self.unit / self.unit

    def distances(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the distance (n,) of each row from the site with its code, in the user's units."""
        return np.sqrt(self._squares(located, codes)) / self.unit

    def _squares(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return squared distances (n,) in the unit of the coordinates, where they are of size one."""
        squares = self._off_span_squares(located)
        for start in range(0, codes.shape[0], _ROWS):
            rows = slice(start, start + _ROWS)
            away = located.position[rows] - self.positions[codes[rows]]
            squares[rows] += row_dots(away, away)
        return squares

    def _off_span_squares(self, located: Located) -> FloatArray:
        with np.errstate(over="ignore"):
            return (located.off_span * self.unit) ** 2

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the distance (n,) of each row from its own site, and from the nearest other one."""
        from allegiance._kernels._site_distances import own_and_other_squares

        position, columns, codes = kernel_ready(located.position, self.positions.T, codes.astype(np.int64, copy=False))
        own, other = np.empty((2, codes.shape[0]))
        own_and_other_squares(position, columns, codes, own, other)
        off_span = self._off_span_squares(located)
        return np.sqrt(own + off_span) / self.unit, np.sqrt(other + off_span) / self.unit

    @property
    def unit(self) -> float:
        """The length in these coordinates of a distance of 1 in the user's."""
        return min(self.embedding.unit, _LARGEST_UNIT)

    def weighted(self, weights: FloatArray, query_weight: float) -> PowerDiagram:
        """Return this diagram with weights (k,) of the sites and of a query."""
        return replace(self, weights=weights, query_weight=query_weight)
