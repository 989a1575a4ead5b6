"""Owner banks: for each site, the samples worth testing for queries close to it."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, IntArray, for_row_blocks, kernel_ready, stream

from ._engine import SHARED, Settings
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
    def nbytes(self) -> int:
        """Bytes of memory."""
        return sum(part.nbytes for part in self)

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

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self)


class OwnerBanks:
    """Banks of samples by round and site: functions of the tessellation, the seed and the sizes of the rounds alone.

    One draw of uniform samples serves all sites in a round. What fits into memory is kept, what does not is made again,
    bit for bit.

    Parameters
    ----------
    tessellation
        Sites and region.
    settings
        Seed and threads.
    """

    def __init__(self, tessellation: Tessellation, settings: Settings) -> None:
        self._tessellation = tessellation
        self._settings = settings
        self._start()

    def bank(self, index: int, size: int, site: int) -> Bank:
        """Return the bank of a site in round ``index``, chosen from ``size`` samples."""
        with self._filling[site % len(self._filling)]:
            bank = self._banks.get((index, site))
            if bank is None:
                bank = self._fill(self.draw(index, size), site)
                if self._keep(bank.nbytes):
                    self._banks[index, site] = bank
        return bank

    def draw(self, index: int, size: int) -> _Draw:
        """Return the samples of round ``index``."""
        with self._drawing:
            if self._last[0] == index:
                return self._last[1]
            draw = self._draws.get(index)
            if draw is None:
                draw = self._choose(index, size)
                if self._keep(draw.nbytes):
                    self._draws[index] = draw
            self._last = (index, draw)
        return draw

    def _choose(self, index: int, size: int) -> _Draw:
        """Draw uniform samples and choose among them for every site."""
        from allegiance._kernels._affine_block import BLOCK
        from allegiance._kernels._sample_choice import CLASSES, choose_samples

        seed = self._settings.seed
        if self._limits is None:
            self._limits = margin_limits(self._tessellation, CLASSES, stream(seed, SHARED, _SURVEY))
        k = self._tessellation.n_sites
        sample = self._tessellation.region.sample(size, stream(seed, SHARED, _DRAWS, index))
        points, slopes, constants = kernel_ready(sample.astype(np.float32), *self._tessellation.functions)
        owner = np.empty(size, np.int32)
        starts = np.empty((-(-size // BLOCK), k), np.int64)
        found: dict[int, tuple[AnyArray, AnyArray]] = {}

        def work(rows: slice) -> None:
            chosen, classes = np.empty((2, _GROUP * k + 1), np.uint8)
            for first in range(rows.start, rows.stop, _GROUP):
                part = slice(first, min(first + _GROUP, rows.stop))
                blocks = slice(first // BLOCK, -(-part.stop // BLOCK))
                n = choose_samples(
                    points[part], slopes, constants, self._limits, owner[part], chosen, classes, starts[blocks]
                )
                found[first] = chosen[:n].copy(), classes[:n].copy()

        for_row_blocks(work, size, self._settings.threads, multiple=_GROUP)
        total = 0
        for first in sorted(found):
            starts[first // BLOCK : (first + _GROUP) // BLOCK] += total
            total += found[first][0].size
        chosen, classes = (np.concatenate([found[first][part] for first in sorted(found)]) for part in (0, 1))
        ends = np.append(starts[1:, 0], total)
        return _Draw(points, owner, chosen, classes, np.column_stack([starts, ends]))

    def _fill(self, draw: _Draw, site: int) -> Bank:
        from allegiance._kernels._owner_banks import fill_bank

        starts, stops, slopes, constants = kernel_ready(
            draw.limits[:, site], draw.limits[:, site + 1], *self._tessellation.functions
        )
        return Bank(
            *fill_bank(site, draw.points, draw.owner, draw.chosen, draw.classes, starts, stops, slopes, constants)
        )

    def _keep(self, nbytes: int) -> bool:
        """Tell whether so many more bytes may be kept, and count them if so."""
        with self._counting:
            fits = self._kept + nbytes <= _KEEP_BYTES
            self._kept += nbytes if fits else 0
        return fits

    def __getstate__(self) -> dict[str, Any]:
        # All samples follow from the seed: a pickle need not carry them, and cannot carry locks.
        return {"_tessellation": self._tessellation, "_settings": self._settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    def _start(self) -> None:
        self._limits: AnyArray | None = None
        self._draws: dict[int, _Draw] = {}
        self._last: tuple[int, Any] = (-1, None)
        self._banks: dict[tuple[int, int], Bank] = {}
        self._kept = 0
        self._drawing, self._counting = threading.Lock(), threading.Lock()
        self._filling = [threading.Lock() for _ in range(min(self._tessellation.n_sites, 64))]
