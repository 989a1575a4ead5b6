"""The raw results: two CSV files, and the versions that they were made with.

One file has a row per cell, the other a row per cell and score. The row of a cell is written last, so an interrupted
run leaves at most scores without a cell, which ``tidy`` drops.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from ._cell import Cell

KEY = ["set", "clusterer", "seed"]


class Store:
    """The files of one run."""

    def __init__(self, folder: Path, name: str) -> None:
        self.cells_path = folder / f"{name}_cells.csv"
        self.scores_path = folder / f"{name}_scores.csv"
        self.versions_path = folder / f"{name}.json"

    def clear(self) -> None:
        """Delete all results."""
        for path in (self.cells_path, self.scores_path, self.versions_path):
            path.unlink(missing_ok=True)

    def finished(self) -> set[tuple[str, str, int]]:
        """Return set, clusterer and seed of every complete cell."""
        if not self.cells_path.exists():
            return set()
        return set(pd.read_csv(self.cells_path)[KEY].itertuples(index=False, name=None))

    def append(self, cell: Cell) -> None:
        """Add a cell."""
        _append(self.scores_path, pd.DataFrame(cell.scores))
        _append(self.cells_path, pd.DataFrame([cell.about]))

    def tidy(self) -> None:
        """Sort both files, and drop scores without a cell."""
        if not self.cells_path.exists():
            return
        cells = pd.read_csv(self.cells_path).drop_duplicates(KEY, keep="last").sort_values(KEY)
        scores = (
            pd.read_csv(self.scores_path).drop_duplicates([*KEY, "score"], keep="last").sort_values([*KEY, "score"])
        )
        for path, rows in ((self.cells_path, cells), (self.scores_path, scores.merge(cells[KEY], on=KEY))):
            fresh = path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            _append(fresh, rows)
            fresh.replace(path)

    def note_versions(self, versions: dict[str, str]) -> int:
        """Record versions, and return how many different sets of them made the results."""
        known = json.loads(self.versions_path.read_text()) if self.versions_path.exists() else []
        if versions not in known:
            known.append(versions)
            self.versions_path.write_text(json.dumps(known, indent=2) + "\n")
        return len(known)


def _append(path: Path, rows: pd.DataFrame) -> None:
    rows.to_csv(path, mode="a", header=not path.exists(), index=False, float_format="%.4f", lineterminator="\n")
