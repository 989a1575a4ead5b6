"""What several tables say of a partition: its distances to the reference, and its unstable share."""

from __future__ import annotations

from typing import NamedTuple

from allegiance import affinity
from allegiance._typing import AnyArray
from allegiance.metrics import lift_emd, rand_distance

from ._section import percent_spread, spread
from ._setup import DataSet


class Quality(NamedTuple):
    """How far a partition is from the reference, and how much of it is unstable."""

    lift_emd: float
    rand: float
    unstable: float


def quality(data: DataSet, labels: AnyArray, seed: int) -> Quality:
    """Measure one partition of a data set."""
    result = affinity(data.X, labels, random_state=seed)
    return Quality(
        lift_emd(data.X, labels, data.reference),
        rand_distance(labels, data.reference),
        1.0 - float(result.stable.mean()),
    )


def quality_cells(runs: list[Quality]) -> tuple[str, str, str]:
    """Write the three numbers with their spread over runs."""
    return (
        spread([run.lift_emd for run in runs]),
        spread([run.rand for run in runs]),
        percent_spread([run.unstable for run in runs]),
    )
