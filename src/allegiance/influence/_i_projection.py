"""Points onto the family of all points whose gradients lie in the affine span of some gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, row_dots

from ._diagram import AffineFunctions
from ._divergence import BregmanDivergence
from ._primal_projection import project_in_primal
from ._rowwise import norms, product_by_rows, solve_rows

_EPS = float(np.finfo(float).eps)
#: Evaluations after which a row is given up, and the residual, relative to the point, at which one that no longer
#: improves counts as found.
_MAX_EVALUATIONS, _STALLED = 500, 1e-9
#: A step is accepted if the slope along it ends below this share of the slope downhill at its start.
_UPHILL = 0.5
#: Step of the finite differences that stand in for the second derivatives of a custom divergence.
_DIFFERENCE = 1e-5
#: Hessians of more coordinates than this are products of matrices; below, sums over precomputed products of axes.
_FEW_AXES = 24


class Start(NamedTuple):
    """Members of the family near the targets, one per row."""

    functions: AffineFunctions
    """Their theta (n, r) and psi(theta) (n,)."""
    position: FloatArray
    """(n, r)"""
    inverse_hessian: FloatArray
    """(n, r, r) derivative of theta by position there."""


@dataclass(frozen=True)
class Family:
    """All points y with ∇phi(y) = ∇phi(origin) + theta @ axes, for some theta (r,).

    Positions are z = axes (y - origin). On the family z is the gradient, by theta, of the convex function
    psi(theta) = D(origin ‖ y), so that the member with a given position is one convex minimum of r variables.

    Attributes
    ----------
    divergence
        Which gradients.
    origin
        (d,) a member of the family.
    axes
        (r, d) orthonormal rows.
    """

    divergence: BregmanDivergence
    origin: FloatArray
    axes: FloatArray

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.axes.shape[0]

    @cached_property
    def _columns(self) -> FloatArray:
        return np.ascontiguousarray(self.axes.T)

    @cached_property
    def size(self) -> float:
        """The length of the origin, next to which positions are rounded."""
        return float(norms(self.origin[None])[0])

    @cached_property
    def gradient_size(self) -> float:
        """The length of the gradient at the origin, next to which slopes are rounded."""
        return float(np.linalg.norm(self.divergence.gradient(self.origin[None])))

    @cached_property
    def _pairs(self) -> FloatArray:
        """(r (r + 1) / 2, d) products of two axes."""
        first, second = np.triu_indices(self.dim)
        return np.ascontiguousarray(self.axes[first] * self.axes[second])

    def positions(self, Y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions (n, r) of rows of Y (n, d), and their distances (n,) from the origin."""
        position, squares = product_by_rows(Y, self.origin, self.axes)
        return position, np.sqrt(squares)

    def combine(self, theta: FloatArray) -> FloatArray:
        """Return theta @ axes (n, d)."""
        return product_by_rows(theta, np.zeros(self.dim), self._columns)[0]

    def members(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the points (n, d) with coordinates theta (n, r), NaN where there is none, and theta @ axes (n, d)."""
        slopes = self.combine(theta)
        return self.divergence.points(slopes, self.origin), slopes

    def moments(self, spread: FloatArray) -> FloatArray:
        """Return axes diag(s) axesᵀ (n, r, r) for rows s of ``spread`` (n, d)."""
        n, r = spread.shape[0], self.dim
        if r > _FEW_AXES:
            # One product per row, of the same shape for every row, so that other rows cannot change its rounding.
            return np.stack([(self.axes * row) @ self._columns for row in spread]) if n else np.empty((0, r, r))
        upper, _ = product_by_rows(spread, np.zeros(spread.shape[1]), self._pairs)
        moments = np.empty((n, r, r))
        first, second = np.triu_indices(r)
        moments[:, first, second] = upper
        moments[:, second, first] = upper
        return moments

    def hessians(self, theta: FloatArray, Y: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return the derivatives (n, r, r) of position by theta at members Y (n, d) with slopes theta @ axes (n, d)."""
        forms = self.divergence.coordinatewise
        if forms is None:
            return self._difference_hessians(theta)
        return self.moments(forms.spread(Y, slopes, self.origin))

    def _difference_hessians(self, theta: FloatArray) -> FloatArray:
        hessians = np.empty((*theta.shape, self.dim))
        step = _DIFFERENCE * (1.0 + np.abs(theta).max(axis=1, initial=0.0))
        for c in range(self.dim):
            ends = []
            for sign in (1.0, -1.0):
                moved = theta.copy()
                moved[:, c] += sign * step
                ends.append(self.positions(self.members(moved)[0])[0])
            hessians[:, :, c] = (ends[0] - ends[1]) / (2.0 * step)[:, None]
        return (hessians + hessians.transpose(0, 2, 1)) / 2.0

    def find(self, target: FloatArray, start: Start) -> AffineFunctions:
        """Return theta (n, r) and psi(theta) (n,) of the members with positions ``target`` (n, r).

        Raises
        ------
        ValueError
            If some are not found: the target lies at the edge of what the domain allows, or beyond.
        """
        search = _Search(self, target, start)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.divergence.invertible:
                search.run()
        failed = 0
        for row in np.flatnonzero(~search.found):
            y = project_in_primal(self.divergence, self.origin, self.axes, target[row])
            if y is None:
                failed += 1
                continue
            search.theta[row] = row_dots(self.axes, self.divergence.slopes(y[None], self.origin)[0])
            search.psi[row] = self.divergence.rowwise(self.origin, y[None])[0]
        if failed:
            raise ValueError(
                f"X: the projection on the span of the clusters was not found for {failed} of {target.shape[0]} rows: "
                f"are they at the edge of the domain of divergence {self.divergence.name!r}, or its functions wrong?"
            )
        return AffineFunctions(search.theta, search.psi)


class _Search:
    """Damped Newton steps towards the minimum of psi(theta) - <theta, target>, all rows at once, each by itself.

    The slope of this convex function along a step decides: if it still falls at the end of the step, or rises little,
    the step is accepted; if not, it is shortened to where the slope would vanish if it grew evenly.
    """

    def __init__(self, family: Family, target: FloatArray, start: Start) -> None:
        self.family, self.target = family, target
        self.theta, self.psi = (part.copy() for part in start.functions)
        self.residual = start.position - target
        self.step = -np.einsum("nij,nj->ni", start.inverse_hessian, self.residual)
        self.length = np.ones(target.shape[0])
        self.tolerance = 16.0 * _EPS * np.sqrt(family.origin.shape[0])
        # At a member that is already known there is nothing to find, and its own theta is kept to the last bit.
        self.found: BoolArray = norms(self.residual) <= _EPS * (family.size + norms(target))

    def run(self) -> None:
        """Search until all rows are found or lost."""
        rows = np.flatnonzero(~self.found)
        for _ in range(_MAX_EVALUATIONS):
            if not rows.size:
                return
            rows = self._advance(rows)

    def _advance(self, rows: AnyArray) -> AnyArray:
        """Try one step for each row, and return the rows that need another."""
        step, before = self.step[rows], self.residual[rows]
        trial = self.theta[rows] + self.length[rows, None] * step
        Y, slopes = self.family.members(trial)
        position, distance = self.family.positions(Y)
        residual = position - self.target[rows]
        downhill = -row_dots(before, step)
        uphill = row_dots(residual, step)
        accepted = uphill <= _UPHILL * downhill
        error = norms(residual) / (distance + self.family.size)
        stalled = (error <= _STALLED) & (norms(residual) >= 0.9 * norms(before))
        found = (error <= self.tolerance) | stalled
        take = accepted | found
        self.theta[rows[take]], self.residual[rows[take]] = trial[take], residual[take]
        self.found[rows[found]] = True
        if found.any():
            self.psi[rows[found]] = self.family.divergence.potentials(Y[found], slopes[found], self.family.origin)
        again = accepted & ~found
        if again.any():
            hessians = self.family.hessians(trial[again], Y[again], slopes[again])
            self.step[rows[again]] = -solve_rows(hessians, residual[again])
            self.length[rows[again]] = 1.0
        short = rows[~take]
        share = downhill[~take] / (downhill[~take] + uphill[~take])
        self.length[short] *= np.clip(np.nan_to_num(share, nan=0.25), 0.1, 0.9)
        # A step that is not downhill, or vanished, comes from a Hessian without digits left.
        alive = np.isfinite(self.step[rows]).all(axis=1) & (self.length[rows] > _EPS) & ~found
        return rows[alive]
