"""How many shared samples each query steals from each site."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, TOGETHER, count_signs
from ._jit import jit

#: Coordinates of the blocks that all queries pass before the next ones come: they stay in a cache.
_NEAR = 2**16


@jit()
def count_owners(
    rows: AnyArray,
    query_a: FloatArray,
    query_b: FloatArray,
    site_a: FloatArray,
    site_b: FloatArray,
    blocks: AnyArray,
    strips: AnyArray,
    owners: AnyArray,
    counts: AnyArray,
) -> None:
    """Add to ``counts[q, i]``, for the queries q in ``rows``, the samples y owned by site i with f_q(y) <= f_i(y).

    Samples come grouped by owner, so inside a block one site stands for all: the test is the sign of one affine
    function, f_i - f_q, whose coefficients are differenced in float64 and only then rounded to float32. Sites that
    nearly coincide therefore lose no accuracy.

    Parameters
    ----------
    rows
        (m,) int64.
    query_a, query_b
        (n, r) and (n,).
    blocks
        (number of blocks, r + 1, BLOCK) float32: 0, or inf in unused places, then coordinates.
    strips
        (number of blocks,) int64: how many times LANES places of each block to look at.
    owners
        (number of blocks,) int64, ascending.
    counts
        (n, k) int64.
    """
    n, r = rows.shape[0], query_a.shape[1]
    some = np.empty(TOGETHER, np.int64)
    slopes = np.empty((TOGETHER, r), np.float32)
    constants = np.empty(TOGETHER, np.float32)
    hits = np.empty(TOGETHER, np.int64)
    near = max(_NEAR // (r * BLOCK), 1)
    for first in range(0, blocks.shape[0], near):
        last = min(first + near, blocks.shape[0])
        for q in range(0, n, TOGETHER):
            # The last ones may repeat a query, which is counted once.
            for j in range(TOGETHER):
                some[j] = rows[min(q + j, n - 1)]
            for b in range(first, last):
                site = owners[b]
                if b == first or owners[b - 1] != site:
                    for j in range(TOGETHER):
                        constants[j] = site_b[site] - query_b[some[j]]
                        for c in range(r):
                            slopes[j, c] = query_a[some[j], c] - site_a[site, c]
                count_signs(constants, slopes, 0, blocks, b, strips[b], hits)
                for j in range(min(TOGETHER, n - q)):
                    counts[some[j], site] += hits[j]
