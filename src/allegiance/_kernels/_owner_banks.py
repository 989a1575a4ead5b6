"""The samples chosen for the queries of one site, sorted as the counting kernel wants them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK
from ._jit import jit
from ._sample_choice import CLASSES
from ._stolen_counts import SQUARE, WORDS


@jit()
def fill_bank(
    site: int,
    points: AnyArray,
    owner: AnyArray,
    chosen: AnyArray,
    classes: AnyArray,
    starts: AnyArray,
    stops: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray, AnyArray]:
    """Return ``blocks``, ``first_run``, ``stops``, ``owners`` and ``worths`` of a site, as :func:`count_stolen` wants them.

    Samples are sorted by owner and class and cut into blocks wherever they are full. The margin of a sample is the
    difference of two sites' functions, taken in double precision before it is summed: sites that nearly coincide lose no
    accuracy.

    Parameters
    ----------
    points, owner
        (m, r) float32 samples and (m,) int32 their owners.
    chosen, classes
        As from :func:`choose_samples`.
    starts, stops
        (number of blocks,) int64: where those of this site start and stop.
    """
    r = points.shape[1]
    k = site_a.shape[0]
    first = np.zeros(k * CLASSES + 1, np.int64)
    for b in range(starts.shape[0]):
        for t in range(starts[b], stops[b]):
            first[owner[b * BLOCK + chosen[t]] * CLASSES + classes[t] + 1] += 1
    n_runs = 0
    for code in range(k * CLASSES):
        n_runs += first[code + 1] > 0
        first[code + 1] += first[code]
    n = first[k * CLASSES]
    order = np.empty(n, np.int64)
    at = first[:-1].copy()
    for b in range(starts.shape[0]):
        for t in range(starts[b], stops[b]):
            s = b * BLOCK + chosen[t]
            code = owner[s] * CLASSES + classes[t]
            order[at[code]] = s
            at[code] += 1
    n_blocks = (n + BLOCK - 1) // BLOCK
    blocks = np.zeros((n_blocks, r + 1, BLOCK), np.float32)
    blocks[:, 0] = np.inf
    slope = np.zeros(r)
    constant = 0.0
    last = -1
    for t in range(0, n, WORDS):
        # Sixteen samples at a time: writing all coordinates of one sample after the other would miss the cache.
        some = order[t : t + WORDS]
        b = t // BLOCK
        w = t % BLOCK // WORDS
        for c in range(r):
            for s in range(some.shape[0]):
                blocks[b, c + 1, WORDS * s + w] = points[some[s], c]
        for s in range(some.shape[0]):
            if owner[some[s]] != last:
                last = owner[some[s]]
                constant = site_b[site] - site_b[last]
                for c in range(r):
                    slope[c] = site_a[site, c] - site_a[last, c]
            blocks[b, 0, WORDS * s + w] = constant - _product(slope, points[some[s]])
    first_run = np.zeros(n_blocks + 1, np.int64)
    stops = np.empty(n_runs + n_blocks, np.uint64)
    owners = np.empty(n_runs + n_blocks, np.uint64)
    worths = np.empty(n_runs + n_blocks, np.int64)
    u = 0
    for code in range(k * CLASSES):
        start, stop = first[code], first[code + 1]
        while start < stop:
            b = start // BLOCK
            end = min(stop, (b + 1) * BLOCK)
            stops[u] = end - b * BLOCK
            owners[u] = code // CLASSES
            weight = 1 << (code % CLASSES)
            worths[u] = weight + SQUARE * weight * weight
            u += 1
            first_run[b + 1] = u
            start = end
    return blocks, first_run, stops[:u].copy(), owners[:u].copy(), worths[:u].copy()


@jit(fuse=True, reorder=True)
def _product(slope: FloatArray, point: AnyArray) -> float:
    total = 0.0
    for c in range(slope.shape[0]):
        total += slope[c] * point[c]
    return total
