"""Shared by all pictures: axes, colors, labels that do not overlap, and checks of results."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import FloatArray, IntArray, require
from allegiance.results import check_names, display_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: The colors of Okabe and Ito, which color-blind readers tell apart, ordered by contrast; gray instead of black, so
#: that they show on dark pages.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "<", "X")

#: The line at one half, and what lies below it.
ALARM = "#D55E00"
#: The scale of affinity in colors, and in gray where lower is brighter.
COLOR_SCALE, GRAY_SCALE = "cividis", "gray_r"

#: Average width of a character, as a share of the font size.
_CHARACTER = 0.52
#: Distances in points at which room for a label is looked for, and the directions tried at each.
_RINGS = (9.0, 15.0, 22.0, 32.0, 45.0, 60.0, 80.0, 105.0)
_DIRECTIONS = 16
#: Points left free between two labels, and the distance beyond which a line leads from the label to its place.
_GAP, _LEAD = 2.0, 12.0


def cluster_style(cluster: int) -> tuple[str, str]:
    """Return the color and the marker of a cluster in pictures; beyond eight, colors return with other markers."""
    return _COLORS[cluster % len(_COLORS)], _MARKERS[cluster // len(_COLORS) % len(_MARKERS)]


def get_axes(ax: Any, caller: str, size: tuple[float, float] = (6.4, 4.8)) -> Axes:
    """Return the user's axes, or those of a new figure of this size in inches."""
    pyplot = require("matplotlib.pyplot", "plot", caller)
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    elif not hasattr(ax, "get_xlim"):
        raise TypeError(f"ax must be matplotlib axes, got {type(ax).__name__}. Use plt.subplots(), or leave it out.")
    return ax


def text_color(ax: Axes) -> Any:
    """Return the color in which the axes are labeled: dark on light pages, light on dark ones."""
    return ax.xaxis.label.get_color()


def outline(ax: Axes, width: float = 2.0) -> list[Any]:
    """Return path effects that set a line or a text of a picture off any background, in the color of the page."""
    effects = require("matplotlib.patheffects", "plot", "plot()")
    return [effects.withStroke(linewidth=width, foreground=ax.get_facecolor())]


def measure_axes(ax: Axes) -> tuple[float, float]:
    """Return the width and height in points of the axes of a picture, once the layout has found their place."""
    ax.figure.figure.draw_without_rendering()
    box, points = ax.get_window_extent(), 72.0 / ax.figure.figure.dpi
    return box.width * points, box.height * points


def set_title(ax: Axes, title: str, *notes: str) -> None:
    """Set a title with notes below it, broken into lines that fit over the axes."""
    size = 10.0
    width = max(20, int(measure_axes(ax)[0] / (size * _CHARACTER)))
    lines = [line for text in (title, *notes) if text for line in textwrap.wrap(text, width)]
    ax.set_title("\n".join(lines), fontsize=size, color=text_color(ax))


def shorten(text: str, length: int) -> str:
    """Return a text of a picture in at most ``length`` characters: without its last traits, or without its middle."""
    if len(text) <= length:
        return text
    first, comma, _ = text.partition(", ")
    if comma:
        whole = text[: length + 1].rpartition(", ")[0]
        return whole or f"{first[: length - 1]}…"
    tail = max(length - 1, 1) // 2
    return text[: max(length - 1 - tail, 0)] + "…" + text[-tail:]


def place_labels(
    ax: Axes, places: FloatArray, texts: list[str], *, avoid: FloatArray | None = None, **kw: Any
) -> list[Annotation]:
    """Write each text of a picture at its place (m, 2), or nearby where there is room, away from ``avoid`` (j, 2).

    A text that had to move far gets a line to its place. One that finds no room anywhere near is left out. Call this
    last: it needs the final limits and size of the axes.
    """
    bbox = require("matplotlib.transforms", "plot", "plot()").Bbox
    ax.figure.figure.draw_without_rendering()
    pixels, frame = ax.figure.figure.dpi / 72.0, ax.get_window_extent()
    symbols = np.empty((0, 2)) if avoid is None else ax.transData.transform(avoid)
    boxes = [bbox.from_bounds(x, y, 0.0, 0.0).padded(5.0 * pixels) for x, y in symbols]
    angles = np.pi / 2.0 + 2.0 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = []
    for place, text in zip(places, texts, strict=True):
        label = ax.annotate(
            text, (place[0], place[1]), (0.0, 0.0), textcoords="offset points", ha="center", va="center",
            color=text_color(ax), path_effects=outline(ax), zorder=6, **kw,
        )  # fmt: skip
        middle = label.get_window_extent().padded(_GAP * pixels)
        for x, y in np.vstack([[[0.0, 0.0]], *(ring * circle for ring in _RINGS)]):
            box = middle.translated(x * pixels, y * pixels)
            if not box.count_overlaps(boxes) and frame.contains(*box.min) and frame.contains(*box.max):
                label.xyann = (float(x), float(y))
                boxes.append(box)
                labels.append(label)
                if np.hypot(x, y) > _LEAD:
                    arrow = {"arrowstyle": "-", "color": text_color(ax), "linewidth": 0.7, "shrinkA": 5, "shrinkB": 1}
                    ax.annotate("", place, label.xyann, textcoords="offset points", zorder=5, arrowprops=arrow)
                break
        else:
            label.remove()
    return labels


class ResultDisplay:
    """What the pictures of a result share: what clusters are called, and what labels are ranked by."""

    def __init__(self, result: Any, names: Mapping[Any, str] | None = None) -> None:
        check_result(result, type(self).__name__)
        self.result = result
        self.names = [display_name(*named) for named in check_names(result.classes, names).items()]
        self.ranking_name = "trust" if result._has_trust else "own_affinity"
        self.ranking: FloatArray = np.where(result._noise, np.nan, getattr(result, self.ranking_name))

    def members(self) -> list[IntArray]:
        """Return the rows of each cluster in a display of a result; noise is left out."""
        return [np.flatnonzero(self.result._codes == code) for code in range(self.result.classes.size)]


def check_result(result: Any, caller: str) -> None:
    """Raise unless what is drawn is a result."""
    if not hasattr(result, "own_affinity"):
        raise TypeError(
            f"{caller} needs an AffinityResult, got {type(result).__name__}. Call trust(X, labels), or "
            "scorer.affinity(X)."
        )


def check_length(X: Any, n: int) -> None:
    """Raise unless the X of a picture has n rows."""
    rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if rows != n:
        raise ValueError(f"X has {rows} rows but result has {n} points: they must be equal.")
