"""Samples grouped by the site that owns them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._jit import jit
from ._owner_counts import BLOCK, LANES


@jit()
def group_by_owner(columns: AnyArray, site_a: FloatArray, site_b: FloatArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return ``blocks``, ``widths`` and ``owners`` as :func:`count_owners` wants them.

    ``columns`` is float32 (r, m), one sample per column. A sample goes to the site of lowest value, the first of
    equals; inside a group samples keep their order.
    """
    r, m = columns.shape
    k = site_a.shape[0]
    owner = np.zeros(m, np.int64)
    sizes = np.zeros(k, np.int64)
    lowest = np.empty(BLOCK)
    value = np.empty(BLOCK)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        lowest[:] = np.inf
        for i in range(k):
            for s in range(width):
                value[s] = site_b[i]
            for c in range(r):
                slope = site_a[i, c]
                for s in range(width):
                    value[s] -= slope * columns[c, start + s]
            for s in range(width):
                if value[s] < lowest[s]:
                    lowest[s] = value[s]
                    owner[start + s] = i
        for s in range(width):
            sizes[owner[start + s]] += 1
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
        at = rank[i] % BLOCK
        for c in range(r):
            blocks[t, c, at] = columns[c, s]
        rank[i] += 1
    return blocks, widths, owners
