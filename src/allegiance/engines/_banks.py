"""Counting in banks: for each site, the samples that its queries may steal."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from allegiance._core.parallel import Threads, for_row_blocks, kernel_ready, slices, stream
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, IntArray, row_dots

from ._base import (
    CACHE_MB,
    MAX_SAMPLES,
    SHARED,
    Estimate,
    FittedEngine,
    Queries,
    Settings,
    unit_of_samples,
    update_estimates,
)
from ._tessellation import SingleFunctions, Tessellation

#: Units of samples (:func:`unit_of_samples`) in a round, up to as many samples as a bank can count.
_ROUND_UNITS = 0.5
_MAX_ROUND = 2**18
#: Most coordinates in a round.
_MAX_COORDINATES = 2**24
#: Samples in a round are a multiple of this many.
_BLOCK = 256
#: Units before the first look at how precise a query is, and before one is given up.
_FIRST_LOOK, _FIRST_VERDICT = 1, 4
#: Most by which one look multiplies the samples of a query: the first ones know little of how many are needed.
_MAX_GROWTH = 2.0
#: A cell with less than this share of the region, which would need more than this many units, is walked: that is
#: cheaper than waiting for samples to fall into it.
_RARE_SHARE = 0.02
_PATIENCE = 16
#: Keys of the streams of random numbers.
_SURVEY, _DRAWS = 0, 1
#: Samples chosen from at a time.
_GROUP = 2**12
#: Coordinates in a round up to which two of them are drawn ahead: a third one of many takes much memory.
_MAX_AHEAD = 2**23
#: Shares counted at a time by one thread: what is counted for them stays in a cache.
_MAX_FOUND = 2**16


class _Tally:
    """What has been counted for n queries, and who still counts."""

    def __init__(self, n: int, k: int) -> None:
        self.sums = np.zeros((n, k), np.int64)
        self.squares = np.zeros((n, k), np.int64)
        self.tested = np.zeros(n, np.int64)
        self.next_look = np.zeros(n)
        self.active = np.ones(n, dtype=bool)


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


class BankCounts(FittedEngine):
    """Estimate shares by counting which samples of the region each query steals, and from whom.

    The owner of every sample is known in advance, and for each site which samples a query close to it may steal. The
    samples of the bank of the closest site are tested; one that stands for several counts as often. Samples inside the
    cell of a query are independent, so standard errors follow from the sums of weights and of their squares. No answer
    depends on the order or number of queries.

    Samples come in rounds, functions of the tessellation, the seed and the size of a round alone. At each look a query
    that reached ``eps`` leaves, and another one is told how many samples it will need. Queries with a small cell that
    would need very many are returned as not found.

    The first call works in memory that it uses over and over. Later ones keep the rounds as long as there is room.
    """

    block = 16_384

    def __init__(
        self, tessellation: Tessellation, settings: Settings, max_samples: int = MAX_SAMPLES, cache_mb: float = CACHE_MB
    ) -> None:
        self._tessellation = tessellation
        self._settings = settings
        self._max_samples = max_samples
        self._cache_bytes = cache_mb * 2**20
        self._unit = unit_of_samples(settings, tessellation.n_sites)
        self._keep = False
        self._forget()

    def estimate(self, queries: Queries) -> Estimate:
        """Count; rows of zeros for queries that should be measured by a walk inside their cell."""
        n, k = queries.n, self._tessellation.n_sites
        estimate, tally = Estimate.blank(n, k, SHARED), _Tally(n, k)
        tally.next_look[:] = min(_FIRST_LOOK * self._unit, self._max_samples)
        with Threads(self._settings.threads) as threads:
            # Rounds are drawn ahead, so that threads are never without work while this one looks at the results.
            small = self._round_size * self._tessellation.dim <= _MAX_AHEAD
            ahead = 2 if small and threads.number > 1 else 1
            upcoming = [self._begin(index, None, threads, None) for index in range(ahead)]
            site = self._closest_sites(queries, threads)
            active = np.argsort(site, kind="stable")
            index, drawn = 0, 0
            memory = None
            while active.size:
                samples = upcoming.pop(0)()
                count = self._count(queries, active, site, samples, tally, threads)
                # In the memory of the last round.
                upcoming.append(self._begin(index + ahead, site[active], threads, memory))
                memory = None if self._keep else samples[:2]
                count()
                index, drawn = index + 1, drawn + self._round_size
                self._look(active, drawn, tally, estimate)
                active = active[tally.active[active]]
        self._keep = True
        return estimate

    def prepare(self) -> None:
        """Draw and keep all rounds that a query may need before it is given up, as long as there is room."""
        self._keep = True
        with Threads(self._settings.threads) as threads:
            for index in range(-(-int(_PATIENCE * self._unit) // self._round_size)):
                drawn = self._begin(index, None, threads, None)()
                if self._kept.get(index) is not drawn:
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
        query_a, columns, squares = kernel_ready(queries.a, 2.0 * slopes.T, row_dots(slopes, slopes))

        def work(rows: slice) -> None:
            owners_at(query_a[rows], columns, squares, site[rows])

        for_row_blocks(work, queries.n, threads, products=queries.n * slopes.size)
        return site

    def _count(
        self,
        queries: Queries,
        active: IntArray,
        site: IntArray,
        samples: _Round,
        tally: _Tally,
        threads: Threads,
    ) -> Callable[[], Any]:
        """Begin to test the samples of one round for the queries in ``active``; return what waits for the end."""
        from allegiance._kernels.banks import count_stolen

        size = samples.sizes[site[active]]
        within = tally.tested[active] + size <= np.maximum(self._max_samples, size)
        tally.active[active[~within]] = False
        going = active[within]
        tally.tested[going] += size[within]
        # A piece has queries of one site; only sites with very many are worth more than one.
        begins = np.ones(going.size + 1, dtype=bool)
        begins[1:-1] = site[going[1:]] != site[going[:-1]]
        begins[:: max(going.size // (2 * threads.number), 1)] = True
        firsts = np.flatnonzero(begins)
        sites = site[going[firsts[:-1]]]
        given = (*kernel_ready(*queries[:2], *self._tessellation.functions), *samples[:-1])

        def work(part: slice) -> None:
            pieces = firsts[part.start : part.stop + 1]
            count_stolen(going, pieces, sites[part], *given, tally.sums, tally.squares)  # type: ignore[call-arg]

        parts = max(4 * threads.number, going.size * self._tessellation.n_sites // _MAX_FOUND)
        return threads.start(work, list(slices(sites.size, max(sites.size // parts, 1))))

    def _look(self, active: IntArray, drawn: int, tally: _Tally, estimate: Estimate) -> None:
        """Turn counts into shares, and decide who goes on."""
        looked = active[(tally.next_look[active] <= drawn) | ~tally.active[active]]
        if not looked.size:
            return
        weight, growth = update_estimates(looked, tally.sums, tally.squares, estimate, self._settings)
        precise = growth <= 1.0
        needed = drawn * np.where(weight > 0, growth, _MAX_GROWTH)
        hopeless = ~precise & (weight < _RARE_SHARE * drawn) & (needed > _PATIENCE * self._unit)
        hopeless &= drawn >= min(_FIRST_VERDICT * self._unit, self._max_samples)
        estimate.affinity[looked[hopeless]] = 0.0
        tally.next_look[looked] = np.minimum(needed, _MAX_GROWTH * drawn)
        tally.active[looked[precise | hopeless]] = False

    def _begin(
        self, index: int, sites: IntArray | None, threads: Threads, memory: tuple[AnyArray, AnyArray] | None
    ) -> Callable[[], _Round]:
        """Begin to draw round ``index`` for some sites or all, in the ``memory`` of other samples if that is given.

        Return what waits for it.
        """
        known = self._kept.get(index)
        if known is not None:
            return lambda: known
        # A call in another thread may say meanwhile that rounds are kept: this one would lack sites.
        kept = self._keep
        wanted = np.full(self._tessellation.n_sites, kept or sites is None)
        if sites is not None:
            wanted[sites] = True
        choose = self._choose(index, wanted, threads, memory)

        def keep() -> _Round:
            found = choose()
            nbytes = sum(part.nbytes for part in found)
            with self._keeping:
                if kept and index not in self._kept and self._nbytes + nbytes <= self._cache_bytes:
                    self._kept[index] = found
                    self._nbytes += nbytes
            return found

        return keep

    def _choose(
        self, index: int, wanted: BoolArray, threads: Threads, memory: tuple[AnyArray, AnyArray] | None
    ) -> Callable[[], _Round]:
        """Begin to draw uniform samples and to choose among them."""
        from allegiance._kernels.affine_block import BLOCK, COARSE
        from allegiance._kernels.banks import choose_samples

        region, seed, limits = self._tessellation.region, self._settings.seed, self._limits
        k, size = self._tessellation.n_sites, self._round_size
        a, b = kernel_ready(*self._tessellation.functions)
        *functions, close = self._tessellation.single
        slopes, constants = kernel_ready(*functions)
        if memory is None:
            r = a.shape[1]
            memory = np.empty((size, r), np.float32), np.empty((size if COARSE else 0, (r + 1) // 2), np.int32)
        samples, coarse = memory
        owner = np.empty(size, np.uint16)
        starts = np.empty((size // BLOCK, k + 1), np.int64)
        found: dict[int, tuple[AnyArray, ...]] = {}

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
            found[part.start] = tuple(each[:n].copy() for each in chosen)

        wait = threads.start(work, [slice(first, min(first + _GROUP, size)) for first in range(0, size, _GROUP)])

        def put_together() -> _Round:
            wait()
            total = 0
            for first in sorted(found):
                starts[first // BLOCK : (first + _GROUP) // BLOCK, :k] += total
                total += found[first][0].size
            starts[:, k] = np.append(starts[1:, 0], total)
            places, classes, margins = (np.concatenate([found[first][i] for first in sorted(found)]) for i in range(3))
            return _Round(samples, coarse, owner, places, classes, margins, starts, np.diff(starts, axis=1).sum(axis=0))

        return put_together

    @cached_property
    def _limits(self) -> AnyArray:
        """(k, classes) how large the margin of a sample may be for each probability of being chosen."""
        from allegiance._kernels.affine_block import CLASSES

        return margin_limits(self._tessellation, CLASSES, stream(self._settings.seed, SHARED, _SURVEY))

    def _forget(self) -> None:
        self._kept: dict[int, _Round] = {}
        self._nbytes = 0
        self._keep = False
        self._keeping = threading.Lock()


#: Queries from which the chance is learnt, and how far they are from their site towards a random place, at most.
_PILOTS = 64
_PILOT_REACH = 0.5
#: Samples of the region for it: enough that some fall into an average cell.
_SURVEY_PER_SITE = 32
_MIN_SURVEY, _MAX_SURVEY = 2**11, 2**14
#: Edges of volume beyond the own cell between which the chance is taken as constant, in shares of an average cell: the
#: first one, and their number in an octave.
_FIRST_EDGE = 0.25
_PER_OCTAVE = 2
#: Least probability, in means divided by the number of sites: queries that steal what others hardly ever do should not
#: wait too long.
_LEAST_PROBABILITY = 5.0


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
    """Return the functions of queries at random distances from random sites, towards random places."""
    region = tessellation.region
    sites = tessellation.positions[rng.integers(tessellation.n_sites, size=_PILOTS)]
    places = region.center + region.scale * region.sample(_PILOTS, rng)
    share = _PILOT_REACH * rng.random((_PILOTS, 1))
    queries = tessellation.queries(sites + share * (places - sites))
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
