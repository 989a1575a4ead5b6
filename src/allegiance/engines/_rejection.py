"""Rejection from an enclosing ball: what the other engines are compared with."""

from __future__ import annotations

import numpy as np

from allegiance._core._random import stream
from allegiance._core._typing import FloatArray
from allegiance.domains import BallDomain
from allegiance.domains._base import contains, halfspaces
from allegiance.geometry import bounding_box

from ._empty_cells import deepest_point, limits_of_empty_cells
from ._estimate import REJECTION, Z95, Estimate, Queries, Settings, binomial_errors
from ._tessellation import Scene

#: Points drawn from the ball at a time.
_DRAW = 4096


class RejectionEngine:
    """Estimate shares by uniform points of a ball around the query's cell, keeping those inside the cell.

    The plain method that the hit-and-run walk replaces: the share of the ball that is kept falls exponentially with
    the dimension. It stops at ``max_samples`` points drawn, whatever was kept.
    """

    block = 64

    def __init__(self, scene: Scene, settings: Settings) -> None:
        self._scene = scene
        self._settings = settings
        self._ball = BallDomain(np.zeros(scene.dim), 1.0)

    def estimate(self, queries: Queries) -> Estimate:
        """Draw; rows of zeros where no point was kept."""
        estimate = Estimate.blank(queries.n, self._scene.n_sites, REJECTION)
        for row in range(queries.n):
            query = queries.take(slice(row, row + 1))
            deepest = deepest_point(self._scene, query)
            if deepest.depth <= 0:
                estimate.put(slice(row, row + 1), limits_of_empty_cells(deepest.multipliers[None]))
                continue
            counts = self._count(query)
            total = counts.sum()
            estimate.affinity[row] = counts / max(total, 1.0)
            estimate.standard_error[row] = binomial_errors(counts[None], np.array([total]))[0]
        return estimate

    def _count(self, query: Queries) -> FloatArray:
        """Return how many kept points (k,) each site owned."""
        sites = self._scene.sites_for(query)
        slopes, offsets = sites.a - query.a[0], sites.b - query.b[0]
        center, radius = self._enclosing_ball(slopes, offsets)
        counts = np.zeros(self._scene.n_sites)
        drawn = 0
        while drawn < self._settings.max_samples:
            size = min(_DRAW, self._settings.max_samples - drawn)
            rng = stream(self._settings.seed, REJECTION, drawn // _DRAW)
            z = center + radius * self._ball.sample(size, rng)
            slack = offsets - z @ slopes.T
            kept = slack[(slack >= 0).all(axis=1) & contains(self._scene.domain, z)]
            counts += np.bincount(kept.argmin(axis=1), minlength=counts.size)
            drawn += size
            errors = binomial_errors(counts[None], counts.sum()[None])
            if Z95 * errors.max() <= self._settings.eps:
                break
        return counts

    def _enclosing_ball(self, slopes: FloatArray, offsets: FloatArray) -> tuple[FloatArray, float]:
        walls, wall_offsets = halfspaces(self._scene.domain)
        present = np.isfinite(offsets)
        rows, bounds = [slopes[present], walls], [offsets[present], wall_offsets]
        if np.isfinite(self._scene.domain.radius):
            r = self._scene.dim
            rows.append(np.vstack([np.eye(r), -np.eye(r)]))
            bounds.append(np.full(2 * r, self._scene.domain.radius))
        try:
            lower, upper = bounding_box(np.vstack(rows), np.concatenate(bounds))
        except (ValueError, RuntimeError):
            # Columns of very different size can be too much for linear programs; the cube around the domain serves.
            lower, upper = np.full(self._scene.dim, -1.0), np.full(self._scene.dim, 1.0)
        return (lower + upper) / 2.0, float(np.linalg.norm(upper - lower)) / 2.0
