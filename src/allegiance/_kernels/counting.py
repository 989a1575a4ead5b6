"""Owners of samples and positions, and how many shared samples each query steals from each site."""

from __future__ import annotations

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from .affine_block import BLOCK, LANES, N_FUNCTIONS, STRIPS, count_signs, write_values
from .jit import jit

#: Numbers of rows that are projected together: they stay in a cache while the axes pass.
_GROUP = 2**13


@jit(fuse=True, reorder=True)
def project_rows(X: FloatArray, shift: FloatArray, axes: FloatArray, out: FloatArray, norms: FloatArray) -> None:
    """Kernel that projects rows: write ``(X - shift) @ axes.T`` to ``out``, squared norms of shifted rows to ``norms``.

    A matrix product from BLAS would give a row different last bits depending on how many rows surround it; here every
    row is summed in the same way. ``X`` is (n, d), ``axes`` (r, d), ``out`` (n, r), ``norms`` (n,).
    """
    n, d = X.shape
    r = axes.shape[0]
    size = min(max(_GROUP // max(d, 1), 1), n)
    rows = np.empty((size, d))
    for first in range(0, n, size):
        # Sums stand in loops that store nothing: a loop that also stores is vectorised only if a test at run time says
        # that its arrays do not overlap, so its sums could have other bits from one call to the next.
        for i in range(min(size, n - first)):
            for j in range(d):
                rows[i, j] = X[first + i, j] - shift[j]
            norm = 0.0
            for j in range(d):
                norm += rows[i, j] * rows[i, j]
            norms[first + i] = norm
        for c in range(r):
            for i in range(min(size, n - first)):
                total = 0.0
                for j in range(d):
                    total += rows[i, j] * axes[c, j]
                out[first + i, c] = total


@jit()
def own_and_other_squares(
    positions: FloatArray, columns: FloatArray, codes: AnyArray, own: FloatArray, other: FloatArray
) -> None:
    """Kernel that writes the squared distance of each position (n, r) from its own site, and from the nearest other.

    ``columns`` is (r, k), the sites coordinate after coordinate; ``codes`` (n,) int64 are the numbers of the own sites,
    negative for none, where ``own`` becomes the same as ``other``, both (n,).
    """
    n, r = positions.shape
    k = columns.shape[1]
    square = np.empty(k)
    for q in range(n):
        for i in range(k):
            square[i] = 0.0
        for c in range(r):
            coordinate = positions[q, c]
            for i in range(k):
                away = coordinate - columns[c, i]
                square[i] += away * away
        mine = codes[q]
        other[q] = np.inf
        for i in range(k):
            if i != mine:
                other[q] = min(other[q], square[i])
        own[q] = square[mine] if mine >= 0 else other[q]


@jit()
def owners_of(
    columns: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    owner: AnyArray,
) -> None:
    """Write the owner of each sample to ``owner`` (m,) int32, where no other value is wanted.

    ``columns`` is float32 (r, m), one sample per column.
    """
    r, m = columns.shape
    k = site_a.shape[0]
    block = np.zeros((1, r + 1, BLOCK), np.float32)
    value = np.empty((N_FUNCTIONS, BLOCK), np.float32)
    highest = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    first = np.empty(BLOCK, np.int32)
    for start in range(0, m, BLOCK):
        width = min(BLOCK, m - start)
        for c in range(r):
            for s in range(width):
                block[0, c + 1, s] = columns[c, start + s]
        for s in range(BLOCK):
            highest[s] = -np.inf
            second[s] = -np.inf
            first[s] = 0
        for i in range(0, k, N_FUNCTIONS):
            write_values(constants, slopes, i, block, 0, STRIPS, value, 0)
            for j in range(min(N_FUNCTIONS, k - i)):
                for s in range(BLOCK):
                    second[s] = max(second[s], min(value[j, s], highest[s]))
                    first[s] = np.int32(i + j) if value[j, s] > highest[s] else first[s]
                    highest[s] = max(value[j, s], highest[s])
        for s in range(width):
            owner[start + s] = first[s]
            if highest[s] - second[s] > close:
                continue
            best = -np.inf
            for i in range(k):
                exact = -site_b[i]
                for c in range(r):
                    exact += site_a[i, c] * columns[c, start + s]
                if exact > best:
                    best = exact
                    owner[start + s] = i


@jit()
def owners_at(positions: FloatArray, columns: FloatArray, site_b: FloatArray, owner: AnyArray) -> None:
    """Write the owner of each position (n, r) to ``owner`` (n,) int64, the first of equals, in double precision.

    ``columns`` is (r, k), the slopes of the sites coordinate after coordinate.
    """
    n, r = positions.shape
    k = site_b.shape[0]
    value = np.empty(k)
    for q in range(n):
        for i in range(k):
            value[i] = -site_b[i]
        for c in range(r):
            coordinate = positions[q, c]
            for i in range(k):
                value[i] += columns[c, i] * coordinate
        owner[q] = 0
        highest = -np.inf
        for i in range(k):
            if value[i] > highest:
                highest = value[i]
                owner[q] = i


@jit()
def group_by_owner(columns: AnyArray, owner: AnyArray, sizes: AnyArray, blocks: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Write ``blocks`` and return ``strips`` and ``owners``, as :func:`count_owners` wants them.

    Inside a group samples keep their order.

    Parameters
    ----------
    columns, owner
        Float32 (r, m) samples, one per column, and their owners (m,) int32.
    sizes
        (k,) int64: how many samples each site owns.
    blocks
        (number of blocks, r + 1, BLOCK) float32 zeros: for each site as many as its samples need.
    """
    r, m = columns.shape
    k = sizes.shape[0]
    used = np.empty(blocks.shape[0], np.int64)
    owners = np.empty(blocks.shape[0], np.int64)
    at = np.zeros(k, np.int64)
    t = 0
    for i in range(k):
        if i > 0:
            at[i] = at[i - 1] + sizes[i - 1]
        for done in range(0, sizes[i], BLOCK):
            owners[t] = i
            used[t] = min(sizes[i] - done, BLOCK)
            for j in range(used[t], BLOCK):
                blocks[t, 0, j] = np.inf
            t += 1
    order = np.empty(m, np.uint64)
    for s in range(m):
        order[at[owner[s]]] = s
        at[owner[s]] += 1
    # Coordinate after coordinate: one of them stays in a cache.
    for c in range(r):
        n = np.uint64(0)
        for t in range(used.shape[0]):
            for j in range(np.uint64(used[t])):
                blocks[t, c + 1, j] = columns[c, order[n + j]]
            n += np.uint64(used[t])
    return (used + LANES - 1) // LANES, owners


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
    some = np.empty(N_FUNCTIONS, np.int64)
    slopes = np.empty((N_FUNCTIONS, r), np.float32)
    constants = np.empty(N_FUNCTIONS, np.float32)
    hits = np.empty(N_FUNCTIONS, np.int64)
    near = max(_NEAR // (r * BLOCK), 1)
    for first in range(0, blocks.shape[0], near):
        last = min(first + near, blocks.shape[0])
        for q in range(0, n, N_FUNCTIONS):
            # The last ones may repeat a query, which is counted once.
            for j in range(N_FUNCTIONS):
                some[j] = rows[min(q + j, n - 1)]
            for b in range(first, last):
                site = owners[b]
                if b == first or owners[b - 1] != site:
                    for j in range(N_FUNCTIONS):
                        constants[j] = site_b[site] - query_b[some[j]]
                        for c in range(r):
                            slopes[j, c] = query_a[some[j], c] - site_a[site, c]
                count_signs(constants, slopes, 0, blocks, b, strips[b], hits)
                for j in range(min(N_FUNCTIONS, n - q)):
                    counts[some[j], site] += hits[j]


@jit()
def weighted_shares(
    sums: AnyArray,
    squares: AnyArray,
    products: AnyArray,
    rows: AnyArray,
    shares: FloatArray,
    errors: FloatArray,
    totals: FloatArray,
    worst: FloatArray,
) -> None:
    """Kernel that turns counts of stolen samples, in clusters, into shares and their standard errors for ``rows``.

    Of the counts h_i of a query in a cluster, and their sum h, ``sums`` holds the sum over clusters of h_i, ``squares``
    of h_i^2 and ``products`` of h_i h. The variance is that between clusters, (h_i - share h)^2, or that of independent
    samples if it is larger. Two hits and two misses of the usual weight, the sum of h^2 over that of h, are added for
    the error (Agresti and Coull): a share of 0 or 1 seen in a few samples does not claim certainty. Rows without a hit
    are left alone.

    Parameters
    ----------
    sums, squares, products, shares, errors
        (n, k)
    rows
        (m,) int64.
    totals, worst
        (m,), written: the number of hits, and the largest error.
    """
    k = sums.shape[1]
    for q in range(rows.shape[0]):
        x = rows[q]
        total = 0
        square = 0
        for i in range(k):
            total += sums[x, i]
            square += products[x, i]
        totals[q] = total
        worst[q] = 0.0
        if total == 0:
            continue
        weight = square / total
        size = total + 4.0 * weight
        more = square - total
        # Without a branch, and the largest error in a loop of its own: only so is the first loop vectorised.
        for i in range(k):
            share = (sums[x, i] + 2.0 * weight) / size
            hit = sums[x, i] + 2.0 * weight * weight
            miss = total - sums[x, i] + 2.0 * weight * weight
            together = squares[x, i] - sums[x, i] - 2.0 * share * (products[x, i] - sums[x, i]) + share * share * more
            variance = (1.0 - share) * (1.0 - share) * hit + share * share * miss + max(together, 0.0)
            errors[x, i] = np.sqrt(variance) / size
            shares[x, i] = sums[x, i] / total
        for i in range(k):
            worst[q] = max(worst[q], errors[x, i])
