"""Four affine functions at a block of samples: the product in which sampling spends its time."""

from __future__ import annotations

from allegiance._core import AnyArray

from ._jit import jit

#: Samples in one block. A block of coordinates and four rows of sums stay in the inner caches.
BLOCK = 256


@jit(fuse=True)
def four_values(constant: AnyArray, slope: AnyArray, block: AnyArray, out: AnyArray) -> None:
    """Write ``constant[j] - block[0, s] + sum_c slope[j, c] * block[c + 1, s]`` to ``out[j, s]``, for j < 4.

    All arrays are float32: ``constant`` (4,), ``slope`` (4, r), ``block`` (r + 1, BLOCK), coordinate-major so that the
    inner loops run over samples, ``out`` (4, BLOCK).
    """
    r = slope.shape[1]
    # Coordinates four at a time, the odd ones first: fewer passes over the sums.
    c = r % 4
    if c == 0:
        for s in range(BLOCK):
            m = block[0, s]
            out[0, s] = constant[0] - m
            out[1, s] = constant[1] - m
            out[2, s] = constant[2] - m
            out[3, s] = constant[3] - m
    elif c == 1:
        for s in range(BLOCK):
            m = block[0, s]
            y0 = block[1, s]
            out[0, s] = constant[0] - m + slope[0, 0] * y0
            out[1, s] = constant[1] - m + slope[1, 0] * y0
            out[2, s] = constant[2] - m + slope[2, 0] * y0
            out[3, s] = constant[3] - m + slope[3, 0] * y0
    elif c == 2:
        for s in range(BLOCK):
            m = block[0, s]
            y0 = block[1, s]
            y1 = block[2, s]
            out[0, s] = constant[0] - m + slope[0, 0] * y0 + slope[0, 1] * y1
            out[1, s] = constant[1] - m + slope[1, 0] * y0 + slope[1, 1] * y1
            out[2, s] = constant[2] - m + slope[2, 0] * y0 + slope[2, 1] * y1
            out[3, s] = constant[3] - m + slope[3, 0] * y0 + slope[3, 1] * y1
    else:
        for s in range(BLOCK):
            m = block[0, s]
            y0 = block[1, s]
            y1 = block[2, s]
            y2 = block[3, s]
            out[0, s] = constant[0] - m + slope[0, 0] * y0 + slope[0, 1] * y1 + slope[0, 2] * y2
            out[1, s] = constant[1] - m + slope[1, 0] * y0 + slope[1, 1] * y1 + slope[1, 2] * y2
            out[2, s] = constant[2] - m + slope[2, 0] * y0 + slope[2, 1] * y1 + slope[2, 2] * y2
            out[3, s] = constant[3] - m + slope[3, 0] * y0 + slope[3, 1] * y1 + slope[3, 2] * y2
    while c < r:
        for s in range(BLOCK):
            y0 = block[c + 1, s]
            y1 = block[c + 2, s]
            y2 = block[c + 3, s]
            y3 = block[c + 4, s]
            out[0, s] += slope[0, c] * y0 + slope[0, c + 1] * y1 + slope[0, c + 2] * y2 + slope[0, c + 3] * y3
            out[1, s] += slope[1, c] * y0 + slope[1, c + 1] * y1 + slope[1, c + 2] * y2 + slope[1, c + 3] * y3
            out[2, s] += slope[2, c] * y0 + slope[2, c + 1] * y1 + slope[2, c + 2] * y2 + slope[2, c + 3] * y3
            out[3, s] += slope[3, c] * y0 + slope[3, c + 1] * y1 + slope[3, c + 2] * y2 + slope[3, c + 3] * y3
        c += 4
