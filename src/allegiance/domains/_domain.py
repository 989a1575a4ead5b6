"""What a domain is: it turns a diagram, and how far the data reaches, into a region."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from allegiance._core import FloatArray, Parameters, Registry, row_dots
from allegiance.influence import Diagram, Influence

from ._region import Region


class Extent(NamedTuple):
    """How far points reach."""

    lower: FloatArray
    """(r,) smallest coordinates."""
    upper: FloatArray
    """(r,) largest coordinates."""
    squared_radius: float
    """Largest squared distance from the mean of the sites; 0 where it was not asked for."""

    @classmethod
    def of(cls, diagram: Diagram, position: FloatArray, *, radius: bool) -> Extent:
        """Return the extent of points at ``position`` (n, r), in the coordinates of the diagram."""
        squared_radius = 0.0
        if radius:
            away = position - diagram.positions.mean(axis=0)
            squared_radius = float(row_dots(away, away).max(initial=0.0))
        return cls(position.min(axis=0), position.max(axis=0), squared_radius)

    def plus(self, other: Extent) -> Extent:
        """Return the extent of both sets of points."""
        lower, upper = np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper)
        return Extent(lower, upper, max(self.squared_radius, other.squared_radius))


class Domain(Parameters):
    """Where volume is measured: the base of ``Box``, ``Ball``, ``Space`` and ``Polytope``.

    A new kind is one class with :meth:`region`, registered with ``@DOMAINS.register("name")``.
    """

    #: Whether it is given in the coordinates of X, so that the space must not be reduced to the span of the sites.
    keeps_axes: ClassVar[bool] = False
    #: Whether it needs :attr:`Extent.squared_radius`.
    needs_radius: ClassVar[bool] = False

    def check_with(self, influence: Influence) -> None:
        """Raise ValueError if the domain cannot go with a kind of influence."""

    @abstractmethod
    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the region around the sites of ``diagram`` and points of some extent, the sites included."""

    def describe(self) -> str:
        """Say in a few words where volume is measured."""
        return repr(self)


def finite_bounds(diagram: Diagram) -> tuple[FloatArray, FloatArray] | None:
    """Return the limits (r,) outside which the functions of a diagram mean nothing; None if there are none."""
    return diagram.bounds if np.isfinite(diagram.bounds).any() else None


DOMAINS: Registry[Domain] = Registry("domain", Domain, first="box")
