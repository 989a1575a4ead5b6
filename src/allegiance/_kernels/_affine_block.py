"""Four affine functions at a block of samples: the product in which sampling spends its time."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray

from ._jit import jit

#: Samples in one block. A block of coordinates and four rows of sums stay in the inner caches.
BLOCK = 256
#: Columns of a block filled at a time: as many numbers as fit into a line of the cache.
_LINE = 16


@jit()
def fill_columns(points: AnyArray, some: AnyArray, block: AnyArray) -> None:
    """Write the coordinates of ``points[some[j]]`` to column j of a block (r + 1, BLOCK), from its second row on.

    Neighbouring columns are filled together: the samples stay in the innermost cache, and lines are written as a whole.
    """
    r = points.shape[1]
    tile = np.empty((_LINE, r), np.float32)
    for first in range(0, BLOCK, _LINE):
        for j in range(_LINE):
            point = points[some[first + j]]
            for c in range(r):
                tile[j, c] = point[c]
        for c in range(r):
            for j in range(_LINE):
                block[c + 1, first + j] = tile[j, c]


def _four_values(
    constants: AnyArray, slopes: AnyArray, first: int, block: AnyArray, width: int, out: AnyArray, row: int
) -> None:
    """Write the values of functions ``first`` to ``first + 3`` at the samples of a block to four rows of ``out``.

    The value of function i at sample s is ``constants[i] - block[0, s] + sum_c slopes[i, c] * block[c + 1, s]``. All
    arrays are float32: ``constants`` (n,), ``slopes`` (n, r), ``block`` (r + 1, BLOCK), coordinate-major so that the
    inner loops run over samples, ``out`` (at least row + 4, BLOCK). Only the first ``width`` samples are looked at.
    """
    r = slopes.shape[1]
    f0, f1, f2, f3 = first, first + 1, first + 2, first + 3
    o0, o1, o2, o3 = row, row + 1, row + 2, row + 3
    # Coordinates four at a time, the odd ones first: fewer passes over the sums.
    c = r % 4
    if c == 0:
        for s in range(width):
            m = block[0, s]
            out[o0, s] = constants[f0] - m
            out[o1, s] = constants[f1] - m
            out[o2, s] = constants[f2] - m
            out[o3, s] = constants[f3] - m
    elif c == 1:
        for s in range(width):
            m = block[0, s]
            y0 = block[1, s]
            out[o0, s] = constants[f0] - m + slopes[f0, 0] * y0
            out[o1, s] = constants[f1] - m + slopes[f1, 0] * y0
            out[o2, s] = constants[f2] - m + slopes[f2, 0] * y0
            out[o3, s] = constants[f3] - m + slopes[f3, 0] * y0
    elif c == 2:
        for s in range(width):
            m = block[0, s]
            y0 = block[1, s]
            y1 = block[2, s]
            out[o0, s] = constants[f0] - m + slopes[f0, 0] * y0 + slopes[f0, 1] * y1
            out[o1, s] = constants[f1] - m + slopes[f1, 0] * y0 + slopes[f1, 1] * y1
            out[o2, s] = constants[f2] - m + slopes[f2, 0] * y0 + slopes[f2, 1] * y1
            out[o3, s] = constants[f3] - m + slopes[f3, 0] * y0 + slopes[f3, 1] * y1
    else:
        for s in range(width):
            m = block[0, s]
            y0 = block[1, s]
            y1 = block[2, s]
            y2 = block[3, s]
            out[o0, s] = constants[f0] - m + slopes[f0, 0] * y0 + slopes[f0, 1] * y1 + slopes[f0, 2] * y2
            out[o1, s] = constants[f1] - m + slopes[f1, 0] * y0 + slopes[f1, 1] * y1 + slopes[f1, 2] * y2
            out[o2, s] = constants[f2] - m + slopes[f2, 0] * y0 + slopes[f2, 1] * y1 + slopes[f2, 2] * y2
            out[o3, s] = constants[f3] - m + slopes[f3, 0] * y0 + slopes[f3, 1] * y1 + slopes[f3, 2] * y2
    while c < r:
        for s in range(width):
            y0 = block[c + 1, s]
            y1 = block[c + 2, s]
            y2 = block[c + 3, s]
            y3 = block[c + 4, s]
            out[o0, s] += slopes[f0, c] * y0 + slopes[f0, c + 1] * y1 + slopes[f0, c + 2] * y2 + slopes[f0, c + 3] * y3
            out[o1, s] += slopes[f1, c] * y0 + slopes[f1, c + 1] * y1 + slopes[f1, c + 2] * y2 + slopes[f1, c + 3] * y3
            out[o2, s] += slopes[f2, c] * y0 + slopes[f2, c + 1] * y1 + slopes[f2, c + 2] * y2 + slopes[f2, c + 3] * y3
            out[o3, s] += slopes[f3, c] * y0 + slopes[f3, c + 1] * y1 + slopes[f3, c + 2] * y2 + slopes[f3, c + 3] * y3
        c += 4


#: Compiled once, and called by the kernels that work on whole blocks.
four_values = jit(fuse=True)(_four_values)
#: Compiled into the kernel for short blocks, where the call itself would count.
four_values_here = jit(fuse=True, inline=True)(_four_values)
