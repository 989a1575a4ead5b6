"""Banks of samples: which samples are worth testing for a site, and how much of them each query steals."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from .affine_block import BLOCK, N_FUNCTIONS, STRIPS, WORD, WORDS, count_bits, fill_columns, write_signs
from .counting import find_owners, site_values
from .jit import jit

#: Classes of samples: one of class c counts 2**c times.
CLASSES = 8
#: Words of bits for a block, and bits in a word.
_WORDS = 16


@jit()
def choose_samples(
    points: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    limits: AnyArray,
    owner: AnyArray,
    chosen: AnyArray,
    classes: AnyArray,
    starts: AnyArray,
) -> int:
    """Find the owners of samples, and choose for each site those worth testing; return how many were chosen.

    A sample whose margin to site i, f_i - f_owner, is at most ``limits[i, c]`` and above ``limits[i, c - 1]`` is of
    class c for i, and is chosen with probability 2**-c. Chance is in the samples, so places may choose: half of a
    block is for class 0 alone, a quarter for classes 0 and 1, and so on, the last two samples for all classes.

    Parameters
    ----------
    points
        (m, r) float32 samples; blocks of BLOCK.
    slopes, constants, close
        The sites in single precision, as in :mod:`.counting`.
    limits
        (k, CLASSES) float32, ascending, the last one inf.
    owner
        (m,) int32, written.
    chosen, classes
        (m k + 1,) uint8, written: places in a block, and classes, block after block and site after site.
    starts
        (ceil(m / BLOCK), k) int64, written: where those of a block and site start.
    """
    m = points.shape[0]
    k = site_a.shape[0]
    values = np.empty((slopes.shape[0], BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    bound = np.empty((k, BLOCK), np.float32)
    for level in range(CLASSES):
        stop = BLOCK - (BLOCK >> (level + 1)) if level < CLASSES - 1 else BLOCK
        for i in range(k):
            for s in range(BLOCK - (BLOCK >> level), stop):
                bound[i, s] = limits[i, level]
    bits = np.empty(_WORDS, np.uint32)
    n = 0
    for first in range(0, m, BLOCK):
        width = min(BLOCK, m - first)
        part = points[first : first + width]
        site_values(part, slopes, constants, values)
        find_owners(part, site_a, site_b, close, values, highest, owner[first : first + width])
        for s in range(width, BLOCK):
            highest[s] = np.nan
        for i in range(k):
            starts[first // BLOCK, i] = n
            # Hits become bits, one vector operation for a bit of all words, and only what is set is looked at again.
            for w in range(_WORDS):
                word: Any = np.uint32(0)
                for bit in range(_WORDS):
                    s = _WORDS * bit + w
                    word |= np.uint32(highest[s] - values[i, s] <= bound[i, s]) << np.uint32(bit)
                bits[w] = word
            for w in range(_WORDS):
                word = bits[w]
                while word != np.uint32(0):
                    below = (word & (~word + np.uint32(1))) - np.uint32(1)
                    s = _WORDS * int(count_bits(below)) + w
                    word &= ~(below + np.uint32(1))
                    margin = highest[s] - values[i, s]
                    c = 0
                    while margin > limits[i, c]:
                        c += 1
                    chosen[n] = s
                    classes[n] = c
                    n += 1
    return n


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
    """Write ``blocks`` of one site and return ``first_run``, ``stops``, ``owners``, ``packed_weights``: a bank.

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
    packed_weights = np.empty(n_runs + n_blocks, np.int64)
    u = 0
    for code in range(k * CLASSES):
        start, stop = first[code], first[code + 1]
        while start < stop:
            b = start // BLOCK
            end = min(stop, (b + 1) * BLOCK)
            stops[u] = end - b * BLOCK
            owners[u] = code % k
            weight = 1 << (code // k)
            packed_weights[u] = weight + SQUARE_FACTOR * weight * weight
            u += 1
            first_run[b + 1] = u
            start = end
    return first_run, stops[:u].copy(), owners[:u].copy(), packed_weights[:u].copy()


@jit(fuse=True, reorder=True)
def _product(slope: FloatArray, point: AnyArray) -> float:
    total = 0.0
    for c in range(slope.shape[0]):
        total += slope[c] * point[c]
    return total


#: Weights and their squares share one integer: squares are multiplied by this.
SQUARE_FACTOR = 2**28


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
    packed_weights: AnyArray,
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
    packed_weights
        (number of runs,) int64: the weight of a sample of the run, and its square as a multiple of SQUARE_FACTOR.
    sums, squares
        (n, k) int64.
    """
    n, r = rows.shape[0], query_a.shape[1]
    slopes = np.zeros((-(-n // N_FUNCTIONS) * N_FUNCTIONS, r), np.float32)
    constants = np.zeros(slopes.shape[0], np.float32)
    for q in range(n):
        constants[q] = site_b[site] - query_b[rows[q]]
        for c in range(r):
            slopes[q, c] = query_a[rows[q], c] - site_a[site, c]
    k = sums.shape[1]
    found = np.zeros(n * k, np.int64)
    # One word more than there are, since a run may stop at the end of the last.
    bits = np.zeros((N_FUNCTIONS, WORDS + 1), np.uint64)
    before = np.zeros(WORDS + 1, np.int64)
    # A block stays in the inner caches for all queries.
    for b in range(blocks.shape[0]):
        first, last = first_run[b], first_run[b + 1]
        for q in range(0, n, N_FUNCTIONS):
            write_signs(constants, slopes, q, blocks, b, STRIPS, bits)
            for j in range(min(N_FUNCTIONS, n - q)):
                own = np.uint64((q + j) * k)
                for w in range(WORDS):
                    before[w + 1] = before[w] + count_bits(bits[j, w])
                start = 0
                for u in range(first, last):
                    word = stops[u] // np.uint64(WORD)
                    low = (np.uint64(1) << stops[u] % np.uint64(WORD)) - np.uint64(1)
                    stop = before[word] + count_bits(bits[j, word] & low)
                    found[own + owners[u]] += (stop - start) * packed_weights[u]
                    start = stop
    for q in range(n):
        for i in range(k):
            sums[rows[q], i] += found[q * k + i] & (SQUARE_FACTOR - 1)
            squares[rows[q], i] += found[q * k + i] // SQUARE_FACTOR


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
