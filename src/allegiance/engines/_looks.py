"""How precise the shares of queries are after some counting, and how many more samples they need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, Threads, for_row_blocks

from ._engine import Z95, Estimate, Settings, told_apart


class Look(NamedTuple):
    """What a look at some queries shows."""

    weight: FloatArray
    """(m,) of all samples that they steal."""
    growth: FloatArray
    """(m,) by how much the number of samples must be multiplied: at most 1 for those that are precise enough."""


def unit_of_samples(settings: Settings, n_sites: int) -> float:
    """Return how many samples give an average cell, one of k + 1, what ``eps`` needs at most."""
    return 0.25 * (Z95 / settings.widest) ** 2 * (n_sites + 1)


def look_at(
    rows: AnyArray,
    sums: AnyArray,
    squares: AnyArray,
    estimate: Estimate,
    settings: Settings,
    threads: int | Threads = 1,
) -> Look:
    """Write the shares of ``rows`` (m,) and their errors to ``estimate``, and say how precise they are.

    ``sums`` and ``squares`` (n, k) are those of the weights of stolen samples. A row that has stolen nothing is left
    alone, and its growth is infinite.
    """
    from allegiance._kernels._stolen_counts import weighted_shares

    weight, worst = np.empty((2, rows.size))

    def work(part: slice) -> None:
        weighted_shares(sums, squares, rows[part], *estimate[:2], weight[part], worst[part])

    for_row_blocks(work, rows.size, threads)
    wanted = np.full(rows.size, settings.eps)
    if settings.verdict:
        wanted[told_apart(*(part[rows] for part in estimate[:2]))] = settings.widest
    return Look(weight, np.where(weight > 0, (Z95 * worst / wanted) ** 2, np.inf))
