"""Banks of samples: which samples are worth testing for a site, and how much of them each query steals."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from .affine_block import BLOCK, N_FUNCTIONS, STRIPS, WORD, WORDS, count_bits, write_signs, write_values
from .jit import jit

#: Classes of samples: one of class c counts 2**c times.
CLASSES = 8
#: Words of bits for a block, and bits in a word.
_WORDS = 16
#: Margins below so many times what rounding may change are computed in double precision.
_EXACT_BELOW = 1024.0


@jit()
def site_values(blocks: AnyArray, slopes: AnyArray, constants: AnyArray, values: AnyArray) -> None:
    """Write ``<slopes[i], y> + constants[i]`` at the samples y of block b to ``values[b, i]``, float32 (BLOCK,)."""
    for b in range(blocks.shape[0]):
        for first in range(0, slopes.shape[0], N_FUNCTIONS):
            write_values(constants, slopes, first, blocks, b, STRIPS, values[b], first)


@jit()
def choose_samples(
    blocks: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    limits: AnyArray,
    wanted: AnyArray,
    owner: AnyArray,
    places: AnyArray,
    classes: AnyArray,
    margins: AnyArray,
    starts: AnyArray,
) -> int:
    """Find the owners of samples, and choose for each site those worth testing; return how many were chosen.

    A sample whose margin to site i, f_i - f_owner, is at most ``limits[i, c]`` and above ``limits[i, c - 1]`` is of
    class c for i, and is chosen with probability 2**-c. Chance is in the samples, so places may choose: half of a
    block is for class 0 alone, a quarter for classes 0 and 1, and so on, the last two samples for all classes.

    Small margins are taken from the difference of two sites' functions in double precision: sites that nearly coincide
    lose no accuracy.

    Parameters
    ----------
    blocks
        (m, r + 1, BLOCK) float32: zeros, then coordinates of samples.
    slopes, constants, close
        The sites in single precision, as in :mod:`.counting`.
    limits
        (k, CLASSES) float32, ascending, the last one inf.
    wanted
        (k,) bool: the sites for which samples are chosen.
    owner
        (m, BLOCK) uint8, written.
    places, classes, margins
        (m BLOCK k + 1,) uint8, uint8 and float32, written: of the chosen samples, block after block and site after
        site.
    starts
        (m, k) int64, written: where those of a block and site start.
    """
    k, r = site_a.shape
    values = np.empty((slopes.shape[0], BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    first = np.empty(BLOCK, np.int32)
    bound = np.empty((k, BLOCK), np.float32)
    for level in range(CLASSES):
        stop = BLOCK - (BLOCK >> (level + 1)) if level < CLASSES - 1 else BLOCK
        for i in range(k):
            for s in range(BLOCK - (BLOCK >> level), stop):
                bound[i, s] = limits[i, level]
    bits = np.empty(_WORDS, np.uint32)
    n = 0
    for b in range(blocks.shape[0]):
        for i in range(0, slopes.shape[0], N_FUNCTIONS):
            write_values(constants, slopes, i, blocks, b, STRIPS, values, i)
        for s in range(BLOCK):
            highest[s] = values[0, s]
            second[s] = -np.inf
            first[s] = 0
        for i in range(1, k):
            for s in range(BLOCK):
                value = values[i, s]
                second[s] = max(second[s], min(value, highest[s]))
                first[s] = np.int32(i) if value > highest[s] else first[s]
                highest[s] = max(value, highest[s])
        for s in range(BLOCK):
            owner[b, s] = first[s]
            if highest[s] - second[s] > close:
                continue
            best = -np.inf
            for i in range(k):
                if highest[s] - values[i, s] <= close:
                    exact = -site_b[i]
                    for c in range(r):
                        exact += site_a[i, c] * blocks[b, c + 1, s]
                    if exact > best:
                        best = exact
                        owner[b, s] = i
        for i in range(k):
            starts[b, i] = n
            if not wanted[i]:
                continue
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
                    places[n] = s
                    classes[n] = c
                    other = owner[b, s]
                    margins[n] = 0.0 if other == i else margin
                    if other != i and margin <= _EXACT_BELOW * close:
                        exact = site_b[i] - site_b[other]
                        for j in range(r):
                            exact -= (site_a[i, j] - site_a[other, j]) * blocks[b, j + 1, s]
                        margins[n] = exact
                    n += 1
    return n


#: Coordinates of the blocks that all queries pass before the next ones come: they stay in a cache.
_NEAR = 2**17
#: Weights and their squares share one integer: squares are multiplied by this.
SQUARE_FACTOR = 2**28


@jit()
def count_stolen(
    rows: AnyArray,
    firsts: AnyArray,
    sites: AnyArray,
    query_a: FloatArray,
    query_b: FloatArray,
    site_a: FloatArray,
    site_b: FloatArray,
    blocks: AnyArray,
    owner: AnyArray,
    places: AnyArray,
    classes: AnyArray,
    margins: AnyArray,
    starts: AnyArray,
    sums: AnyArray,
    squares: AnyArray,
) -> None:
    """Add the weights of the samples that the queries in ``rows`` steal, by owner, to ``sums``; squares likewise.

    A query x steals the sample y of any owner if <a_x - a_i, y> - (b_x - b_i) is not below the margin f_i - f_owner of
    y, for any site i; its bank is that of a site close to it. Differences are taken in float64 and only then rounded.

    The samples of a bank are copied side by side, one block after the other, and tested while they are in the inner
    caches. Few are stolen, so hits are found as bits and added one by one.

    Parameters
    ----------
    rows
        (m,) int64.
    firsts, sites
        (number of pieces + 1,) and (number of pieces,) int64: where each piece of ``rows`` starts, and whose bank it
        uses.
    query_a, query_b
        (n, r) and (n,).
    blocks, owner, places, classes, margins
        As from :func:`choose_samples`.
    starts
        (number of blocks, k + 1) int64: where the chosen samples of a block and site start.
    sums, squares
        (n, k) int64.
    """
    r, k = query_a.shape[1], sums.shape[1]
    n_pieces = sites.shape[0]
    # Functions of a piece start at a multiple of those that are computed together.
    at = np.zeros(n_pieces + 1, np.int64)
    for p in range(n_pieces):
        at[p + 1] = at[p] + -(-(firsts[p + 1] - firsts[p]) // N_FUNCTIONS) * N_FUNCTIONS
    slopes = np.zeros((at[n_pieces], r), np.float32)
    constants = np.zeros(at[n_pieces], np.float32)
    for p in range(n_pieces):
        site = sites[p]
        for j in range(firsts[p + 1] - firsts[p]):
            x = rows[firsts[p] + j]
            constants[at[p] + j] = site_b[site] - query_b[x]
            for c in range(r):
                slopes[at[p] + j, c] = query_a[x, c] - site_a[site, c]
    found = np.zeros(at[n_pieces] * k, np.int64)
    tile = np.empty((1, r + 1, BLOCK), np.float32)
    codes = np.empty(BLOCK, np.uint64)
    weights = np.empty(BLOCK, np.int64)
    own = np.zeros(WORDS, np.uint64)
    bits = np.empty((N_FUNCTIONS, WORDS), np.uint64)
    near = max(_NEAR // (r * BLOCK), 1)
    for group in range(0, blocks.shape[0], near):
        last = min(group + near, blocks.shape[0]) - 1
        for p in range(n_pieces):
            site = sites[p]
            filled = 0
            for b in range(group, last + 1):
                t, stop = starts[b, site], starts[b, site + 1]
                while t < stop or (b == last and filled > 0):
                    take = min(stop - t, BLOCK - filled)
                    _copy(places[t : t + take], blocks[b], filled, tile[0])
                    for j in range(take):
                        code = owner[b, places[t + j]]
                        tile[0, 0, filled + j] = margins[t + j]
                        codes[filled + j] = code
                        weight = 1 << np.int64(classes[t + j])
                        weights[filled + j] = weight + SQUARE_FACTOR * weight * weight
                        own[(filled + j) // WORD] |= np.uint64(code == site) << np.uint64((filled + j) % WORD)
                    filled += take
                    t += take
                    if filled < BLOCK and not (b == last and t == stop):
                        continue
                    words = -(-filled // WORD)
                    for s in range(filled, words * WORD):
                        tile[0, 0, s] = np.inf
                    for q in range(at[p], at[p + 1], N_FUNCTIONS):
                        write_signs(constants, slopes, q, tile, 0, words * (STRIPS // WORDS), bits)
                        for j in range(N_FUNCTIONS):
                            start = np.uint64((q + j) * k)
                            # Those of the site itself, of weight 1, are counted without looking at each.
                            hits = 0
                            for w in range(words):
                                hits += count_bits(bits[j, w] & own[w])
                                _add(bits[j, w] & ~own[w], w * WORD, codes, weights, start, found)
                            found[start + np.uint64(site)] += hits * (1 + SQUARE_FACTOR)
                    own[:] = 0
                    filled = 0
    for p in range(n_pieces):
        for j in range(firsts[p + 1] - firsts[p]):
            x, start = rows[firsts[p] + j], (at[p] + j) * k
            for i in range(k):
                sums[x, i] += found[start + i] & (SQUARE_FACTOR - 1)
                squares[x, i] += found[start + i] // SQUARE_FACTOR


@jit()
def _copy(places: AnyArray, block: AnyArray, start: int, tile: AnyArray) -> None:
    """Copy the coordinates of samples at some places of a block to a tile, from column ``start`` on."""
    n, first = np.uint64(places.shape[0]), np.uint64(start)
    for c in range(1, block.shape[0]):
        for j in range(n):
            tile[c, first + j] = block[c, places[j]]


@jit()
def _add(word: Any, first: int, codes: AnyArray, weights: AnyArray, start: Any, found: AnyArray) -> None:
    """Add the weights of samples whose bit is set, the lowest bit that of sample ``first``, by owner."""
    while word != np.uint64(0):
        below = (word & (~word + np.uint64(1))) - np.uint64(1)
        s = np.uint64(first) + np.uint64(count_bits(below))
        word &= word - np.uint64(1)
        found[start + codes[s]] += weights[s]


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
