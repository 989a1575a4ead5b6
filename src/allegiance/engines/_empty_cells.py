"""The deepest point of a cell, and what affinity means for a cell that is empty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from allegiance._typing import FloatArray
from allegiance.domains._base import halfspaces, is_polyhedral

from ._estimate import LIMIT, Estimate, Queries
from ._scene import Scene

#: Tangent planes added to a ball before its flat approximation is good enough, and how good that is.
_MAX_TANGENTS = 200
_TANGENCY = 1e-7


class Deepest(NamedTuple):
    """Where the least slack f_i - f_x over the domain is largest."""

    depth: float
    """That slack; not positive if the cell is empty."""
    position: FloatArray
    """(r,)"""
    multipliers: FloatArray
    """(k,) of the sites in the linear program; they sum to 1."""


def deepest_point(scene: Scene, query: Queries) -> Deepest:
    """Solve max t subject to f_i(z) - f_x(z) >= t for all sites i and z in the domain, for one query.

    If the cell of the query has an interior, the solution is a point well inside it. If not, the multipliers are the
    limit of the affinities as a cell shrinks to nothing: just before it vanishes the cell is a simplex, and uniform
    points of a simplex have their least slack at site i with probability proportional to its multiplier.

    A ball is approximated by its tangent planes, added where the solution leaves it.
    """
    domain = scene.domain
    r, k = scene.dim, scene.n_sites
    slopes, offsets = scene.gaps(query)
    present = np.isfinite(offsets)
    walls, wall_offsets = halfspaces(domain)
    if not is_polyhedral(domain):
        cube = np.vstack([np.eye(r), -np.eye(r)])
        walls = np.vstack([walls, cube])
        wall_offsets = np.concatenate([wall_offsets, np.full(2 * r, domain.radius)])
    size = max(float(np.abs(offsets[present]).max()), float(np.abs(slopes).max()), np.finfo(float).tiny)
    for _ in range(_MAX_TANGENTS):
        solution = _solve(slopes[present] / size, offsets[present] / size, walls, wall_offsets)
        position = solution.position
        distance = float(np.linalg.norm(position))
        if is_polyhedral(domain) or distance <= domain.radius * (1.0 + _TANGENCY):
            break
        walls = np.vstack([walls, position / distance])
        wall_offsets = np.append(wall_offsets, domain.radius)
    if not is_polyhedral(domain) and distance > domain.radius * (1.0 - _TANGENCY):
        position = position * (domain.radius * (1.0 - _TANGENCY) / distance)
    multipliers = np.zeros(k)
    multipliers[present] = solution.multipliers
    return Deepest(solution.depth * size, position, multipliers)


def limits_of_empty_cells(multipliers: FloatArray) -> Estimate:
    """Return the estimate for hidden queries from their multipliers (n, k)."""
    estimate = Estimate.blank(multipliers.shape[0], multipliers.shape[1], LIMIT)
    estimate.affinity[:] = multipliers
    estimate.hidden[:] = True
    return estimate


def _solve(slopes: FloatArray, offsets: FloatArray, walls: FloatArray, wall_offsets: FloatArray) -> Deepest:
    k, r = slopes.shape
    constraints = np.vstack([np.column_stack([slopes, np.ones(k)]), np.column_stack([walls, np.zeros(walls.shape[0])])])
    bounds = np.concatenate([offsets, wall_offsets])
    objective = np.zeros(r + 1)
    objective[-1] = -1.0
    result = linprog(objective, A_ub=constraints, b_ub=bounds, bounds=(None, None), method="highs")
    if result.status != 0:
        raise ArithmeticError(f"the deepest point of a cell was not found: {result.message}")
    multipliers = np.maximum(-np.asarray(result.ineqlin.marginals)[:k], 0.0)
    point = np.asarray(result.x)
    return Deepest(float(point[-1]), point[:-1], multipliers / multipliers.sum())
