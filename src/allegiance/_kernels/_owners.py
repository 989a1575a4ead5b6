"""Which site owns each sample."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, fill_columns, four_values
from ._jit import jit

#: Values closer than this, as a share of the numbers they are summed from, are compared in double precision.
_CLOSE = 1e-6


@jit()
def single_precision(site_a: FloatArray, site_b: FloatArray) -> tuple[AnyArray, AnyArray, float]:
    """Return ``slopes`` and ``constants`` as :func:`site_values` wants them, and how close values are too close."""
    k, r = site_a.shape
    slopes = np.zeros(((k + 3) // 4 * 4, r), np.float32)
    constants = np.zeros(slopes.shape[0], np.float32)
    close = 0.0
    for i in range(k):
        size = abs(site_b[i])
        for c in range(r):
            slopes[i, c] = site_a[i, c]
            size += abs(site_a[i, c])
        constants[i] = -site_b[i]
        close = max(close, _CLOSE * size)
    return slopes, constants, close


@jit(fuse=True)
def site_values(points: AnyArray, slopes: AnyArray, constants: AnyArray, values: AnyArray) -> None:
    """Write ``<slopes[i], points[s]> + constants[i]`` to ``values[i, s]``: highest for the owner.

    ``points`` is float32 (m, r) with m up to BLOCK; ``slopes`` float32 (k, r), ``constants`` (k,) and ``values``
    (k, BLOCK), where k is a multiple of 4. Columns beyond m repeat the last sample.
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
    """Write the owner of each sample to ``owner`` (m,) and its value, as in ``values``, to ``highest`` (BLOCK,).

    Single precision decides unless other sites come as ``close`` as that; then double precision does, and the first of
    equals.
    """
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
