"""Seconds against the number of points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._known import Known
from ._scenes import CENTRE, SIZES
from ._tasks import TASKS, Task

_DPI = 110
_OURS = {"affinity": "#d95f02", "within": "#b2182b"}


def draw(known: Known, path: Path) -> None:
    """Draw scores alone and from nothing to scores, side by side; an open triangle is a stop at the limit."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), sharey=True)
    _panel(left, known, lambda task: ((task.name, "score"),), plt)
    _panel(right, known, lambda task: task.after, plt)
    left.set(title="scores of a given clustering", ylabel="seconds")
    right.set(title="from nothing to scores")
    right.legend(fontsize=8, frameon=False, bbox_to_anchor=(1.0, 1.0))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=_DPI, facecolor="white", bbox_inches="tight")
    plt.close(figure)


def _panel(axes: Any, known: Known, stages_of: Callable[[Task], Any], plt: Any) -> None:
    colors = iter(plt.get_cmap("tab10").colors)
    for task in TASKS:
        if not task.after:
            continue
        color = _OURS.get(task.name) or next(colors)
        values = {n: known.seconds(stages_of(task), CENTRE._replace(n=n)) for n in SIZES}
        done = {n: value for n, value in values.items() if isinstance(value, float)}
        style = {"color": color, "linewidth": 2.4 if task.name in _OURS else 1.2}
        axes.plot(list(done), list(done.values()), marker="o", markersize=4, label=task.title, **style)
        stopped = [n for n, value in values.items() if isinstance(value, str)]
        if done and stopped and str(values[stopped[0]]).endswith(" s"):
            limit = float(str(values[stopped[0]]).strip("> s"))
            axes.plot([max(done), stopped[0]], [done[max(done)], limit], linestyle=":", color=color, linewidth=1.0)
            axes.plot(stopped[0], limit, marker="^", markersize=7, color=color, fillstyle="none")
    axes.set(xscale="log", yscale="log", xlabel=f"points (d = {CENTRE.d}, k = {CENTRE.k})")
    axes.grid(alpha=0.3, which="major")
    axes.spines[["top", "right"]].set_visible(False)
