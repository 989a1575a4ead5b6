"""The quality of a partition, for several tables: its distances to the reference, and its unstable share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance import affinity
from allegiance.metrics import lift_emd, rand_distance
from reproduction.datasets import AnyArray, DataSet
from reproduction.framework import compare_numbers, percent_spread, spread

_MEASURES = ("LiftEMD", "Rand distance", "unstable")
QUALITY_COLUMNS = ("data", "partition", *(cell for name in _MEASURES for cell in (f"{name}: paper", "ours")))


class Quality(NamedTuple):
    """How far a partition is from the reference, and how much of it is unstable."""

    lift_emd: float
    rand: float
    unstable: float


def quality(data: DataSet, labels: AnyArray, seed: int) -> Quality:
    """Measure one partition of a dataset."""
    result = affinity(data.X, labels, random_state=seed, influence="euclidean")
    return Quality(
        lift_emd(data.X, labels, data.reference),
        rand_distance(labels, data.reference),
        1.0 - float(result.stable.mean()),
    )


def quality_row(data: DataSet, partition: str, paper: tuple[str, str, str], runs: list[Quality]) -> tuple[str, ...]:
    """Return a row under QUALITY_COLUMNS: the paper's three numbers, and ours with their spread over runs."""
    ours = (
        spread([run.lift_emd for run in runs]),
        spread([run.rand for run in runs]),
        percent_spread([run.unstable for run in runs]),
    )
    return data.name, partition, *(cell for pair in zip(paper, ours, strict=True) for cell in pair)


def compare_quality(paper: tuple[tuple[str, str, str], ...], runs: tuple[list[Quality], ...]) -> str:
    """Compare the paper's LiftEMD and Rand distances with our means; "match" if all are within 0.03."""
    pairs = [
        (float(number), float(np.mean([run[i] for run in each])))
        for numbers, each in zip(paper, runs, strict=True)
        for i, number in enumerate(numbers[:2])
    ]
    return compare_numbers(pairs, 0.03)
