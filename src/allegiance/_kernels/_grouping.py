"""Samples grouped by the site that owns them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray

from ._affine_block import BLOCK, fill_columns
from ._jit import jit

#: Used samples of a block are a multiple of this many.
LANES = 16


@jit()
def group_by_owner(points: AnyArray, owner: AnyArray, k: int) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Return ``blocks``, ``widths`` and ``owners`` as :func:`count_owners` wants them.

    ``points`` is float32 (m, r), ``owner`` int32 (m,), each one of k sites. Inside a group samples keep their order.
    """
    m, r = points.shape
    sizes = np.zeros(k, np.int64)
    for s in range(m):
        sizes[owner[s]] += 1
    first = np.zeros(k + 1, np.int64)
    for i in range(k):
        first[i + 1] = first[i] + (sizes[i] + BLOCK - 1) // BLOCK
    blocks = np.empty((first[k], r + 1, BLOCK), np.float32)
    widths = np.full(first[k], BLOCK, np.int64)
    owners = np.empty(first[k], np.int64)
    order = np.zeros(first[k] * BLOCK, np.int64)
    at = first[:k] * BLOCK
    for s in range(m):
        order[at[owner[s]]] = s
        at[owner[s]] += 1
    for i in range(k):
        for t in range(first[i], first[i + 1]):
            owners[t] = i
            fill_columns(points, order[t * BLOCK : (t + 1) * BLOCK], blocks[t])
            used = min(at[i] - t * BLOCK, BLOCK)
            widths[t] = (used + LANES - 1) // LANES * LANES
            blocks[t, 0, :used] = 0.0
            blocks[t, 0, used:] = np.inf
    return blocks, widths, owners
