"""Samples grouped by the site that owns them."""

from __future__ import annotations

import numpy as np

from allegiance._typing import AnyArray, FloatArray

from ._jit import jit
from ._owner_counts import BLOCK, LANES


@jit()
def group_by_owner(points: FloatArray, site_a: FloatArray, site_b: FloatArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return ``blocks``, ``widths`` and ``owners`` as :func:`count_owners` wants them.

    ``points`` is (m, r). A point goes to the site of lowest value, the first of equals; inside a group points keep
    their order.
    """
    m, r = points.shape
    k = site_a.shape[0]
    owner = np.empty(m, np.int64)
    sizes = np.zeros(k, np.int64)
    value = np.empty(k)
    slopes = np.ascontiguousarray(site_a.T)
    for s in range(m):
        for i in range(k):
            value[i] = site_b[i]
        for c in range(r):
            y = points[s, c]
            for i in range(k):
                value[i] -= slopes[c, i] * y
        best = 0
        for i in range(1, k):
            if value[i] < value[best]:
                best = i
        owner[s] = best
        sizes[best] += 1
    first = np.zeros(k + 1, np.int64)
    for i in range(k):
        first[i + 1] = first[i] + (sizes[i] + BLOCK - 1) // BLOCK
    blocks = np.full((first[k], r, BLOCK), np.float32(np.nan), np.float32)
    widths = np.full(first[k], BLOCK, np.int64)
    owners = np.empty(first[k], np.int64)
    for i in range(k):
        for t in range(first[i], first[i + 1]):
            owners[t] = i
        if sizes[i] % BLOCK > 0:
            widths[first[i + 1] - 1] = (sizes[i] % BLOCK + LANES - 1) // LANES * LANES
    rank = np.zeros(k, np.int64)
    for s in range(m):
        i = owner[s]
        t = first[i] + rank[i] // BLOCK
        for c in range(r):
            blocks[t, c, rank[i] % BLOCK] = points[s, c]
        rank[i] += 1
    return blocks, widths, owners
