"""Arithmetic of rows: fast sums and products, and sums that are bit-identical in any order and any chunks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .validation import AnyArray, FloatArray, IntArray, Rows, dense, is_sparse

#: Most columns for which summing column by column is faster.
_FEW = 16


def row_sums(A: FloatArray) -> FloatArray:
    """Return the sums (n,) of the rows of A (n, m), several times faster than NumPy for few columns."""
    if not 0 < A.shape[1] <= _FEW:
        return A.sum(axis=1)
    total = A[:, 0].copy()
    for c in range(1, A.shape[1]):
        total += A[:, c]
    return total


def row_dots(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the inner products (n,) of the rows of A (n, m) with those of B, or with the vector B (m,)."""
    if not 0 < A.shape[1] <= _FEW:
        return (A * B).sum(axis=1)
    total = A[:, 0] * B[..., 0]
    for c in range(1, A.shape[1]):
        total += A[:, c] * B[..., c]
    return total


def power_of_two(size: float) -> float:
    """Return the power of two that brings ``size`` to [1/2, 1), a factor without rounding; 1 for zero."""
    if size == 0:
        return 1.0
    return float(np.ldexp(1.0, min(-int(np.frexp(size)[1]), 1022)))


#: Bits of a digit of :class:`ExactSums`, and digits kept: at least 90 bits below the largest term of a column.
_BITS, _DIGITS = 30, 4
#: The level of a column of zeros.
_LOWEST_LEVEL = -20
#: Bits of a digit of :class:`ExactProducts`: twice the products of two, summed over 2**12 rows, are exact in double
#: precision.
_FACTOR_BITS = 20
MAX_PRODUCT_ROWS = 2**12
#: Rows, and entries, converted to float64 at a time.
_ROWS, _ENTRIES = 8192, 2**19


