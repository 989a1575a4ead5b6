"""Coordinates in which influence is Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from allegiance._core import (
    FloatArray,
    Part,
    Rows,
    floats,
    stored,
)

from ._diagram import Located
from ._reduction import Reduction


class Embedding(Protocol):
    """The sites, and the map of all points, in coordinates where the closest site is the nearest one."""

    @property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""

    @property
    def unit(self) -> float:
        """The length in these coordinates of a distance of 1 in the user's."""

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X to the coordinates."""

    @property
    def affine(self) -> bool:
        """Whether coordinates are an invertible affine map of those of X."""

    @property
    def axis_aligned(self) -> bool:
        """Whether every coordinate is one of X, scaled and shifted."""

    def unprojected(self, X: Rows, located: Located) -> Rows:
        """Return rows (n, p), dense or CSR, not reduced to the span of the sites, where distance is influence."""

    def differences(self, site: int) -> FloatArray:
        """Return the positions (k, r) of all sites relative to one, as accurately as the sites are known."""


@stored("linear", sites=floats("k", "d"), reduction=Part("reduction", d="d", r="r"))
@dataclass(frozen=True)
class LinearEmbedding:
    """Sites in the user's space, mapped to their span: Euclidean distance, or Mahalanobis after whitening.

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
    def of_sites(
        cls, sites: FloatArray, *, keep_axes: bool = False, whitening: FloatArray | None = None
    ) -> LinearEmbedding:
        """Embed ``sites`` (k, d) in their span; see :meth:`Reduction.of_sites`."""
        return cls(sites, Reduction.of_sites(sites, keep_axes=keep_axes, whitening=whitening))

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""
        return self.reduction.locate(self.sites).position

    @property
    def unit(self) -> float:
        """The length in these coordinates of a distance of 1 in the user's, or of a Mahalanobis distance of 1."""
        return self.reduction.factor * self.reduction.rescale

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d) to the span of the sites."""
        return self.reduction.locate(X, threads)

    @property
    def affine(self) -> bool:
        """Whether nothing was projected away."""
        return self.reduction.basis is None

    @property
    def axis_aligned(self) -> bool:
        """Whether every coordinate is one of X, scaled and shifted."""
        return self.affine and self.reduction.whitening is None

    def unprojected(self, X: Rows, located: Located) -> Rows:
        """Return the whitened rows (n, d)."""
        return self.reduction.whitened(X)

    def differences(self, site: int) -> FloatArray:
        """Return the positions (k, r) of all sites relative to one."""
        return self.reduction.differences(self.sites - self.sites[site])
