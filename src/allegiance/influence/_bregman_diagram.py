"""Influence by Bregman divergence minus weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from allegiance._core import (
    AnyArray,
    FloatArray,
    Number,
    OrNone,
    Part,
    Rows,
    Sizes,
    dense,
    floats,
    for_row_blocks,
    row_dots,
    stored,
)

from ._diagram import AffineFunctions, Located
from ._divergence import BregmanDivergence
from ._generators import divergence_by_name
from ._i_projection import Family, Start
from ._reduction import span_axes
from ._rowwise import product_by_rows, solve_rows

#: Numbers of one chunk of rows in the user's coordinates: small enough to stay in the cache of a core.
_CHUNK = 2**17


def _in_domain(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless sites lie where the divergence is defined; without axes coordinates are the user's."""
    low, high = divergence_by_name(parts["divergence"]["name"]).domain
    for name in ("sites", "origin"):
        if not ((parts[name] > low) & (parts[name] < high)).all():
            raise ValueError(f"{name} lies outside the domain of the divergence.")
    if parts["axes"] is None:
        sizes.settle("r", sizes["d"], "sites")


@stored(
    "bregman",
    agree=_in_domain,
    sites=floats("k", "d"),
    divergence=Part("divergence"),
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

    Attributes
    ----------
    sites
        (k, d) representatives of the clusters.
    divergence
        Which divergence.
    origin
        (d,) the site closest to all.
    axes
        (r, d) orthonormal rows that span the a_i, or None for the user's axes.
    weights
        (k,) weights of the sites, in units of the divergence; None for no weights.
    query_weight
        The weight of every query.
    """

    sites: FloatArray
    divergence: BregmanDivergence
    origin: FloatArray
    axes: FloatArray | None
    weights: FloatArray | None = None
    query_weight: float = 0.0

    @classmethod
    def of_sites(cls, sites: FloatArray, divergence: BregmanDivergence, *, keep_axes: bool = False) -> BregmanDiagram:
        """Find the span of the gradients at ``sites`` (k, d), or keep the user's axes whatever the span."""
        d = sites.shape[1]
        divergence.check(d)
        # In a fixed order of the rows, so that renumbering the clusters cannot turn the axes of the box.
        ordered = sites[np.lexsort(sites.T[::-1])]
        origin = ordered[divergence.between(ordered, ordered).sum(axis=0).argmin()]
        slopes = divergence.slopes(ordered, origin)
        axes = span_axes(slopes - slopes.mean(axis=0), float(np.abs(divergence.gradient(ordered)).max()))
        in_own_axes = keep_axes or axes.shape[0] == d
        return cls(sites, divergence, origin, None if in_own_axes else np.ascontiguousarray(axes))

    @cached_property
    def _family(self) -> Family:
        assert self.axes is not None
        return Family(self.divergence, self.origin, self.axes)

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return self.sites.shape[1] if self.axes is None else self.axes.shape[0]

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limits (r,) of the domain of the divergence; infinite in reduced coordinates."""
        low, high = self.divergence.domain if self.axes is None else (-np.inf, np.inf)
        return np.full(self.dim, low), np.full(self.dim, high)

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites."""
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
        """(k,) constants of the sites, weights aside."""
        return self._constants_of(self.sites, self._slopes)

    def _constants_of(self, points: FloatArray, slopes: FloatArray) -> FloatArray:
        """Return D(origin ‖ y) (n,) of points (n, d), moved to where the coordinates begin."""
        constants = self.divergence.rowwise(self.origin, points)
        return constants + row_dots(slopes, self.origin) if self.axes is None else constants

    @property
    def _site_weights(self) -> FloatArray:
        return np.zeros(self.sites.shape[0]) if self.weights is None else self.weights

    @property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites."""
        return AffineFunctions(self._slopes, self._constants - self._site_weights)

    @property
    def affine(self) -> bool:
        """Whether coordinates are those of X."""
        return self.axes is None

    axis_aligned = affine

    def unprojected(self, X: Rows, located: Located) -> FloatArray:
        """Return the rows themselves: no coordinates make a divergence a distance."""
        return dense(X)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), inside the domain, to positions (n, r); ``off_span`` is their D(x ‖ x̂)."""
        if self.axes is None:
            return Located(np.array(dense(X)), np.zeros(X.shape[0]))
        position, off_span = np.empty((X.shape[0], self.dim)), np.empty(X.shape[0])

        def locate_rows(rows: slice) -> None:
            for part in self._chunks(rows):
                x = dense(X[part])
                position[part] = self._family.positions(x)[0]
                slopes, constants = self._projected(position[part])
                # Both from the origin: the difference is D(x ‖ x̂), since x and x̂ have the same position.
                inside = row_dots(slopes, position[part]) - constants
                off_span[part] = np.maximum(self.divergence.rowwise(x, self.origin) - inside, 0.0)

        for_row_blocks(locate_rows, X.shape[0], threads)
        return Located(position, off_span)

    def _chunks(self, rows: slice) -> list[slice]:
        size = max(1, _CHUNK // self.sites.shape[1])
        return [slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size)]

    @cached_property
    def _inverse_hessians(self) -> FloatArray:
        """(k, r, r) derivatives of the slopes by the position at each site; zeros if the search takes no steps."""
        k = self.sites.shape[0]
        if not self.divergence.invertible:
            return np.zeros((k, self.dim, self.dim))
        with np.errstate(all="ignore"):
            hessians = self._family.hessians(self._slopes, self.sites, self._family.combine(self._slopes))
        return np.stack([solve_rows(hessians, np.tile(unit, (k, 1))) for unit in np.eye(self.dim)], axis=2)

    def _projected(self, position: FloatArray) -> AffineFunctions:
        """Return the functions of the I-projections of rows with these positions (n, r), weights aside."""
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
        return self._family.find(position, Start(known, self.positions[nearest], self._inverse_hessians[nearest]))

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r)."""
        slopes, constants = np.empty(position.shape), np.empty(position.shape[0])
        for part in self._chunks(slice(0, position.shape[0])):
            slopes[part], constants[part] = self._unweighted(position[part])
        return AffineFunctions(slopes, constants - self.query_weight)

    def _unweighted(self, position: FloatArray) -> AffineFunctions:
        if self.axes is not None:
            return self._projected(position)
        # Clusters that lose their only point stand at zero, which may be outside; what they get there is not used.
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
        for part in self._chunks(slice(0, away.shape[0])):
            position, site = located.position[part], codes[part]
            if self.axes is None:
                away[part] = self.divergence.rowwise(position, self.sites[site])
                continue
            projected = self._projected(position)
            away[part] = located.off_span[part] + self._between(projected, position, site)
        return away

    def distances(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the root (n,) of the divergence of each row from the site with its code."""
        return np.sqrt(self.divergences(located, codes))

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the root (n,) of D(x ‖ c) of each row from its own site c, and from the nearest other one."""
        n, k = codes.shape[0], self.sites.shape[0]
        own, other = np.empty(n), np.empty(n)
        for part in self._chunks(slice(0, n)):
            position, code = located.position[part], codes[part]
            if self.axes is None:
                away = self.divergence.between(position, self.sites)
            else:
                projected = self._projected(position)
                away = np.column_stack([self._between(projected, position, np.array([site])) for site in range(k)])
                away += located.off_span[part, None]
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
        """Return this diagram with weights (k,) of the sites and of a query."""
        return replace(self, weights=weights, query_weight=query_weight)
