"""Counting with banks: which samples worth testing each query steals. For more than a few sites, but not very many."""

from __future__ import annotations

import numpy as np

from allegiance._core import IntArray, Threads, for_row_blocks, kernel_ready, row_dots

from ._engine import MAX_SAMPLES, SHARED, Estimate, Queries, Settings
from ._looks import look_at, unit_of_samples
from ._owner_banks import BankSupply, OwnerBanks
from ._tessellation import Tessellation

#: Units of samples (:func:`unit_of_samples`) in a round, up to as many samples as a bank can count.
_ROUND = 0.5
_MAX_ROUND = 2**18
#: Samples in a round are a multiple of this many.
_BLOCK = 256
#: Units before the first look at how precise a query is, and before one is given up.
_FIRST_LOOK, _FIRST_VERDICT = 1, 4
#: Most by which one look multiplies the samples of a query: the first ones know little of how many are needed.
_MAX_GROWTH = 2.0
#: A cell with less than this share of the region, which would need more than this many units, is walked: that is
#: cheaper than waiting for samples to fall into it.
_RARE = 0.02
_PATIENCE = 16


class _Tally:
    """What has been counted for n queries, and who still counts."""

    def __init__(self, n: int, k: int) -> None:
        self.sums = np.zeros((n, k), np.int64)
        self.squares = np.zeros((n, k), np.int64)
        self.tested = np.zeros(n, np.int64)
        self.next_look = np.zeros(n)
        self.active = np.ones(n, dtype=bool)


class BankCounts:
    """Estimate shares by counting which samples of the region each query steals, and from whom.

    The owner of every sample is known in advance, and for each site which samples a query close to it may steal
    (:class:`OwnerBanks`). The samples of the bank of the closest site are tested; one that stands for several counts as
    often. Samples inside the cell of a query are independent, so standard errors follow from the sums of weights and of
    their squares. No answer depends on the order or number of queries.

    Samples come in rounds. At each look a query that reached ``eps`` leaves, and another one is told how many samples
    it will need. Queries with a small cell that would need very many are returned as not found.
    """

    block = 32_768

    def __init__(self, tessellation: Tessellation, settings: Settings, max_samples: int = MAX_SAMPLES) -> None:
        self._tessellation = tessellation
        self._settings = settings
        self._max_samples = max_samples
        self._unit = unit_of_samples(settings, tessellation.n_sites)
        self._banks = OwnerBanks(tessellation, settings)

    def estimate(self, queries: Queries) -> Estimate:
        """Count; rows of zeros for queries that should be measured by a walk inside their cell."""
        site = self._closest_sites(queries)
        # Queries of one site lie together, and so does what is counted for them: memory is read in order.
        order = np.argsort(site, kind="stable")
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, SHARED)
        estimate.put(order, self._estimate(queries.take(order), site[order]))
        return estimate

    def _estimate(self, queries: Queries, site: IntArray) -> Estimate:
        """Count for queries sorted by site."""
        n, k = queries.n, self._tessellation.n_sites
        estimate = Estimate.blank(n, k, SHARED)
        tally = _Tally(n, k)
        size = max(min(-(-int(_ROUND * self._unit) // _BLOCK) * _BLOCK, _MAX_ROUND, self._max_samples), 1)
        tally.next_look[:] = min(_FIRST_LOOK * self._unit, self._max_samples)
        active = np.arange(n)
        index, drawn = 0, 0
        with Threads(self._settings.threads) as threads:
            supply = BankSupply(self._banks, threads)
            while active.size:
                supply.draw(index, size)
                self._count(queries, active, site, supply, tally)
                index, drawn = index + 1, drawn + size
                self._look(active, drawn, tally, estimate, threads)
                active = active[tally.active[active]]
        return estimate

    def _closest_sites(self, queries: Queries) -> IntArray:
        """Return the sites (n,) whose banks the queries use: those with the closest slopes."""
        from allegiance._kernels._owners import owners_at

        site = np.empty(queries.n, np.int64)
        # The closest slope is that of the largest 2 <a, a_i> - |a_i|^2.
        slopes = self._tessellation.functions.a
        query_a, columns, squares = kernel_ready(queries.a, 2.0 * slopes.T, row_dots(slopes, slopes))

        def work(rows: slice) -> None:
            owners_at(query_a[rows], columns, squares, site[rows])

        for_row_blocks(work, queries.n, self._settings.threads, products=queries.n * slopes.size)
        return site

    def _count(self, queries: Queries, active: IntArray, site: IntArray, supply: BankSupply, tally: _Tally) -> None:
        """Test the samples of one round for the queries in ``active``."""
        from allegiance._kernels._stolen_counts import count_stolen

        query_a, query_b, slopes, constants = kernel_ready(queries.a, queries.b, *self._tessellation.functions)
        # A bank is filled once for each piece; only sites with very many queries are worth more than one.
        most = max(-(-active.size // (2 * supply.threads.number)), 1)
        same_site = np.split(active, np.flatnonzero(np.diff(site[active])) + 1)
        pieces = [piece for same in same_site for piece in np.array_split(same, -(-same.size // most))]

        def work(part: slice) -> None:
            for piece in pieces[part]:
                closest = int(site[piece[0]])
                bank = supply.bank(closest)
                within = tally.tested[piece] + bank.size <= max(self._max_samples, bank.size)
                tally.active[piece[~within]] = False
                going = piece[within]
                count_stolen(going, query_a, query_b, slopes, constants, closest, *bank, tally.sums, tally.squares)
                tally.tested[going] += bank.size

        for_row_blocks(work, len(pieces), supply.threads, least=1)

    def _look(self, active: IntArray, drawn: int, tally: _Tally, estimate: Estimate, threads: Threads) -> None:
        """Turn counts into shares, and decide who goes on."""
        looked = active[(tally.next_look[active] <= drawn) | ~tally.active[active]]
        weight, growth = look_at(looked, tally.sums, tally.squares, estimate, self._settings, threads)
        precise = growth <= 1.0
        needed = drawn * np.where(weight > 0, growth, _MAX_GROWTH)
        hopeless = ~precise & (weight < _RARE * drawn) & (needed > _PATIENCE * self._unit)
        hopeless &= drawn >= min(_FIRST_VERDICT * self._unit, self._max_samples)
        estimate.affinity[looked[hopeless]] = 0.0
        tally.next_look[looked] = np.minimum(needed, _MAX_GROWTH * drawn)
        tally.active[looked[precise | hopeless]] = False
