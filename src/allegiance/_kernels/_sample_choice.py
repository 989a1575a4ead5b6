"""Which of the samples of a region are worth testing for the queries of each site."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK
from ._bits import count_bits
from ._jit import jit
from ._owners import find_owners, site_values

#: Classes of samples: one of class c counts 2**c times.
CLASSES = 8
#: Words of bits for a block, and bits in a word.
_WORDS = 16


@jit()
def choose_samples(
    points: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
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
    slopes, constants, close
        The sites in single precision, as in :mod:`._owners`.
    limits
        (k, CLASSES) float32, ascending, the last one inf.
    owner
        (m,) int32, written.
    chosen, classes
        (m k + 1,) uint8, written: places in a block, and classes, block after block and site after site.
    starts
        (ceil(m / BLOCK), k) int64, written: where those of a block and site start.
    """
    m = points.shape[0]
    k = site_a.shape[0]
    values = np.empty((slopes.shape[0], BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    bound = np.empty((k, BLOCK), np.float32)
    for level in range(CLASSES):
        stop = BLOCK - (BLOCK >> (level + 1)) if level < CLASSES - 1 else BLOCK
        for i in range(k):
            for s in range(BLOCK - (BLOCK >> level), stop):
                bound[i, s] = limits[i, level]
    bits = np.empty(_WORDS, np.uint32)
    n = 0
    for first in range(0, m, BLOCK):
        width = min(BLOCK, m - first)
        part = points[first : first + width]
        site_values(part, slopes, constants, values)
        find_owners(part, site_a, site_b, close, values, highest, owner[first : first + width])
        for s in range(width, BLOCK):
            highest[s] = np.nan
        for i in range(k):
            starts[first // BLOCK, i] = n
            # Hits become bits, one vector operation for a bit of all words, and only what is set is looked at again.
            for w in range(_WORDS):
                word: Any = np.uint32(0)
                for bit in range(_WORDS):
                    s = _WORDS * bit + w
                    word |= np.uint32(highest[s] - values[i, s] <= bound[i, s]) << np.uint32(bit)
                bits[w] = word
            for w in range(_WORDS):
                word = bits[w]
                while word != np.uint32(0):
                    below = (word & (~word + np.uint32(1))) - np.uint32(1)
                    s = _WORDS * int(count_bits(below)) + w
                    word &= ~(below + np.uint32(1))
                    margin = highest[s] - values[i, s]
                    c = 0
                    while margin > limits[i, c]:
                        c += 1
                    chosen[n] = s
                    classes[n] = c
                    n += 1
    return n
