"""Counting in reflected samples: the fast way where there are many sites."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from allegiance._core.arithmetic import row_dots
from allegiance._core.parallel import Threads, for_row_blocks, kernel_ready, slices, stream
from allegiance._core.validation import AnyArray, IntArray

from ._adaptive_counts import AdaptiveCounts, Schedule, Tally
from ._base import MAX_SAMPLES, SHARED, Estimate, Queries
from ._tessellation import SingleFunctions

#: Units of samples (:class:`AdaptiveCounts`) in a round: after the first one the largest of many shares is often
#: precise. Before the second number of units, the most that ``prepare`` draws, no query is given up.
_ROUND_UNITS, _FIRST_VERDICT = 0.25, 4
#: Blocks of samples drawn at a time, and most of them in a round.
_BLOCKS, _MOST_ROUND = 8, 256
#: Most samples times sites and dimensions, and least units of samples: with hundreds of sites in as many dimensions
#: queries that need more keep a larger standard error.
_MAX_PRODUCTS, _LEAST_BUDGET = 2**39, 4
#: Budgets of samples for a query with a small cell. It is walked if it needs more: its intervals would be more than
#: twice as wide as they should be.
_PATIENCE = 4
#: Most by which one look multiplies the samples of a query: the first ones know little of how many are needed.
_MAX_GROWTH = 2.0
#: Key of the streams of random numbers.
_DRAWS = 2
#: Counts updated at a time by one thread: they stay in a cache.
_MAX_COUNTS = 2**16


class _Round(NamedTuple):
    """Blocks of base samples, and the owners of all their reflections; see ``own_samples``."""

    blocks: AnyArray
    highest: AnyArray
    owner: AnyArray

    @property
    def nbytes(self) -> int:
        """The memory that a round of reflected samples takes."""
        return self.blocks.nbytes + self.highest.nbytes + self.owner.nbytes


class ReflectedCounts(AdaptiveCounts):
    """Count in samples reflected in groups of axes, which costs a small part of the products of independent ones.

    The region must be a cube or a ball. Rounds of samples depend on the tessellation and the seed alone, and are kept
    as long as there is room.
    """

    block = 16_384

    def estimate(self, queries: Queries) -> Estimate:
        """Count reflected samples; rows of zeros for queries that should be measured by a walk inside their cell."""
        queries = Queries(*kernel_ready(*queries))
        k = self._tessellation.n_sites
        most = self._budget
        schedule = Schedule(0, _MAX_GROWTH, min(_FIRST_VERDICT * self._unit, most), _PATIENCE * most, most)
        tally = Tally(*np.zeros((3, queries.n, k), np.int64))
        estimate = Estimate.blank(queries.n, k, SHARED)
        with Threads(self._settings.threads) as threads:
            site = self._closest_sites(queries, threads)

            def count_reflected_round(index: int, active: IntArray) -> int:
                self._test_round(queries, active, site, self._round(index, threads), tally, threads)
                return self._round_size

            self._count_adaptively(np.argsort(site, kind="stable"), tally, schedule, estimate, count_reflected_round)
        return estimate

    def prepare(self) -> None:
        """Draw and keep the rounds that most queries need, as long as there is room."""
        with Threads(self._settings.threads) as threads:
            for index in range(-(-int(_FIRST_VERDICT * self._unit) // self._round_size)):
                if self._rounds.get(index, self._round(index, threads)) is not self._rounds.get(index):
                    break

    @property
    def _round_size(self) -> int:
        """The number of reflected samples in a round."""
        from allegiance._kernels.reflecting import SIZE

        blocks = min(-(-int(_ROUND_UNITS * self._unit) // (_BLOCKS * SIZE)) * _BLOCKS, _MOST_ROUND)
        return max(min(blocks, self._max_samples // SIZE), 1) * SIZE

    @property
    def _budget(self) -> float:
        """The number of reflected samples after which no round follows."""
        most = max(_MAX_PRODUCTS / self._tessellation.functions.a.size, _LEAST_BUDGET * self._unit)
        # More samples than usual lift this limit, too.
        most *= max(self._max_samples / MAX_SAMPLES, 1.0)
        return max(min(most, self._max_samples) - self._round_size + 1, 1)

    @cached_property
    def _single(self) -> SingleFunctions:
        """The functions of the sites in single precision, with as many slopes as blocks have axes."""
        from allegiance._kernels.reflecting import GROUPS

        k, r = self._tessellation.functions.a.shape
        slopes, constants, close = self._tessellation.single
        wide = np.zeros((k, -(-r // GROUPS) * GROUPS), np.float32)
        wide[:, :r] = slopes[:k]
        return SingleFunctions(wide, constants[:k], close)

    def _closest_sites(self, queries: Queries, threads: Threads) -> AnyArray:
        """Return the sites (n,) with the slopes closest to those of each query, whose reflected margins it uses."""
        from allegiance._kernels.counting import owners_of

        owner = np.empty(queries.n, np.int32)
        a = self._tessellation.functions.a
        # The closest slope is that of the largest <a, a_i> - |a_i|^2 / 2.
        halves = 0.5 * row_dots(a, a)
        slopes, constants, close = SingleFunctions.of(a, halves)

        def find_sites(rows: slice) -> None:
            columns = np.ascontiguousarray(queries.a[rows].T, dtype=np.float32)
            owners_of(columns, a, halves, slopes, constants, close, owner[rows])

        for_row_blocks(find_sites, queries.n, threads, products=queries.n * a.size)
        return owner

    def _test_round(
        self, queries: Queries, active: IntArray, site: AnyArray, samples: _Round, tally: Tally, threads: Threads
    ) -> None:
        """Test one round of reflected samples for the queries in ``active``, which are sorted by their sites."""
        from allegiance._kernels.reflecting import count_reflected

        # A piece has queries of one site; only sites with very many are worth more than one.
        begins = np.ones(active.size + 1, dtype=bool)
        begins[1:-1] = site[active[1:]] != site[active[:-1]]
        begins[:: max(active.size // (2 * threads.number), 1)] = True
        firsts = np.flatnonzero(begins)
        sites = site[active[firsts[:-1]]]
        slopes, constants, close = self._single

        def count_pieces(part: slice) -> None:
            count_reflected(
                active, firsts[part.start : part.stop + 1], sites[part], queries.a, queries.b, *self._functions,
                slopes, constants, close, *samples, *tally,
            )  # fmt: skip

        parts = max(4 * threads.number, active.size * self._tessellation.n_sites // _MAX_COUNTS)
        threads.run(count_pieces, list(slices(sites.size, max(sites.size // parts, 1))))

    def _round(self, index: int, threads: Threads) -> _Round:
        """Return round ``index``, drawn if it is not kept."""
        samples = self._rounds.get(index)
        if samples is None:
            samples = self._draw(index, threads)
            if sum(each.nbytes for each in (*self._rounds.copy().values(), samples)) <= self._cache_bytes:
                samples = self._rounds.setdefault(index, samples)
        return samples

    @cached_property
    def _rounds(self) -> dict[int, _Round]:
        """The rounds of reflected samples that are kept, by number."""
        return {}

    def _draw(self, index: int, threads: Threads) -> _Round:
        """Draw base samples, and find the owners of their reflections."""
        from allegiance._kernels.reflecting import LANES, SIZE, empty_blocks, own_samples

        region, seed = self._tessellation.region, self._settings.seed
        n, r = self._round_size // SIZE, region.dim
        blocks = empty_blocks(n, r)
        highest, owner = np.empty((n, SIZE), np.float32), np.empty((n, SIZE), np.int32)
        slopes, constants, close = self._single

        def draw_blocks(part: slice) -> None:
            columns = region.sample_columns(
                (part.stop - part.start) * LANES, stream(seed, SHARED, _DRAWS, index, part.start)
            )
            blocks[part, :r] = columns.reshape(r, -1, LANES).transpose(1, 0, 2)
            blocks[part, r:] = 0.0
            own_samples(blocks[part], *self._functions, slopes, constants, close, highest[part], owner[part])

        threads.run(draw_blocks, list(slices(n, _BLOCKS)))
        return _Round(blocks, highest, owner)
