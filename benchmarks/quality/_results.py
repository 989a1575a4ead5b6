"""The stored rows as arrays over clusterings, seeds and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._statistics import Floats, Tally, interval, tally

Block = tuple[str, str]


@dataclass(frozen=True)
class Results:
    """Measures of the cells that had enough misassigned points."""

    cells: list[dict[str, Any]]
    values: dict[tuple[str, str, int, str], dict[str, Any]]
    """By set, clusterer, seed and score."""

    @classmethod
    def of(cls, cells: list[dict[str, Any]], scores: list[dict[str, Any]]) -> Results:
        """Index the rows of the store."""
        return cls(cells, {(row["set"], row["clusterer"], row["seed"], row["score"]): row for row in scores})

    def blocks(self, kind: str | None = None, clusterer: str | None = None) -> list[Block]:
        """Return the (set, clusterer) pairs that were measured for at least one seed."""
        measured = {key[:2] for key in self.values}
        return sorted(
            {
                (cell["set"], cell["clusterer"])
                for cell in self.cells
                if (kind is None or cell["kind"] == kind)
                and (clusterer is None or cell["clusterer"] == clusterer)
                and (cell["set"], cell["clusterer"]) in measured
            }
        )

    def seeds(self, block: Block) -> list[int]:
        """Return the seeds measured of a block."""
        return sorted({key[2] for key in self.values if key[:2] == block})

    def over_seeds(self, block: Block, score: str, measure: str = "auroc") -> Floats:
        """Return a measure for each seed of a block, (seeds,)."""
        return np.array([self.values[(*block, seed, score)][measure] for seed in self.seeds(block)])

    def by_set(self, scores: Sequence[str], measure: str, blocks: Sequence[Block]) -> tuple[list[str], Floats]:
        """Return the sets, and the mean of a measure over the seeds and then the clusterers of each, (sets, scores)."""
        names = sorted({block[0] for block in blocks})
        rows = [
            [
                np.mean([self.over_seeds(block, score, measure).mean() for block in blocks if block[0] == name])
                for score in scores
            ]
            for name in names
        ]
        return names, np.array(rows)

    def overall(self, score: str, measure: str, blocks: Sequence[Block]) -> tuple[float, float]:
        """Return the mean over blocks, and its 95 % interval over seeds with the data sets as given.

        A seed that lacks a block, for want of misassigned points, takes the block's mean over the other seeds.
        """
        every = sorted({key[2] for key in self.values})
        table = np.full((len(blocks), len(every)), np.nan)
        for b, block in enumerate(blocks):
            table[b, [every.index(seed) for seed in self.seeds(block)]] = self.over_seeds(block, score, measure)
        table = np.where(np.isnan(table), np.nanmean(table, axis=1, keepdims=True), table)
        return interval(table.mean(axis=0))

    def against(self, ours: str, peer: str, measure: str, blocks: Sequence[Block]) -> Tally:
        """Count where we are better, even and worse, block by block."""
        return tally([self.over_seeds(b, ours, measure) - self.over_seeds(b, peer, measure) for b in blocks])

    def about(self, name: str) -> dict[str, Any]:
        """Return size and misassigned shares of a set, (over seeds, by clusterer)."""
        cells = [cell for cell in self.cells if cell["set"] == name]
        wrong: dict[str, npt.NDArray[np.float64]] = {
            clusterer: np.array([cell["wrong"] for cell in cells if cell["clusterer"] == clusterer])
            for clusterer in sorted({cell["clusterer"] for cell in cells})
        }
        return {**cells[0], "wrong": wrong}
