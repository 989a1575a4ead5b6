"""A diagram restricted to a plane: cells as polygons.

Every kind of influence is affine functions of a position that is itself affine in X, kernels aside. Restricted to a
plane they are affine functions of its two coordinates, and so are the walls of the domain: cells, the cell of a query
and what it takes from each cluster are all convex polygons, whatever the divergence and the number of features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, Rows
from allegiance._scorer import AffinityScorer
from allegiance.influence import AffineFunctions

from ._plane import Plane, choose_plane, sites_of
from ._polygons import HalfPlanes, clip, rectangle
from ._weight_outlines import weight_outlines

#: Sides of the polygon that stands for a circle.
_ROUND = 360
#: How far, in sizes of the data, a domain is followed before it counts as unbounded.
_REACH = 1e3
#: By how much the view is wider than the data, on each side.
_MARGIN = 0.1


@dataclass(frozen=True)
class PlaneDiagram:
    """What a picture of a diagram shows: plain numbers, in the coordinates of the plane.

    Attributes
    ----------
    classes
        (k,) label of each cluster.
    lower, upper
        (2,) corners of the view.
    names
        What the axes are called.
    note
        What a reader must know of the plane; empty if it is the whole space.
    cells
        One polygon (m, 2) per cluster, cut at the domain and the view; without corners if the plane misses it. None for
        kernels, whose cells are no polygons here.
    sites
        (k, 2) representatives, projected on the plane; None for kernels.
    weight_outlines
        For each cluster of positive weight the line (m, 2) where the divergence from its representative equals its
        weight, a circle of radius sqrt(weight) for Euclidean distance; else no corners.
    """

    classes: AnyArray
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, str]
    note: str
    cells: tuple[FloatArray, ...] | None
    sites: FloatArray | None
    weight_outlines: tuple[FloatArray, ...]


class Section:
    """The diagram of a fitted scorer in a plane, over a view of it.

    Parameters
    ----------
    scorer
        A fitted scorer without a kernel.
    plane
        The plane.
    lower, upper
        (2,) corners of the view. Inside, coordinates are p = (u - center) / scale, so that all polygons have size one.
    """

    def __init__(self, scorer: AffinityScorer, plane: Plane, lower: FloatArray, upper: FloatArray) -> None:
        self.scorer, self.plane, self.lower, self.upper = scorer, plane, lower, upper
        self._center, self._scale = (lower + upper) / 2.0, (upper - lower) / 2.0
        base, steps = _affine_map(scorer, plane, self._scale)
        self._base = base + (self._center - plane.anchor) @ steps
        self._steps = steps * self._scale[:, None]
        self._functions = self._restrict(scorer.fitted_.diagram.functions)

    def _restrict(self, functions: AffineFunctions) -> AffineFunctions:
        """Return functions of the position as functions of p."""
        return AffineFunctions(functions.a @ self._steps.T, functions.b - functions.a @ self._base)

    @cached_property
    def _walls(self) -> HalfPlanes:
        """The domain, and the bounds of the divergence, in the plane."""
        region = self.scorer.fitted_.tessellation.region
        origin, steps = (self._base - region.center) / region.scale, self._steps / region.scale
        rows, offsets = region.halfspaces()
        flat = HalfPlanes(rows @ steps.T, offsets - rows @ origin)
        parts = [flat, *_bounds(self.scorer, self.plane, self._center, self._scale)]
        if np.isfinite(region.radius) and origin.size:
            parts.append(_disc(origin, steps, region.radius))
        return HalfPlanes(np.vstack([part.normals for part in parts]), np.concatenate([part.offsets for part in parts]))

    @cached_property
    def _region(self) -> FloatArray:
        return clip(rectangle(-np.ones(2), np.ones(2)), self._walls)

    @cached_property
    def _cells(self) -> list[FloatArray]:
        slopes, constants = self._functions
        return [
            clip(self._region, HalfPlanes(slopes - slope, constants - constant))
            for slope, constant in zip(slopes, constants, strict=True)
        ]

    @property
    def cells(self) -> tuple[FloatArray, ...]:
        """The cells of the clusters, cut at the domain and the view."""
        return tuple(self._outside(cell) for cell in self._cells)

    def extent(self, query: FloatArray | None = None) -> tuple[FloatArray, FloatArray] | None:
        """Return the corners of the bounding box of the domain, or of the cell of a query (1, d), in the plane.

        None if it is unbounded, or the plane misses it.
        """
        whole = clip(rectangle(np.full(2, -_REACH), np.full(2, _REACH)), self._walls)
        if query is not None:
            whole = clip(whole, self._ahead(query))
        if not whole.size or np.abs(whole).max() > 0.99 * _REACH:
            return None
        corners = self._outside(whole)
        return corners.min(axis=0), corners.max(axis=0)

    def cell_of(self, query: FloatArray) -> FloatArray:
        """Return the cell that a query (1, d) would own."""
        return self._outside(clip(self._region, self._ahead(query)))

    def stolen_by(self, query: FloatArray) -> tuple[FloatArray, ...]:
        """Return what a query (1, d) would take from each cluster."""
        parts = zip(self._cells, *self._ahead(query), strict=True)
        return tuple(
            self._outside(clip(cell, HalfPlanes(normal[None], np.array([offset])))) for cell, normal, offset in parts
        )

    def owners(self, uv: FloatArray) -> AnyArray:
        """Return the number (n,) of the cluster that owns each place (n, 2) of the plane."""
        slopes, constants = self._functions
        p = (uv - self._center) / self._scale
        return (constants - p @ slopes.T).argmin(axis=1)

    def _ahead(self, query: FloatArray) -> HalfPlanes:
        """Return where a query (1, d) is closer than each of the clusters."""
        position = _positions(self.scorer, query, "query")
        own_slope, own_constant = self._restrict(self.scorer.fitted_.diagram.query_functions(position))
        slopes, constants = self._functions
        return HalfPlanes(slopes - own_slope, constants - own_constant)

    def _outside(self, polygon: FloatArray) -> FloatArray:
        """Return a polygon in the coordinates of the plane."""
        return self._center + self._scale * polygon


def _positions(scorer: AffinityScorer, X: FloatArray, argument: str) -> FloatArray:
    """Return where rows of X (n, d) are in the space of the diagram."""
    return scorer.fitted_.diagram.locate(scorer.fitted_.influence.prepare(X, argument)).position


def _affine_map(scorer: AffinityScorer, plane: Plane, scale: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the position (r,) of the anchor of the plane and the steps (2, r) of the position along its axes.

    Found from three points in the anchor's surroundings of size ``scale`` (2,), where the scorer is defined.
    """
    start = plane.lift(plane.anchor[None])
    scorer.fitted_.influence.prepare(start, "at")
    low, high = divergence_bounds(scorer)
    room = float(np.minimum(start - low, high - start).min())
    step = np.minimum(scale, room / 2.0)[:, None]
    position = _positions(scorer, np.vstack([start, start + step * plane.axes]), "at")
    return position[0], (position[1:] - position[0]) / step


