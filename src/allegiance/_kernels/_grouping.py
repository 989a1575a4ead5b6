"""Samples grouped by the site that owns them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray

from ._affine_block import BLOCK, LANES
from ._jit import jit


@jit()
def group_by_owner(columns: AnyArray, owner: AnyArray, sizes: AnyArray, blocks: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Write ``blocks`` and return ``strips`` and ``owners``, as :func:`count_owners` wants them.

    Inside a group samples keep their order.

    Parameters
    ----------
    columns, owner
        Float32 (r, m) samples, one per column, and their owners (m,) int32.
    sizes
        (k,) int64: how many samples each site owns.
    blocks
        (number of blocks, r + 1, BLOCK) float32 zeros: for each site as many as its samples need.
    """
    r, m = columns.shape
    k = sizes.shape[0]
    used = np.empty(blocks.shape[0], np.int64)
    owners = np.empty(blocks.shape[0], np.int64)
    at = np.zeros(k, np.int64)
    t = 0
    for i in range(k):
        if i > 0:
            at[i] = at[i - 1] + sizes[i - 1]
        for done in range(0, sizes[i], BLOCK):
            owners[t] = i
            used[t] = min(sizes[i] - done, BLOCK)
            for j in range(used[t], BLOCK):
                blocks[t, 0, j] = np.inf
            t += 1
    order = np.empty(m, np.int64)
    for s in range(m):
        order[at[owner[s]]] = s
        at[owner[s]] += 1
    # Coordinate after coordinate: one of them stays in a cache.
    for c in range(r):
        n = 0
        for t in range(used.shape[0]):
            for j in range(used[t]):
                blocks[t, c + 1, j] = columns[c, order[n]]
                n += 1
    return (used + LANES - 1) // LANES, owners
