"""How far positions are from sites."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._jit import jit


@jit()
def own_and_other_squares(
    positions: FloatArray, columns: FloatArray, codes: AnyArray, own: FloatArray, other: FloatArray
) -> None:
    """Write the squared distance of each position (n, r) from its own site, and from the nearest other one.

    ``columns`` is (r, k), the sites coordinate after coordinate; ``codes`` (n,) int64 are the numbers of the own sites,
    negative for none, where ``own`` becomes the same as ``other``, both (n,).
    """
    n, r = positions.shape
    k = columns.shape[1]
    square = np.empty(k)
    for q in range(n):
        for i in range(k):
            square[i] = 0.0
        for c in range(r):
            coordinate = positions[q, c]
            for i in range(k):
                away = coordinate - columns[c, i]
                square[i] += away * away
        mine = codes[q]
        other[q] = np.inf
        for i in range(k):
            if i != mine:
                other[q] = min(other[q], square[i])
        own[q] = square[mine] if mine >= 0 else other[q]
