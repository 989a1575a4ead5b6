"""The tables and the picture of the speed study, written into ``docs/benchmarks.md``."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from _marked_page import markdown_table, write_parts
from _report import quantity

from ._campaign import Known, Measurement, read
from ._tasks import CENTER, SCENES, SIZES, TASKS, Scene, Task, task_named

_OURS = "within"
_COLORS = {"within": "#d95f02", "affinity": "#b2182b"}


def write_page(path: Path, about: Path, docs: Path | None) -> str:
    """Return all tables; with ``docs``, also write them into its page and draw the picture."""
    measurements = read(path)
    known = Known(measurements)
    scenes = [scene for scene in SCENES if any(m.scene == scene for m in measurements)]
    parts = {
        "speed-ran": _ran(about, measurements),
        "speed-scores": _ratios(scenes, lambda task, scene: known.seconds(((task.name, "score"),), scene)),
        "speed-whole": _ratios(scenes, lambda task, scene: known.seconds(task.after, scene)),
        "speed-memory": _memory(known, scenes),
    }
    if docs is not None:
        write_parts(docs / "benchmarks.md", parts)
        _draw(known, docs / "images" / "bench_speed.png")
    return "\n\n".join(parts.values())


def compared(theirs: float | str | None, ours: float | str | None) -> str:
    """Return a time, and its ratio to ours; in bold where we are slower."""
    text = quantity(theirs, "s") if isinstance(theirs, float) else (theirs or "")
    if not isinstance(theirs, float) or not isinstance(ours, float):
        return text
    times = theirs / ours
    return f"{text}, {_digits(times)}x" if times >= 0.95 else f"{text}, **{times:.2f}x**"


def _ratios(scenes: Sequence[Scene], time_of: Callable[[Task, Scene], float | str | None]) -> str:
    ours = task_named(_OURS)
    rows = []
    for task in TASKS:
        cells = [compared(time_of(task, s), None if task is ours else time_of(ours, s)) for s in scenes]
        if any(cells):
            rows.append([task.title, *cells])
    return markdown_table(["", *map(_scene_title, scenes)], rows)


def _memory(known: Known, scenes: Sequence[Scene]) -> str:
    rows = []
    for task in TASKS:
        for stage in task.stages:
            measurements = [known.find(task.name, stage.name, scene) for scene in scenes]
            cells = [f"{m.megabytes:,.0f}" if m is not None and m.outcome == "done" else "" for m in measurements]
            rows.append([f"{task.title}, {stage.name}", *cells])
    return markdown_table(["MB", *map(_scene_title, scenes)], [row for row in rows if any(row[1:])])


def _ran(about: Path, measurements: Sequence[Measurement]) -> str:
    machine = json.loads(about.read_text())
    limits = sorted({m.limit for m in measurements})
    limit = " and ".join(f"{value:g} s" for value in limits)
    load = ", ".join(f"{value:.1f}" for value in machine["load_average"])
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    # The average lags by a minute: up to the number of cores it may be what ran before.
    crowded = machine["load_average"][0] > machine["cores"]
    busy = " **Other programs were running: a check that everything runs.**" if crowded else ""
    where = f"{machine['cpu']}, {machine['cores']} cores, load {load} at the start, Python {machine['python']}"
    return f"{where}; {versions}. Stopped at {limit} or 8 GB.{busy}"


def _scene_title(scene: Scene) -> str:
    varied = [f"{name} = {value:,}" for name, value in zip("ndk", scene, strict=True)]
    different = [text for text, value, usual in zip(varied, scene, CENTER, strict=True) if value != usual]
    return different[0] if different else f"{CENTER.n:,} x {CENTER.d}, k = {CENTER.k}"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.1f}"


def _draw(known: Known, path: Path) -> None:
    """Draw seconds against points, without and with the clustering; an open triangle is a stop at the limit."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), sharey=True)
    _panel(left, known, lambda task: ((task.name, "score"),), plt)
    _panel(right, known, lambda task: task.after, plt)
    left.set(title="scores of a given clustering", ylabel="seconds")
    right.set(title="including the clustering")
    right.legend(fontsize=8, frameon=False, bbox_to_anchor=(1.0, 1.0))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, facecolor="white", bbox_inches="tight")
    plt.close(figure)


def _panel(axes: Any, known: Known, stages_of: Callable[[Task], Any], plt: Any) -> None:
    colors = iter(plt.get_cmap("tab10").colors)
    for task in TASKS:
        if not task.after:
            continue
        color = _COLORS.get(task.name) or next(colors)
        values = {n: known.seconds(stages_of(task), CENTER._replace(n=n)) for n in SIZES}
        done = {n: value for n, value in values.items() if isinstance(value, float)}
        width = 2.4 if task.name in _COLORS else 1.2
        if not done:
            continue
        axes.plot(
            list(done), list(done.values()), color=color, linewidth=width, marker="o", markersize=4, label=task.title
        )
        stopped = next(((n, value) for n, value in values.items() if isinstance(value, str)), None)
        if stopped and stopped[1].endswith(" s"):
            n, limit = stopped[0], float(stopped[1].strip("> s"))
            axes.plot([max(done), n], [done[max(done)], limit], linestyle=":", color=color, linewidth=1.0)
            axes.plot(n, limit, marker="^", markersize=7, color=color, fillstyle="none")
    axes.set(xscale="log", yscale="log", xlabel=f"points (d = {CENTER.d}, k = {CENTER.k})")
    axes.grid(alpha=0.3, which="major")
    axes.spines[["top", "right"]].set_visible(False)
