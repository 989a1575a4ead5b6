"""Shared samples: one uniform sample of the domain serves every query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._random import stream
from allegiance._threads import for_row_blocks, kernel_ready
from allegiance._typing import AnyArray, BoolArray

from ._estimate import SHARED, Z95, Estimate, Queries, Settings, binomial_errors
from ._scene import Scene

#: Samples in one bank: enough that an average cell, one of k + 1 that tile the domain, gets this many. Later banks,
#: which only queries with small cells need, are larger.
_HITS_PER_BANK = 256
_SMALL_BANKS = 14
_LATER = 8
_MAX_BANK = 65_536
#: Banks are kept for the next call as long as they take less than this many bytes together.
_KEEP_BYTES = 128 * 2**20
#: Banks counted before the first look at a query's precision, and most by which one look multiplies them.
_FIRST_LOOK = 2
_MAX_GROWTH = 3.0
#: A cell with less than this share of the domain, which would need more than this many small banks, is walked: that is
#: cheaper than waiting for samples to fall into it.
_RARE = 0.02
_PATIENCE = 40


class _Bank(NamedTuple):
    """Samples grouped by owner and cut into blocks, as the counting kernel wants them."""

    blocks: AnyArray
    widths: AnyArray
    owners: AnyArray


class SharedSamplesEngine:
    """Estimate shares by counting which of a fixed set of uniform samples each query steals, and from whom.

    The owner of every sample is known in advance; a query then steals y if f_x(y) <= f_owner(y). Samples inside
    its cell are independent, so the intervals are those of plain counting. The same draws serve every query: scores
    are comparable, and no answer depends on the order or number of queries.

    Samples come in banks. At each look a query that reached ``eps`` leaves, and another one is told how many banks it
    will need. Queries with a small cell that would need very many are returned as not found.
    """

    block = 32_768

    def __init__(self, scene: Scene, settings: Settings) -> None:
        self._scene = scene
        self._settings = settings
        self._kept: dict[int, _Bank] = {}

    def estimate(self, queries: Queries) -> Estimate:
        """Count; rows of zeros for queries that should be measured by a walk inside their cell."""
        estimate = Estimate.blank(queries.n, self._scene.n_sites, SHARED)
        counts = self._count_adaptively(queries)
        total = counts.sum(axis=1)
        estimate.affinity[:] = counts / np.maximum(total, 1)[:, None]
        estimate.standard_error[:] = binomial_errors(counts, total)
        return estimate

    def _count_adaptively(self, queries: Queries) -> AnyArray:
        """Return counts (n, k); zero for queries given up."""
        most = self._settings.max_samples
        counts = np.zeros((queries.n, self._scene.n_sites), np.int32)
        next_look = np.full(queries.n, min(_FIRST_LOOK * self._bank_size(0), most))
        active = np.arange(queries.n)
        part, found, n_banks, drawn = queries, counts, 0, 0
        while active.size:
            self._count(part, self._bank(n_banks), found)
            drawn += self._bank_size(n_banks)
            n_banks += 1
            looked = next_look <= drawn
            if not looked.any():
                continue
            precise, needed = self._judge(found[looked], drawn)
            rare = found[looked].sum(axis=1) < _RARE * drawn
            hopeless = ~precise & rare & (needed > min(most, _PATIENCE * self._bank_size(0)))
            found[np.flatnonzero(looked)[hopeless]] = 0
            next_look[looked] = np.minimum(needed, most)
            stay = np.ones(active.size, dtype=bool)
            stay[looked] = ~(precise | hopeless | (drawn >= most))
            counts[active] = found
            active, next_look, found = active[stay], next_look[stay], found[stay]
            part = queries.take(active)
        return counts

    def _judge(self, counts: AnyArray, drawn: int) -> tuple[BoolArray, AnyArray]:
        """Tell which queries are precise enough, and after how many samples to look at the others again."""
        half_width = Z95 * binomial_errors(counts, counts.sum(axis=1)).max(axis=1)
        growth = (half_width / self._settings.eps) ** 2
        hits = counts.any(axis=1)
        needed = np.ceil(drawn * np.minimum(growth, np.where(hits, np.inf, _MAX_GROWTH)))
        return growth <= 1.0, np.maximum(needed, drawn + 1).astype(np.int64)

    def _bank_size(self, index: int) -> int:
        """Return the number of samples in a bank; the last one ends at ``max_samples``."""
        small = min(_HITS_PER_BANK * (self._scene.n_sites + 1), _MAX_BANK)
        large = min(small * _LATER, _MAX_BANK)
        before = min(index, _SMALL_BANKS) * small + max(index - _SMALL_BANKS, 0) * large
        return max(min(small if index < _SMALL_BANKS else large, self._settings.max_samples - before), 1)

    def _count(self, queries: Queries, bank: _Bank, counts: AnyArray) -> None:
        from allegiance._kernels._owner_counts import TOGETHER, count_owners

        n = queries.n
        padded = -(-n // TOGETHER) * TOGETHER
        a, b, hits = (
            np.zeros((padded, self._scene.dim)),
            np.zeros(padded),
            np.zeros((padded, counts.shape[1]), np.int32),
        )
        a[:n], b[:n] = queries.a, queries.b
        site_a, site_b, blocks, widths, owners = kernel_ready(*self._scene.functions, *bank)

        def work(rows: slice) -> None:
            count_owners(a[rows], b[rows], site_a, site_b, blocks, widths, owners, hits[rows])

        for_row_blocks(work, padded, self._settings.threads, multiple=TOGETHER)
        counts += hits[:n]

    def _bank(self, index: int) -> _Bank:
        from allegiance._kernels._grouping import group_by_owner

        bank = self._kept.get(index)
        if bank is None:
            points = self._scene.domain.sample(self._bank_size(index), stream(self._settings.seed, SHARED, index))
            # Owners of the points as the counting kernel will see them.
            points = points.astype(np.float32).astype(np.float64)
            bank = _Bank(*group_by_owner(*kernel_ready(points, *self._scene.functions)))
            if sum(kept.blocks.nbytes for kept in self._kept.values()) + bank.blocks.nbytes <= _KEEP_BYTES:
                self._kept[index] = bank
        return bank

    def __getstate__(self) -> dict[str, object]:
        # Banks follow from the seed: a pickle need not carry them.
        return {**self.__dict__, "_kept": {}}
