"""Where displays draw: axes, colours that suit the page, titles that fit, and the numbers as frames."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from allegiance._core import AnyArray, require
from allegiance.results import FrameLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Average width of a character, as a share of the font size.
_CHARACTER = 0.52


def axes_to_draw_on(ax: Any, caller: str, size: tuple[float, float] = (6.4, 4.8)) -> Axes:
    """Return the user's axes, or those of a new figure of this size in inches."""
    pyplot = require("matplotlib.pyplot", "plot", caller)
    if ax is None:
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    elif not hasattr(ax, "get_xlim"):
        raise TypeError(f"ax must be matplotlib axes, got {type(ax).__name__}: use plt.subplots(), or leave it out.")
    return ax


def ink_of(ax: Axes) -> Any:
    """Return the colour in which the axes are labelled: dark on light pages, light on dark ones."""
    return ax.xaxis.label.get_color()


def cased(ax: Axes, width: float = 2.0) -> list[Any]:
    """Return path effects that set a line or a text off any background, in the colour of the page."""
    effects = require("matplotlib.patheffects", "plot", "plot()")
    return [effects.withStroke(linewidth=width, foreground=ax.get_facecolor())]


def settle(ax: Axes) -> None:
    """Let the layout find its place, so that sizes in pixels are final."""
    ax.figure.figure.draw_without_rendering()


def set_title(ax: Axes, title: str, *notes: str) -> None:
    """Set a title with notes below it, broken into lines that fit over the axes."""
    settle(ax)
    size = 10.0
    points = ax.get_window_extent().width * 72.0 / ax.figure.figure.dpi
    width = max(20, int(points / (size * _CHARACTER)))
    lines = [line for text in (title, *notes) if text for line in textwrap.wrap(text, width)]
    ax.set_title("\n".join(lines), fontsize=size, color=ink_of(ax))


def frame_of(columns: dict[str, AnyArray], like: Any) -> Any:
    """Return columns as a frame of the kind of ``like``, pandas by default."""
    return FrameLike(FrameLike.of(like).backend).build(columns)
