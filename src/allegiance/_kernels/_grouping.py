"""Samples grouped by the site that owns them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray

from ._affine_block import BLOCK
from ._jit import jit

#: Used samples of a block are a multiple of this many.
LANES = 16


@jit()
def group_by_owner(columns: AnyArray, owner: AnyArray, k: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return ``blocks``, ``widths`` and ``owners`` as :func:`count_owners` wants them.

    ``columns`` is float32 (r, m), ``owner`` int32 (m,), each one of k sites. Inside a group samples keep their order.
    """
    r, m = columns.shape
    sizes = np.zeros(k, np.int64)
    for s in range(m):
        sizes[owner[s]] += 1
    first = np.zeros(k + 1, np.int64)
    for i in range(k):
        first[i + 1] = first[i] + (sizes[i] + BLOCK - 1) // BLOCK
    blocks = np.zeros((first[k], r + 1, BLOCK), np.float32)
    widths = np.empty(first[k], np.int64)
    owners = np.empty(first[k], np.int64)
    for i in range(k):
        for t in range(first[i], first[i + 1]):
            owners[t] = i
            used = min(sizes[i] - (t - first[i]) * BLOCK, BLOCK)
            widths[t] = (used + LANES - 1) // LANES * LANES
            for j in range(used, BLOCK):
                blocks[t, 0, j] = np.inf
    rank = np.zeros(k, np.int64)
    for s in range(m):
        i = owner[s]
        t = first[i] + rank[i] // BLOCK
        at = rank[i] % BLOCK
        for c in range(r):
            blocks[t, c + 1, at] = columns[c, s]
        rank[i] += 1
    return blocks, widths, owners
