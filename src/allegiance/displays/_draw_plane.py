"""Parts of pictures of a plane: cells, representatives, points, and the axes around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, require

from ._canvas import cased, ink_of
from ._labels import place_labels
from ._palette import look_of
from ._section import PlaneDiagram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.text import Annotation

#: Views up to this many times longer than wide are drawn with one unit for both axes.
_LONGEST = 2.5
#: Points beyond which a drawing would be slow, so that they become one image in it.
_MANY = 5000
#: The longer side of the axes of a new figure, and the least of the other, in inches.
_SIDE, _LEAST = 4.4, 2.5


@dataclass(frozen=True)
class PlanePoints:
    """Points of a picture.

    Attributes
    ----------
    position
        (n, 2) coordinates in the plane.
    label
        (n,) label of each.
    value
        (n,) its trust, confidence or affinity to the cluster shown; NaN for the trust of noise.
    """

    position: FloatArray
    label: AnyArray
    value: FloatArray


def size_for(diagram: PlaneDiagram, *, colorbar: bool = False) -> tuple[float, float]:
    """Return the size in inches of a figure that suits the view."""
    extent = diagram.upper - diagram.lower
    scale = max(_SIDE / extent.max(), _LEAST / extent.min())
    width, height = scale * extent if _is_even(extent) else (_SIDE, 0.75 * _SIDE)
    return float(width) + (1.9 if colorbar else 0.9), float(height) + 1.0


def _is_even(extent: FloatArray) -> bool:
    """Tell whether a view (2,) is square enough for one unit on both axes."""
    return bool(extent.max() <= _LONGEST * extent.min())


def frame_axes(ax: Axes, diagram: PlaneDiagram) -> None:
    """Set limits, names and, where the view allows it, one unit for both axes."""
    lower, upper = diagram.lower, diagram.upper
    ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), xlabel=diagram.names[0], ylabel=diagram.names[1])
    if _is_even(upper - lower):
        ax.set_aspect("equal")


def draw_cells(ax: Axes, diagram: PlaneDiagram, *, filled: float = 0.0, **kw: Any) -> PolyCollection | None:
    """Draw the cells as outlines, filled with the colours of their clusters at some opacity; None if there are none."""
    collections = require("matplotlib.collections", "plot", "plot()")
    kept = [i for i, cell in enumerate(diagram.cells or ()) if cell.size]
    if not kept:
        return None
    assert diagram.cells is not None
    looks = [look_of(i) for i in kept]
    if filled:
        for i, look in zip(kept, looks, strict=True):
            fill_polygon(ax, diagram.cells[i], look.color, look.hatch, alpha=filled)
    edge = {"facecolors": "none", "edgecolors": ink_of(ax), "linewidths": 0.9, "path_effects": cased(ax, 2.2), **kw}
    cells: PolyCollection = collections.PolyCollection([diagram.cells[i] for i in kept], zorder=2.5, **edge)
    ax.add_collection(cells, autolim=False)
    return cells


def fill_polygon(ax: Axes, polygon: FloatArray, color: str, hatch: str, *, alpha: float) -> Any:
    """Fill a polygon; the hatch, if any, in the colour of the labels."""
    colors = require("matplotlib.colors", "plot", "plot()")
    ink = colors.to_rgba(ink_of(ax), 0.35)
    patch = ax.fill(*polygon.T, facecolor=colors.to_rgba(color, alpha), edgecolor=ink, linewidth=0.0, zorder=1.5)[0]
    patch.set_hatch(hatch)
    return patch


def draw_sites(ax: Axes, diagram: PlaneDiagram) -> PathCollection | None:
    """Mark the representatives with crosses; None for kernels."""
    if diagram.sites is None:
        return None
    return ax.scatter(
        diagram.sites[:, 0],
        diagram.sites[:, 1],
        marker="x",
        s=36,
        linewidths=1.6,
        color=ink_of(ax),
        path_effects=cased(ax, 3.2),
        zorder=4,
    )


def draw_points(
    ax: Axes, points: PlanePoints, classes: AnyArray, *, scale: dict[str, Any] | None = None, **kw: Any
) -> list[PathCollection]:
    """Draw the points in the colour and marker of their labels; those of no cluster as pluses in the colour of texts.

    Parameters
    ----------
    ax
        Where.
    points
        The points.
    classes
        (k,) labels of the clusters.
    scale
        ``cmap``, ``vmin`` and ``vmax``, to colour the points by their values instead.
    **kw
        For ``Axes.scatter``.
    """
    n = points.position.shape[0]
    size = float(np.clip(6000.0 / max(n, 1), 1.5, 22.0))
    looks = [look_of(i) for i in range(classes.size)]
    groups = [(points.label == name, look.color, look.marker) for name, look in zip(classes, looks, strict=True)]
    noise = ~np.isin(points.label, classes)
    if noise.any():
        groups.append((noise, ink_of(ax), "+"))
    drawn = []
    for rows, color, marker in groups:
        style: dict[str, Any] = {"s": size, "marker": marker, "zorder": 3, "rasterized": n > _MANY}
        # Noise has no trust to colour it by.
        plain = scale is None or (marker == "+" and np.isnan(points.value[rows]).all())
        style |= {"color": color} if plain else {"c": points.value[rows], **(scale or {})}
        if marker == "+":
            style |= {"linewidths": 0.8, "path_effects": cased(ax, 2.0)}
        else:
            style |= {"edgecolors": ax.get_facecolor(), "linewidths": 0.3 if size > 5 else 0.0}
        drawn.append(ax.scatter(*points.position[rows].T, **(style | kw)))
    return drawn


def label_clusters(ax: Axes, diagram: PlaneDiagram, points: PlanePoints | None, **kw: Any) -> list[Annotation]:
    """Write the label of each cluster near its representative or, for kernels, amid its points."""
    if diagram.sites is not None:
        places, names = diagram.sites, list(diagram.classes)
    elif points is not None:
        names = [name for name in diagram.classes if (points.label == name).any()]
        places = np.array([np.median(points.position[points.label == name], axis=0) for name in names]).reshape(-1, 2)
    else:
        return []
    shown = [i for i in range(len(names)) if in_view(diagram, places[i])]
    style = {"fontsize": 9, "fontweight": "bold", **kw}
    return place_labels(ax, places[shown], [str(names[i]) for i in shown], taken=diagram.sites, **style)


def in_view(diagram: PlaneDiagram, place: FloatArray) -> bool:
    """Tell whether a place (2,) is seen."""
    return bool(((place >= diagram.lower) & (place <= diagram.upper)).all())
