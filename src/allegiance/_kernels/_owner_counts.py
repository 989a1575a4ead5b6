"""How many shared samples each query steals from each site."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, four_values_here
from ._jit import jit

#: Coordinates of the blocks that all queries pass before the next ones come: they stay in a cache.
_NEAR = 2**16


@jit(fuse=True)
def count_owners(
    rows: AnyArray,
    query_a: FloatArray,
    query_b: FloatArray,
    site_a: FloatArray,
    site_b: FloatArray,
    blocks: AnyArray,
    widths: AnyArray,
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
    widths
        (number of blocks,) int64: the places of each block to look at.
    owners
        (number of blocks,) int64, ascending.
    counts
        (n, k) int64.
    """
    n, r = rows.shape[0], query_a.shape[1]
    four = np.empty(4, np.int64)
    slopes = np.empty((4, r), np.float32)
    constants = np.empty(4, np.float32)
    gap = np.empty((4, BLOCK), np.float32)
    zero = np.float32(0.0)
    # Not a literal, for which the function below would be compiled once more.
    start: Any = np.int64(0)
    near = max(_NEAR // (r * BLOCK), 1)
    for first in range(0, blocks.shape[0], near):
        last = min(first + near, blocks.shape[0])
        for q in range(0, n, 4):
            # Four queries share each load of a block; the last four may repeat one, which is counted once.
            for j in range(4):
                four[j] = rows[min(q + j, n - 1)]
            for t in range(first, last):
                site = owners[t]
                if t == first or owners[t - 1] != site:
                    for j in range(4):
                        constants[j] = site_b[site] - query_b[four[j]]
                        for c in range(r):
                            slopes[j, c] = query_a[four[j], c] - site_a[site, c]
                four_values_here(constants, slopes, start, blocks[t], widths[t], gap, start)
                for j in range(min(4, n - q)):
                    hits: Any = np.int32(0)
                    for s in range(widths[t]):
                        hits += np.int32(gap[j, s] >= zero)
                    counts[four[j], site] += hits
