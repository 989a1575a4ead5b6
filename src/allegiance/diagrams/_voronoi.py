"""Influence by Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from allegiance._rows import row_dots
from allegiance._typing import FloatArray, Rows

from ._affine import AffineFunctions, Located
from ._reduction import Reduction


@dataclass(frozen=True)
class VoronoiDiagram:
    """The Voronoi diagram of the sites: |y - c_i|² is |y|² plus the affine function |c_i|² - 2 <c_i, y>.

    Attributes
    ----------
    sites
        (k, d) representatives of the clusters, in the user's coordinates.
    reduction
        The map to the coordinates in which volume is measured.
    """

    sites: FloatArray
    reduction: Reduction

    @classmethod
    def of_sites(cls, sites: FloatArray, *, keep_axes: bool = False) -> VoronoiDiagram:
        """Build the diagram of ``sites`` (k, d), reduced to their span unless ``keep_axes``."""
        return cls(sites, Reduction.of_sites(sites, keep_axes=keep_axes))

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""
        return self.reduction.locate(self.sites).position

    @cached_property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites."""
        return self.query_functions(self.positions)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d) to the space where volume is measured."""
        return self.reduction.locate(X, threads)

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r)."""
        return AffineFunctions(2.0 * position, row_dots(position, position))

    def clearance(self, slopes: FloatArray, position: FloatArray) -> FloatArray:
        """Return the squared distance (n, k) of each position from each site."""
        squares = np.empty((position.shape[0], self.positions.shape[0]))
        for i, site in enumerate(self.positions):
            away = position - site
            squares[:, i] = row_dots(away, away)
        return squares

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces {y: <c_j - c_i, y> <= <c_j - c_i, midpoint>} of one site's cell."""
        normals = self.reduction.differences(self.sites - self.sites[site])
        midpoints = (self.positions + self.positions[site]) / 2.0
        return normals, row_dots(normals, midpoints)
