"""How much of a bank of samples each query steals from each site."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray

from ._affine_block import BLOCK, four_values
from ._bits import WORDS, count_bits
from ._jit import jit

#: Factor that keeps squares of weights apart from weights in one integer.
SQUARE = 2**28


@jit(fuse=True)
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
    too short for loops. Sample t of a block, in the order of the runs, is bit t % 16 of word t // 16 and stands in
    column 16 (t % 16) + t // 16, so that one vector operation sets a bit of all words.

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
    slopes = np.zeros(((n + 3) // 4 * 4, r), np.float32)
    constants = np.zeros(slopes.shape[0], np.float32)
    for q in range(n):
        constants[q] = site_b[site] - query_b[rows[q]]
        for c in range(r):
            slopes[q, c] = query_a[rows[q], c] - site_a[site, c]
    k = sums.shape[1]
    found = np.zeros(slopes.shape[0] * k, np.int64)
    gap = np.empty((4, BLOCK), np.float32)
    bits = np.zeros(WORDS + 1, np.uint32)
    hits = np.zeros(WORDS, np.uint32)
    before = np.zeros(WORDS + 1, np.uint32)
    zero = np.float32(0.0)
    # Not a literal, for which the function below would be compiled once more.
    first_row: Any = np.int64(0)
    # A block stays in the inner caches for all queries.
    for b in range(blocks.shape[0]):
        block = blocks[b]
        first, last = first_run[b], first_run[b + 1]
        for q in range(0, n, 4):
            four_values(constants, slopes, q, block, BLOCK, gap, first_row)
            for j in range(4):
                own = np.uint64((q + j) * k)
                for w in range(WORDS):
                    word: Any = np.uint32(0)
                    for bit in range(WORDS):
                        word |= np.uint32(gap[j, WORDS * bit + w] >= zero) << np.uint32(bit)
                    bits[w] = word
                for w in range(WORDS):
                    hits[w] = count_bits(bits[w])
                total: Any = np.uint32(0)
                for w in range(WORDS):
                    before[w] = total
                    total += hits[w]
                if total == 0:
                    continue
                before[WORDS] = total
                start: Any = np.uint32(0)
                for u in range(first, last):
                    word = stops[u] >> np.uint64(4)
                    low = (np.uint32(1) << np.uint32(stops[u] & np.uint64(15))) - np.uint32(1)
                    stop = before[word] + count_bits(bits[word] & low)
                    found[own + owners[u]] += np.int64(stop - start) * worths[u]
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
