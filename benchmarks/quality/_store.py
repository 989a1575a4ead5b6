"""The raw results: two small CSV files, one row per cell and one row per cell and score, and what they were made with.

A cell's row is written after its scores, so an interrupted run leaves at worst scores without a cell, which are dropped
when the files are read again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._cell import COVERAGES, PRECISION_SHARES, Cell

_KEY = ("set", "clusterer", "seed")
_ABOUT = (*_KEY, "kind", "rows", "columns", "clusters", "wrong", "unmatched")
MEASURES = (
    "auroc",
    "ap",
    *(f"p{100 * share:.0f}" for share in PRECISION_SHARES),
    "matched_auroc",
    *(f"keep{100 * share:.0f}" for share in COVERAGES),
)
_SCORES = (*_KEY, "score", *MEASURES)


class Store:
    """The files of one run."""

    def __init__(self, folder: Path, name: str) -> None:
        self.cells_path = folder / f"{name}_cells.csv"
        self.scores_path = folder / f"{name}_scores.csv"
        self.made_with_path = folder / f"{name}.json"

    def clear(self) -> None:
        """Forget everything."""
        for path in (self.cells_path, self.scores_path, self.made_with_path):
            path.unlink(missing_ok=True)

    def read(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """Return the rows of all complete cells, and of their scores, each in the order of the names."""
        cells = {_key(row): row for row in _read(self.cells_path)}
        scores = {(*_key(row), row["score"]): row for row in _read(self.scores_path) if _key(row) in cells}
        return [cells[key] for key in sorted(cells)], [scores[key] for key in sorted(scores)]

    def append(self, cell: Cell) -> None:
        """Add a cell."""
        _append(self.scores_path, _SCORES, cell.scores)
        _append(self.cells_path, _ABOUT, [cell.about])

    def tidy(self) -> None:
        """Write both files anew, sorted."""
        cells, scores = self.read()
        for path, columns, rows in ((self.cells_path, _ABOUT, cells), (self.scores_path, _SCORES, scores)):
            fresh = path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            _append(fresh, columns, rows)
            fresh.replace(path)

    def made_with(self) -> list[dict[str, str]]:
        """Return the versions that made the results: more than one set of them if versions changed between runs."""
        return json.loads(self.made_with_path.read_text()) if self.made_with_path.exists() else []

    def note_made_with(self, versions: dict[str, str]) -> int:
        """Remember versions, and return how many different sets of them made the results."""
        known = self.made_with()
        if versions not in known:
            known.append(versions)
            self.made_with_path.write_text(json.dumps(known, indent=2) + "\n")
        return len(known)


def _key(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["set"], row["clusterer"], row["seed"]


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(name: str, text: str) -> Any:
    if name in ("set", "clusterer", "score", "kind"):
        return text
    return int(text) if name in ("seed", "rows", "columns", "clusters") else float(text)


def _append(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(columns)
        writer.writerows([_text(name, row[name]) for name in columns] for row in rows)


def _text(name: str, value: Any) -> str:
    """Write four digits of what is ranked and three of the rest: the files are kept with the project."""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if name in ("auroc", "ap", "matched_auroc", "wrong", "unmatched") else f"{value:.3f}"
