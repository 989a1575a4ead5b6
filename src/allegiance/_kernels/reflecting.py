"""Samples that are reflected in groups of axes, and how many of them each query steals.

The cube and the ball stay the same if coordinates change their signs. The axes form GROUPS groups, axis c in group
c % GROUPS, and each base sample is reflected in SIGNS ways: with the signs of the rows of a Hadamard matrix for its
groups, and with the opposite ones. Each of these samples is uniform, and any two are uncorrelated or opposite. An
affine function needs one product per coordinate for all of them: the sums of the groups are added and subtracted in
five rounds (the fast Walsh-Hadamard transform). Independent samples would need 64.

Base samples come in blocks (number of blocks, width, LANES) of float32 in which LANES of them stand side by side;
``width`` is a multiple of GROUPS, and axes beyond the r of the region are zero. A block has ``SIZE`` samples: sample
``sign * LANES + lane`` has the signs of number ``sign``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from allegiance._core.validation import AnyArray, FloatArray

from .affine_block import VECTOR
from .jit import Call, element, jit, lowest_bit, splat, vector_intrinsic

#: Groups of axes, base samples side by side, reflections of each of them, and samples in a block.
GROUPS, LANES = 32, 16
SIGNS = 2 * GROUPS
SIZE = SIGNS * LANES
_HALF = GROUPS // 2
#: The same without a sign: indices need no test whether they are negative.
_LANES, _SIZE = np.uint64(LANES), np.uint64(SIZE)
#: Margins below so many times what rounding may change are computed in double precision.
_EXACT_BELOW = 64.0
#: Coordinates of the base samples that all queries of a site pass before the next ones come: they stay in a cache.
_NEAR = 2**13

_INDEX = ir.IntType(64)
_FLOATS = ir.VectorType(ir.FloatType(), VECTOR)
_MASK = ir.IntType(VECTOR)
_FUSE = ("contract",)


def _for_signs(call: Call, use: Callable[[Any, int], None]) -> None:
    """Hand the values of one function at VECTOR samples after the other to ``use``, with the place of the first.

    The function is row ``row`` of ``slopes`` (n, width), with ``constants`` (n,), at the samples of block ``b``.
    """
    builder, width = call.builder, call.width("slopes")
    row, block = (builder.mul(call.number(name), width) for name in ("row", "b"))
    slopes = element(builder, call.pointer("slopes"), row)
    samples = element(builder, call.pointer("blocks"), builder.mul(block, _INDEX(LANES)))
    constant = builder.load(element(builder, call.pointer("constants"), call.number("row")), typ=ir.FloatType())
    start = splat(builder, constant, _FLOATS)
    for strip in range(0, LANES, VECTOR):
        # Half of the groups at a time: there are not more registers for their sums.
        halves = [_transformed_sums(builder, slopes, samples, width, strip, part) for part in (0, _HALF)]
        for i, (one, other) in enumerate(zip(*halves, strict=True)):
            for sign, value in (i, builder.fadd(one, other)), (i + _HALF, builder.fsub(one, other)):
                use(builder.fadd(start, value), sign * LANES + strip)
                use(builder.fsub(start, value), (sign + GROUPS) * LANES + strip)


def _transformed_sums(builder: Any, slopes: Any, samples: Any, width: Any, strip: int, part: int) -> list[Any]:
    """Return sums and differences of half of the groups, from group ``part`` on, for VECTOR lanes from ``strip`` on."""
    zeros = ir.Constant(_FLOATS, [0.0] * VECTOR)
    sums = [cgutils.alloca_once(builder, _FLOATS) for _ in range(_HALF)]
    for total in sums:
        builder.store(zeros, total)
    with cgutils.for_range(builder, builder.udiv(width, _INDEX(GROUPS))) as step:
        first = builder.mul(step.index, _INDEX(GROUPS))
        for group, total in enumerate(sums, part):
            axis = builder.add(first, _INDEX(group))
            number = builder.load(element(builder, slopes, axis), typ=ir.FloatType())
            at = builder.add(builder.mul(axis, _INDEX(LANES)), _INDEX(strip))
            vector = builder.load(element(builder, samples, at), align=4, typ=_FLOATS)
            product = builder.fmul(splat(builder, number, _FLOATS), vector, flags=_FUSE)
            builder.store(builder.fadd(product, builder.load(total, typ=_FLOATS), flags=_FUSE), total)
    values = [builder.load(total, typ=_FLOATS) for total in sums]
    distance = 1
    while distance < _HALF:
        for i in (i for i in range(_HALF) if not i & distance):
            one, other = values[i], values[i + distance]
            values[i], values[i + distance] = builder.fadd(one, other), builder.fsub(one, other)
        distance *= 2
    return values


_FUNCTION: dict[str, Any] = {
    "constants": types.float32,
    "slopes": types.float32,
    "row": int,
    "blocks": types.float32,
    "b": int,
}


@vector_intrinsic(**_FUNCTION, out=types.float32)
def write_reflected(call: Call) -> None:
    """Write the values of one function at the samples of a block to ``out`` (SIZE,)."""
    builder, out = call.builder, call.pointer("out")

    def use(value: Any, place: int) -> None:
        builder.store(value, element(builder, out, _INDEX(place)), align=4)

    _for_signs(call, use)


@vector_intrinsic(**_FUNCTION, margins=types.float32, bits=types.int64)
def compare_reflected(call: Call) -> None:
    """Set the bits of the samples of a block where the value of one function is not below ``margins`` (SIZE,)."""
    builder, margins, bits = call.builder, call.pointer("margins"), call.pointer("bits")

    def use(value: Any, place: int) -> None:
        margin = builder.load(element(builder, margins, _INDEX(place)), align=4, typ=_FLOATS)
        mask = builder.bitcast(builder.fcmp_ordered(">=", value, margin), _MASK)
        kind = ir.IntType(8)
        at = builder.gep(bits, [_INDEX(place // 8)], source_etype=kind)
        if VECTOR < 8:
            mask = builder.zext(mask, kind)
            if place % 8:
                mask = builder.or_(builder.load(at, typ=kind), builder.shl(mask, kind(VECTOR)))
        builder.store(mask, at, align=1)

    _for_signs(call, use)


@jit()
def _sign(axis: int, sign: int) -> float:
    """Return the sign that reflection number ``sign`` gives to an axis."""
    odd = axis & sign & (GROUPS - 1)
    odd ^= odd >> 4
    odd ^= odd >> 2
    odd ^= odd >> 1
    return -1.0 if (odd & 1) ^ (sign >= GROUPS) else 1.0


@jit()
def own_samples(
    blocks: AnyArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    highest: AnyArray,
    owner: AnyArray,
) -> None:
    """Write owner and value -f_i of each reflected sample to ``owner`` int32 and ``highest`` (number of blocks, SIZE).

    ``slopes`` (k, width) and ``constants`` (k,) are those of the functions -f_i in single precision. Where two of them
    are as ``close`` as rounding, double precision decides.
    """
    k, r = site_a.shape
    values = np.empty((k, SIZE), np.float32)
    second = np.empty(SIZE, np.float32)
    first = np.empty(SIZE, np.int32)
    for b in range(blocks.shape[0]):
        best = highest[b]
        for s in range(SIZE):
            best[s] = -np.inf
            second[s] = -np.inf
            first[s] = 0
        for i in range(k):
            value = values[i]
            write_reflected(constants, slopes, i, blocks, b, value)
            for s in range(SIZE):
                second[s] = max(second[s], min(value[s], best[s]))
                first[s] = np.int32(i) if value[s] > best[s] else first[s]
                best[s] = max(value[s], best[s])
        for s in range(SIZE):
            owner[b, s] = first[s]
            if best[s] - second[s] > close:
                continue
            largest = -np.inf
            for i in range(k):
                if best[s] - values[i, s] <= close:
                    exact = -site_b[i]
                    for c in range(r):
                        exact += site_a[i, c] * _sign(c, s // LANES) * blocks[b, c, s % LANES]
                    if exact > largest:
                        largest = exact
                        owner[b, s] = i


@jit()
def _write_margins(
    blocks: AnyArray,
    b: int,
    site: int,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    highest: AnyArray,
    owner: AnyArray,
    margins: AnyArray,
) -> None:
    """Write f_site - f_owner at the samples of a block: small ones from differences in double precision."""
    write_reflected(constants, slopes, site, blocks, b, margins)
    for s in range(SIZE):
        margins[s] = highest[s] - margins[s]
    for s in range(SIZE):
        if margins[s] > close:
            continue
        other = owner[s]
        exact = 0.0
        if other != site:
            exact = site_b[site] - site_b[other]
            for c in range(site_a.shape[1]):
                exact -= (site_a[site, c] - site_a[other, c]) * _sign(c, s // LANES) * blocks[b, c, s % LANES]
        margins[s] = exact


@jit()
def count_reflected(
    rows: AnyArray,
    firsts: AnyArray,
    sites: AnyArray,
    query_a: FloatArray,
    query_b: FloatArray,
    site_a: FloatArray,
    site_b: FloatArray,
    slopes: AnyArray,
    constants: AnyArray,
    close: float,
    blocks: AnyArray,
    highest: AnyArray,
    owner: AnyArray,
    sums: AnyArray,
    squares: AnyArray,
    products: AnyArray,
) -> None:
    """Count the samples that the queries in ``rows`` steal, by owner.

    The reflections of one base sample are a cluster of samples. Of the counts h_i of a query in a cluster, and their
    sum h, ``sums`` receives h_i, ``squares`` h_i^2, and ``products`` h_i h.

    A query x steals the sample y of any owner if f_i(y) - f_x(y) is not below the margin f_i - f_owner of y, for any
    site i; here that of a site close to it. Differences are taken in float64 and only then rounded: queries and sites
    that nearly coincide lose no accuracy.

    Parameters
    ----------
    rows
        (m,) int64.
    firsts, sites
        (number of pieces + 1,) and (number of pieces,) int64: where each piece of ``rows`` starts, and the site that
        is close to it.
    query_a, query_b
        (n, r) and (n,).
    slopes, constants, close, highest, owner
        As in :func:`own_samples`.
    sums, squares, products
        (n, k) int64.
    """
    r, k, width = site_a.shape[1], site_a.shape[0], slopes.shape[1]
    n_sites = np.uint64(k)
    near = max(_NEAR // (width * LANES), 1)
    margins = np.empty((near, SIZE), np.float32)
    bits = np.empty((near, SIZE // 64), np.int64)
    hits, clusters, owners = np.empty((3, near * SIZE), np.uint64)
    places = np.empty(bits.size, np.uint64)
    in_cluster = np.zeros(near * LANES, np.int64)
    alike = np.zeros(near * LANES * k, np.uint8)
    longest = 0
    for p in range(sites.shape[0]):
        longest = max(longest, firsts[p + 1] - firsts[p])
    own_slopes = np.zeros((longest, width), np.float32)
    own_constants = np.empty(longest, np.float32)
    for p in range(sites.shape[0]):
        site = sites[p]
        n = firsts[p + 1] - firsts[p]
        for j in range(n):
            x = rows[firsts[p] + j]
            own_constants[j] = site_b[site] - query_b[x]
            for c in range(r):
                own_slopes[j, c] = query_a[x, c] - site_a[site, c]
        for group in range(0, blocks.shape[0], near):
            stop = min(group + near, blocks.shape[0])
            for b in range(group, stop):
                _write_margins(
                    blocks, b, site, site_a, site_b, slopes, constants, _EXACT_BELOW * close, highest[b], owner[b],
                    margins[b - group],
                )  # fmt: skip
            near_owner = owner[group:stop].ravel()
            for j in range(n):
                x = rows[firsts[p] + j]
                for b in range(group, stop):
                    compare_reflected(own_constants, own_slopes, j, blocks, b, margins[b - group], bits[b - group])
                n_hits = _list_hits(bits[: stop - group].ravel(), places, hits)
                for t in range(n_hits):
                    clusters[t] = hits[t] // _SIZE * _LANES + hits[t] % _LANES
                    in_cluster[clusters[t]] += 1
                    owners[t] = near_owner[hits[t]]
                for t in range(n_hits):
                    cluster, i = clusters[t], owners[t]
                    before = np.int64(alike[cluster * n_sites + i])
                    alike[cluster * n_sites + i] = before + 1
                    sums[x, i] += 1
                    squares[x, i] += 2 * before + 1
                    products[x, i] += in_cluster[cluster]
                for t in range(n_hits):
                    alike[clusters[t] * n_sites + owners[t]] = 0
                    in_cluster[clusters[t]] = 0


@jit()
def _list_hits(words: AnyArray, places: AnyArray, hits: AnyArray) -> int:
    """Write the places of the bits that are set in ``words`` to ``hits``, clear them, and return their number.

    Most words are empty and few have two bits: the processor would guess branches on them wrong.
    """
    n = 0
    for w in range(words.size):
        places[n] = w
        n += words[w] != 0
    n_hits = 0
    while n > 0:
        rest = 0
        for t in range(n):
            place = places[t]
            word = words[place]
            hits[n_hits + t] = place * np.uint64(64) + np.uint64(lowest_bit(word))
            word &= word - 1
            words[place] = word
            places[rest] = place
            rest += word != 0
        n_hits += n
        n = rest
    return n_hits


def empty_blocks(n: int, r: int) -> AnyArray:
    """Return room for blocks of base samples in r dimensions, at addresses where a vector lies in one cache line."""
    width = -(-r // GROUPS) * GROUPS
    size = n * width * LANES
    room = np.empty(size + LANES, np.float32)
    first = -room.ctypes.data // room.itemsize % LANES
    return room[first : first + size].reshape(n, width, LANES)
