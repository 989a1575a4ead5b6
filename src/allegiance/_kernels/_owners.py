"""Which site owns each sample, or each position.

For samples single precision decides unless another site comes close; then double precision does, and the first of
equals wins. Functions are highest for the owner: ``slopes`` float32 (k, r), ``constants`` (k,), with rows of zeros to a
multiple of four; ``close`` is how close is too close for them.
"""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, fill_columns, four_values
from ._jit import jit


@jit(fuse=True)
def site_values(points: AnyArray, slopes: AnyArray, constants: AnyArray, values: AnyArray) -> None:
    """Write ``<slopes[i], points[s]> + constants[i]`` to ``values[i, s]``: highest for the owner.

    ``points`` is float32 (m, r) with m up to BLOCK, ``values`` float32 (k, BLOCK). Columns beyond m repeat the last
    sample.
    """
    m, r = points.shape
    block = np.zeros((r + 1, BLOCK), np.float32)
    some = np.empty(BLOCK, np.int64)
    for s in range(BLOCK):
        some[s] = min(s, m - 1)
    fill_columns(points, some, block)
    for first in range(0, slopes.shape[0], 4):
        four_values(constants, slopes, first, block, BLOCK, values, first)


@jit()
def find_owners(
    points: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    close: float,
    values: AnyArray,
    highest: AnyArray,
    owner: AnyArray,
) -> None:
    """Write the owner of each sample to ``owner`` (m,) and its value, as in ``values``, to ``highest`` (BLOCK,)."""
    m, r = points.shape
    k = site_a.shape[0]
    second = np.empty(BLOCK, np.float32)
    first = np.zeros(BLOCK, np.int32)
    for s in range(BLOCK):
        highest[s] = values[0, s]
        second[s] = -np.inf
    for i in range(1, k):
        for s in range(BLOCK):
            value = values[i, s]
            second[s] = max(second[s], min(value, highest[s]))
            first[s] = np.int32(i) if value > highest[s] else first[s]
            highest[s] = max(value, highest[s])
    for s in range(m):
        owner[s] = first[s]
        if highest[s] - second[s] > close:
            continue
        best = -np.inf
        for i in range(k):
            if highest[s] - values[i, s] <= close:
                value = -site_b[i]
                for c in range(r):
                    value += site_a[i, c] * points[s, c]
                if value > best:
                    best = value
                    owner[s] = i


@jit(fuse=True)
def owners_of(
    columns: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    owner: AnyArray,
) -> None:
    """Write the owner of each sample to ``owner`` (m,) int32, where no other value is wanted.

    ``columns`` is float32 (r, m), one sample per column. One loop nest, which compiles in a second: the functions
    above take several, and it is a first call that waits for them.
    """
    r, m = columns.shape
    k = site_a.shape[0]
    # A copy, in which the compiler sees that no index is negative: only then are the loops over samples vectorised.
    block = np.zeros((r + 3, BLOCK), np.float32)
    slope = np.zeros((4, r + 3), np.float32)
    value = np.empty((4, BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    first = np.empty(BLOCK, np.int32)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        for c in range(r):
            for s in range(width):
                block[c, s] = columns[c, start + s]
        for s in range(BLOCK):
            highest[s] = -np.inf
            second[s] = -np.inf
            first[s] = 0
        for i in range(0, k, 4):
            # Four sites share each load of a coordinate.
            for j in range(4):
                constant = constants[i + j]
                for s in range(BLOCK):
                    value[j, s] = constant
                for c in range(r):
                    slope[j, c] = slopes[i + j, c]
            for c in range(0, r, 4):
                a0, a1, a2, a3 = slope[0, c], slope[0, c + 1], slope[0, c + 2], slope[0, c + 3]
                b0, b1, b2, b3 = slope[1, c], slope[1, c + 1], slope[1, c + 2], slope[1, c + 3]
                c0, c1, c2, c3 = slope[2, c], slope[2, c + 1], slope[2, c + 2], slope[2, c + 3]
                d0, d1, d2, d3 = slope[3, c], slope[3, c + 1], slope[3, c + 2], slope[3, c + 3]
                for s in range(BLOCK):
                    y0, y1, y2, y3 = block[c, s], block[c + 1, s], block[c + 2, s], block[c + 3, s]
                    value[0, s] += a0 * y0 + a1 * y1 + a2 * y2 + a3 * y3
                    value[1, s] += b0 * y0 + b1 * y1 + b2 * y2 + b3 * y3
                    value[2, s] += c0 * y0 + c1 * y1 + c2 * y2 + c3 * y3
                    value[3, s] += d0 * y0 + d1 * y1 + d2 * y2 + d3 * y3
            for j in range(min(4, k - i)):
                for s in range(BLOCK):
                    second[s] = max(second[s], min(value[j, s], highest[s]))
                    first[s] = np.int32(i + j) if value[j, s] > highest[s] else first[s]
                    highest[s] = max(value[j, s], highest[s])
        for s in range(width):
            owner[start + s] = first[s]
            if highest[s] - second[s] > close:
                continue
            best = -np.inf
            for i in range(k):
                exact = -site_b[i]
                for c in range(r):
                    exact += site_a[i, c] * columns[c, start + s]
                if exact > best:
                    best = exact
                    owner[start + s] = i


@jit()
def owners_at(positions: FloatArray, columns: FloatArray, site_b: FloatArray, owner: AnyArray) -> None:
    """Write the owner of each position (n, r) to ``owner`` (n,) int64, the first of equals, in double precision.

    ``columns`` is (r, k), the slopes of the sites coordinate after coordinate.
    """
    n, r = positions.shape
    k = site_b.shape[0]
    value = np.empty(k)
    for q in range(n):
        for i in range(k):
            value[i] = -site_b[i]
        for c in range(r):
            coordinate = positions[q, c]
            for i in range(k):
                value[i] += columns[c, i] * coordinate
        owner[q] = 0
        highest = -np.inf
        for i in range(k):
            if value[i] > highest:
                highest = value[i]
                owner[q] = i
