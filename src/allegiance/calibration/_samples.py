"""Samples of rows that can be built in pieces, independent of chunks and threads, and the hashes behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, is_sparse

_STEP = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
#: Half of the last significant bit of an entry, and a mask of the significant bits.
_HALF, _KEPT = np.uint64(2**19), np.uint64(2**64 - 2**20)
Keys = NDArray[np.uint64]


def mix(state: Keys) -> Keys:
    """Return the output of splitmix64 for its states: a one-to-one map that scatters the bits."""
    with np.errstate(over="ignore"):
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return state ^ (state >> np.uint64(31))


def row_priorities(seed: int, start: int, count: int) -> Keys:
    """Return the priorities (count,) of rows ``start``, ``start + 1``, ...: a hash of the seed and the row number."""
    with np.errstate(over="ignore"):
        base = mix(np.array([seed & _MASK], dtype=np.uint64))
        return mix(base + np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(_STEP))


def content_keys(rows: Any) -> Keys:
    """Return a hash (n,) of the contents of each row of an array, a CSR matrix or a frame.

    It is a sum over the nonzero entries, so dense and sparse rows have the same keys.
    """
    with np.errstate(over="ignore"):
        if is_sparse(rows):
            matrix = rows.tocsr().astype(np.float64)
            entries = np.where(matrix.data == 0.0, 0, _entry_keys(matrix.data, matrix.indices)).astype(np.uint64)
            return mix(_row_sums(entries, matrix.indptr))
        total = np.zeros(len(rows), dtype=np.uint64)
        for number, values in enumerate(_columns(rows)):
            total += np.where(values == 0.0, np.uint64(0), _entry_keys(values, number))
        return mix(total)


def _row_sums(entries: Keys, indptr: IntArray) -> Keys:
    """Return the keys (n,) of sparse rows: the sums of their entries' keys, modulo 2**64."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _columns(rows: Any) -> Iterator[FloatArray]:
    """Yield the columns of an array or a frame as float64."""
    if hasattr(rows, "iloc"):
        return (_as_numbers(np.asarray(rows.iloc[:, number])) for number in range(rows.shape[1]))
    if hasattr(rows, "columns"):
        return (_as_numbers(np.asarray(rows[name])) for name in rows.columns)
    return (_as_numbers(column) for column in np.asarray(rows).T)


def _entry_keys(values: FloatArray, column: Any) -> Keys:
    """Return the hash by which rows are sampled, for entries in one column, or in the columns (n,).

    Entries are rounded to 32 bits of mantissa, so that sums taken in another order give the same keys.
    """
    bits = (np.ascontiguousarray(values).view(np.uint64) + _HALF) & _KEPT
    return mix(bits + mix((np.atleast_1d(column) + 1).astype(np.uint64) * np.uint64(_STEP)))


