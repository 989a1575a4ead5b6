"""Is a chance what happens? Bins of a score read as a chance, and the calibration error that follows from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Bins of equal width between 0 and 1.
BINS = 10
#: The columns of a bin: points, sum of their chances, and how many are right by majority and by matching.
COLUMNS = ("points", "chance", "right", "matched")


def binned(chance: Floats, wrong: Bools, unmatched: Bools) -> Floats:
    """Return for each bin the number of points, the sum of their chances, and how many are right, (bins, 4)."""
    bins = np.minimum((chance * BINS).astype(int), BINS - 1)
    columns = (np.ones_like(chance), chance, ~wrong, ~unmatched)
    return np.column_stack([np.bincount(bins, weights=column, minlength=BINS) for column in columns])


def pooled(tables: list[Floats]) -> Floats:
    """Add bins of several clusterings, each with the same weight, (bins, 4)."""
    return np.sum([table / table[:, 0].sum() for table in tables], axis=0) / len(tables)


def calibration_error(table: Floats, reading: str = "right") -> float:
    """Return the expected calibration error: the mean over points of |chance - share right| of their bin."""
    right = table[:, COLUMNS.index(reading)]
    return float(np.abs(table[:, 1] - right).sum() / table[:, 0].sum())


def surplus(table: Floats, reading: str = "right") -> float:
    """Return the mean chance minus the share right: above zero for a score that is too sure."""
    right = table[:, COLUMNS.index(reading)]
    return float((table[:, 1] - right).sum() / table[:, 0].sum())


def chance_error(table: Floats) -> float:
    """Return the calibration error to expect of a true chance with these bins, for want of points (normal limit)."""
    points = np.maximum(table[:, 0], 1.0)
    share = table[:, 1] / points
    return float(np.sqrt(2.0 / np.pi * points * share * (1.0 - share)).sum() / table[:, 0].sum())


def brier(chance: Floats, wrong: Bools) -> float:
    """Return the mean squared difference between the chance and what happened."""
    return float(np.mean((chance - ~wrong) ** 2))
