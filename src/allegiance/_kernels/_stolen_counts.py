"""How much of a bank of samples each query steals from each site."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import STRIPS, TOGETHER, WORD, WORDS, write_signs
from ._bits import count_bits
from ._jit import jit

#: Factor that keeps squares of weights apart from weights in one integer.
SQUARE = 2**28


@jit()
def count_stolen(
    rows: AnyArray,
    query_a: FloatArray,
    query_b: FloatArray,
    site_a: FloatArray,
    site_b: FloatArray,
    site: int,
    blocks: AnyArray,
    first_run: AnyArray,
    stops: AnyArray,
    owners: AnyArray,
    worths: AnyArray,
    sums: AnyArray,
    squares: AnyArray,
) -> None:
    """Add the weights of the samples that the queries in ``rows`` steal, by owner, to ``sums``; squares likewise.

    A query x steals the sample y of any owner if <a_x - a_i, y> - (b_x - b_i) is not below the margin f_i - f_owner of
    y, for any site i; its bank is that of a site close to it. Differences are taken in float64 and only then rounded.

    Hits of a block become bits, and hits of a run a difference of counts of bits: the runs of a bank of many sites are
    too short for loops.

    Parameters
    ----------
    rows
        (m,) int64.
    query_a, query_b
        (n, r) and (n,).
    site
        Whose bank it is.
    blocks
        (number of blocks, r + 1, BLOCK) float32: margins, then coordinates; margins are inf in unused places.
    first_run
        (number of blocks + 1,) uint64: the first run of each block.
    stops, owners
        (number of runs,) uint64: where a run stops in its block, and the owner of its samples.
    worths
        (number of runs,) int64: the weight of a sample of the run, and its square as a multiple of SQUARE.
    sums, squares
        (n, k) int64.
    """
    n, r = rows.shape[0], query_a.shape[1]
    slopes = np.zeros((-(-n // TOGETHER) * TOGETHER, r), np.float32)
    constants = np.zeros(slopes.shape[0], np.float32)
    for q in range(n):
        constants[q] = site_b[site] - query_b[rows[q]]
        for c in range(r):
            slopes[q, c] = query_a[rows[q], c] - site_a[site, c]
    k = sums.shape[1]
    found = np.zeros(n * k, np.int64)
    # One word more than there are, since a run may stop at the end of the last.
    bits = np.zeros((TOGETHER, WORDS + 1), np.uint64)
    before = np.zeros(WORDS + 1, np.int64)
    # A block stays in the inner caches for all queries.
    for b in range(blocks.shape[0]):
        first, last = first_run[b], first_run[b + 1]
        for q in range(0, n, TOGETHER):
            write_signs(constants, slopes, q, blocks, b, STRIPS, bits)
            for j in range(min(TOGETHER, n - q)):
                own = np.uint64((q + j) * k)
                for w in range(WORDS):
                    before[w + 1] = before[w] + count_bits(bits[j, w])
                start = 0
                for u in range(first, last):
                    word = stops[u] // np.uint64(WORD)
                    low = (np.uint64(1) << stops[u] % np.uint64(WORD)) - np.uint64(1)
                    stop = before[word] + count_bits(bits[j, word] & low)
                    found[own + owners[u]] += (stop - start) * worths[u]
                    start = stop
    for q in range(n):
        for i in range(k):
            sums[rows[q], i] += found[q * k + i] & (SQUARE - 1)
            squares[rows[q], i] += found[q * k + i] // SQUARE


@jit()
def weighted_shares(
    sums: AnyArray,
    squares: AnyArray,
    rows: AnyArray,
    shares: FloatArray,
    errors: FloatArray,
    totals: FloatArray,
    worst: FloatArray,
) -> None:
    """Write shares and their standard errors for ``rows``, from sums and sums of squares of weights by owner.

    Two hits and two misses of the usual weight, the sum of squares over the sum, are added for the error (Agresti and
    Coull): a share of 0 or 1 seen in a few samples does not claim certainty. Rows without a hit are left alone.

    Parameters
    ----------
    sums, squares, shares, errors
        (n, k)
    rows
        (m,) int64.
    totals, worst
        (m,), written: the sum of all weights, and the largest error.
    """
    k = sums.shape[1]
    for q in range(rows.shape[0]):
        x = rows[q]
        total = 0
        square = 0
        for i in range(k):
            total += sums[x, i]
            square += squares[x, i]
        totals[q] = total
        worst[q] = 0.0
        if total == 0:
            continue
        usual = square / total
        # Without a branch, and the largest error in a loop of its own: only so is the first loop vectorised.
        for i in range(k):
            weight = max(usual, squares[x, i] / max(sums[x, i], 1))
            size = total + 4.0 * weight
            share = (sums[x, i] + 2.0 * weight) / size
            hit = squares[x, i] + 2.0 * weight * weight
            miss = square - squares[x, i] + 2.0 * weight * weight
            errors[x, i] = np.sqrt((1.0 - share) * (1.0 - share) * hit + share * share * miss) / size
            shares[x, i] = sums[x, i] / total
        for i in range(k):
            worst[q] = max(worst[q], errors[x, i])
