"""A sample of rows that depends on a seed and on row numbers, never on chunks or on the order of merging."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from allegiance._core import AnyArray, IntArray, Rows, is_sparse

_STEP = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1


def row_priorities(seed: int, start: int, count: int) -> NDArray[np.uint64]:
    """Return the priorities (count,) of rows ``start``, ``start + 1``, ...: a hash of the seed and the row number.

    The sample of a data set is its rows of lowest priority. The hash is splitmix64 with the hashed seed as its start;
    it is one to one, so that no two rows of a data set have the same priority.
    """
    base = _scrambled(np.array([seed & _MASK], dtype=np.uint64))
    numbers = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    return _scrambled(base + numbers * np.uint64(_STEP))


def _scrambled(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the output of splitmix64 for its states."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@dataclass(frozen=True)
class RowSample:
    """The labelled rows of lowest priority of the rows seen so far, in the order of their row numbers.

    Noise is never kept: it has no label to hold.

    Attributes
    ----------
    limit
        Most rows that are kept.
    priorities
        (m,) uint64
    numbers
        (m,) row numbers in the whole data set, ascending.
    rows
        (m, d) dense or CSR.
    codes
        (m,) cluster numbers.
    """

    limit: int
    priorities: NDArray[np.uint64]
    numbers: IntArray
    rows: Rows
    codes: IntArray

    @classmethod
    def of(cls, rows: Rows, codes: AnyArray, *, limit: int, seed: int, start: int = 0) -> RowSample:
        """Sample rows (n, d) numbered from ``start``, with cluster numbers (n,), -1 for noise."""
        priorities = row_priorities(seed, start, codes.shape[0])
        labelled = np.flatnonzero(codes >= 0)
        kept = labelled[_lowest(priorities[labelled], limit)]
        return cls(limit, priorities[kept], kept + start, rows[kept], codes[kept].astype(np.int64))

    def plus(self, other: RowSample) -> RowSample:
        """Return the sample of both sets of rows, which must not overlap."""
        if self.limit != other.limit:
            raise ValueError(f"samples of limits {self.limit} and {other.limit} cannot be merged: use one limit.")
        priorities = np.concatenate([self.priorities, other.priorities])
        numbers = np.concatenate([self.numbers, other.numbers])
        codes = np.concatenate([self.codes, other.codes])
        stack = partial(sp.vstack, format="csr") if is_sparse(self.rows) else np.concatenate
        kept = _lowest(priorities, self.limit)
        kept = kept[np.argsort(numbers[kept])]
        return RowSample(self.limit, priorities[kept], numbers[kept], stack([self.rows, other.rows])[kept], codes[kept])


def _lowest(priorities: NDArray[np.uint64], limit: int) -> IntArray:
    """Return the positions of the lowest priorities, at most ``limit``, ascending."""
    if priorities.size <= limit:
        return np.arange(priorities.size)
    return np.sort(np.argpartition(priorities, limit - 1)[:limit])
