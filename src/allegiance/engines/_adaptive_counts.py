"""Adaptive counting: rounds of shared samples, until each query is precise enough or should be walked."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allegiance._core.parallel import kernel_ready
from allegiance._core.validation import AnyArray, FloatArray, IntArray
from allegiance.influence import AffineFunctions

from ._base import CACHE_MB, MAX_SAMPLES, Z95, Estimate, FittedEngine, Settings
from ._tessellation import Tessellation

#: A cell with less than this share of the region that would need more samples than the patience of its engine is
#: walked: that is cheaper than waiting for samples to fall into it.
_RARE_SHARE = 0.02
#: Factor by which one look multiplies the samples of a query that has stolen nothing.
_BLIND_GROWTH = 3.0


class Schedule(NamedTuple):
    """When to look at the precision of a query, in samples drawn."""

    first_look: float
    max_growth: float
    """Most by which one look multiplies the samples of a query."""
    first_verdict: float
    """Samples before a query may be given up."""
    patience: float
    """Samples beyond which a query with a small cell is given up."""
    most: float
    """Samples after which all queries keep what they have."""


class Tally(NamedTuple):
    """The counts of n queries for k sites, (n, k) int64; see ``weighted_shares``."""

    sums: IntArray
    squares: IntArray
    products: IntArray


class AdaptiveCounts(FittedEngine):
    """Estimate shares by counting which samples of the region each query steals, and from whom.

    The owner of every sample is known in advance; a query steals y if f_x(y) <= f_owner(y). Samples inside its cell
    are independent, so standard errors follow from the sums of weights and of their squares. The same samples serve
    every query: scores are comparable, and no answer depends on the order or number of queries.

    Samples come in rounds. At each look a query that reached ``eps`` leaves, and for another one it is computed how
    many samples it will need. Queries with a small cell that would need very many are left without an answer.
    """

    def __init__(
        self, tessellation: Tessellation, settings: Settings, max_samples: int = MAX_SAMPLES, cache_mb: float = CACHE_MB
    ) -> None:
        self._tessellation = tessellation
        self._functions = AffineFunctions(*kernel_ready(*tessellation.functions))
        self._settings = settings
        self._max_samples = max_samples
        self._cache_bytes = cache_mb * 2**20
        #: The sample budget at which an average cell, one of k + 1, reaches ``eps``.
        self._unit = 0.25 * (Z95 / settings.eps) ** 2 * (tessellation.n_sites + 1)

    def _count_adaptively(
        self,
        active: IntArray,
        tally: Tally,
        schedule: Schedule,
        estimate: Estimate,
        count_round: Callable[[int, IntArray], int],
    ) -> None:
        """Count in adaptive rounds until queries in ``active`` are precise, or given up with affinities of zero.

        ``count_round(index, active)`` adds the counts of one round, and returns how many samples it has.
        """
        index, n_drawn = 0, 0
        next_look = np.full(tally.sums.shape[0], float(schedule.first_look))
        while active.size:
            n_drawn += count_round(index, active)
            index += 1
            spent = n_drawn >= schedule.most
            looking = (next_look[active] <= n_drawn) | spent
            if looking.any():
                due = active[looking]
                weight, growth = _update_estimates(due, tally, estimate, self._settings)
                precise = growth <= 1.0
                needed = n_drawn * np.where(weight > 0, growth, _BLIND_GROWTH)
                hopeless = ~precise & (weight < _RARE_SHARE * n_drawn) & (needed > schedule.patience)
                hopeless &= n_drawn >= schedule.first_verdict
                estimate.affinity[due[hopeless]] = 0.0
                next_look[due] = np.minimum(np.minimum(needed, schedule.max_growth * n_drawn), schedule.most)
                looking[looking] = precise | hopeless | spent
                active = active[~looking]


def _update_estimates(
    rows: AnyArray, tally: Tally, estimate: Estimate, settings: Settings
) -> tuple[FloatArray, FloatArray]:
    """Write the shares of ``rows`` (m,) and their errors to ``estimate``; return their weight and growth, both (m,).

    The growth is by how much the number of samples must be multiplied: at most 1 for rows that are precise enough,
    infinite for those that have stolen nothing.
    """
    from allegiance._kernels.counting import weighted_shares

    weight, worst = np.empty((2, rows.size))
    weighted_shares(*tally, rows, *estimate[:2], weight, worst)
    return weight, np.where(weight > 0, (Z95 * worst / settings.eps) ** 2, np.inf)
