"""A part of the map: its points one by one where they are few, and how dense they lie where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from allegiance._core import BoolArray, FloatArray, IntArray
from allegiance.report import Projection

from ._colouring import Colouring

#: Points up to which each is drawn by itself: what a browser without a graphics card still draws at once.
MAX_DOTS = 15_000
#: Screen pixels to a side of a cell in which points are counted.
_CELL = 2
#: The largest picture in pixels, whatever a browser asks for.
_MAX_SIDE = 4096
#: How opaque a cell with a single point is.
_FAINTEST = 0.25


class Window(NamedTuple):
    """A part of the plane, and how many pixels it has on a screen."""

    left: float
    right: float
    bottom: float
    top: float
    width: int
    height: int

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Window:
        """Return the window of six numbers that a browser sent, or raise ValueError if they make no sense."""
        left, right, bottom, top, *sides = (float(value) for value in numbers)
        if len(sides) != 2 or not all(np.isfinite([*numbers])) or left >= right or bottom >= top:
            raise ValueError(f"the window {list(numbers)} is empty.")
        width, height = (int(min(max(side, 16), _MAX_SIDE)) for side in sides)
        return cls(left, right, bottom, top, width, height)

    def holds(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """(n,) whether points are inside."""
        return (x >= self.left) & (x <= self.right) & (y >= self.bottom) & (y <= self.top)


class Dots(NamedTuple):
    """Points to be drawn one by one, the least trusted last, so on top."""

    rows: IntArray


class Density(NamedTuple):
    """A picture of how dense points lie."""

    pixels: NDArray[np.uint8]
    """(height, width, 4) red, green, blue, opaqueness; the lowest line first."""
    n_points: int


def whole(projection: Projection) -> Window:
    """Return the window that holds every point, with a margin."""
    (left, right), (bottom, top) = _ends(projection.x), _ends(projection.y)
    return Window(left, right, bottom, top, 800, 600)


def _ends(values: FloatArray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = 0.04 * (high - low) if high > low else 1.0
    return low - margin, high + margin


def picture(
    projection: Projection, window: Window, colours: Colouring, order: FloatArray, chosen: BoolArray | None
) -> Dots | Density:
    """Return what to draw of a window.

    Parameters
    ----------
    projection
        Where points lie.
    window
        The part of the map.
    colours
        Their colours.
    order
        (n,) points with a lower number are drawn on top; NaN at the bottom.
    chosen
        (n,) the points selected; None if there is no selection.
    """
    inside = np.flatnonzero(window.holds(projection.x, projection.y))
    if inside.size <= MAX_DOTS:
        return Dots(inside[np.argsort(-np.nan_to_num(order[inside], nan=np.inf), kind="stable")])
    width, height = window.width // _CELL, window.height // _CELL
    column = _cell(projection.x[inside], window.left, window.right, width)
    line = _cell(projection.y[inside], window.bottom, window.top, height)
    cell = line * width + column
    painted = _painted(colours, inside)
    if chosen is None:
        return Density(_image(cell, painted, height, width), inside.size)
    under = _image(cell, np.full_like(painted, 128.0), height, width)
    under[..., 3] //= 4
    picked = chosen[inside]
    over = _image(cell[picked], painted[:, picked], height, width)
    return Density(np.where(over[..., 3:] > 0, over, under), inside.size)


def _cell(values: FloatArray, low: float, high: float, count: int) -> IntArray:
    return np.minimum(((values - low) * (count / (high - low))).astype(np.int64), count - 1)


def _painted(colours: Colouring, rows: IntArray) -> FloatArray:
    """Return red, green and blue (3, m) of points."""
    palette = np.array([channels(colour) for colour in [*colours.palette, colours.nothing]], dtype=np.float64)
    size = len(colours.palette)
    values = colours.values[rows]
    with np.errstate(invalid="ignore"):
        place = np.clip((values - colours.low) * (size / (colours.high - colours.low)), 0, size - 1)
    known = ~np.isnan(values)
    index = np.full(rows.size, size)
    index[known] = place[known].astype(np.int64)
    return palette.T[:, index]


def channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour such as "#a3260a"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _image(cell: IntArray, painted: FloatArray, height: int, width: int) -> NDArray[np.uint8]:
    """Mix the colours of the points of each cell; the more points, the more opaque, on a logarithmic scale."""
    counts = np.bincount(cell, minlength=height * width)
    pixels = np.zeros((height * width, 4))
    for channel in range(3):
        pixels[:, channel] = np.bincount(cell, weights=painted[channel], minlength=height * width)
    filled = counts > 0
    pixels[filled, :3] /= counts[filled, None]
    level = np.log1p(counts[filled]) / np.log1p(max(int(counts.max(initial=1)), 2))
    pixels[filled, 3] = 255 * np.maximum(level, _FAINTEST)
    return np.round(pixels).astype(np.uint8).reshape(height, width, 4)


class Finder:
    """Finds the point under the pointer, and the points inside a shape.

    Parameters
    ----------
    projection
        Where points lie.
    """

    def __init__(self, projection: Projection) -> None:
        self._x, self._y = projection.x, projection.y
        window = whole(projection)
        # In units of the whole map, so that a circle of the search is a circle on the screen, more or less.
        self._scale = np.array([window.right - window.left, window.top - window.bottom])
        self._tree = cKDTree(np.column_stack([self._x, self._y]) / self._scale)

    def nearest(self, x: float, y: float, window: Window, reach: float = 8.0) -> int | None:
        """Return the row of the point closest to a place on the screen; None if none is within ``reach`` pixels.

        Parameters
        ----------
        x, y
            The place, in the coordinates of the map.
        window
            The part of the map on the screen.
        reach
            Pixels.
        """
        pixel = np.array([(window.right - window.left) / window.width, (window.top - window.bottom) / window.height])
        place = np.array([x, y])
        radius = float((reach * pixel / self._scale).max())
        rows = np.asarray(self._tree.query_ball_point(place / self._scale, radius), dtype=np.int64)
        if not rows.size:
            return None
        away = np.hypot((self._x[rows] - x) / pixel[0], (self._y[rows] - y) / pixel[1])
        closest = int(away.argmin())
        return int(rows[closest]) if away[closest] <= reach else None

    def inside(self, xs: Sequence[float], ys: Sequence[float]) -> IntArray:
        """Return the rows of the points inside a polygon with corners (c,), by the even-odd rule."""
        left, right, bottom, top = min(xs), max(xs), min(ys), max(ys)
        near = np.flatnonzero((self._x >= left) & (self._x <= right) & (self._y >= bottom) & (self._y <= top))
        x, y = self._x[near], self._y[near]
        odd = np.zeros(near.size, dtype=bool)
        for i in range(len(xs)):
            x0, y0, x1, y1 = xs[i - 1], ys[i - 1], xs[i], ys[i]
            if y0 == y1:
                continue
            crosses = (y0 > y) != (y1 > y)
            odd ^= crosses & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
        return near[odd]

    def in_box(self, left: float, right: float, bottom: float, top: float) -> IntArray:
        """Return the rows of the points inside a box, its sides included."""
        return np.flatnonzero((self._x >= left) & (self._x <= right) & (self._y >= bottom) & (self._y <= top))
