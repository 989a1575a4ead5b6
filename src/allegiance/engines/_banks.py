"""Counting in banks: for each site, the samples that its queries may steal."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from allegiance._core.parallel import Threads, for_row_blocks, kernel_ready, stream
from allegiance._core.validation import AnyArray, FloatArray, IntArray, row_dots

from ._base import MAX_SAMPLES, SHARED, Estimate, FittedEngine, Queries, Settings, look_at, unit_of_samples
from ._tessellation import SingleFunctions, Tessellation

#: Units of samples (:func:`unit_of_samples`) in a round, up to as many samples as a bank can count.
_ROUND_UNITS = 0.5
_MAX_ROUND = 2**18
#: Samples in a round are a multiple of this many.
_BLOCK = 256
#: Rounds that are drawn in advance, and those of which the banks are filled: as many as most queries need.
_PREPARED_DRAWS, _PREPARED_BANKS = 16, 4
#: Units before the first look at how precise a query is, and before one is given up.
_FIRST_LOOK, _FIRST_VERDICT = 1, 4
#: Most by which one look multiplies the samples of a query: the first ones know little of how many are needed.
_MAX_GROWTH = 2.0
#: A cell with less than this share of the region, which would need more than this many units, is walked: that is
#: cheaper than waiting for samples to fall into it.
_RARE_SHARE = 0.02
_PATIENCE = 16


class _Tally:
    """What has been counted for n queries, and who still counts."""

    def __init__(self, n: int, k: int) -> None:
        self.sums = np.zeros((n, k), np.int64)
        self.squares = np.zeros((n, k), np.int64)
        self.tested = np.zeros(n, np.int64)
        self.next_look = np.zeros(n)
        self.active = np.ones(n, dtype=bool)


class BankCounts(FittedEngine):
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

    def prepare(self) -> None:
        """Draw the first rounds, and fill the banks of some of them; what is asked for twice is kept."""
        with Threads(self._settings.threads) as threads:
            supply = BankSupply(self._banks, threads)
            for index in range(_PREPARED_DRAWS):
                self._banks.again(index)
                supply.draw(index, self._round_size)
            for index in range(_PREPARED_BANKS):
                supply.draw(index, self._round_size)
                for site in range(self._tessellation.n_sites):
                    self._banks.again(index, site)
                    supply.bank(site)

    @property
    def _round_size(self) -> int:
        """Samples in a round: whole blocks, of which the places decide what is chosen, so a part would be biased."""
        most = max(self._max_samples // _BLOCK, 1) * _BLOCK
        return min(-(-int(_ROUND_UNITS * self._unit) // _BLOCK) * _BLOCK, _MAX_ROUND, most)

    def _estimate(self, queries: Queries, site: IntArray) -> Estimate:
        """Count for queries sorted by site."""
        n, k = queries.n, self._tessellation.n_sites
        estimate = Estimate.blank(n, k, SHARED)
        tally = _Tally(n, k)
        size = self._round_size
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
        from allegiance._kernels.counting import owners_at

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
        from allegiance._kernels.banks import count_stolen

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
        hopeless = ~precise & (weight < _RARE_SHARE * drawn) & (needed > _PATIENCE * self._unit)
        hopeless &= drawn >= min(_FIRST_VERDICT * self._unit, self._max_samples)
        estimate.affinity[looked[hopeless]] = 0.0
        tally.next_look[looked] = np.minimum(needed, _MAX_GROWTH * drawn)
        tally.active[looked[precise | hopeless]] = False


#: Keys of the streams of random numbers.
_SURVEY, _DRAWS = 0, 1
#: Samples chosen from at a time.
_GROUP = 2**12
#: Draws and banks are kept for the next call as long as they take less than this many bytes together.
_KEEP_BYTES = 320 * 2**20


class Bank(NamedTuple):
    """Samples for the queries of one site, as the counting kernel wants them."""

    blocks: AnyArray
    first_run: AnyArray
    stops: AnyArray
    owners: AnyArray
    packed_weights: AnyArray

    @property
    def size(self) -> int:
        """The number of samples, empty places of the last block included."""
        return int(self.blocks.shape[0] * self.blocks.shape[2])


class _Draw(NamedTuple):
    """Uniform samples of the region, and which of them are worth testing for each site."""

    points: AnyArray
    owner: AnyArray
    chosen: AnyArray
    classes: AnyArray
    limits: IntArray
    """(number of blocks, k + 1) where those of a block and site start."""


class OwnerBanks:
    """Banks of samples by round and site: functions of the tessellation, the seed and the sizes of the rounds alone.

    One draw of uniform samples serves all sites in a round. What is asked for in a second call is kept for later ones,
    as long as it fits into memory; the rest is made again, bit for bit, in memory that a call uses over and over.
    """

    def __init__(self, tessellation: Tessellation, settings: Settings) -> None:
        self.tessellation = tessellation
        self.settings = settings
        self._start()

    @cached_property
    def limits(self) -> AnyArray:
        """(k, classes) how large the margin of a sample may be for each probability of being chosen."""
        from allegiance._kernels.banks import CLASSES

        return margin_limits(self.tessellation, CLASSES, stream(self.settings.seed, SHARED, _SURVEY))

    def kept(self, *key: int) -> Any:
        """Return what is kept under a key: the draw of a round, or the bank of a round and site; None if nothing is."""
        return self._kept.get(key)

    def keep(self, thing: Bank | _Draw, *key: int) -> None:
        """Keep something, if there is room."""
        nbytes = sum(part.nbytes for part in thing)
        with self._counting:
            if key not in self._kept and self._nbytes + nbytes <= _KEEP_BYTES:
                self._kept[key] = thing
                self._nbytes += nbytes

    def again(self, *key: int) -> bool:
        """Tell whether something was asked for before, and remember that it is now."""
        with self._counting:
            before = key in self._asked
            self._asked.add(key)
        return before

    def __getstate__(self) -> dict[str, Any]:
        # All samples follow from the seed: a pickle need not carry them, and cannot carry a lock.
        return {"tessellation": self.tessellation, "settings": self.settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def _start(self) -> None:
        self._kept: dict[tuple[int, ...], Bank | _Draw] = {}
        self._asked: set[tuple[int, ...]] = set()
        self._nbytes = 0
        self._counting = threading.Lock()


class BankSupply:
    """The banks of one round after the other, for one call and its threads."""

    def __init__(self, banks: OwnerBanks, threads: Threads) -> None:
        self._banks = banks
        self.threads = threads
        self._index = -1
        self._draw: _Draw | None = None
        self._points: AnyArray = np.empty((0, banks.tessellation.dim), np.float32)
        self._scratch = threading.local()

    def draw(self, index: int, size: int) -> None:
        """Go to round ``index``, in which ``size`` samples are drawn."""
        self._index = index
        self._draw = self._banks.kept(index)
        if self._draw is None:
            keep = self._banks.again(index)
            if keep or self._points.shape[0] < size:
                self._points = np.empty((size, self._banks.tessellation.dim), np.float32)
            self._draw = self._choose(index, self._points[:size])
            if keep:
                self._banks.keep(self._draw, index)
                self._points = self._points[:0]

    def bank(self, site: int) -> Bank:
        """Return the bank of a site in this round; valid in this thread until it asks for the next one."""
        found: Bank | None = self._banks.kept(self._index, site)
        if found is not None:
            return found
        keep = self._banks.again(self._index, site)
        bank = self._fill(site, keep)
        if keep:
            self._banks.keep(bank, self._index, site)
        return bank

    def _choose(self, index: int, points: AnyArray) -> _Draw:
        """Draw uniform samples and choose among them for every site."""
        from allegiance._kernels.affine_block import BLOCK
        from allegiance._kernels.banks import choose_samples

        tessellation, settings, limits = self._banks.tessellation, self._banks.settings, self._banks.limits
        size, k = points.shape[0], tessellation.n_sites
        a, b = kernel_ready(*tessellation.functions)
        single = SingleFunctions.of(*tessellation.functions)
        owner = np.empty(size, np.int32)
        starts = np.empty((-(-size // BLOCK), k), np.int64)
        found: dict[int, tuple[AnyArray, AnyArray]] = {}

        def work(rows: slice) -> None:
            chosen, classes = np.empty((2, _GROUP * k + 1), np.uint8)
            for first in range(rows.start, rows.stop, _GROUP):
                part = slice(first, min(first + _GROUP, rows.stop))
                rng = stream(settings.seed, SHARED, _DRAWS, index, first)
                points[part] = tessellation.region.sample(part.stop - first, rng, by_point=True)
                blocks = slice(first // BLOCK, -(-part.stop // BLOCK))
                n = choose_samples(points[part], a, b, *single, limits, owner[part], chosen, classes, starts[blocks])
                found[first] = chosen[:n].copy(), classes[:n].copy()

        for_row_blocks(work, size, self.threads, multiple=_GROUP)
        total = 0
        for first in sorted(found):
            starts[first // BLOCK : (first + _GROUP) // BLOCK] += total
            total += found[first][0].size
        chosen, classes = (np.concatenate([found[first][part] for first in sorted(found)]) for part in (0, 1))
        ends = np.append(starts[1:, 0], total)
        return _Draw(points, owner, chosen, classes, np.column_stack([starts, ends]))

    def _fill(self, site: int, keep: bool) -> Bank:
        from allegiance._kernels.affine_block import BLOCK
        from allegiance._kernels.banks import fill_bank

        draw = self._draw
        assert draw is not None
        starts, stops, slopes, constants = kernel_ready(
            draw.limits[:, site], draw.limits[:, site + 1], *self._banks.tessellation.functions
        )
        n_blocks = -(-int((stops - starts).sum()) // BLOCK)
        blocks = getattr(self._scratch, "blocks", None)
        if keep or blocks is None or blocks.shape[0] < n_blocks:
            blocks = np.empty((n_blocks, slopes.shape[1] + 1, BLOCK), np.float32)
            if not keep:
                self._scratch.blocks = blocks
        blocks = blocks[:n_blocks]
        runs = fill_bank(
            site, draw.points, draw.owner, draw.chosen, draw.classes, starts, stops, slopes, constants, blocks
        )
        return Bank(blocks, *runs)


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
    size = min(max(_SURVEY_PER_SITE * k, _MIN_SURVEY), _MAX_SURVEY)
    survey = tessellation.region.sample(size, rng)
    sites = _values(survey, *tessellation.functions)
    highest = sites.max(axis=0)
    margins = np.sort(highest - sites, axis=1)
    own = (margins <= 0).sum(axis=1)
    edges = _FIRST_EDGE / k * 2.0 ** (np.arange(_PER_OCTAVE * np.log2(k / _FIRST_EDGE) + 1) / _PER_OCTAVE)
    place = np.minimum(own[:, None] + np.ceil(edges * size).astype(np.int64), size - 1)
    at_edges = np.take_along_axis(margins, place, axis=1)
    kept = _kept(tessellation, survey, sites, highest, own, at_edges, edges, rng)
    limits = np.full((k, classes), np.inf, np.float32)
    for c in range(classes - 1):
        last = np.searchsorted(-kept, -(2.0 ** -(c + 0.5)), side="right")
        if last < edges.size:
            limits[:, c] = at_edges[:, last - 1] if last else 0.0
    return limits


def _kept(
    tessellation: Tessellation,
    survey: AnyArray,
    sites: AnyArray,
    highest: AnyArray,
    own: IntArray,
    at_edges: AnyArray,
    edges: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Return the probability (number of edges,) with which samples before each edge are kept, descending."""
    pilots = _pilots(tessellation, rng)
    nearest = np.array([np.square(a - tessellation.functions.a).sum(axis=1).argmin() for a in pilots[0]])
    stolen = _values(survey, *pilots) >= highest
    hits = np.zeros(edges.size + 2)
    own_volume = 0.0
    for row, site in zip(stolen, nearest, strict=True):
        margins = highest[row] - sites[site, row]
        if margins.size:
            bins = np.where(margins <= 0, 0, 1 + np.searchsorted(at_edges[site], margins))
            hits += np.bincount(bins, minlength=hits.size) / margins.size
            own_volume += own[site] / highest.size
    if own_volume == 0.0 or hits[0] == 0.0:
        return np.ones(edges.size)
    widths = np.diff(np.minimum(edges, 1.0), prepend=0.0) * max(stolen.any(axis=1).sum(), 1)
    chance = hits[1:-1] / np.maximum(widths, 1e-300) / (hits[0] / own_volume)
    # What is stolen beyond an edge may be stolen before it.
    falling = np.maximum.accumulate(np.minimum(chance, 1.0)[::-1])[::-1]
    probabilities = np.sqrt(falling)
    mean = own_volume / len(pilots[0]) + (probabilities * np.diff(np.minimum(edges, 1.0), prepend=0.0)).sum()
    return np.maximum(probabilities, min(_LEAST_PROBABILITY / tessellation.n_sites, 1.0) * mean)


def _pilots(tessellation: Tessellation, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the functions of queries at random distances from random sites, towards random places."""
    region = tessellation.region
    sites = tessellation.positions[rng.integers(tessellation.n_sites, size=_PILOTS)]
    places = region.center + region.scale * region.sample(_PILOTS, rng)
    share = _PILOT_REACH * rng.random((_PILOTS, 1))
    queries = tessellation.queries(sites + share * (places - sites))
    return queries.a, queries.b


def _values(points: AnyArray, a: FloatArray, b: FloatArray) -> AnyArray:
    """Return <a_i, y> - b_i (k, m) in single precision, the same bits on any number of threads."""
    from allegiance._kernels.affine_block import BLOCK
    from allegiance._kernels.counting import site_values

    slopes, constants, _ = SingleFunctions.of(a, b)
    (ready,) = kernel_ready(points.astype(np.float32))
    values = np.empty((slopes.shape[0], BLOCK), np.float32)
    found = np.empty((a.shape[0], points.shape[0]), np.float32)
    for start in range(0, points.shape[0], BLOCK):
        part = ready[start : start + BLOCK]
        site_values(part, slopes, constants, values)
        found[:, start : start + part.shape[0]] = values[: a.shape[0], : part.shape[0]]
    return found
