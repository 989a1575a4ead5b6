"""Counting in samples of the domain that all queries share."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from allegiance._core.parallel import for_row_blocks, kernel_ready, stream
from allegiance._core.validation import AnyArray, IntArray, check_count, check_number

from ._adaptive_counts import AdaptiveCounts, Schedule, Tally
from ._base import (
    CACHE_MB,
    ENGINES,
    MAX_SAMPLES,
    SHARED,
    Engine,
    Estimate,
    FittedEngine,
    PrecisionWarning,
    Queries,
    Settings,
)
from ._reflected_counts import ReflectedCounts
from ._tessellation import Tessellation

#: From this many dimensions on samples of a region without walls are reflected; below, independent ones cost less.
MANY_DIMENSIONS = 24


@ENGINES.register("shared")
@dataclass(frozen=True, eq=False, repr=False)
class SharedSamples(Engine):
    """Uniform samples of the region for all points: the default in more than a few dimensions.

    Parameters
    ----------
    max_samples
        Most samples tested for one point. Points that need more get fewer, a larger ``standard_error`` and one warning.
    cache_mb
        Megabytes of samples kept by a fitted scorer, so that later calls need not draw them again; 0 keeps none.
        Results do not depend on it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from allegiance import affinity
    >>> from allegiance.engines import SharedSamples
    >>> wine = load_wine()
    >>> result = affinity(wine.data, wine.target, engine=SharedSamples(max_samples=10**7), eps=0.02)
    >>> bool((1.96 * result.standard_error).max() <= 0.02)
    True
    """

    max_samples: int = MAX_SAMPLES
    cache_mb: float = CACHE_MB

    def check(self) -> None:
        """Raise unless the number of samples is a positive integer, and the cache not negative."""
        check_count(self.max_samples, "max_samples of SharedSamples")
        check_number(self.cache_mb, "cache_mb of SharedSamples", low=0.0, closed=True)

    def why_unsupported(self, tessellation: Tessellation) -> str | None:
        """Say why there is no uniform sample; None if there is one."""
        if not tessellation.region.bounded:
            return "engine='shared' needs a bounded domain: use domain='box' or 'ball', or engine='auto'."
        return None

    def build(self, tessellation: Tessellation, settings: Settings) -> FittedEngine:
        """Build the engine that counts shared samples, reflected ones in many dimensions."""
        if tessellation.has_indistinct_sites:
            warnings.warn(
                "Rounding hides the difference between some clusters, so their affinities may be wrong: the columns of "
                "X differ too much in scale, or two clusters almost coincide. Use influence='within', rescale the "
                "columns, or merge the clusters.",
                PrecisionWarning,
                stacklevel=2,
            )
        symmetric = not tessellation.region.walls.shape[0]
        counts: type[AdaptiveCounts]
        counts = ReflectedCounts if symmetric and tessellation.dim >= MANY_DIMENSIONS else PlainCounts
        return counts(tessellation, settings, self.max_samples, self.cache_mb)


#: Samples in one bank: enough that an average cell, one of k + 1 that tile the region, gets this many. Later banks,
#: which only queries with small cells need, are larger.
_HITS_PER_BANK = 256
_SMALL_BANKS = 14
_LATER_FACTOR = 8
_MAX_LATER = 2**16
#: Most samples in a bank, and most coordinates in one of more than ``_MAX_LATER``. With hundreds of sites a bank must
#: be large, since the kernel handles the samples of one owner at a time.
_MAX_BANK = 2**18
_MAX_COORDINATES = 2**24
#: Owners of samples that are kept where the samples are not: with many sites looking them up takes longer than drawing
#: and grouping the samples.
_KEEP_OWNERS = 2**22
_GROUP = 256
#: Products of coordinates from which samples are tested on several threads: these wait for the same banks.
_MANY_TESTED = 2**27
#: Banks counted before the first look at a query's precision.
_FIRST_LOOK = 2
#: Most small banks, or units of samples if these are more, for a query with a small cell: a walk costs as much as about
#: 100,000 samples, and these serve other queries, too.
_PATIENCE, _PATIENCE_IN_UNITS = 160, 36


class _Bank(NamedTuple):
    """Samples grouped by owner and cut into blocks, as the counting kernel wants them."""

    blocks: AnyArray
    strips: AnyArray
    owners: AnyArray

    @classmethod
    def of(cls, columns: AnyArray, owner: AnyArray, n_sites: int) -> _Bank:
        """Group samples, float32 (r, m), by their owners (m,)."""
        from allegiance._kernels.affine_block import BLOCK
        from allegiance._kernels.counting import group_by_owner

        sizes = np.bincount(owner, minlength=n_sites)
        # From NumPy, which asks for large pages: a kernel would spend most of its time waiting for small ones.
        blocks = np.zeros((int((-(-sizes // BLOCK)).sum()), columns.shape[0] + 1, BLOCK), np.float32)
        return cls(blocks, *group_by_owner(columns, owner, sizes, blocks))


class PlainCounts(AdaptiveCounts):
    """Count in banks of samples that are all tested for every query."""

    block = 32_768

    def __init__(
        self, tessellation: Tessellation, settings: Settings, max_samples: int = MAX_SAMPLES, cache_mb: float = CACHE_MB
    ) -> None:
        super().__init__(tessellation, settings, max_samples, cache_mb)
        most = min(_MAX_BANK, max(_MAX_COORDINATES // max(tessellation.dim, 1), _MAX_LATER))
        small = min(_HITS_PER_BANK * (tessellation.n_sites + 1), most)
        self._sizes = small, max(small, min(small * _LATER_FACTOR, _MAX_LATER))
        self._banks: dict[int, _Bank] = {}
        self._bank_owners: dict[int, AnyArray] = {}
        # One for banks of even and one for those of odd number, so that two threads can draw.
        self._drawing = Lock(), Lock()

    def estimate(self, queries: Queries) -> Estimate:
        """Count shared samples; rows of zeros for queries that should be measured by a walk inside their cell."""
        from allegiance._kernels.counting import count_owners

        most, first = self._max_samples, self._bank_size(0)
        patience = min(most, max(_PATIENCE * first, _PATIENCE_IN_UNITS * self._unit))
        schedule = Schedule(min(_FIRST_LOOK * first, most), np.inf, 0, patience, most)
        estimate = Estimate.blank(queries.n, self._tessellation.n_sites, SHARED)
        counts = np.zeros(estimate.affinity.shape, np.int64)
        tally = Tally(counts, counts, counts)

        def count_bank(index: int, active: IntArray) -> int:
            bank, size = self._bank(index), self._bank_size(index)
            count_owners(
                active, queries.a, queries.b, *self._functions, bank.blocks, bank.strips, bank.owners, counts
            )  # fmt: skip
            return size

        def count_rows(rows: slice) -> None:
            self._count_adaptively(np.arange(rows.start, rows.stop), tally, schedule, estimate, count_bank)

        products = queries.n * self._tessellation.dim * self._unit
        threads = self._settings.threads if products > _MANY_TESTED else 1
        for_row_blocks(count_rows, queries.n, threads, blocks_per_thread=1)
        return estimate

    def prepare(self) -> None:
        """Draw and keep the banks that most queries need."""
        for index in range(_SMALL_BANKS):
            self._draw(index)

    def _bank_size(self, index: int) -> int:
        """Return the number of samples in a bank; the last one ends at ``max_samples``."""
        small, large = self._sizes
        before = min(index, _SMALL_BANKS) * small + max(index - _SMALL_BANKS, 0) * large
        return max(min(small if index < _SMALL_BANKS else large, self._max_samples - before), 1)

    def _bank(self, index: int) -> _Bank:
        """Return a bank of shared samples, drawn if it is not kept."""
        if (
            self._drawing[index % 2].locked()
            and index + 1 < _SMALL_BANKS
            and self._is_room_for(self._most_bytes(index + 1))
        ):
            # Another thread draws it. Meanwhile this one draws the next, which will be needed, too.
            self._draw(index + 1)
        return self._draw(index)

    def _draw(self, index: int) -> _Bank:
        """Draw a bank of shared samples, unless it is kept."""
        with self._drawing[index % 2]:
            bank = self._banks.get(index)
            if bank is None:
                points = self._tessellation.region.sample(
                    self._bank_size(index), stream(self._settings.seed, SHARED, index)
                )
                columns = points.T.astype(np.float32, order="C", copy=False)
                bank = _Bank.of(columns, self._owners(index, columns), self._tessellation.n_sites)
                if self._is_room_for(bank.blocks.nbytes):
                    self._banks[index] = bank
        return bank

    def _is_room_for(self, nbytes: int) -> bool:
        """Tell whether a bank of ``nbytes`` bytes can be kept."""
        return sum(bank.blocks.nbytes for bank in [*self._banks.values()]) + nbytes <= self._cache_bytes

    def _most_bytes(self, index: int) -> int:
        """Return how many bytes a bank takes if no site fills its last block."""
        from allegiance._kernels.affine_block import BLOCK

        places = self._bank_size(index) + BLOCK * self._tessellation.n_sites
        return places * (self._tessellation.dim + 1) * np.dtype(np.float32).itemsize

    def _owners(self, index: int, columns: AnyArray) -> AnyArray:
        """Return the owner (m,) int32 of each sample of a bank, given as columns (r, m)."""
        from allegiance._kernels.counting import owners_of

        owner = self._bank_owners.get(index)
        if owner is None:
            size = columns.shape[1]
            owner = np.empty(size, np.int32)
            a, b = self._functions
            *functions, close = self._tessellation.single
            slopes, constants = kernel_ready(*functions)

            def find_owners(rows: slice) -> None:
                owners_of(np.ascontiguousarray(columns[:, rows]), a, b, slopes, constants, close, owner[rows])

            products = columns.size * self._tessellation.n_sites
            for_row_blocks(find_owners, size, self._settings.threads, multiple=_GROUP, products=products)
            if sum(each.size for each in [*self._bank_owners.values()]) + owner.size <= _KEEP_OWNERS:
                self._bank_owners[index] = owner
        return owner
