"""Which of the samples of a region are worth testing for the queries of each site."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, four_values
from ._jit import jit

#: Classes of samples: one of class c counts 2**c times.
CLASSES = 8
#: Values closer than this, as a share of the numbers they are summed from, are compared in double precision.
_CLOSE = 1e-6


@jit(fuse=True)
def site_values(points: AnyArray, slopes: AnyArray, constants: AnyArray, values: AnyArray) -> None:
    """Write ``<slopes[i], points[s]> + constants[i]`` to ``values[i, s]``: highest for the owner.

    ``points`` is float32 (m, r) with m up to BLOCK; ``slopes`` float32 (k, r), ``constants`` (k,) and ``values``
    (k, BLOCK), where k is a multiple of 4.
    """
    m, r = points.shape
    block = np.zeros((r + 1, BLOCK), np.float32)
    # Sixteen samples at a time, which stay in the innermost cache while their coordinates are sorted.
    for first in range(0, m, 16):
        for c in range(r):
            for s in range(first, min(first + 16, m)):
                block[c + 1, s] = points[s, c]
    for first in range(0, slopes.shape[0], 4):
        four_values(constants, slopes, first, block, values, first)


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
    second = np.full(BLOCK, -np.inf, np.float32)
    first = np.zeros(BLOCK, np.int32)
    for s in range(BLOCK):
        highest[s] = values[0, s]
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
def choose_samples(
    points: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    limits: AnyArray,
    owner: AnyArray,
    chosen: AnyArray,
    classes: AnyArray,
    starts: AnyArray,
) -> int:
    """Find the owners of samples, and choose for each site those worth testing; return how many were chosen.

    A sample whose margin to site i, f_i - f_owner, is at most ``limits[i, c]`` and above ``limits[i, c - 1]`` is of
    class c for i, and is chosen with probability 2**-c. Chance is in the samples, so places may choose: half of a
    block is for class 0 alone, a quarter for classes 0 and 1, and so on, the last two samples for all classes.

    Parameters
    ----------
    points
        (m, r) float32 samples; blocks of BLOCK.
    limits
        (k, CLASSES) float32, ascending, the last one inf.
    owner
        (m,) int32, written.
    chosen, classes
        (m k + 1,) uint8, written: places in a block, and classes, block after block and site after site.
    starts
        (ceil(m / BLOCK), k) int64, written: where those of a block and site start.
    """
    m, r = points.shape
    k = site_a.shape[0]
    values = np.zeros(((k + 3) // 4 * 4, BLOCK), np.float32)
    slopes = np.zeros((values.shape[0], r), np.float32)
    constants = np.zeros(values.shape[0], np.float32)
    slopes[:k] = site_a
    constants[:k] = -site_b
    highest = np.zeros(BLOCK, np.float32)
    close = 0.0
    for i in range(k):
        close = max(close, _CLOSE * (abs(site_b[i]) + np.abs(site_a[i]).sum()))
    n = 0
    for first in range(0, m, BLOCK):
        width = min(BLOCK, m - first)
        part = points[first : first + width]
        site_values(part, slopes, constants, values)
        find_owners(part, site_a, site_b, close, values, highest, owner[first : first + width])
        for i in range(k):
            starts[first // BLOCK, i] = n
            start = 0
            for level in range(CLASSES):
                stop = min(BLOCK - (BLOCK >> (level + 1)) if level < CLASSES - 1 else BLOCK, width)
                limit = limits[i, level]
                for s in range(start, stop):
                    chosen[n] = s
                    n += highest[s] - values[i, s] <= limit
                start = stop
            for t in range(starts[first // BLOCK, i], n):
                margin = highest[chosen[t]] - values[i, chosen[t]]
                c = 0
                while margin > limits[i, c]:
                    c += 1
                classes[t] = c
    return n
