"""Convex polygons in the plane: corners in order, (m, 2); no corner at all if nothing is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray

#: Distances from a line, in coordinates of size one, and lengths of normals beside the largest, that are rounding.
_ROUNDING = 1e-12


class HalfPlanes(NamedTuple):
    """The region {p: normals p <= offsets}."""

    normals: FloatArray
    """(m, 2)"""
    offsets: FloatArray
    """(m,)"""


def rectangle(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the corners (4, 2) of an axis-parallel rectangle."""
    (left, bottom), (right, top) = lower, upper
    return np.array([[left, bottom], [right, bottom], [right, top], [left, top]], dtype=np.float64)


def clip(polygon: FloatArray, halfplanes: HalfPlanes) -> FloatArray:
    """Return the part of a convex polygon of size about one that lies in all half-planes.

    The line that cuts off the farthest corner goes first: most of the others then cut nothing, so that a cell of six
    sides takes about six cuts however many lines there are.
    """
    normals, offsets = halfplanes
    if not offsets.size:
        return polygon
    lengths = np.sqrt((normals * normals).sum(axis=1))
    flat = lengths <= _ROUNDING * lengths.max(initial=0.0)
    lengths = np.where(flat, max(float(lengths.max()), 1.0), lengths)
    normals, offsets = np.where(flat[:, None], 0.0, normals) / lengths[:, None], offsets / lengths
    for _ in range(offsets.size):
        beyond = polygon @ normals.T - offsets
        worst = int(beyond.max(axis=0, initial=-np.inf).argmax())
        if not polygon.size or beyond[:, worst].max() <= _ROUNDING:
            break
        polygon = _cut(polygon, beyond[:, worst])
    return polygon if polygon.shape[0] > 2 else np.empty((0, 2))


def _cut(polygon: FloatArray, beyond: FloatArray) -> FloatArray:
    """Return what is left of a convex polygon where a linear function, ``beyond`` (m,) at its corners, is negative."""
    corners: list[FloatArray] = []
    for here, there, value, next_value in zip(
        polygon, np.roll(polygon, -1, axis=0), beyond, np.roll(beyond, -1), strict=True
    ):
        if value <= 0:
            corners.append(here)
        if (value < 0 < next_value) or (next_value < 0 < value):
            corners.append(here + (there - here) * (value / (value - next_value)))
    return np.array(corners).reshape(-1, 2)


def area(polygon: FloatArray) -> float:
    """Return the area of a polygon with corners in order."""
    if not polygon.size:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2.0


def middle(polygon: FloatArray) -> FloatArray:
    """Return the centre of mass (2,) of a polygon, or the mean of its corners if it has no area."""
    corner = polygon[0]
    x, y = (polygon - corner).T
    cross = x * np.roll(y, -1) - y * np.roll(x, -1)
    total = cross.sum()
    if total == 0:
        return np.asarray(polygon.mean(axis=0))
    weights = cross / (3.0 * total)
    return corner + np.array([((x + np.roll(x, -1)) * weights).sum(), ((y + np.roll(y, -1)) * weights).sum()])


def sides(polygon: FloatArray) -> HalfPlanes:
    """Return the half-planes, one per side, of a convex polygon with corners in either order."""
    along = np.roll(polygon, -1, axis=0) - polygon
    real = along.any(axis=1)
    normals = np.column_stack([along[:, 1], -along[:, 0]])[real]
    offsets = (normals * polygon[real]).sum(axis=1)
    if (normals @ middle(polygon) > offsets).any():
        normals, offsets = -normals, -offsets
    return HalfPlanes(normals, offsets)
