"""Which site owns each sample, or each position.

For samples single precision decides unless another site comes close; then double precision does, and the first of
equals wins. Functions are highest for the owner: ``slopes`` float32 (k, r), ``constants`` (k,), with rows of zeros to a
multiple of TOGETHER; ``close`` is how close is too close for them.
"""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, STRIPS, TOGETHER, fill_columns, write_values
from ._jit import jit


@jit()
def site_values(points: AnyArray, slopes: AnyArray, constants: AnyArray, values: AnyArray) -> None:
    """Write ``<slopes[i], points[s]> + constants[i]`` to ``values[i, s]``: highest for the owner.

    ``points`` is float32 (m, r) with m up to BLOCK, ``values`` float32 (k, BLOCK). Columns beyond m repeat the last
    sample.
    """
    m, r = points.shape
    block = np.zeros((1, r + 1, BLOCK), np.float32)
    some = np.empty(BLOCK, np.int64)
    for s in range(BLOCK):
        some[s] = min(s, m - 1)
    fill_columns(points, some, block[0])
    for first in range(0, slopes.shape[0], TOGETHER):
        write_values(constants, slopes, first, block, 0, STRIPS, values, first)


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


@jit()
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

    ``columns`` is float32 (r, m), one sample per column.
    """
    r, m = columns.shape
    k = site_a.shape[0]
    block = np.zeros((1, r + 1, BLOCK), np.float32)
    value = np.empty((TOGETHER, BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    first = np.empty(BLOCK, np.int32)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        for c in range(r):
            for s in range(width):
                block[0, c + 1, s] = columns[c, start + s]
        for s in range(BLOCK):
            highest[s] = -np.inf
            second[s] = -np.inf
            first[s] = 0
        for i in range(0, k, TOGETHER):
            write_values(constants, slopes, i, block, 0, STRIPS, value, 0)
            for j in range(min(TOGETHER, k - i)):
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
