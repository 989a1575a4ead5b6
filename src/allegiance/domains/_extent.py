"""The region in which the clusters divide the space."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core._rows import row_dots
from allegiance._core._typing import FloatArray
from allegiance.domains import BallDomain, BoxDomain, Domain, Polytope, PolytopeDomain, UnboundedDomain
from allegiance.influence import Diagram


class Extent(NamedTuple):
    """How far points reach."""

    lower: FloatArray
    """(r,) least coordinates."""
    upper: FloatArray
    """(r,) largest coordinates."""
    reach: float
    """Largest squared distance from the mean of the sites; 0 where only a box is needed."""

    def plus(self, other: Extent) -> Extent:
        """Return the extent of both sets of points."""
        lower, upper = np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper)
        return Extent(lower, upper, max(self.reach, other.reach))


def extent_of(domain: Any, diagram: Diagram, position: FloatArray) -> Extent:
    """Return what ``domain`` needs to know of points at ``position`` (n, r); see :func:`make_domain`."""
    reach = 0.0
    if isinstance(domain, str) and domain == "ball":
        away = position - diagram.positions.mean(axis=0)
        reach = float(row_dots(away, away).max())
    return Extent(position.min(axis=0), position.max(axis=0), reach)


def make_domain(domain: Any, margin: float, diagram: Diagram, extent: Extent) -> Domain:
    """Return the domain the user named, around the sites of ``diagram`` and data of some extent.

    Parameters
    ----------
    domain
        "box", "ball", None or a :class:`Polytope`.
    margin
        By how much of its extent the box is widened on each side.
    """
    bounds = diagram.bounds
    limited = bool(np.isfinite(bounds).any())
    if domain is None:
        if limited:
            raise ValueError("domain=None needs a divergence that is defined everywhere: use domain='box'.")
        return UnboundedDomain(diagram.positions)
    if isinstance(domain, Polytope):
        A, b = _in_diagram_coordinates(domain, diagram)
        return PolytopeDomain(*_with_bounds(A, b, *bounds))
    everything = extent.plus(extent_of(domain, diagram, diagram.positions))
    if domain == "box":
        return BoxDomain(everything.lower, everything.upper, margin, bounds if limited else None)
    center = diagram.positions.mean(axis=0)
    return BallDomain(center, float(np.sqrt(everything.reach)), bounds if limited else None)


def _with_bounds(A: FloatArray, b: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Add the bounds of a diagram to the walls of a polytope."""
    axes = np.eye(lower.size)
    rows = [A, -axes[np.isfinite(lower)], axes[np.isfinite(upper)]]
    offsets = [b, -lower[np.isfinite(lower)], upper[np.isfinite(upper)]]
    return np.vstack(rows), np.concatenate(offsets)


def _in_diagram_coordinates(polytope: Polytope, diagram: Diagram) -> tuple[FloatArray, FloatArray]:
    """Return the walls of a polytope, given in the coordinates of X, in those of the diagram."""
    d = polytope.A.shape[1]
    n_features = diagram.positions.shape[1]
    if d != n_features:
        raise ValueError(f"domain is a Polytope in {d} dimensions but X has {n_features} columns: must be equal.")
    origin = diagram.locate(np.zeros((1, d))).position[0]
    unit = diagram.locate(np.eye(d)).position - origin
    A = np.linalg.solve(unit, polytope.A.T).T
    return A, polytope.b + A @ origin
