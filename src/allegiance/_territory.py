"""The region in which the clusters divide the space."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._rows import row_dots
from ._typing import FloatArray
from .diagrams import Diagram
from .domains import BallDomain, BoxDomain, Domain, Polytope, PolytopeDomain, UnboundedDomain


def make_domain(domain: Any, margin: float, diagram: Diagram, position: FloatArray) -> Domain:
    """Return the domain the user named, around the sites of ``diagram`` and the data at ``position`` (n, r).

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
    everything = (position, diagram.positions)
    if domain == "box":
        lower = np.min([part.min(axis=0) for part in everything], axis=0)
        upper = np.max([part.max(axis=0) for part in everything], axis=0)
        return BoxDomain(lower, upper, margin, bounds if limited else None)
    center = diagram.positions.mean(axis=0)
    reach = max(float(row_dots(part - center, part - center).max()) for part in everything)
    return BallDomain(center, float(np.sqrt(reach)), bounds if limited else None)


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
