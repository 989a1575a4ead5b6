"""Owner banks: for each site, the samples worth testing for queries close to it."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, ForkLock, IntArray, Threads, for_row_blocks, kernel_ready, stream

from ._engine import SHARED, Settings
from ._single_precision import SingleFunctions
from ._tessellation import Tessellation
from ._worth_testing import margin_limits

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
    worths: AnyArray

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

    Parameters
    ----------
    tessellation
        Sites and region.
    settings
        Seed and threads.
    """

    def __init__(self, tessellation: Tessellation, settings: Settings) -> None:
        self.tessellation = tessellation
        self.settings = settings
        self._start()

    @cached_property
    def limits(self) -> AnyArray:
        """(k, classes) how large the margin of a sample may be for each probability of being chosen."""
        from allegiance._kernels._sample_choice import CLASSES

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
        self._counting = ForkLock()


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
        from allegiance._kernels._affine_block import BLOCK
        from allegiance._kernels._sample_choice import choose_samples

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
        from allegiance._kernels._affine_block import BLOCK
        from allegiance._kernels._owner_banks import fill_bank

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
