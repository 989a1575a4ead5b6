"""Samples grouped by the site that owns them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK
from ._jit import jit

#: Used samples of a block are a multiple of this many.
LANES = 16
#: Values closer than this, as a share of the numbers they are summed from, are compared in double precision.
_CLOSE = 1e-6


@jit(fuse=True)
def owners_of(columns: AnyArray, site_a: FloatArray, site_b: FloatArray, owner: AnyArray) -> None:
    """Write the owner of each sample, the site of lowest f and the first of equals, to ``owner`` (m,) int32.

    ``columns`` is float32 (r, m), one sample per column. Single precision decides unless another site comes close; then
    double precision does. One loop nest, not the faster :func:`site_values`, which takes seconds to compile.
    """
    r, m = columns.shape
    k = site_a.shape[0]
    close = 0.0
    for i in range(k):
        size = abs(site_b[i])
        for c in range(r):
            size += abs(site_a[i, c])
        close = max(close, _CLOSE * size)
    value = np.empty(BLOCK, np.float32)
    highest = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    first = np.empty(BLOCK, np.int32)
    slope = np.zeros(r + 3, np.float32)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        for s in range(width):
            highest[s] = -np.inf
            second[s] = -np.inf
            first[s] = 0
        for i in range(k):
            constant = np.float32(-site_b[i])
            for c in range(r):
                slope[c] = site_a[i, c]
            for s in range(width):
                value[s] = constant
            c = 0
            while c + 4 <= r:
                for s in range(width):
                    at = start + s
                    value[s] += (
                        slope[c] * columns[c, at]
                        + slope[c + 1] * columns[c + 1, at]
                        + slope[c + 2] * columns[c + 2, at]
                        + slope[c + 3] * columns[c + 3, at]
                    )
                c += 4
            while c < r:
                for s in range(width):
                    value[s] += slope[c] * columns[c, start + s]
                c += 1
            for s in range(width):
                second[s] = max(second[s], min(value[s], highest[s]))
                first[s] = np.int32(i) if value[s] > highest[s] else first[s]
                highest[s] = max(value[s], highest[s])
        for s in range(width):
            owner[start + s] = first[s]
            if highest[s] - second[s] > close:
                continue
            best = -np.inf
            for i in range(k):
                exact = -site_b[i]
                for c in range(r):
                    exact += site_a[i, c] * columns[c, start + s]
                if exact > best:
                    best = exact
                    owner[start + s] = i


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