class ExactSums(NamedTuple):
    """Sums of the rows of each of k clusters, column by column.

    A number is a sum of multiples of 2**(30 level) for four consecutive levels. The levels are the same for all
    numbers, so digits add up as integers, without rounding. A larger number that comes later only drops the lowest
    digits, which the sum of all numbers would not have kept either.
    """

    top: IntArray
    """(d,) level of the first digit of each column."""
    digits: IntArray
    """(4, k, d)"""

    @classmethod
    def empty(cls, k: int, d: int) -> ExactSums:
        """Return sums over no rows."""
        return cls(np.full(d, _LOWEST_LEVEL), np.zeros((_DIGITS, k, d), np.int64))

    @classmethod
    def of(cls, X: Rows, codes: AnyArray, k: int) -> ExactSums:
        """Sum rows X (n, d), dense or CSR, by cluster ``codes`` (n,); rows with -1 are left out."""
        n, d = X.shape
        total = cls.empty(k, d)
        # A block of a sparse matrix costs memory for its entries, and time for its columns.
        size = _ROWS if is_sparse(X) else min(_ROWS, max(1, _ENTRIES // max(d, 1)))
        for start in range(0, n, size):
            part = codes[start : start + size]
            members = np.flatnonzero(part >= 0)
            if members.size:
                rows = X[start : start + size]
                rows = rows if members.size == part.size else rows[members]
                total = total.merge(cls._of_block(rows, part[members], total))
        return total

    @classmethod
    def _of_block(cls, rows: Rows, codes: AnyArray, before: ExactSums) -> ExactSums:
        """Sum some rows, with the levels of the rows before them if these are higher."""
        k = before.digits.shape[1]
        indicator = sp.csr_array((np.ones(codes.size), (codes, np.arange(codes.size))), shape=(k, codes.size))
        rest: Any
        if is_sparse(rows):
            rest = sp.csr_array(rows, dtype=np.float64)
            top = np.maximum(before.top, _levels(np.asarray(abs(rest).max(axis=0).todense()).ravel()))
            values, shift = rest.data, top[rest.indices]
        else:
            rest = np.asarray(rows, dtype=np.float64)
            top = np.maximum(before.top, _levels(np.maximum(rest.max(axis=0), -rest.min(axis=0))))
            values, shift = rest, top
        values = values * np.ldexp(1.0, -_BITS * shift)
        digits = np.zeros((_DIGITS, k, rest.shape[1]), np.int64)
        for level in range(_DIGITS):
            digit = np.trunc(values)
            whole = sp.csr_array((digit, rest.indices, rest.indptr), shape=rest.shape) if is_sparse(rest) else digit
            digits[level] = dense(indicator @ whole)
            values -= digit
            if not values.any():
                break
            values *= 2.0**_BITS
        return cls(top, digits)

    def merge(self, other: ExactSums) -> ExactSums:
        """Return the sums over both sets of rows."""
        top = np.maximum(self.top, other.top)
        return ExactSums(top, self._shifted(top) + other._shifted(top))

    def _shifted(self, top: IntArray) -> IntArray:
        """Return the digits at levels that begin at ``top`` (d,)."""
        if (self.top == top).all():
            return self.digits
        places = np.arange(_DIGITS)[:, None] - (top - self.top)
        shifted = np.take_along_axis(self.digits, np.maximum(places, 0)[:, None, :], axis=0)
        return np.where(places[:, None, :] >= 0, shifted, 0)

    def among(self, k: int, places: AnyArray) -> ExactSums:
        """Return sums over k clusters: those of this object at ``places``, zero elsewhere."""
        digits = np.zeros((_DIGITS, k, self.digits.shape[2]), np.int64)
        digits[:, places] = self.digits
        return ExactSums(self.top, digits)

    @property
    def values(self) -> FloatArray:
        """(k, d) the sums as floats."""
        total, error = np.zeros(self.digits.shape[1:]), np.zeros(self.digits.shape[1:])
        for level in range(_DIGITS):  # a compensated sum, so that the result is rounded once
            term = np.ldexp(self.digits[level].astype(np.float64), -_BITS * level)
            larger = total + term
            back = larger - total
            error += (total - (larger - back)) + (term - back)
            total = larger
        return np.ldexp(total + error, _BITS * self.top)


def _levels(largest: FloatArray) -> IntArray:
    """Return the level (d,) of the first digit of numbers up to ``largest`` (d,)."""
    exponents = np.frexp(largest)[1].astype(np.int64)
    return np.maximum(np.where(largest > 0, (exponents + _BITS - 1) // _BITS - 1, _LOWEST_LEVEL), _LOWEST_LEVEL)


def _high_bits(rows: FloatArray, exponents: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the high 20 bits of rows (m, d), below the bounds of their columns, as integers, and what they leave."""
    rest = rows * np.ldexp(1.0, _FACTOR_BITS - exponents)
    high = np.rint(rest)
    rest -= high
    return high, rest


def _next_bits(rest: FloatArray) -> FloatArray:
    """Return the 20 bits after the high ones, in place of what those left."""
    rest *= 2.0**_FACTOR_BITS
    return np.rint(rest, out=rest)


def block_squares(rows: FloatArray, bounds: FloatArray) -> FloatArray:
    """Return terms (2, d) of the sums of squares of at most ``MAX_PRODUCT_ROWS`` rows, for columns with bounds.

    Rows (m, d) are rounded 40 bits below the bound of their column; their sum has the same bits in any order.
    """
    exponents = np.frexp(bounds)[1].astype(np.int64)
    high, rest = _high_bits(rows, exponents)
    low = np.einsum("ij,ij->j", high, _next_bits(rest)) * 2.0 ** (1 - _FACTOR_BITS)
    return np.ldexp(np.stack([np.einsum("ij,ij->j", high, high), low]), 2 * (exponents - _FACTOR_BITS))


class ExactProducts(NamedTuple):
    """Sums over rows of the products of two columns, for columns with known bounds."""

    exponents: IntArray
    """(d,) exponent of the power of two that bounds each column."""
    varying: IntArray
    """(v,) the columns whose bound is not zero."""
    digits: IntArray
    """(3, v, v) multiples of 2**20, 1 and 2**-20 of the product of the two units; all but the first carried."""

    @classmethod
    def empty(cls, bounds: FloatArray) -> ExactProducts:
        """Return sums over no rows, for columns bounded by ``bounds`` (d,)."""
        varying = np.flatnonzero(bounds)
        return cls(np.frexp(bounds)[1].astype(np.int64), varying, np.zeros((3, varying.size, varying.size), np.int64))

    def add_blocks(self, blocks: Iterable[FloatArray], *, coarse: bool = False) -> None:
        """Add blocks of at most ``MAX_PRODUCT_ROWS`` rows (m, d), each rounded 40 bits below the bound of its column.

        Products of two low halves, which are below those 40 bits, are left out; ``coarse`` leaves out all low halves.
        """
        if not self.varying.size:
            return
        levels = 1 if coarse else 2
        sums, n_rows = [np.zeros(self.digits.shape[1:]) for _ in range(levels)], 0
        for rows in blocks:
            if n_rows + len(rows) > MAX_PRODUCT_ROWS:
                self._add(sums)
                n_rows = 0
            n_rows += len(rows)
            some = rows if self.varying.size == rows.shape[1] else rows.take(self.varying, axis=1)
            high, rest = _high_bits(some, self.exponents[self.varying])
            # By NumPy, which releases the GIL.
            sums[0] += high.T @ high
            if not coarse:
                mixed = high.T @ _next_bits(rest)
                sums[1] += mixed + mixed.T
        self._add(sums)

    def _add(self, sums: list[FloatArray]) -> None:
        """Add sums of whole numbers, level after level, and set them to zero."""
        for level, some in enumerate(sums, 1):
            self.digits[level] += some.astype(np.int64)
            some[:] = 0.0
        _carry(self.digits, len(sums))

    def merge(self, other: ExactProducts) -> ExactProducts:
        """Return the sums over both sets of rows."""
        return self._replace(digits=_carry(self.digits + other.digits))

    @property
    def squares(self) -> FloatArray:
        """(d,) the sums of squares as floats."""
        squares = np.zeros(self.exponents.size)
        squares[self.varying] = _joined(np.diagonal(self.digits, axis1=1, axis2=2))
        return np.ldexp(squares, 2 * self.exponents - _FACTOR_BITS)

    @property
    def values(self) -> FloatArray:
        """(d, d) the sums as floats."""
        d = self.exponents.size
        values = np.zeros((d, d))
        values[np.ix_(self.varying, self.varying)] = _joined(self.digits)
        return np.ldexp(values, np.add.outer(self.exponents, self.exponents) - _FACTOR_BITS)


def _joined(digits: IntArray) -> FloatArray:
    """Return numbers of three digits as floats, in units of the middle digit."""
    total = np.zeros(digits.shape[1:])
    for digit in digits[::-1]:
        total = np.ldexp(total, -_FACTOR_BITS) + digit
    return total


def _carry(digits: IntArray, lowest: int = 2) -> IntArray:
    """Carry overflow to the next higher digit, so that equal sums have equal digits."""
    for level in range(lowest, 0, -1):
        digits[level - 1] += digits[level] >> _FACTOR_BITS
        digits[level] &= 2**_FACTOR_BITS - 1
    return digits