def _as_numbers(column: AnyArray) -> FloatArray:
    """Return a column as the numbers that keys of samples are made of; text and other values as a hash."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    if column.dtype.kind in "mM":
        return column.astype(np.int64).astype(np.float64)
    names, place = np.unique(column.astype(str), return_inverse=True)
    hashes = [int.from_bytes(blake2b(name.encode(), digest_size=6).digest(), "big") for name in names.tolist()]
    return np.array(hashes, dtype=np.float64)[place] + 1.0


def take(rows: Any, places: IntArray) -> Any:
    """Return a sample of the rows of an array, a matrix or a frame."""
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def row_keys(rows: Any, codes: AnyArray) -> Keys:
    """Return a hash (n,) of each row, different for every row.

    It is a hash of the standardized contents, so that units, signs, the precision and the order of the columns do not
    matter, and neither does the order of the rows. Rows that are equal after standardizing are told apart by their
    contents, and equal rows are numbered within their cluster: they are exchangeable.
    """
    keys = _standardized_keys(rows)
    order = np.lexsort((codes, content_keys(rows), keys))
    return _numbered_keys(keys[order])[np.argsort(order, kind="stable")]


def _standardized_keys(rows: Any) -> Keys:
    """Return a hash (n,) of each row's standardized entries, which is a sum over the columns in any order.

    Entries are rounded to 1/256 of the column's standard deviation, and signed so that the column's skewness is
    positive. The hash of a column is salted with its kurtosis, not with its number.
    """
    with np.errstate(over="ignore"):
        if not is_sparse(rows):
            total = np.zeros(len(rows), dtype=np.uint64)
            for values in _columns(rows):
                total += _Standardizer.of(values, len(rows)).keys(values)
            return mix(total)
        matrix = rows.tocsc().astype(np.float64)
        n, base, entries = matrix.shape[0], np.uint64(0), np.zeros(matrix.nnz, dtype=np.uint64)
        for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            values = matrix.data[start:stop]
            column = _Standardizer.of(values, n)
            zero = column.keys(np.zeros(1))[0]
            base += zero
            entries[start:stop] = column.keys(values) - zero
        total = np.full(n, base, dtype=np.uint64)
        np.add.at(total, matrix.indices, entries)
        return mix(total)


class _Standardizer(NamedTuple):
    """Center, signed scale and salt of a column; symmetric columns have no sign."""

    center: float
    scale: float
    is_symmetric: bool
    salt: np.uint64

    @classmethod
    def of(cls, values: FloatArray, n: int) -> _Standardizer:
        """Find center and scale of a column for the keys of a sample; of its ``n`` entries those not passed are 0."""
        finite = values[np.isfinite(values)]
        n_zeros = n - values.size
        largest = float(np.abs(finite).max(initial=0.0))
        if largest == 0.0:
            return cls(0.0, 1.0, True, np.uint64(0))
        finite = finite / largest
        center = float(finite.sum()) / n
        about = finite - center
        deviation = float(np.sqrt(((about**2).sum() + n_zeros * center**2) / n))
        if deviation < 1e-7:  # constant
            return cls(center * largest, largest, True, np.uint64(0))
        z, zero = about / deviation, -center / deviation
        skewness, kurtosis = (float((z**p).sum() + n_zeros * zero**p) / n for p in (3, 4))
        scale = deviation * largest * (-1.0 if skewness < 0.0 else 1.0)
        return cls(center * largest, scale, abs(skewness) < 1e-6, np.uint64(round(1e4 * min(kurtosis, 1e9))))

    def keys(self, values: FloatArray) -> Keys:
        """Return the hash of each entry, by which rows are sampled."""
        z = np.clip(np.nan_to_num((values - self.center) / self.scale, posinf=1e9, neginf=-1e9, nan=1e8), -1e9, 1e9)
        steps = np.rint(256.0 * (np.abs(z) if self.is_symmetric else z)).astype(np.int64)
        return mix(steps.view(np.uint64) * np.uint64(_STEP) + mix(np.atleast_1d(self.salt)))


def _numbered_keys(ascending: Keys) -> Keys:
    """Return distinct keys for equal ones, which are adjacent."""
    places = np.arange(ascending.size)
    first = np.concatenate([[True], ascending[1:] != ascending[:-1]])[: ascending.size]
    rank = places - np.maximum.accumulate(np.where(first, places, 0)) if places.size else places
    with np.errstate(over="ignore"):
        return mix(ascending + rank.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03))


@dataclass(frozen=True)
class RowSample:
    """The labeled rows of lowest priority, sorted by row number, which can be built in pieces in any order.

    ``priorities``, ``numbers`` and ``codes`` are (m,), ``rows`` (m, d) dense or CSR.
    """

    limit: int
    priorities: Keys
    numbers: IntArray
    rows: Rows
    codes: IntArray

    @classmethod
    def of(cls, rows: Rows, codes: AnyArray, *, limit: int, seed: int, start: int = 0) -> RowSample:
        """Sample rows (n, d) numbered from ``start``, with cluster numbers (n,), -1 for noise, which is left out."""
        priorities = row_priorities(seed, start, codes.shape[0])
        labeled = np.flatnonzero(codes >= 0)
        kept = labeled[_lowest(priorities[labeled], limit)]
        return cls(limit, priorities[kept], kept + start, rows[kept], codes[kept].astype(np.int64))

    def merge(self, other: RowSample) -> RowSample:
        """Return the sample of both sets of rows, which must not overlap."""
        if self.limit != other.limit:
            raise ValueError(f"samples of limits {self.limit} and {other.limit} cannot be merged: use one limit.")
        priorities = np.concatenate([self.priorities, other.priorities])
        numbers = np.concatenate([self.numbers, other.numbers])
        codes = np.concatenate([self.codes, other.codes])
        kept = _lowest(priorities, self.limit)
        kept = kept[np.argsort(numbers[kept])]
        rows = _stacked(self.rows, other.rows)[kept]
        return RowSample(self.limit, priorities[kept], numbers[kept], rows, codes[kept])


def _lowest(priorities: Keys, limit: int) -> IntArray:
    """Return the positions of the rows of lowest priority, which are sampled, at most ``limit``, ascending."""
    if priorities.size <= limit:
        return np.arange(priorities.size)
    return np.sort(np.argpartition(priorities, limit - 1)[:limit])


def _stacked(first: Rows, second: Rows) -> Rows:
    """Return the rows of two samples as one."""
    return sp.vstack([first, second], format="csr") if is_sparse(first) else np.concatenate([first, second])


@dataclass(frozen=True)
class ContentSample:
    """A sample of rows that depends on their contents only: the distinct rows of lowest hash, at most ``limit``.

    Equal rows of one cluster are one entry with a count and its lowest row number. The sample can be built in pieces.
    Counts are exact, since a row in the sample of all rows is in the sample of its piece.
    """

    limit: int
    total: int
    keys: Keys
    counts: IntArray
    numbers: IntArray
    rows: Rows
    codes: IntArray

    @classmethod
    def of(cls, rows: Any, codes: AnyArray, *, limit: int, start: int = 0, keys: Keys | None = None) -> ContentSample:
        """Sample rows (n, d) numbered from ``start``, with cluster numbers (n,), -1 for noise, and keys if known."""
        keys = content_keys(rows) if keys is None else keys
        candidates = np.arange(keys.size)
        if keys.size > 4 * limit:
            # Exclude most rows that will not be kept before sorting.
            likely = np.flatnonzero(keys <= np.partition(keys, 2 * limit)[2 * limit])
            if np.unique(keys[likely]).size > limit:
                candidates = likely
        sample = cls(
            limit, keys.size, keys[candidates], np.ones(candidates.size, np.int64), candidates + start, candidates,
            np.asarray(codes)[candidates].astype(np.int64),
        )._packed()  # fmt: skip
        places = sample.rows
        return cls(limit, sample.total, sample.keys, sample.counts, sample.numbers, take(rows, places), sample.codes)

    def merge(self, other: ContentSample) -> ContentSample:
        """Return the sample of both sets of rows, which must not overlap."""
        if self.limit != other.limit:
            raise ValueError(f"samples of limits {self.limit} and {other.limit} cannot be merged: use one limit.")
        return ContentSample(
            self.limit,
            self.total + other.total,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.numbers, other.numbers]),
            _stacked(self.rows, other.rows),
            np.concatenate([self.codes, other.codes]),
        )._packed()

    def _packed(self) -> ContentSample:
        """Return the sample of rows with equal entries merged, and only the lowest keys kept."""
        order = np.lexsort((self.numbers, self.codes, self.keys))
        keys, codes = self.keys[order], self.codes[order]
        if not keys.size:
            return self
        first = np.flatnonzero(np.concatenate([[True], (keys[1:] != keys[:-1]) | (codes[1:] != codes[:-1])]))
        counts = np.add.reduceat(self.counts[order], first)
        kept = first[: self.limit]
        entries = order[kept]
        return ContentSample(
            self.limit, self.total, self.keys[entries], counts[: self.limit], self.numbers[entries], self.rows[entries],
            self.codes[entries],
        )  # fmt: skip

    def positions(self) -> IntArray:
        """Return the entry of each sampled row, at most ``limit``; entries are repeated by their counts."""
        places = np.repeat(np.arange(self.keys.size), self.counts)
        if places.size <= self.limit:
            return places
        lowest = np.argpartition(_numbered_keys(self.keys[places]), self.limit - 1)[: self.limit]
        return places[np.sort(lowest)]