def divergence_bounds(scorer: AffinityScorer) -> tuple[float, float]:
    """Return the limits between which every feature of X must lie."""
    return scorer.fitted_.influence.limits


def _bounds(scorer: AffinityScorer, plane: Plane, center: FloatArray, scale: FloatArray) -> list[HalfPlanes]:
    """Return where the features of the plane leave the domain of the divergence, in coordinates of the view."""
    low, high = divergence_bounds(scorer)
    middle, steps = plane.lift(center[None])[0], plane.axes.T * scale
    walls = []
    if np.isfinite(low):
        walls.append(HalfPlanes(-steps, middle - low))
    if np.isfinite(high):
        walls.append(HalfPlanes(steps, high - middle))
    return walls


def _disc(origin: FloatArray, steps: FloatArray, radius: float) -> HalfPlanes:
    """Return where origin + p steps lies in the ball around zero, as the tangents of an ellipse."""
    left, sizes, right = np.linalg.svd(steps, full_matrices=False)
    middle = right @ origin
    reach = radius**2 - (origin @ origin - middle @ middle)
    if reach <= 0:
        return HalfPlanes(np.zeros((1, 2)), np.array([-1.0]))
    angles = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
    tangents = np.column_stack([np.cos(angles), np.sin(angles)])
    return HalfPlanes((tangents * sizes) @ left.T, np.sqrt(reach) - tangents @ middle)


def check_view(view: Any) -> tuple[FloatArray, FloatArray]:
    """Return the corners (2,) of a view given as ((left, right), (bottom, top))."""
    limits = np.asarray(view, dtype=np.float64)
    if limits.shape != (2, 2) or not np.isfinite(limits).all() or not (limits[:, 0] < limits[:, 1]).all():
        raise ValueError(
            f"view must be ((left, right), (bottom, top)) with left < right and bottom < top, got {view!r}."
        )
    return limits[:, 0].copy(), limits[:, 1].copy()


def _extent_of_data(scorer: AffinityScorer, plane: Plane, rows: list[Rows]) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a box around the points, cut where the divergence ends."""
    seen = np.vstack([plane.project(part) for part in rows])
    lower, upper = seen.min(axis=0), seen.max(axis=0)
    extent = upper - lower
    reach = np.where(extent > 0, _MARGIN * extent, max(float(extent.max()), 1.0) / 2.0)
    center, scale = (lower + upper) / 2.0, extent / 2.0 + reach
    walls = _bounds(scorer, plane, center, scale)
    box = rectangle(-np.ones(2), np.ones(2))
    for wall in walls:
        box = clip(box, wall)
    return center + scale * box.min(axis=0), center + scale * box.max(axis=0)


@dataclass(frozen=True)
class View:
    """A plane, what of it is seen and, unless the scorer has a kernel, the diagram there."""

    plane: Plane
    lower: FloatArray
    upper: FloatArray
    section: Section | None

    def diagram(self, scorer: AffinityScorer) -> PlaneDiagram:
        """Return what a picture shows."""
        sites = sites_of(scorer)
        plane = self.plane
        return PlaneDiagram(
            classes=scorer.classes_,
            lower=self.lower,
            upper=self.upper,
            names=plane.names,
            note=plane.note,
            cells=None if self.section is None else self.section.cells,
            sites=None if sites is None else plane.project(sites),
            weight_outlines=weight_outlines(scorer, sites, plane) if sites is not None else (),
        )


def choose_view(
    scorer: AffinityScorer, X: Rows | None, features: Any, projection: Any, at: Any, view: Any, query: Any = None
) -> View:
    """Return the plane asked for, and what of it to show.

    By default all of the domain, if it is bounded and the plane is all there is; else the surroundings of the points
    and, if it is bounded, the cell of the query.
    """
    plane = choose_plane(scorer, X, features, projection, at)
    sites = sites_of(scorer)
    lower, upper = (
        _extent_of_data(scorer, plane, [part for part in (X, sites, query) if part is not None])
        if view is None
        else check_view(view)
    )
    if sites is None:
        return View(plane, lower, upper, None)
    section = Section(scorer, plane, lower, upper)
    if view is None and plane.whole:
        extent = section.extent()
        own = None if query is None or extent is not None else section.extent(query)
        if own is not None:
            extent = np.minimum(lower, own[0]), np.maximum(upper, own[1])
        if extent is not None:
            section = Section(scorer, plane, *extent)
    return View(plane, section.lower, section.upper, section)
