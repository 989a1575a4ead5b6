"""Bregman diagrams, computed in the span of the sites' gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from allegiance._core.parallel import for_row_blocks, slices
from allegiance._core.parameters import Lazy
from allegiance._core.stored import Number, OrNone, Part, Sizes, floats, stored
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, Rows, dense, row_dots

from ._base import AffineFunctions, Located
from ._bregman import BregmanInfluence
from ._power_diagram import product_by_rows, span_axes

#: Numbers of one chunk of rows in the user's coordinates: small enough to stay in the cache of a core.
_CHUNK = 2**17


def _in_domain(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless sites lie where the divergence is defined; without axes coordinates are the user's."""
    divergence: Any = sizes.kinds[parts["divergence"]["kind"]].cls
    low, high = divergence.domain
    for name in ("sites", "origin"):
        if not ((parts[name] > low) & (parts[name] < high)).all():
            raise ValueError(f"{name} lies outside the domain of the divergence.")
    if parts["axes"] is None:
        sizes.agree("r", sizes["d"], "sites")


@stored(
    "bregman",
    agree=_in_domain,
    sites=floats("k", "d"),
    divergence=Part("kl", "itakura-saito", "logistic"),
    origin=floats("d"),
    axes=OrNone(floats("r", "d")),
    weights=OrNone(floats("k")),
    query_weight=Number(),
)
@dataclass(frozen=True)
class BregmanDiagram:
    """The diagram of D(y ‖ c_i) - w_i, which is D(y ‖ origin) plus an affine function of y.

    With a_i = ∇phi(c_i) - ∇phi(origin) that function is D(origin ‖ c_i) - w_i - <a_i, y - origin>: relative to a site
    in the middle, so that no large numbers cancel.

    If the a_i span the space (``axes`` is None), coordinates are the user's own. If not, only the coordinates of y in
    their span matter. Each row is replaced there by the one point with the same coordinates whose gradient lies in the
    affine span of those of the sites, its I-projection x̂: D(x ‖ c_i) = D(x ‖ x̂) + D(x̂ ‖ c_i) for every site.

    ``origin`` (d,) is the site closest to all, ``axes`` (r, d) orthonormal rows that span the a_i. Weights are in units
    of the divergence.
    """

    sites: FloatArray
    divergence: BregmanInfluence
    origin: FloatArray
    axes: FloatArray | None
    weights: FloatArray | None = None
    query_weight: float = 0.0

    @classmethod
    def of_sites(cls, sites: FloatArray, divergence: BregmanInfluence, *, keep_axes: bool = False) -> BregmanDiagram:
        """Find the span of the gradients at ``sites`` (k, d), or keep the user's axes whatever the span."""
        d = sites.shape[1]
        divergence.check_functions(d)
        # In a fixed order of the rows, so that renumbering the clusters cannot turn the axes of the box.
        ordered = sites[np.lexsort(sites.T[::-1])]
        origin = ordered[divergence.between(ordered, ordered).sum(axis=0).argmin()]
        slopes = divergence.slopes(ordered, origin)
        axes = span_axes(slopes - slopes.mean(axis=0), float(np.abs(divergence.gradients(ordered)).max()))
        in_own_axes = keep_axes or axes.shape[0] == d
        return cls(sites, divergence, origin, None if in_own_axes else np.ascontiguousarray(axes))

    @cached_property
    def _family(self) -> Family:
        """The points whose gradients lie in the affine span of those of the sites."""
        assert self.axes is not None
        return Family(self.divergence, self.origin, self.axes)

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of the Bregman diagram."""
        return self.sites.shape[1] if self.axes is None else self.axes.shape[0]

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) of the domain of the divergence; infinite in reduced coordinates."""
        low, high = self.divergence.domain if self.axes is None else (-np.inf, np.inf)
        return np.full(self.dim, low), np.full(self.dim, high)

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites of the Bregman diagram."""
        return self.sites if self.axes is None else self._family.positions(self.sites)[0]

    @cached_property
    def _slopes(self) -> FloatArray:
        """(k, r) slopes of the sites."""
        slopes = self.divergence.slopes(self.sites, self.origin)
        if self.axes is None:
            return slopes
        return product_by_rows(slopes, np.zeros(slopes.shape[1]), self.axes)[0]

    @cached_property
    def _constants(self) -> FloatArray:
        """(k,) constants of the sites, without weights."""
        return self._constants_of(self.sites, self._slopes)

    def _constants_of(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return D(origin ‖ y) (n,) of points (n, d), moved to where the coordinates begin."""
        constants = self.divergence.rowwise(self.origin, points)
        return constants + row_dots(slopes, self.origin) if self.axes is None else constants

    @property
    def _site_weights(self) -> FloatArray:
        """(k,) weights of the sites of the Bregman diagram."""
        return np.zeros(self.sites.shape[0]) if self.weights is None else self.weights

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites of the Bregman diagram."""
        return AffineFunctions(self._slopes, self._constants - self._site_weights)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), inside the domain, to positions (n, r); ``residual`` is their D(x ‖ x̂)."""
        if self.axes is None:
            return Located(np.array(dense(X)), Lazy.known(np.zeros(X.shape[0])))
        position, residual = np.empty((X.shape[0], self.dim)), np.empty(X.shape[0])

        @np.errstate(over="ignore", invalid="ignore")
        def locate_rows(rows: slice) -> None:
            for part in self._chunks(rows):
                x = dense(X[part])
                position[part] = self._family.positions(x)[0]
                slopes, constants = self._project(position[part])
                # Both from the origin: the difference is D(x ‖ x̂), since x and x̂ have the same position.
                inside = row_dots(slopes, position[part]) - constants
                residual[part] = np.maximum(self.divergence.rowwise(x, self.origin) - inside, 0.0)

        for_row_blocks(locate_rows, X.shape[0], threads)
        np.nan_to_num(residual, copy=False, nan=np.finfo(float).max, posinf=np.finfo(float).max)
        return Located(position, Lazy.known(residual))

    def _chunks(self, rows: int | slice) -> Iterator[slice]:
        """Return chunks of rows to compute divergences for, small enough for the cache."""
        return slices(rows, max(1, _CHUNK // self.sites.shape[1]))

    @cached_property
    def _inverse_hessians(self) -> FloatArray:
        """(k, r, r) derivatives of the slopes by the position at each site."""
        k = self.sites.shape[0]
        with np.errstate(all="ignore"):
            hessians = self._family.hessians(self._slopes, self.sites, self._family.combine(self._slopes))
        return np.stack([solve_rows(hessians, np.tile(unit, (k, 1))) for unit in np.eye(self.dim)], axis=2)

    def _project(self, position: FloatArray) -> AffineFunctions:
        """Return the functions of the I-projections of rows with these positions (n, r), without weights."""
        n = position.shape[0]
        if self.dim == 0:
            return AffineFunctions(np.zeros((n, 0)), np.zeros(n))
        nearest = np.zeros(n, dtype=np.int64)
        lowest = np.full(n, np.inf)
        for i, (slope, constant) in enumerate(zip(self._slopes, self._constants, strict=True)):
            value = constant - row_dots(position, slope)
            nearest[value < lowest] = i
            np.minimum(lowest, value, out=lowest)
        known = AffineFunctions(self._slopes[nearest], self._constants[nearest])
        return self._family.find(position, known, self.positions[nearest], self._inverse_hessians[nearest])

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r)."""
        slopes, constants = np.empty(position.shape), np.empty(position.shape[0])
        for part in self._chunks(position.shape[0]):
            slopes[part], constants[part] = self._functions_at(position[part])
        return AffineFunctions(slopes, constants - self.query_weight)

    def _functions_at(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r) in the Bregman diagram, without the query weight."""
        if self.axes is not None:
            return self._project(position)
        # Clusters that lose their only point are at zero, which may be outside; their functions are not used.
        low, high = self.divergence.domain
        outside = np.flatnonzero(~((position > low) & (position < high)).all(axis=1))
        points = position.copy()
        points[outside] = self.origin
        slopes = self.divergence.slopes(points, self.origin)
        return AffineFunctions(slopes, self._constants_of(points, slopes))

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return D(x̂ ‖ c_i) (n, k) of each query from each site, less the site's lead in weight."""
        ahead = np.empty((position.shape[0], self.sites.shape[0]))
        for i, (slope, constant) in enumerate(zip(*self.functions, strict=True)):
            ahead[:, i] = (constant - queries.b) - row_dots(slope - queries.a, position)
        return ahead

    @property
    def clearance_scale(self) -> float:
        """The size of the functions, whose values are subtracted."""
        slopes, constants = self.functions
        return float((np.abs(constants) + row_dots(np.abs(slopes), np.abs(self.positions))).max())

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces {y: <a_j - a_i, y> <= <a_j - a_i, c_i> + D(c_i ‖ c_j) + w_i - w_j} of one cell."""
        normals = self.divergence.slopes(self.sites, self.sites[site])
        if self.axes is not None:
            normals = product_by_rows(normals, np.zeros(self.sites.shape[1]), self.axes)[0]
        lead = self._site_weights[site] - self._site_weights
        away = self.divergence.rowwise(self.sites[site], self.sites)
        return normals, row_dots(normals, self.positions[site]) + away + lead

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return D(x ‖ c) (n,) of each row from the site c with its code."""
        away = np.empty(located.position.shape[0])
        for part in self._chunks(away.shape[0]):
            position, site = located.position[part], codes[part]
            if self.axes is None:
                away[part] = self.divergence.rowwise(position, self.sites[site])
                continue
            projected = self._project(position)
            away[part] = located.residual[part] + self._between(projected, position, site)
        return away

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the root (n,) of D(x ‖ c) of each row from its own site c, and from the nearest other one."""
        n, k = codes.shape[0], self.sites.shape[0]
        own, other = np.empty(n), np.empty(n)
        for part in self._chunks(n):
            position, code = located.position[part], codes[part]
            if self.axes is None:
                away = self.divergence.between(position, self.sites)
            else:
                projected = self._project(position)
                away = np.column_stack([self._between(projected, position, np.array([site])) for site in range(k)])
                away += located.residual[part, None]
            rows = np.flatnonzero(code >= 0)
            mine = away.min(axis=1)
            mine[rows] = away[rows, code[rows]]
            away[rows, code[rows]] = np.inf
            own[part], other[part] = mine, away.min(axis=1)
        return np.sqrt(own), np.sqrt(other)

    def _between(self, projected: AffineFunctions, position: FloatArray, site: AnyArray) -> FloatArray:
        """Return D(x̂ ‖ c) (n,) of I-projections at ``position`` (n, r) from the sites with numbers (n,) or (1,)."""
        inside = (self._constants[site] - projected.b) - row_dots(self._slopes[site] - projected.a, position)
        return np.maximum(inside, 0.0)

    def weighted(self, weights: FloatArray, query_weight: float) -> BregmanDiagram:
        """Return this Bregman diagram with weights (k,) of the sites and of a query."""
        return replace(self, weights=weights, query_weight=query_weight)


_EPS = float(np.finfo(float).eps)
#: Evaluations after which a row is given up, and the residual, relative to the point, at which one that no longer
#: improves counts as converged.
_MAX_EVALUATIONS, _STALLED = 500, 1e-9
#: A step is accepted if the slope along it ends below this share of the slope downhill at its start.
_UPHILL = 0.5
#: Step of the finite differences that replace the second derivatives of a custom divergence.
_DIFFERENCE = 1e-5
#: Hessians of more coordinates than this are products of matrices; below, sums over precomputed products of axes.
_FEW_AXES = 24


@dataclass(frozen=True)
class Family:
    """All points y with ∇phi(y) = ∇phi(origin) + theta @ axes, for some theta (r,).

    Positions are z = axes (y - origin). On the family z is the gradient, by theta, of the convex function
    psi(theta) = D(origin ‖ y), so that the member with a given position is one convex minimum of r variables.
    ``axes`` (r, d) are orthonormal rows.
    """

    divergence: BregmanInfluence
    origin: FloatArray
    axes: FloatArray

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of the family of points."""
        return self.axes.shape[0]

    @cached_property
    def _columns(self) -> FloatArray:
        """(d, r) the transposed axes of the family."""
        return np.ascontiguousarray(self.axes.T)

    @cached_property
    def size(self) -> float:
        """The length of the origin of a Bregman diagram, which determines the rounding of positions."""
        return float(np.linalg.norm(self.origin))

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
        spread = self.divergence.spread(Y, slopes, self.origin)
        return self._difference_hessians(theta) if spread is None else self.moments(spread)

    def _difference_hessians(self, theta: FloatArray) -> FloatArray:
        """Return the same as :meth:`hessians` by finite differences, for custom divergences."""
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

    def find(
        self, target: FloatArray, near: AffineFunctions, position: FloatArray, inverse_hessian: FloatArray
    ) -> AffineFunctions:
        """Return theta (n, r) and psi(theta) (n,) of the members with positions ``target`` (n, r).

        ``near`` are members to start from, one per row, with their positions (n, r) and the derivatives (n, r, r) of
        theta by position there. Targets at the edge of what the domain allows, or beyond, are not found.
        """
        search = _Search(self, target, near, position, inverse_hessian)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            search.run()
        if failed := int(np.count_nonzero(~search.converged)):
            raise ValueError(
                f"X: the projection on the span of the clusters was not found for {failed} of {target.shape[0]} rows: "
                f"are they at the edge of the domain of divergence {self.divergence.title!r}, or its functions wrong?"
            )
        return AffineFunctions(search.theta, search.psi)


class _Search:
    """Damped Newton steps toward the minimum of psi(theta) - <theta, target>, all rows at once, each by itself.

    The slope of this convex function along a step decides: if it still falls at the end of the step, or rises little,
    the step is accepted; if not, it is shortened to where the slope would vanish if it grew evenly.
    """

    def __init__(
        self, family: Family, target: FloatArray, near: AffineFunctions, position: FloatArray, inverse: FloatArray
    ) -> None:
        self.family, self.target = family, target
        self.theta, self.psi = (part.copy() for part in near)
        self.residual = position - target
        self.step = -np.einsum("nij,nj->ni", inverse, self.residual)
        self.length = np.ones(target.shape[0])
        self.tolerance = 16.0 * _EPS * np.sqrt(family.origin.shape[0])
        # Rows at a known member keep its theta to the last bit.
        self.converged: BoolArray = _norms(self.residual) <= _EPS * (family.size + _norms(target))

    def run(self) -> None:
        """Search until all rows have converged or are lost."""
        rows = np.flatnonzero(~self.converged)
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
        error = _norms(residual) / (distance + self.family.size)
        stalled = (error <= _STALLED) & (_norms(residual) >= 0.9 * _norms(before))
        done = (error <= self.tolerance) | stalled
        take = accepted | done
        self.theta[rows[take]], self.residual[rows[take]] = trial[take], residual[take]
        self.converged[rows[done]] = True
        if done.any():
            self.psi[rows[done]] = self.family.divergence.potentials(Y[done], slopes[done], self.family.origin)
        again = accepted & ~done
        if again.any():
            hessians = self.family.hessians(trial[again], Y[again], slopes[again])
            self.step[rows[again]] = -solve_rows(hessians, residual[again])
            self.length[rows[again]] = 1.0
        short = rows[~take]
        share = downhill[~take] / (downhill[~take] + uphill[~take])
        self.length[short] *= np.clip(np.nan_to_num(share, nan=0.25), 0.1, 0.9)
        # A step that is not downhill, or vanished, comes from a Hessian without digits left.
        alive = np.isfinite(self.step[rows]).all(axis=1) & (self.length[rows] > _EPS) & ~done
        return rows[alive]


def _norms(A: FloatArray) -> FloatArray:
    """Return the length (n,) of each row of A (n, m)."""
    return np.sqrt((A * A).sum(axis=1))


def solve_rows(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return matrix⁻¹ right (n, r) for positive matrices (n, r, r); NaN for rows whose matrix is not.

    A trace of a ridge keeps one singular matrix from stopping the others.
    """
    trace = np.trace(matrices, axis1=1, axis2=2)
    usable = np.isfinite(matrices).all(axis=(1, 2)) & (trace > 0)
    ridge = np.where(usable, 1e-15 * trace, 1.0)[:, None, None] * np.eye(right.shape[1])
    solutions: AnyArray = np.linalg.solve(
        np.where(usable[:, None, None], matrices, 0.0) + ridge, np.where(usable[:, None], right, 0.0)[:, :, None]
    )[:, :, 0]
    solutions[~usable] = np.nan
    return solutions
