"""Labels that do not overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import BoolArray, FloatArray

from ._canvas import cased, ink_of, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: Distances in points at which room is looked for, and the directions tried at each.
_RINGS = (0.0, 9.0, 15.0, 22.0, 32.0, 45.0, 60.0, 80.0, 105.0)
_DIRECTIONS = 16
#: Points left free between two labels, and the distance beyond which a line leads from the label to its place.
_GAP, _LEAD = 2.0, 12.0


def place_labels(
    ax: Axes, places: FloatArray, texts: list[str], *, taken: FloatArray | None = None, **kw: Any
) -> list[Annotation]:
    """Write each text at its place (m, 2), or as near as there is room inside the axes.

    A text that had to move far gets a line to its place. One that finds no room anywhere near is left out. Call this
    last: it needs the final limits and size of the axes.

    Parameters
    ----------
    ax
        Where.
    places
        (m, 2) in data coordinates.
    texts
        One per place; earlier ones choose first.
    taken
        (j, 2) places of symbols that no text should cover.
    **kw
        For the texts.
    """
    settle(ax)
    pixels = ax.figure.figure.dpi / 72.0
    frame = np.array(ax.get_window_extent().extents) / pixels
    boxes = [] if taken is None else [_around(spot / pixels, 3.0) for spot in ax.transData.transform(taken)]
    offsets = np.vstack([ring * _circle(_DIRECTIONS if ring else 1) for ring in _RINGS])
    written = []
    for place, text in zip(places, texts, strict=True):
        label = ax.annotate(
            text, (place[0], place[1]), (0.0, 0.0), textcoords="offset points", ha="center", va="center",
            color=ink_of(ax), path_effects=cased(ax), zorder=6, **kw,
        )  # fmt: skip
        box = np.array(label.get_window_extent().extents) / pixels
        free = np.flatnonzero(_has_room(box + np.tile(offsets, 2), frame, np.array(boxes).reshape(-1, 4)))
        if not free.size:
            label.remove()
            continue
        offset = offsets[free[0]]
        label.xyann = (float(offset[0]), float(offset[1]))
        boxes.append(box + np.tile(offset, 2))
        written.append(label)
        if np.hypot(*offset) > _LEAD:
            _lead(ax, place, label)
    return written


def _lead(ax: Axes, place: FloatArray, label: Annotation) -> None:
    """Draw a thin line from a label to its place."""
    ax.annotate(
        "", (place[0], place[1]), label.xyann, xycoords="data", textcoords="offset points", zorder=5,
        arrowprops={"arrowstyle": "-", "color": ink_of(ax), "linewidth": 0.7, "shrinkA": 5, "shrinkB": 1},
    )  # fmt: skip


def _circle(n: int) -> FloatArray:
    angles = np.pi / 2.0 + 2.0 * np.pi * np.arange(n) / n
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _around(spot: FloatArray, reach: float) -> FloatArray:
    return np.concatenate([spot - reach, spot + reach])


def _has_room(boxes: FloatArray, frame: FloatArray, taken: FloatArray) -> BoolArray:
    """Tell which boxes (m, 4), left bottom right top, lie inside the frame and touch no taken box (j, 4)."""
    left, bottom, right, top = boxes.T
    inside = (left >= frame[0] + _GAP) & (bottom >= frame[1] + _GAP)
    inside &= (right <= frame[2] - _GAP) & (top <= frame[3] - _GAP)
    for box in taken:
        apart = (left >= box[2] + _GAP) | (right <= box[0] - _GAP) | (bottom >= box[3] + _GAP) | (top <= box[1] - _GAP)
        inside &= apart
    return inside
