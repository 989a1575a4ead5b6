"""Several clusterings of one table, from options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ._clustering import clusterer
from ._options import ALGORITHMS, RunOptions
from ._points import Points

labels_option = click.option(
    "--labels", metavar="COLUMN", multiple=True, help="Column with the labels of a clustering; repeatable."
)
algorithm_option = click.option(
    "--algorithm", type=click.Choice(ALGORITHMS), multiple=True, help="Algorithm that makes a clustering; repeatable."
)


def candidates(
    points: Points, labels: Sequence[str], algorithms: Sequence[str], clusters: int | None, run: RunOptions
) -> dict[str, Any]:
    """Return labels and clusterers by name.

    Parameters
    ----------
    points
        The table.
    labels
        Columns of labels.
    algorithms
        Names of algorithms.
    clusters
        How many clusters these are to find.
    run
        For the seed.
    """
    found: dict[str, Any] = {column: points.labels(column) for column in labels}
    for algorithm in algorithms:
        found[algorithm if algorithm not in found else f"{algorithm} algorithm"] = clusterer(
            algorithm, clusters, run.seed
        )
    return found


def check_clusters(algorithms: Sequence[str], clusters: int | None) -> None:
    """Raise a usage error if an algorithm needs a number of clusters and has none."""
    needing = [algorithm for algorithm in algorithms if algorithm != "hdbscan"]
    if needing and clusters is None:
        raise click.UsageError(f"--algorithm {needing[0]} needs --clusters K.")
