"""The power diagram: squared distances from weighted sites, in the space of an embedding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from allegiance._core.arithmetic import row_dots
from allegiance._core.parallel import kernel_ready, slices
from allegiance._core.stored import Number, OrNone, Part, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, Rows

from ._diagram import AffineFunctions, Located

if TYPE_CHECKING:
    from ._kernel import KernelEmbedding
    from ._linear_embedding import LinearEmbedding


#: Clearances, and rows, handled at a time: small enough for the cache.
_CLEARANCES, _ROWS = 2**15, 2**12


@stored(
    "power",
    embedding=Part("linear", "kernel", k="k", d="d", r="r"),
    weights=OrNone(floats("k")),
    query_weight=Number(),
)
@dataclass(frozen=True)
class PowerDiagram:
    """The power diagram of the sites: |y - c_i|² - w_i is |y|² plus the affine function |c_i|² - w_i - 2 <c_i, y>.

    ``weights`` (k,) of the sites and ``query_weight`` are in squared units of the user's distance.
    """

    embedding: LinearEmbedding | KernelEmbedding
    weights: FloatArray | None = None
    query_weight: float = 0.0

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites of the power diagram."""
        return self.embedding.positions

    @cached_property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites of the power diagram."""
        return AffineFunctions(2.0 * self.positions, row_dots(self.positions, self.positions) - self._site_weights)

    @cached_property
    def _site_weights(self) -> FloatArray:
        """(k,) weights of the power diagram, in squared units of the coordinates."""
        if self.weights is None:
            return np.zeros(self.positions.shape[0])
        return self.weights * self.embedding.unit**2

    @cached_property
    def _query_weight(self) -> float:
        """The weight of a query of the power diagram, in squared units of the coordinates."""
        return self.query_weight * self.embedding.unit**2

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Infinite limits: a power diagram is defined everywhere."""
        r = self.positions.shape[1]
        return np.full(r, -np.inf), np.full(r, np.inf)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X to the coordinates of the power diagram."""
        return self.embedding.locate(X, threads)

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r) as a site of the diagram: squared distances without |y|²."""
        return AffineFunctions(2.0 * position, row_dots(position, position) - self._query_weight)

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return the power (n, k) of each position: squared distance from each site, less the site's lead in weight."""
        lead = self._query_weight - self._site_weights
        ahead = np.empty((position.shape[0], lead.size))
        for rows in slices(position.shape[0], max(1, _CLEARANCES // lead.size)):
            squares = np.zeros(ahead[rows].shape)
            for here, there in zip(position[rows].T, self.positions.T, strict=True):
                away = here[:, None] - there
                squares += np.square(away, out=away)
            np.add(squares, lead, out=ahead[rows])
        return ahead

    @property
    def clearance_scale(self) -> float:
        """The largest lead in weight in the power diagram."""
        return float(np.abs(self._query_weight - self._site_weights).max())

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces {y: <c_j - c_i, y> <= <c_j - c_i, midpoint> + (w_i - w_j) / 2} of a power cell."""
        # From positions, like those of queries: sites that nearly coincide need planes that fit to rounded positions.
        normals = self.positions - self.positions[site]
        midpoints = (self.positions + self.positions[site]) / 2.0
        lead = self._site_weights[site] - self._site_weights
        return normals, row_dots(normals, midpoints) + lead / 2.0

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the squared distance (n,) of each row from the site with its code, in the user's units."""
        # In the unit of the coordinates squares are of size one.
        squares = (located.residual * self.embedding.unit) ** 2
        for rows in slices(codes.shape[0], _ROWS):
            away = located.position[rows] - self.positions[codes[rows]]
            squares[rows] += row_dots(away, away)
        return squares / self.embedding.unit**2

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the distance (n,) of each row from its own site of the power diagram and the nearest other."""
        from allegiance._kernels.counting import own_and_other_squares

        position, columns, codes = kernel_ready(located.position, self.positions.T, codes.astype(np.int64, copy=False))
        own, other = np.empty((2, codes.shape[0]))
        own_and_other_squares(position, columns, codes, own, other)
        residual = (located.residual * self.embedding.unit) ** 2
        return np.sqrt(own + residual) / self.embedding.unit, np.sqrt(other + residual) / self.embedding.unit

    def weighted(self, weights: FloatArray, query_weight: float) -> PowerDiagram:
        """Return this power diagram with weights (k,) of the sites and of a query."""
        return replace(self, weights=weights, query_weight=query_weight)
