"""The stored rows as arrays over clusterings, seeds and scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._reliability import calibration_error, chance_error, pooled, surplus
from ._statistics import Floats, Tally, interval, tally
from ._store import Stored

Block = tuple[str, str]


class Chances(NamedTuple):
    """How far the chances of a score are from what happened, over some clusterings."""

    pooled: float
    """Calibration error of all clusterings together."""
    by_set: float
    """Mean over the sets of the calibration error of all clusterings of a set together."""
    by_clustering: float
    """Mean over single clusterings."""
    brier: float
    mean_error: float
    """Mean over clusterings of |mean chance - share right|."""
    surplus: float
    """Mean chance minus share right."""


@dataclass(frozen=True)
class Results:
    """Measures of all cells; what is about finding misassigned points, of the cells that have enough of them."""

    cells: list[dict[str, Any]]
    values: dict[tuple[str, str, int, str], dict[str, Any]]
    """By set, clusterer, seed and score."""
    bins: dict[tuple[str, str, int, str], Floats]
    """By the same, (bins, 4)."""

    @classmethod
    def of(cls, stored: Stored) -> Results:
        """Index the rows of the store."""
        return cls(
            stored.cells,
            {(row["set"], row["clusterer"], row["seed"], row["score"]): row for row in stored.scores},
            {(row["set"], row["clusterer"], row["seed"], row["score"]): row["bins"] for row in stored.bins},
        )

    def blocks(
        self, kinds: Sequence[str] = (), clusterer: str | None = None, *, two: bool = False, all_cells: bool = False
    ) -> list[Block]:
        """Return the (set, clusterer) pairs of some kinds, by default all, with two clusters or with more.

        Pairs without enough misassigned points for at least one seed are left out, unless ``all_cells``.
        """
        return sorted(
            {
                (cell["set"], cell["clusterer"])
                for cell in self.cells
                if (not kinds or cell["kind"] in kinds)
                and (clusterer is None or cell["clusterer"] == clusterer)
                and (cell["clusters"] == 2) == two
                and (all_cells or (cell["set"], cell["clusterer"]) in self._seeds)
            }
        )

    @cached_property
    def _seeds(self) -> dict[Block, list[int]]:
        found: dict[Block, set[int]] = {}
        for key, row in self.values.items():
            if not np.isnan(row["auroc"]):
                found.setdefault(key[:2], set()).add(key[2])
        return {block: sorted(seeds) for block, seeds in found.items()}

    def seeds(self, block: Block) -> list[int]:
        """Return the seeds of a block that have enough misassigned points."""
        return self._seeds[block]

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
        every = sorted({cell["seed"] for cell in self.cells})
        table = np.full((len(blocks), len(every)), np.nan)
        for b, block in enumerate(blocks):
            table[b, [every.index(seed) for seed in self.seeds(block)]] = self.over_seeds(block, score, measure)
        table = np.where(np.isnan(table), np.nanmean(table, axis=1, keepdims=True), table)
        return interval(table.mean(axis=0))

    def against(self, ours: str, peer: str, measure: str, blocks: Sequence[Block]) -> Tally:
        """Count where we are better, even and worse, block by block."""
        return tally([self.over_seeds(b, ours, measure) - self.over_seeds(b, peer, measure) for b in blocks])

    def pooled_bins(self, score: str, blocks: Sequence[Block]) -> Floats:
        """Return the bins (bins, 4) of a score over all cells of the blocks, each cell with the same weight."""
        return pooled([bins for key, bins in self.bins.items() if key[3] == score and key[:2] in set(blocks)])

    def chances(self, score: str, blocks: Sequence[Block], reading: str) -> Chances:
        """Measure a score as a chance, under one reading of right: "right" by majority, or "matched"."""
        tables = {key[:3]: bins for key, bins in self.bins.items() if key[3] == score and key[:2] in set(blocks)}
        sets = {key[0] for key in tables}
        together = [pooled([table for key, table in tables.items() if key[0] == name]) for name in sets]
        measure = "brier" if reading == "right" else "matched_brier"
        return Chances(
            calibration_error(pooled(list(tables.values())), reading),
            float(np.mean([calibration_error(table, reading) for table in together])),
            float(np.mean([calibration_error(table, reading) for table in tables.values()])),
            float(np.mean([self.values[(*key, score)][measure] for key in tables])),
            float(np.mean([abs(surplus(table, reading)) for table in tables.values()])),
            surplus(pooled(list(tables.values())), reading),
        )

    def true_chance(self, score: str, blocks: Sequence[Block]) -> float:
        """Return what the calibration error of a score, clustering by clustering, would be if its chances were true."""
        tables = [bins for key, bins in self.bins.items() if key[3] == score and key[:2] in set(blocks)]
        return float(np.mean([chance_error(table) for table in tables]))

    def held(self, blocks: Sequence[Block], wrong: str) -> float:
        """Return how often the interval of trust held the share of right labels: "wrong" or "unmatched" is the rest."""
        cells = [cell for cell in self.cells if (cell["set"], cell["clusterer"]) in set(blocks)]
        return float(np.mean([cell["low"] <= 1.0 - cell[wrong] <= cell["high"] for cell in cells]))

    def about(self, name: str) -> dict[str, Any]:
        """Return size and misassigned shares of a set, (over seeds, by clusterer)."""
        cells = [cell for cell in self.cells if cell["set"] == name]
        wrong: dict[str, npt.NDArray[np.float64]] = {
            clusterer: np.array([cell["wrong"] for cell in cells if cell["clusterer"] == clusterer])
            for clusterer in sorted({cell["clusterer"] for cell in cells})
        }
        return {**cells[0], "wrong": wrong}
