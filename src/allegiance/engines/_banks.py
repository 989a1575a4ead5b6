"""Counting in banks: for each site, the samples that its queries may steal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from allegiance._core.parallel import Threads, for_row_blocks, kernel_ready, slices, stream
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, row_dots

from ._adaptive_counts import AdaptiveCounts, Schedule, Tally
from ._base import CACHE_MB, MAX_SAMPLES, SHARED, Estimate, Queries, Settings
from ._tessellation import SingleFunctions, Tessellation

#: Units of samples (:class:`AdaptiveCounts`) in a round, up to as many samples as a bank can count.
_ROUND_UNITS = 0.5
_MAX_ROUND = 2**18
#: Most coordinates in a round.
_MAX_COORDINATES = 2**22
#: Samples in a round are a multiple of this many.
_BLOCK = 256
#: Sites up to which one unit comes before the first look at how precise a query is. With more of them even the largest
#: share is small, and needs fewer samples, but not less than the second number in units.
_FULL_LOOK_SITES, _LEAST_LOOK = 50, 0.25
#: Units before a query is given up, and most for one with a small cell.
_FIRST_VERDICT, _PATIENCE = 4, 16
#: Most products for drawing samples at the usual ``eps``, 1067 for an average cell, and least units of them: with many
#: sites in many dimensions queries that need more keep a larger standard error.
_MAX_PRODUCTS, _USUAL_HITS, _LEAST_BUDGET = 2**36, 1067, 2.0
#: Most by which one look multiplies the samples of a query: the first ones know little of how many are needed.
_MAX_GROWTH = 2.0
#: Keys of the streams of random numbers.
_SURVEY, _DRAWS = 0, 1
#: Samples chosen from at a time.
_GROUP = 2**12
#: Coordinates in a round up to which two of them are drawn ahead: a third one of many takes much memory.
_MAX_AHEAD = 2**23
#: Counts updated at a time by one thread: they stay in a cache.
_MAX_COUNTS = 2**16


class _Round(NamedTuple):
    """Uniform samples of the region, and which of them are worth testing for each site: see ``choose_samples``."""

    samples: AnyArray
    coarse: AnyArray
    owner: AnyArray
    places: AnyArray
    classes: AnyArray
    margins: AnyArray
    starts: IntArray
    """(number of blocks, k + 1) where the chosen ones of a block and site start."""
    sizes: IntArray
    """(k,) how many are chosen for each site."""


class BankCounts(AdaptiveCounts):
    """Count in the samples chosen for the site closest to each query: those that a query close to it may steal.

    A sample that stands for several counts as often. Rounds of samples are functions of the tessellation, the seed and
    the size of a round alone. The first call works in memory that it uses over and over; later ones keep the rounds as
    long as there is room.
    """

    block = 16_384

    def __init__(
        self, tessellation: Tessellation, settings: Settings, max_samples: int = MAX_SAMPLES, cache_mb: float = CACHE_MB
    ) -> None:
        super().__init__(tessellation, settings, max_samples, cache_mb)
        self._rounds: dict[int, _Round] = {}
        self._keeps_rounds = False
        self._keeping = threading.Lock()

    def estimate(self, queries: Queries) -> Estimate:
        """Count; rows of zeros for queries that should be measured by a walk inside their cell."""
        queries = Queries(*kernel_ready(*queries))
        shape = queries.n, self._tessellation.n_sites
        k, unit = self._tessellation.n_sites, self._unit
        look = max(min(_FULL_LOOK_SITES / k, 1.0), _LEAST_LOOK)
        usual = _USUAL_HITS * (k + 1)
        budget = max(_MAX_PRODUCTS / (k * self._tessellation.dim), _LEAST_BUDGET * usual)
        # A smaller ``eps`` or more samples than usual lift this limit, too.
        budget *= max(unit / usual, 1.0) * max(self._max_samples / MAX_SAMPLES, 1.0)
        first_look = min(look * unit, self._max_samples)
        first_verdict = min(_FIRST_VERDICT * unit, self._max_samples, budget)
        schedule = Schedule(first_look, _MAX_GROWTH, _MAX_GROWTH, first_verdict, _PATIENCE * unit, budget)
        tally = Tally(np.zeros(shape, np.int64), np.zeros(shape, np.int64), schedule)
        estimate = Estimate.blank(*shape, SHARED)
        with Threads(self._settings.threads) as threads:
            # Rounds are drawn ahead, so that threads are never without work while this one looks at the results.
            small = self._round_size * self._tessellation.dim <= _MAX_AHEAD
            ahead = 2 if small and threads.number > 1 else 1
            upcoming = [self._begin(index, None, threads, None) for index in range(ahead)]
            site = self._closest_sites(queries, threads)
            memory: list[tuple[AnyArray, AnyArray] | None] = [None]

            def count_round(index: int, active: IntArray) -> int:
                samples = upcoming.pop(0)()
                count = self._count(queries, active, site, samples, tally, threads)
                # In the memory of the last round.
                upcoming.append(self._begin(index + ahead, site[active], threads, memory[0]))
                memory[0] = None if self._keeps_rounds else samples[:2]
                count()
                return self._round_size

            self._count_adaptively(np.argsort(site, kind="stable"), tally, schedule, estimate, count_round)
        self._keeps_rounds = True
        return estimate

    def prepare(self) -> None:
        """Draw and keep all rounds that a query may need before it is given up, as long as there is room."""
        self._keeps_rounds = True
        with Threads(self._settings.threads) as threads:
            for index in range(-(-int(_PATIENCE * self._unit) // self._round_size)):
                samples = self._begin(index, None, threads, None)()
                if self._rounds.get(index) is not samples:
                    break

    @property
    def _round_size(self) -> int:
        """Samples in a round: whole blocks, of which the places decide what is chosen, so a part would be biased."""
        most = min(self._max_samples, _MAX_COORDINATES // self._tessellation.dim)
        return min(-(-int(_ROUND_UNITS * self._unit) // _BLOCK) * _BLOCK, _MAX_ROUND, max(most // _BLOCK, 1) * _BLOCK)

    def _closest_sites(self, queries: Queries, threads: Threads) -> IntArray:
        """Return the sites (n,) whose banks the queries use: those with the closest slopes."""
        from allegiance._kernels.counting import owners_at

        site = np.empty(queries.n, np.int64)
        # The closest slope is that of the largest 2 <a, a_i> - |a_i|^2.
        slopes = self._tessellation.functions.a
        columns, squares = kernel_ready(2.0 * slopes.T, row_dots(slopes, slopes))

        def work(rows: slice) -> None:
            owners_at(queries.a[rows], columns, squares, site[rows])

        for_row_blocks(work, queries.n, threads, products=queries.n * slopes.size)
        return site

    def _count(
        self, queries: Queries, active: IntArray, site: IntArray, samples: _Round, tally: Tally, threads: Threads
    ) -> Callable[[], Any]:
        """Begin to test one round for the queries in ``active``; return a callable that waits for the end."""
        from allegiance._kernels.banks import count_stolen

        size = samples.sizes[site[active]]
        within = tally.tested[active] + size <= np.maximum(self._max_samples, size)
        tally.active[active[~within]] = False
        rows = active[within]
        tally.tested[rows] += size[within]
        # A piece has queries of one site; only sites with very many are worth more than one.
        begins = np.ones(rows.size + 1, dtype=bool)
        begins[1:-1] = site[rows[1:]] != site[rows[:-1]]
        begins[:: max(rows.size // (2 * threads.number), 1)] = True
        firsts = np.flatnonzero(begins)
        sites = site[rows[firsts[:-1]]]

        def work(part: slice) -> None:
            count_stolen(
                rows, firsts[part.start : part.stop + 1], sites[part], queries.a, queries.b, *self._functions,
                samples.samples, samples.coarse, samples.owner, samples.places, samples.classes, samples.margins,
                samples.starts, tally.sums, tally.squares,
            )  # fmt: skip

        parts = max(4 * threads.number, rows.size * self._tessellation.n_sites // _MAX_COUNTS)
        return threads.start(work, list(slices(sites.size, max(sites.size // parts, 1))))

    def _begin(
        self, index: int, sites: IntArray | None, threads: Threads, memory: tuple[AnyArray, AnyArray] | None
    ) -> Callable[[], _Round]:
        """Begin to draw round ``index`` for some sites or all, in the ``memory`` of other samples if that is passed.

        Return a callable that waits for it.
        """
        known = self._rounds.get(index)
        if known is not None:
            return lambda: known
        # A call in another thread may decide meanwhile that rounds are kept: this one would lack sites.
        keeps = self._keeps_rounds
        wanted = np.full(self._tessellation.n_sites, keeps or sites is None)
        if sites is not None:
            wanted[sites] = True
        choose = self._choose(index, wanted, threads, memory)

        def keep() -> _Round:
            samples = choose()
            if keeps:
                with self._keeping:
                    nbytes = sum(part.nbytes for each in (*self._rounds.values(), samples) for part in each)
                    if nbytes <= self._cache_bytes:
                        self._rounds.setdefault(index, samples)
            return samples

        return keep

    def _choose(
        self, index: int, wanted: BoolArray, threads: Threads, memory: tuple[AnyArray, AnyArray] | None
    ) -> Callable[[], _Round]:
        """Begin to draw uniform samples and to choose among them."""
        from allegiance._kernels.affine_block import BLOCK, COARSE
        from allegiance._kernels.banks import choose_samples, empty_pairs

        region, seed, limits = self._tessellation.region, self._settings.seed, self._limits
        k, size = self._tessellation.n_sites, self._round_size
        a, b = self._functions
        *functions, close = self._tessellation.single
        slopes, constants = kernel_ready(*functions)
        if memory is None:
            r = a.shape[1]
            memory = np.empty((size, r), np.float32), empty_pairs(size if COARSE else 0, r)
        samples, coarse = memory
        owner = np.empty(size, np.uint16)
        starts = np.empty((size // BLOCK, k + 1), np.int64)
        choices: dict[int, tuple[AnyArray, ...]] = {}

        def work(part: slice) -> None:
            rng = stream(seed, SHARED, _DRAWS, index, part.start)
            columns = np.ascontiguousarray(region.sample_columns(part.stop - part.start, rng))
            most = (part.stop - part.start) * k + BLOCK
            chosen = np.empty(most, np.uint8), np.empty(most, np.uint8), np.empty(most, np.float32)
            firsts = np.empty(((part.stop - part.start) // BLOCK, k), np.int64)
            n = choose_samples(
                columns, a, b, slopes, constants, close, limits, wanted, samples[part], coarse[part], owner[part],
                *chosen, firsts,
            )  # fmt: skip
            starts[part.start // BLOCK : part.stop // BLOCK, :k] = firsts
            choices[part.start] = tuple(each[:n].copy() for each in chosen)

        wait = threads.start(work, [slice(first, min(first + _GROUP, size)) for first in range(0, size, _GROUP)])

        def assemble() -> _Round:
            wait()
            total = 0
            for first in sorted(choices):
                starts[first // BLOCK : (first + _GROUP) // BLOCK, :k] += total
                total += choices[first][0].size
            starts[:, k] = np.append(starts[1:, 0], total)
            places, classes, margins = map(np.concatenate, zip(*(choices[at] for at in sorted(choices)), strict=True))
            return _Round(samples, coarse, owner, places, classes, margins, starts, np.diff(starts, axis=1).sum(axis=0))

        return assemble

    @cached_property
    def _limits(self) -> AnyArray:
        """(k, classes) how large the margin of a sample may be for each probability of being chosen."""
        from allegiance._kernels.affine_block import CLASSES

        return margin_limits(self._tessellation, CLASSES, stream(self._settings.seed, SHARED, _SURVEY))


#: Queries from which the chance is learnt, and their deviation from a site in half-widths of the region: that of members
#: if the farthest of a large sample lies near the border.
_PILOTS = 64
_PILOT_DEVIATION = 0.15
#: Samples of the region for it: enough that some fall into an average cell.
_SURVEY_PER_SITE = 32
_MIN_SURVEY, _MAX_SURVEY = 2**11, 2**14
#: Edges of volume beyond the own cell between which the chance is taken as constant, in shares of an average cell: the
#: first one, and their number in an octave.
_FIRST_EDGE = 0.25
_PER_OCTAVE = 2
#: Least probability, in means divided by the number of sites: queries that steal what others hardly ever do should not
#: wait too long.
_LEAST_PROBABILITY = 10.0


def margin_limits(tessellation: Tessellation, classes: int, rng: np.random.Generator) -> AnyArray:
    """Return limits (k, classes) float32 of margin: up to ``limits[i, c]`` a sample is kept with probability 2**-c.

    Parameters
    ----------
    tessellation
        Sites and region.
    classes
        Number of probabilities 1, 1/2, 1/4 and so on; the last limit is infinite.
    rng
        For the survey.
    """
    k = tessellation.n_sites
    size = min(max(_SURVEY_PER_SITE * k // _BLOCK * _BLOCK, _MIN_SURVEY), _MAX_SURVEY)
    survey = tessellation.region.sample_columns(size, rng)
    sites = _values(survey, *tessellation.functions)
    highest = sites.max(axis=0)
    margins = np.sort(highest - sites, axis=1)
    own = (margins <= 0).sum(axis=1)
    edges = _FIRST_EDGE / k * 2.0 ** (np.arange(_PER_OCTAVE * np.log2(k / _FIRST_EDGE) + 1) / _PER_OCTAVE)
    place = np.minimum(own[:, None] + np.ceil(edges * size).astype(np.int64), size - 1)
    at_edges = np.take_along_axis(margins, place, axis=1)
    pilots = _pilots(tessellation, rng)
    nearest = np.array([np.square(a - tessellation.functions.a).sum(axis=1).argmin() for a in pilots[0]])
    row, sample = np.nonzero(_values(survey, *pilots) >= highest)
    margin = highest[sample] - sites[nearest[row], sample]
    bins = np.where(margin <= 0, 0, 1 + (at_edges[nearest[row]] < margin[:, None]).sum(axis=1))
    # Each pilot that steals anything counts once.
    thieves, number = np.unique(row, return_counts=True)
    hits = np.bincount(bins, 1.0 / np.repeat(number, number), edges.size + 2)
    kept = _kept(np.asarray(hits, dtype=np.float64), own[nearest[thieves]] / size, edges, k)
    limits = np.full((k, classes), np.inf, np.float32)
    for c in range(classes - 1):
        last = np.searchsorted(-kept, -(2.0 ** -(c + 0.5)), side="right")
        if last < edges.size:
            limits[:, c] = at_edges[:, last - 1] if last else 0.0
    return limits


def _kept(hits: FloatArray, own: FloatArray, edges: FloatArray, k: int) -> FloatArray:
    """Return the probability (number of edges,) with which samples before each edge are kept, descending.

    ``hits`` are those of pilots in their own cells, before each edge and beyond the last; ``own`` the volumes of the
    cells.
    """
    if own.sum() == 0.0 or hits[0] == 0.0:
        return np.ones(edges.size)
    widths = np.diff(np.minimum(edges, 1.0), prepend=0.0)
    chance = hits[1:-1] / np.maximum(widths * own.size, 1e-300) / (hits[0] / own.sum())
    # What is stolen beyond an edge may be stolen before it.
    falling = np.maximum.accumulate(np.minimum(chance, 1.0)[::-1])[::-1]
    probabilities = np.sqrt(falling)
    mean = own.sum() / _PILOTS + (probabilities * widths).sum()
    return np.maximum(probabilities, min(_LEAST_PROBABILITY / k, 1.0) * mean)


def _pilots(tessellation: Tessellation, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the functions of queries around random sites, in all directions alike."""
    region = tessellation.region
    sites = tessellation.positions[rng.integers(tessellation.n_sites, size=_PILOTS)]
    queries = tessellation.queries(
        sites + _PILOT_DEVIATION * region.scale * rng.standard_normal((_PILOTS, region.dim))
    )
    return queries.a, queries.b


def _values(columns: AnyArray, a: FloatArray, b: FloatArray) -> AnyArray:
    """Return <a_i, y> - b_i (k, m) in single precision, the same bits on any number of threads."""
    from allegiance._kernels.affine_block import BLOCK
    from allegiance._kernels.banks import site_values

    slopes, constants, _ = SingleFunctions.of(a, b)
    r, m = columns.shape
    blocks = np.zeros((m // BLOCK, r + 1, BLOCK), np.float32)
    blocks[:, 1:] = columns.reshape(r, -1, BLOCK).transpose(1, 0, 2)
    values = np.empty((m // BLOCK, slopes.shape[0], BLOCK), np.float32)
    site_values(blocks, slopes, constants, values)
    return values.transpose(1, 0, 2).reshape(-1, m)[: a.shape[0]]
