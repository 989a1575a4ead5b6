"""Times of competing ways to do one job, rows of the benchmark table, the table itself, and the result files."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _marked_page import markdown_table

RESULTS = Path(__file__).resolve().parent / "results"
_UNIT_SCALES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")), "B": ((1e9, "GB"), (1e6, "MB"))}


def side_by_side(tasks: Mapping[str, Callable[[], object]], turns: int, *, warm_up: bool = True) -> dict[str, float]:
    """Return the best seconds of each task in several turns, after a warm-up run of each.

    Other programs slow a shared machine down for seconds at a time: taking turns spreads such a spell over all tasks,
    and the best turn is the one least disturbed.
    """
    if warm_up:
        for task in tasks.values():
            task()
    seconds = dict.fromkeys(tasks, float("inf"))
    for _ in range(turns):
        for name, task in tasks.items():
            started = time.perf_counter()
            task()
            seconds[name] = min(seconds[name], time.perf_counter() - started)
    return seconds


@dataclass(frozen=True)
class Row:
    """One comparison.

    ``ratio`` says how many times better we are than the peer, so more is better. ``met`` is None where nothing was
    aimed at or the peer is absent.
    """

    what: str
    ours: float
    unit: str = "s"
    peer: str = ""
    theirs: float | None = None
    ratio: float | None = None
    target: str = ""
    met: bool | None = None
    details: dict[str, Any] = field(default_factory=dict)


def faster_row(what: str, ours: float, peer: str, theirs: float, at_least: float | None = None, **details: Any) -> Row:
    """Compare two times; ``at_least`` is how many times faster we aim to be."""
    ratio = theirs / ours
    target = "" if at_least is None else f">= {at_least:.3g}x"
    met = None if at_least is None else ratio >= at_least
    return Row(what, ours, "s", peer, theirs, ratio, target, met, details)


def limit_row(what: str, ours: float, unit: str, limit: float, **details: Any) -> Row:
    """Compare a time or a size with the most that we allow ourselves."""
    return Row(what, ours, unit, target=f"<= {quantity(limit, unit)}", met=ours <= limit, details=details)


def quantity(value: float, unit: str) -> str:
    """Write a number with three digits and a unit of fitting size."""
    units = _UNIT_SCALES.get(unit, ((1.0, unit),))
    scale, name = next((each for each in units if abs(value) >= each[0]), units[-1])
    return f"{value / scale:.3g} {name}".strip()


def table(rows: Sequence[Row]) -> str:
    """Return all rows as one table of text."""
    head = ("what", "ours", "peer", "ratio", "target", "met")
    cells = [head, *(_cells(row) for row in rows)]
    widths = [max(len(row[c]) for row in cells) for c in range(len(head))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "-" * (sum(widths) + 2 * len(widths) - 2), *lines[1:]])


def page_table(rows: Sequence[Row]) -> str:
    """Return all rows as a table for the page, in bold where the peer is faster or a target is missed."""
    lines = []
    for row in rows:
        what, ours, peer, ratio, target, met = _cells(row)
        ratio = f"**{ratio}**" if row.ratio is not None and row.ratio < 1.0 else ratio
        lines.append([what, ours, peer, ratio, target, "**no**" if row.met is False else met])
    return markdown_table(("", "ours", "peer", "peer / ours", "target", "met"), lines)


def save(name: str, rows: Sequence[Row], machine: dict[str, Any]) -> Path:
    """Write the rows of one benchmark, with the machine, to ``results/<name>.json``."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {"benchmark": name, "machine": machine, "rows": [asdict(row) for row in rows]}
    path.write_text(json.dumps(content, indent=2, default=float, ensure_ascii=False) + "\n")
    return path


def _cells(row: Row) -> tuple[str, ...]:
    peer = row.peer
    if row.theirs is not None:
        peer = f"{peer} {quantity(row.theirs, row.unit)}"
    ratio = "" if row.ratio is None else f"{row.ratio:,.0f}x" if row.ratio >= 100 else f"{row.ratio:.3g}x"
    met = {True: "yes", False: "NO", None: ""}[row.met]
    return row.what, quantity(row.ours, row.unit), peer, ratio, row.target, met
