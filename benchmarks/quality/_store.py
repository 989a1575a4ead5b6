"""The raw results: two CSV files, and what they were made with.

One file has a row per cell, one a row per cell and score. A cell's row is written last, so an interrupted run leaves at
worst scores without a cell, which are dropped when the files are read again.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ._cell import FINDING, Cell

_KEY = ("set", "clusterer", "seed")
_ABOUT = (*_KEY, "kind", "rows", "columns", "clusters", "wrong", "unmatched", "seconds")
MEASURES = FINDING
_SCORES = (*_KEY, "score", *MEASURES)
_TEXTS = ("set", "clusterer", "score", "kind")
_WHOLE = ("seed", "rows", "columns", "clusters")

Row = dict[str, Any]


class Stored(NamedTuple):
    """The rows of all complete cells, each list in the order of the names."""

    cells: list[Row]
    scores: list[Row]


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

    def read(self) -> Stored:
        """Return everything that belongs to a complete cell."""
        cells = {_key(row): row for row in _read(self.cells_path)}
        return Stored(
            [cells[key] for key in sorted(cells)],
            _of_cells(cells, _read(self.scores_path)),
        )

    def append(self, cell: Cell) -> None:
        """Add a cell."""
        _append(self.scores_path, _SCORES, cell.scores)
        _append(self.cells_path, _ABOUT, [cell.about])

    def tidy(self) -> None:
        """Write the files anew, sorted."""
        cells, scores = self.read()
        for path, columns, rows in (
            (self.cells_path, _ABOUT, cells),
            (self.scores_path, _SCORES, scores),
        ):
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


def _key(row: Row) -> tuple[str, str, int]:
    return row["set"], row["clusterer"], row["seed"]


def _of_cells(cells: dict[tuple[str, str, int], Row], rows: list[Row]) -> list[Row]:
    known = {(*_key(row), row["score"]): row for row in rows if _key(row) in cells}
    return [known[key] for key in sorted(known)]


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)]


def _value(name: str, text: str) -> Any:
    if name in _TEXTS:
        return text
    if not text:
        return float("nan")
    return int(text) if name in _WHOLE else float(text)


def _append(path: Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(columns)
        writer.writerows([_text(name, row[name]) for name in columns] for row in rows)


def _text(name: str, value: Any) -> str:
    """Write few digits, and nothing for NaN: the files are kept with the project."""
    if not isinstance(value, float):
        return str(value)
    if np.isnan(value):
        return ""
    return f"{value:.3f}" if name.startswith(("keep", "p5", "seconds")) else f"{value:.4f}"
