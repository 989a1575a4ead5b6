"""Periods beside each other as one HTML page: what changed, and small multiples of every figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from allegiance.applications import PeriodComparison
from allegiance.io import check_writable, write_whole

from ._render import fill

_TITLES = {
    "right": "Labels expected to be right",
    "unlike": "Points unlike anything seen",
    "contested": "Contested labels",
    "contradicted": "Contradicted labels",
    "share": "Share of the points",
}
#: Clusters shown in small multiples: those that changed most surely, and all points.
_MOST_CLUSTERS = 11
#: Size of a panel, and what is left free around the figure in it.
_WIDTH, _HEIGHT, _SIDE, _TOP = 170.0, 84.0, 14.0, 10.0


class Mark(NamedTuple):
    """One period in a panel."""

    x: float
    y: float
    low: float
    high: float
    """Ends of the 95 % interval of the change, as places."""
    title: str
    changed: bool


class Panel(NamedTuple):
    """One figure of one cluster through all periods."""

    cluster: str
    marks: list[Mark]
    line: str
    """The points of a line through the marks."""
    first: str
    last: str
    changed: bool


class Figure(NamedTuple):
    """One figure in all clusters, on one scale."""

    title: str
    low: str
    high: str
    panels: list[Panel]


def write_drift_report(comparisons: Mapping[str, PeriodComparison], path: Any, *, title: str | None = None) -> Path:
    """Write one HTML file about periods that were compared with one baseline, and return its path.

    Parameters
    ----------
    comparisons
        What :func:`allegiance.compare_periods` returned, by the name of each period, in their order.
    path
        The file to write; an existing one is replaced once the new one is complete.
    title
        The heading of the page.
    """
    given = Path(path)
    check_writable(given, force=True)
    write_whole(given, render_drift_report(comparisons, title=title).encode("utf-8", "replace"))
    return given


def render_drift_report(comparisons: Mapping[str, PeriodComparison], *, title: str | None = None) -> str:
    """Return the page as text; see :func:`write_drift_report`."""
    if not comparisons:
        raise ValueError("comparisons is empty: there is no period to show.")
    told = {name: comparison.to_dict() for name, comparison in comparisons.items()}
    clusters = _most_changed(told)
    return fill(
        "drift.html.j2",
        title=title or "Has it drifted?",
        periods=[(name, comparison.headline(), told[name]) for name, comparison in comparisons.items()],
        then=next(iter(comparisons.values())).then.n_points,
        n_clusters=next(iter(comparisons.values())).classes.size,
        shown=len(clusters) - 1,
        figures=[_figure(measure, told, clusters) for measure in _TITLES],
        width=_WIDTH,
        height=_HEIGHT,
    )


def _most_changed(told: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return all points, and the clusters that changed most surely in any period, by their names."""
    surest: dict[str, float] = {}
    for period in told.values():
        for row in period["changes"]:
            name = str(row["cluster"])
            p = 1.0 if row["p_value"] is None else row["p_value"]
            surest[name] = min(surest.get(name, 1.0), p)
        for finding in period["findings"]:
            surest[str(finding["cluster"])] = -1.0
    ordered = sorted((name for name in surest if name not in ("all", "None")), key=surest.__getitem__)
    return ["all", *ordered[:_MOST_CLUSTERS]]


def _figure(measure: str, told: Mapping[str, dict[str, Any]], clusters: list[str]) -> Figure:
    rows = {
        (period, str(row["cluster"])): row
        for period, found in told.items()
        for row in found["changes"]
        if row["measure"] == measure and row["then"] is not None and row["now"] is not None
    }
    shown = [name for name in clusters if not (measure == "share" and name == "all")]
    values = [row[when] for (_, name), row in rows.items() if name in shown for when in ("then", "now")]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = max(0.1 * (high - low), 0.01)
    low, high = max(low - room, 0.0), min(high + room, 1.0)
    level = max(period["level"] for period in told.values())
    panels = [
        _panel(name, [(period, rows.get((period, name))) for period in told], (low, high), level) for name in shown
    ]
    return Figure(_TITLES[measure], _percent(low), _percent(high), [panel for panel in panels if panel.marks])


def _panel(name: str, rows: list[tuple[str, dict[str, Any] | None]], scale: tuple[float, float], level: float) -> Panel:
    low, high = scale
    known = [(period, row) for period, row in rows if row is not None]
    if not known:
        return Panel(name, [], "", "", "", False)
    step = (_WIDTH - 2 * _SIDE) / len(rows)

    def place(value: float) -> float:
        inside = min(max(value, low), high)
        return round(_HEIGHT - _TOP - (_HEIGHT - 2 * _TOP) * (inside - low) / max(high - low, 1e-9), 1)

    then = known[0][1]["then"]
    marks = [Mark(_SIDE, place(then), place(then), place(then), f"then: {_percent(then)}", False)]
    for number, (period, row) in enumerate(rows, start=1):
        if row is not None:
            ends = [then + (row[end] if row[end] is not None else row["now"] - then) for end in ("low", "high")]
            changed = row["p_value"] is not None and row["p_value"] <= level
            said = f"{period}: {_percent(row['now'])}"
            x = round(_SIDE + number * step, 1)
            marks.append(Mark(x, place(row["now"]), place(ends[0]), place(ends[1]), said, changed))
    line = " ".join(f"{mark.x},{mark.y}" for mark in marks)
    last = _percent(known[-1][1]["now"])
    label = "all points" if name == "all" else "noise" if name == "noise" else f"cluster {name}"
    return Panel(label, marks, line, _percent(then), last, any(mark.changed for mark in marks))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
