"""The deepest point of a cell, and what affinity means for a cell that is empty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from allegiance._core import FloatArray

from ._engine import LIMIT, Estimate, Queries
from ._tessellation import Tessellation

#: Tangent planes added to a ball before its flat approximation is good enough, and how good that is.
_MAX_TANGENTS = 200
_TANGENCY = 1e-7
#: How far away, in spreads of the sites, a query or a heavy site still matters for where a cell vanishes.
_FAR = 1e4
#: The solver takes numbers some orders larger than this for infinite.
_LARGEST = 1e15


class Deepest(NamedTuple):
    """Where the least slack f_i - f_x over the region is largest."""

    depth: float
    """That slack; not positive if the cell is empty."""
    position: FloatArray
    """(r,)"""
    multipliers: FloatArray
    """(k,) of the sites in the linear program; they sum to 1."""


def deepest_point(tessellation: Tessellation, query: Queries) -> Deepest:
    """Solve max t subject to f_i(z) - f_x(z) >= t for all sites i and z in the region, for one query.

    If the cell of the query has an interior, the solution is a point well inside it. If not, the multipliers are the
    limit of the affinities as a cell shrinks to nothing: just before it vanishes the cell is a simplex, and uniform
    points of a simplex have their least slack at site i with probability proportional to its multiplier.

    A ball is approximated by its tangent planes, added where the solution leaves it.
    """
    region = tessellation.region
    a, b = tessellation.sites_for(query)
    present = np.isfinite(b)
    a, b = a[present], b[present]
    program = _Program(a, b, query.a[0], region.bounded)
    walls, wall_offsets = region.halfspaces()
    if not region.polyhedral:
        r = tessellation.dim
        walls = np.vstack([walls, np.eye(r), -np.eye(r)])
        wall_offsets = np.concatenate([wall_offsets, np.full(2 * r, region.radius)])
    for _ in range(_MAX_TANGENTS):
        position, shares = program.solve(walls, wall_offsets)
        distance = float(np.linalg.norm(position))
        if region.polyhedral or distance <= region.radius * (1.0 + _TANGENCY):
            break
        walls = np.vstack([walls, position / distance])
        wall_offsets = np.append(wall_offsets, region.radius)
    if not region.polyhedral and distance > region.radius * (1.0 - _TANGENCY):
        position = position * (region.radius * (1.0 - _TANGENCY) / distance)
    multipliers = np.zeros(tessellation.n_sites)
    multipliers[present] = shares
    depth = float(((b - query.b[0]) - (a - query.a[0]) @ position).min())
    return Deepest(depth, position, multipliers)


class _Program:
    """The linear program in a form that stays well scaled for queries far away.

    With h <= f_i(z) for all i, maximise h - f_x(z). The constraints then hold only the sites, and of the query only
    the slope of f_x matters. Its length beyond ``_FAR`` times the spread of the sites changes nothing but rounding.
    """

    def __init__(self, a: FloatArray, b: FloatArray, query_a: FloatArray, bounded: bool) -> None:
        middle = a.mean(axis=0)
        size = max(float(np.abs(a - middle).max()), np.finfo(float).tiny)
        self._slopes = (a - middle) / size
        # Over a region of size one a site that starts more than 2 r sizes above another is nowhere the lowest.
        matters = size * (max(_FAR, 4.0 * a.shape[1]) if bounded else _LARGEST)
        above = b - b.min()
        if above.max() > matters:
            b = np.minimum(above, matters)
        self._offsets = (b - b.mean()) / size
        target = (query_a - middle) / size
        self._target = target * min(1.0, _FAR / max(float(np.abs(target).max()), _FAR))

    def solve(self, walls: FloatArray, wall_offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the best position (r,) and the multipliers (k,) of the sites, which sum to 1."""
        k = self._slopes.shape[0]
        constraints = np.vstack(
            [np.column_stack([self._slopes, np.ones(k)]), np.column_stack([walls, np.zeros(walls.shape[0])])]
        )
        result = linprog(
            -np.append(self._target, 1.0),
            A_ub=constraints,
            b_ub=np.concatenate([self._offsets, wall_offsets]),
            bounds=(None, None),
            method="highs",
        )
        if result.status != 0:
            raise ArithmeticError(f"the deepest point of a cell was not found: {result.message}")
        multipliers = np.maximum(-np.asarray(result.ineqlin.marginals)[:k], 0.0)
        return np.asarray(result.x)[:-1], multipliers / multipliers.sum()


def limits_of_empty_cells(multipliers: FloatArray) -> Estimate:
    """Return the estimate for hidden queries from their multipliers (n, k)."""
    estimate = Estimate.blank(multipliers.shape[0], multipliers.shape[1], LIMIT)
    estimate.affinity[:] = multipliers
    estimate.hidden[:] = True
    return estimate
