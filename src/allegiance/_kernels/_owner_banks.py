"""The samples chosen for the queries of one site, sorted as the counting kernel wants them."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, fill_columns
from ._jit import jit
from ._sample_choice import CLASSES
from ._stolen_counts import SQUARE


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
    blocks: AnyArray,
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Write ``blocks`` of one site and return ``first_run``, ``stops``, ``owners`` and ``worths``: a bank to count in.

    Samples are sorted by class and owner and cut into blocks wherever they are full. The margin of a sample is the
    difference of two sites' functions, taken in double precision before it is summed: sites that nearly coincide lose
    no accuracy.

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
            first[classes[t] * k + owner[b * BLOCK + chosen[t]] + 1] += 1
    n_runs = 0
    for code in range(k * CLASSES):
        n_runs += first[code + 1] > 0
        first[code + 1] += first[code]
    n = first[k * CLASSES]
    n_blocks = blocks.shape[0]
    order = np.zeros(n_blocks * BLOCK, np.int64)
    at = first[:-1].copy()
    for b in range(starts.shape[0]):
        for t in range(starts[b], stops[b]):
            s = b * BLOCK + chosen[t]
            code = classes[t] * k + owner[s]
            order[at[code]] = s
            at[code] += 1
    some = np.zeros(BLOCK, np.int64)
    slope = np.zeros(r)
    constant = 0.0
    last = -1
    for b in range(n_blocks):
        for t in range(BLOCK):
            s = order[b * BLOCK + t]
            some[t] = s
            if b * BLOCK + t >= n:
                blocks[b, 0, t] = np.inf
                continue
            if owner[s] != last:
                last = owner[s]
                constant = site_b[site] - site_b[last]
                for c in range(r):
                    slope[c] = site_a[site, c] - site_a[last, c]
            blocks[b, 0, t] = constant - _product(slope, points[s])
        fill_columns(points, some, blocks[b])
    first_run = np.zeros(n_blocks + 1, np.uint64)
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
            owners[u] = code % k
            weight = 1 << (code // k)
            worths[u] = weight + SQUARE * weight * weight
            u += 1
            first_run[b + 1] = u
            start = end
    return first_run, stops[:u].copy(), owners[:u].copy(), worths[:u].copy()


@jit(fuse=True, reorder=True)
def _product(slope: FloatArray, point: AnyArray) -> float:
    total = 0.0
    for c in range(slope.shape[0]):
        total += slope[c] * point[c]
    return total
