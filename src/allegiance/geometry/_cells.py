"""Convex cells as simplices: clip by half-spaces, then triangulate from one vertex."""

from __future__ import annotations

from math import factorial
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from allegiance._core import AnyArray, FloatArray

from ._halfspaces import chebyshev_center

#: Cells whose largest ball is smaller than this, in a domain of size one, have no volume worth counting.
_FLAT = 1e-13


class TooManySimplicesError(ValueError):
    """A triangulation would be larger than its limit."""


class Triangulation(NamedTuple):
    """One convex cell as simplices."""

    vertices: FloatArray
    """(v, r)"""
    simplices: AnyArray
    """int32 (s, r + 1), rows of vertex indices."""
    volumes: FloatArray
    """(s,)"""


def triangulate(normals: FloatArray, offsets: FloatArray, max_simplices: int, *, joggle: bool = False) -> Triangulation:
    """Triangulate the bounded cell {y: normals y <= offsets} (rows of unit length).

    Qhull intersects the half-spaces around the centre of the largest inscribed ball and triangulates the hull of the
    vertices; every facet that does not touch the first vertex forms one simplex with it. A cell without interior
    gives no simplex. Facets with many corners may come out of Qhull with overlapping simplices; ``joggle`` avoids that
    by a random perturbation while the facets are found, at the price of more simplices.

    Raises
    ------
    TooManySimplicesError
        If about more than ``max_simplices`` simplices would be needed. Told from the number of vertices, before the
        expensive part.
    ArithmeticError
        If Qhull finds the cell too thin or too narrow for its arithmetic.
    """
    r = normals.shape[1]
    if r == 1:
        return _interval(normals, offsets)
    center, radius = chebyshev_center(normals, offsets)
    if radius < _FLAT:
        return Triangulation(np.empty((0, r)), np.empty((0, r + 1), np.int32), np.empty(0))
    halfspaces = np.column_stack([normals, -offsets])
    try:
        vertices = HalfspaceIntersection(halfspaces, center).intersections
    except QhullError as error:
        raise ArithmeticError(f"Qhull could not intersect the walls of a cell: {_first_line(error)}") from error
    # A cube of dimension r has 2^r vertices and r! simplices; cells with oblique walls take some r - 1 times more.
    if vertices.shape[0] * (r - 1) * factorial(r) / 2**r > max_simplices:
        raise TooManySimplicesError(
            f"a cell with {vertices.shape[0]} vertices in {r} dimensions needs more than {max_simplices} simplices"
        )
    return _star(vertices, joggle)


def _interval(normals: FloatArray, offsets: FloatArray) -> Triangulation:
    right = normals[:, 0] > 0
    low = (offsets[~right] / normals[~right, 0]).max()
    high = (offsets[right] / normals[right, 0]).min()
    if high - low < _FLAT:
        return Triangulation(np.empty((0, 1)), np.empty((0, 2), np.int32), np.empty(0))
    return Triangulation(np.array([[low], [high]]), np.array([[0, 1]], np.int32), np.array([high - low]))


def _star(points: FloatArray, joggle: bool) -> Triangulation:
    """Triangulate the hull of ``points`` from one of its vertices."""
    try:
        hull = ConvexHull(points, qhull_options="QJ" if joggle else None)
    except QhullError:
        try:
            hull = ConvexHull(points, qhull_options="QJ")
        except QhullError as error:
            raise ArithmeticError(f"Qhull found no hull of a cell: {_first_line(error)}") from error
    used, facets = np.unique(hull.simplices, return_inverse=True)
    facets = facets.reshape(hull.simplices.shape).astype(np.int32)
    vertices = np.asarray(points)[used]
    apex = np.bincount(facets.ravel()).argmax()
    facets = facets[(facets != apex).all(axis=1)]
    edges = vertices[facets] - vertices[apex]
    volumes = np.abs(np.linalg.det(edges)) / factorial(points.shape[1])
    simplices = np.column_stack([np.full(facets.shape[0], apex, np.int32), facets])
    solid = volumes > 0
    return Triangulation(vertices, np.ascontiguousarray(simplices[solid]), volumes[solid])


def _first_line(error: QhullError) -> str:
    """Return what of an error of Qhull is not the state of its memory."""
    return str(error).partition("\n")[0]
