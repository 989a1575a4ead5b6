"""How many shared samples each query steals from each site."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._jit import jit

#: Samples in one block. A block of coordinates and four rows of partial sums stay in the innermost cache.
BLOCK = 256
#: Used samples of a block are a multiple of this many.
LANES = 16


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
    function, f_q - f_i, whose coefficients are differenced in float64 and only then rounded to float32. Sites that
    nearly coincide therefore lose no accuracy.

    ``blocks`` is float32 (number of blocks, r, BLOCK), coordinate-major so that the inner loops run over samples;
    ``widths`` gives the used samples of each block, a multiple of LANES, with NaN in unused places, which never count;
    ``owners`` is ascending. ``query_a`` is (n, r), ``counts`` int32 (n, k), ``rows`` int64. Four queries share each
    load of a block; the last four may repeat one, which is counted once.
    """
    n = rows.shape[0]
    r = query_a.shape[1]
    four = np.empty(4, np.int64)
    delta = np.empty((4, r), np.float32)
    constant = np.empty(4, np.float32)
    gap = np.empty((4, BLOCK), np.float32)
    zero = np.float32(0.0)
    for q in range(0, n, 4):
        for j in range(4):
            four[j] = rows[min(q + j, n - 1)]
        for t in range(blocks.shape[0]):
            site = owners[t]
            width = widths[t]
            block = blocks[t]
            if t == 0 or owners[t - 1] != site:
                for j in range(4):
                    for c in range(r):
                        delta[j, c] = query_a[four[j], c] - site_a[site, c]
            for j in range(4):
                constant[j] = query_b[four[j]] - site_b[site]
            # Coordinates four at a time, the odd ones first: fewer passes over the partial sums.
            c = r % 4
            if c == 0:
                for s in range(width):
                    gap[0, s] = constant[0]
                    gap[1, s] = constant[1]
                    gap[2, s] = constant[2]
                    gap[3, s] = constant[3]
            elif c == 1:
                for s in range(width):
                    y0 = block[0, s]
                    gap[0, s] = constant[0] - delta[0, 0] * y0
                    gap[1, s] = constant[1] - delta[1, 0] * y0
                    gap[2, s] = constant[2] - delta[2, 0] * y0
                    gap[3, s] = constant[3] - delta[3, 0] * y0
            elif c == 2:
                for s in range(width):
                    y0 = block[0, s]
                    y1 = block[1, s]
                    gap[0, s] = constant[0] - delta[0, 0] * y0 - delta[0, 1] * y1
                    gap[1, s] = constant[1] - delta[1, 0] * y0 - delta[1, 1] * y1
                    gap[2, s] = constant[2] - delta[2, 0] * y0 - delta[2, 1] * y1
                    gap[3, s] = constant[3] - delta[3, 0] * y0 - delta[3, 1] * y1
            else:
                for s in range(width):
                    y0 = block[0, s]
                    y1 = block[1, s]
                    y2 = block[2, s]
                    gap[0, s] = constant[0] - delta[0, 0] * y0 - delta[0, 1] * y1 - delta[0, 2] * y2
                    gap[1, s] = constant[1] - delta[1, 0] * y0 - delta[1, 1] * y1 - delta[1, 2] * y2
                    gap[2, s] = constant[2] - delta[2, 0] * y0 - delta[2, 1] * y1 - delta[2, 2] * y2
                    gap[3, s] = constant[3] - delta[3, 0] * y0 - delta[3, 1] * y1 - delta[3, 2] * y2
            while c < r:
                for s in range(width):
                    y0 = block[c, s]
                    y1 = block[c + 1, s]
                    y2 = block[c + 2, s]
                    y3 = block[c + 3, s]
                    gap[0, s] = (
                        gap[0, s]
                        - delta[0, c] * y0
                        - delta[0, c + 1] * y1
                        - delta[0, c + 2] * y2
                        - delta[0, c + 3] * y3
                    )
                    gap[1, s] = (
                        gap[1, s]
                        - delta[1, c] * y0
                        - delta[1, c + 1] * y1
                        - delta[1, c + 2] * y2
                        - delta[1, c + 3] * y3
                    )
                    gap[2, s] = (
                        gap[2, s]
                        - delta[2, c] * y0
                        - delta[2, c + 1] * y1
                        - delta[2, c + 2] * y2
                        - delta[2, c + 3] * y3
                    )
                    gap[3, s] = (
                        gap[3, s]
                        - delta[3, c] * y0
                        - delta[3, c + 1] * y1
                        - delta[3, c + 2] * y2
                        - delta[3, c + 3] * y3
                    )
                c += 4
            for j in range(min(4, n - q)):
                hits: Any = np.int32(0)
                for s in range(width):
                    hits += np.int32(gap[j, s] <= zero)
                counts[four[j], site] += hits
