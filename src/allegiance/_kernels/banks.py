"""Banks of samples: which samples are worth testing for a site, and how much of them each query steals."""

from __future__ import annotations

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from .affine_block import (
    BLOCK,
    CLASSES,
    COARSE,
    MANY,
    N_FUNCTIONS,
    STRIPS,
    VECTOR,
    WIDE,
    add_stolen,
    add_stolen_many,
    decide_row,
    decide_stolen,
    decide_stolen_many,
    lowest_bit,
    prefetch,
    write_chosen,
    write_rows,
    write_values,
)
from .jit import jit

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
    columns: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    limits: AnyArray,
    wanted: AnyArray,
    samples: AnyArray,
    coarse: AnyArray,
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
    columns
        (r, m) float32 coordinates of samples, m a multiple of BLOCK.
    slopes, constants, close
        The sites in single precision, as in :mod:`.counting`.
    limits
        (k, CLASSES) float32, ascending, the last one inf.
    wanted
        (k,) bool: the sites for which samples are chosen.
    samples
        (m, r) float32, written: the samples one after the other.
    coarse
        (m, (r + 1) // 2) int32, written if ``COARSE``: the same as pairs of 16-bit integers, the first one low.
    owner
        (m,) uint16, written.
    places, classes, margins
        (m k + BLOCK,) uint8, uint8 and float32, written: of the chosen samples, block after block and site after site.
    starts
        (m / BLOCK, k) int64, written: where those of a block and site start.
    """
    k, r = site_a.shape
    block = np.zeros((1, r + 1, BLOCK), np.float32)
    values = np.empty((slopes.shape[0], BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    first = np.empty(BLOCK, np.int32)
    pairs = np.empty((coarse.shape[1] + 1, BLOCK), np.int32)
    n = 0
    for b in range(starts.shape[0]):
        start = b * BLOCK
        for c in range(r):
            for s in range(BLOCK):
                block[0, c + 1, s] = columns[c, start + s]
        _transpose(block[0], samples[start : start + BLOCK])
        if COARSE:
            _round_pairs(block[0], r, pairs)
            _transpose(pairs, coarse[start : start + BLOCK])
        for i in range(0, slopes.shape[0], N_FUNCTIONS):
            write_values(constants, slopes, i, block, 0, STRIPS, values, i)
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
            owner[start + s] = first[s]
            if highest[s] - second[s] > close:
                continue
            best = -np.inf
            for i in range(k):
                if highest[s] - values[i, s] <= close:
                    exact = -site_b[i]
                    for c in range(r):
                        exact += site_a[i, c] * samples[start + s, c]
                    if exact > best:
                        best = exact
                        owner[start + s] = i
        for i in range(k):
            starts[b, i] = n
            if not wanted[i]:
                continue
            if WIDE:
                stop = n + write_chosen(highest, values[i], limits[i], places[n:], classes[n:], margins[n:])
            else:
                stop = n + _choose(highest, values[i], limits[i], places[n:], classes[n:], margins[n:])
            for t in range(n, stop):
                # The margin of an owner is 0, or cannot be told from 0.
                if margins[t] > _EXACT_BELOW * close:
                    continue
                other = owner[start + places[t]]
                exact = 0.0
                if other != i:
                    exact = site_b[i] - site_b[other]
                    for c in range(r):
                        exact -= (site_a[i, c] - site_a[other, c]) * samples[start + places[t], c]
                margins[t] = exact
            n = stop
    return n


@jit()
def _transpose(block: AnyArray, samples: AnyArray) -> None:
    """Write the samples of a block, (1 + r, BLOCK) without the first row, one after the other (BLOCK, r)."""
    r = samples.shape[1]
    for first in range(0, BLOCK, VECTOR):
        if WIDE and r >= VECTOR:
            for c in range(0, r, VECTOR):
                write_rows(block, min(c, r - VECTOR), first, samples)
        else:
            for c in range(r):
                for s in range(VECTOR):
                    samples[first + s, c] = block[c + 1, first + s]


def empty_pairs(m: int, r: int) -> AnyArray:
    """Return room for m samples as pairs of integers (m, (r + 1) // 2), and for what vectors read beyond the last one."""
    width = (r + 1) // 2
    return np.empty(m * width + VECTOR, np.int32)[: m * width].reshape(m, width)


@jit()
def _coarse_unit(r: int) -> float:
    """Return how many integers there are in a coordinate of 1: both roundings then matter about equally."""
    return min(np.floor(2.0**16 / np.sqrt(1.6 * max(r, 1))), 2.0**15 - 2.0)


@jit()
def _round_pairs(block: AnyArray, r: int, pairs: AnyArray) -> None:
    """Write the coordinates of a block (1 + r, BLOCK), rounded to integers, by pairs."""
    unit = np.float32(_coarse_unit(r))
    for c in range(0, r, 2):
        for s in range(BLOCK):
            pairs[c // 2 + 1, s] = np.int32(np.rint(block[c + 1, s] * unit)) & 0xFFFF
        if c + 1 < r:
            for s in range(BLOCK):
                pairs[c // 2 + 1, s] |= np.int32(np.rint(block[c + 2, s] * unit)) << 16


@jit()
def _choose(
    highest: AnyArray, values: AnyArray, limits: AnyArray, places: AnyArray, classes: AnyArray, margins: AnyArray
) -> int:
    """Write the places, classes and margins of the samples of a block that are chosen for one site."""
    # Each sample is written, and the next one over it unless it is chosen: a branch would be a guess.
    n = np.uint64(0)
    for level in range(CLASSES):
        first, limit = BLOCK - (BLOCK >> level), limits[level]
        stop = BLOCK - (BLOCK >> (level + 1)) if level < CLASSES - 1 else BLOCK
        for s in range(np.uint64(first), np.uint64(stop)):
            margin = highest[s] - values[s]
            places[n] = s
            margins[n] = margin
            n += np.uint64(margin <= limit)
    for t in range(n):
        c = np.uint8(0)
        for level in range(CLASSES - 1):
            c += np.uint8(margins[t] > limits[level])
        classes[t] = c
    return int(n)


#: Queries in a vector up to which one after the other takes less time.
_FEW_QUERIES = VECTOR // 2
#: Coordinates of the samples that all queries pass before the next ones come: they stay in a cache.
_NEAR = 2**17


@jit()
def count_stolen(
    rows: AnyArray,
    firsts: AnyArray,
    sites: AnyArray,
    query_a: FloatArray,
    query_b: FloatArray,
    site_a: FloatArray,
    site_b: FloatArray,
    samples: AnyArray,
    coarse: AnyArray,
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

    Parameters
    ----------
    rows
        (m,) int64.
    firsts, sites
        (number of pieces + 1,) and (number of pieces,) int64: where each piece of ``rows`` starts, and whose bank it
        uses.
    query_a, query_b
        (n, r) and (n,).
    samples, coarse, owner, places, classes, margins
        As from :func:`choose_samples`.
    starts
        (number of blocks, k + 1) int64: where the chosen samples of a block and site start.
    sums, squares
        (n, k) int64.
    """
    r, k = query_a.shape[1], sums.shape[1]
    n_pieces = sites.shape[0]
    # Queries stand side by side, each piece in vectors of its own.
    at = np.zeros(n_pieces + 1, np.int64)
    for p in range(n_pieces):
        at[p + 1] = at[p] + -(-(firsts[p + 1] - firsts[p]) // VECTOR)
    queries = np.zeros((at[n_pieces], r + 1, VECTOR), np.float32)
    for p in range(n_pieces):
        site = sites[p]
        for lane in range(VECTOR):
            queries[at[p + 1] - 1, 0, lane] = -np.inf
        for j in range(firsts[p + 1] - firsts[p]):
            x, v, lane = rows[firsts[p] + j], at[p] + j // VECTOR, j % VECTOR
            queries[v, 0, lane] = site_b[site] - query_b[x]
            for c in range(r):
                queries[v, c + 1, lane] = query_a[x, c] - site_a[site, c]
    # At most one sample in 2**c of a round of 2**18 has class c, so that sums of squares stay below 2**26.
    counts = np.zeros((at[n_pieces], k, 2, VECTOR), np.int32)
    slopes = np.empty((at[n_pieces], coarse.shape[1], VECTOR), np.int32)
    units = np.empty((at[n_pieces], 2, VECTOR), np.float32)
    if COARSE:
        _round_queries(queries, slopes, units)
    near = max(_NEAR // (r * BLOCK), 1)
    most = near * BLOCK + VECTOR
    tests = np.empty(most, np.int64), np.empty(most, np.float32), np.empty(most, np.int64), np.empty(most, np.int32)
    again = np.empty(most, np.int64), np.empty(most, np.float32), np.empty(most, np.int64), np.empty(most, np.int32)
    undecided = np.empty((MANY, most), np.int64)
    for group in range(0, starts.shape[0], near):
        for p in range(n_pieces):
            stop = min(group + near, starts.shape[0])
            n = _list_samples(group, stop, sites[p], samples, coarse, owner, places, classes, margins, starts, tests)
            for v in range(at[p], at[p + 1] - (at[p + 1] - at[p]) % MANY, MANY):
                if COARSE:
                    _count_by_integers(
                        queries, slopes, units, v, MANY, samples, coarse, tests, n, again, undecided, counts
                    )
                else:
                    for t in range(0, n, N_FUNCTIONS):
                        add_stolen_many(queries, v, samples, tests[0], tests[1], tests[2], tests[3], t, counts)
            in_last = (firsts[p + 1] - firsts[p] - 1) % VECTOR + 1
            for v in range(at[p + 1] - (at[p + 1] - at[p]) % MANY, at[p + 1]):
                if COARSE:
                    if v == at[p + 1] - 1 and in_last <= _FEW_QUERIES:
                        _count_one_by_one(queries[v], slopes[v], units[v], in_last, samples, coarse, tests, n, counts[v])
                    else:
                        _count_by_integers(
                            queries, slopes, units, v, 1, samples, coarse, tests, n, again, undecided, counts
                        )
                else:
                    _count_by_floats(queries, v, samples, tests, n, counts)
    for p in range(n_pieces):
        for j in range(firsts[p + 1] - firsts[p]):
            x, v, lane = rows[firsts[p] + j], at[p] + j // VECTOR, j % VECTOR
            for i in range(k):
                sums[x, i] += counts[v, i, 0, lane]
                squares[x, i] += counts[v, i, 1, lane]


#: Places of samples in a round, int64; their margins, float32; owners, int64; and weights, int32.
_Tests = tuple[AnyArray, AnyArray, AnyArray, AnyArray]


@jit()
def _list_samples(
    first: int,
    stop: int,
    site: int,
    samples: AnyArray,
    coarse: AnyArray,
    owner: AnyArray,
    places: AnyArray,
    classes: AnyArray,
    margins: AnyArray,
    starts: AnyArray,
    tests: _Tests,
) -> int:
    """List the samples chosen for a site in some blocks, ask for their coordinates, and return how many there are."""
    n = 0
    for b in range(first, stop):
        for t in range(starts[b, site], starts[b, site + 1]):
            place = b * BLOCK + places[t]
            if COARSE:
                prefetch(coarse, place)
            else:
                prefetch(samples, place)
            tests[0][n] = place
            tests[1][n] = margins[t]
            tests[2][n] = owner[place]
            tests[3][n] = 1 << classes[t]
            n += 1
    _fill_up(tests, n)
    return n


@jit()
def _fill_up(tests: _Tests, n: int) -> None:
    """End a list with samples that cannot be stolen: up to VECTOR are tested at a time."""
    for t in range(n, n + VECTOR):
        tests[0][t] = 0
        tests[1][t] = np.inf
        tests[2][t] = 0
        tests[3][t] = 0


@jit()
def _count_by_floats(queries: AnyArray, v: int, samples: AnyArray, tests: _Tests, n: int, counts: AnyArray) -> None:
    """Count the n samples of a list for one vector of queries."""
    for t in range(0, n, N_FUNCTIONS):
        add_stolen(queries, v, samples, tests[0], tests[1], tests[2], tests[3], t, counts)


@jit()
def _count_by_integers(
    queries: AnyArray,
    slopes: AnyArray,
    units: AnyArray,
    v: int,
    width: int,
    samples: AnyArray,
    coarse: AnyArray,
    tests: _Tests,
    n: int,
    again: _Tests,
    undecided: AnyArray,
    counts: AnyArray,
) -> None:
    """Count the n samples of a list for one or MANY vectors of queries, and those left undecided by floats."""
    n_undecided = np.zeros(MANY, np.int64)
    for t in range(0, n, N_FUNCTIONS):
        if width == MANY:
            decide_stolen_many(
                queries, v, coarse, tests[0], tests[1], tests[2], tests[3], t, counts, slopes, units, undecided,
                n_undecided,
            )  # fmt: skip
        else:
            decide_stolen(
                queries, v, coarse, tests[0], tests[1], tests[2], tests[3], t, counts, slopes, units, undecided,
                n_undecided,
            )  # fmt: skip
    for j in range(width):
        for t in range(n_undecided[j]):
            number = undecided[j, t]
            again[0][t] = tests[0][number]
            again[1][t] = tests[1][number]
            again[2][t] = tests[2][number]
            again[3][t] = tests[3][number]
        _fill_up(again, n_undecided[j])
        _count_by_floats(queries, v + j, samples, again, n_undecided[j], counts)


@jit()
def _count_one_by_one(
    queries: AnyArray,
    slopes: AnyArray,
    units: AnyArray,
    n_queries: int,
    samples: AnyArray,
    coarse: AnyArray,
    tests: _Tests,
    n: int,
    counts: AnyArray,
) -> None:
    """Count the n samples of a list for the first queries of a vector, one after the other."""
    places, margins, owners, weights = tests
    row = np.zeros(-(-coarse.shape[1] // VECTOR) * VECTOR, np.int32)
    unit = np.empty(3, np.float32)
    for lane in range(n_queries):
        for c in range(coarse.shape[1]):
            row[c] = slopes[c, lane]
        unit[0], unit[1], unit[2] = queries[0, lane], units[0, lane], units[1, lane]
        for first in range(0, n, VECTOR):
            bits = decide_row(row, unit, coarse, places, margins, first)
            while bits != 0:
                place = lowest_bit(bits)
                t = first + place % VECTOR
                if place < VECTOR or _is_stolen(queries[:, lane], margins[t], samples[places[t]]):
                    counts[owners[t], 0, lane] += weights[t]
                    counts[owners[t], 1, lane] += weights[t] * weights[t]
                bits &= bits - 1


@jit(fuse=True)
def _is_stolen(query: AnyArray, margin: float, sample: AnyArray) -> bool:
    """Tell whether a query (r + 1,) steals a sample (r,), summed in single precision, coordinate after coordinate."""
    value = query[0] - margin
    for c in range(sample.shape[0]):
        value += query[c + 1] * sample[c]
    return value >= 0.0


@jit()
def _round_queries(queries: AnyArray, slopes: AnyArray, units: AnyArray) -> None:
    """Write the slopes of queries as pairs of integers, and the scale and the bound of their sums with samples.

    With s and y for slopes and coordinates, of which none is larger than 1, a slope is q / a, off by at most 0.51 / a,
    and a coordinate p / u, off by at most 0.51 / u. The product s y is then (q p) / (a u), off by at most
    0.51 r / a + 0.51 sqrt(r) |s| / u, by Cauchy and Schwarz, and sums in single precision are off by some roundings of
    the sum of the |s|. Where a constant is more than twice that sum it decides alone, in both ways of summing.
    """
    r = queries.shape[1] - 1
    unit = np.float32(_coarse_unit(r))
    most = np.float32(2.0**31 / unit - r)
    total = np.empty(VECTOR, np.float32)
    square = np.empty(VECTOR, np.float32)
    largest = np.empty(VECTOR, np.float32)
    per_slope = np.empty(VECTOR, np.float32)
    for v in range(queries.shape[0]):
        total[:] = 0.0
        square[:] = 0.0
        largest[:] = 0.0
        for c in range(r):
            for lane in range(VECTOR):
                size = abs(queries[v, c + 1, lane])
                total[lane] += size
                square[lane] += size * size
                largest[lane] = max(largest[lane], size)
        for lane in range(VECTOR):
            a = min(np.float32(0.999) * most / total[lane], np.float32(2.0**15 - 2.0) / largest[lane])
            scale = a * unit
            rounding = np.float32(4.0 * 2.0**-24 * (r + 8)) * total[lane] * scale
            per_slope[lane] = a
            units[v, 0, lane] = scale
            units[v, 1, lane] = np.float32(0.52) * (r * unit + np.sqrt(r * square[lane]) * a) + rounding
            # Numbers that single precision cannot hold are left to it; without slopes the constant is the value.
            if total[lane] == 0.0:
                per_slope[lane] = 0.0
                units[v, 0, lane] = 1.0
                units[v, 1, lane] = 0.0
            elif not (1e-30 < scale < 1e30 and 1e-30 < square[lane] < 1e30):
                per_slope[lane] = 0.0
                units[v, 0, lane] = np.nan
        for c in range(0, r, 2):
            for lane in range(VECTOR):
                slopes[v, c // 2, lane] = np.int32(np.rint(queries[v, c + 1, lane] * per_slope[lane])) & 0xFFFF
            if c + 1 < r:
                for lane in range(VECTOR):
                    slopes[v, c // 2, lane] |= np.int32(np.rint(queries[v, c + 2, lane] * per_slope[lane])) << 16


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
