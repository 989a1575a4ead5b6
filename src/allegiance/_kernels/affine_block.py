"""Some affine functions at a block of samples: the product in which sampling spends its time.

The value of function i at sample s of block b is
``constants[i] - blocks[b, 0, s] + sum_c slopes[i, c] * blocks[b, c + 1, s]``. All arrays are float32: ``constants``
(n,), ``slopes`` (n, r), ``blocks`` (number of blocks, r + 1, BLOCK), coordinate-major. Values are wanted for the
N_FUNCTIONS functions from ``first`` on and the first ``LANES * strips`` samples.

``add_stolen`` has it the other way round: queries stand side by side in vectors, and samples are read where they are,
row after row of (m, r), so that those chosen for a site need not be copied. ``queries[v, 0]`` and ``queries[v, c + 1]``
are the constants and slopes of VECTOR queries, less those of the site. The sample with number t of the list has the
place ``places[t]`` and a margin, an owner and a weight; what a query steals is added to
``counts[v, owner, 0]``, squares of weights to ``counts[v, owner, 1]``, int32.

``decide_stolen`` is the first stage of that where the processor multiplies pairs of small integers in one step
(AVX-512 VNNI): slopes and coordinates rounded to 16 bits, products summed in 32. ``units[v, 0]`` turns a constant into
such a sum, and a sum that is farther from zero than ``units[v, 1]`` has the sign of the product in single precision
(``banks._round_queries`` has the bound). For the others the number t is written to
``undecided[i, n_undecided[i]]``, for the vector v + i, and ``add_stolen`` decides. Both give the same bits.

``decide_row`` is that first stage for one query: its slopes, and the samples, are read in vectors along the
coordinates, so that no lane is idle where few queries share a site.

The product is written in LLVM IR, since Numba has no vector type: of a loop over samples it keeps the sums in memory,
which takes up to twice as long. How many sums fit into the registers depends on the processor. Each one is
taken coordinate after coordinate, so its bits do not.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

#: Samples in one block. A block of coordinates stays in the inner caches.
BLOCK = 256
_numba: Any = config


def _has(feature: str) -> bool:
    """Tell whether Numba compiles for processors with an instruction set: the host's, or that of its settings."""
    if _numba.CPU_FEATURES is None:
        return bool(binding.get_host_cpu_features().get(feature))
    return f"+{feature}" in _numba.CPU_FEATURES.split(",")


#: Samples summed at a time, and functions that share each load of a sample. AVX-512 has room for 16 vectors of sums and
#: needs more than six, or each sum would wait for the last one. Without AVX a vector has four numbers.
LANES, N_FUNCTIONS = (32, 8) if _has("avx512f") else (16, 6) if _has("avx2") else (8, 6)
#: Groups of so many samples in a block.
STRIPS = BLOCK // LANES

#: Classes of samples: one of class c counts 2**c times.
CLASSES = 8

#: Numbers in a vector register, and vectors of queries that are tested together.
VECTOR = LANES // 2
MANY = 3 if LANES == 32 else 2
#: Whether to use instructions by name: those that move numbers inside a vector of 16, and those that multiply pairs of
#: integers, so that these decide first.
WIDE = LANES == 32 and bool(_numba.ENABLE_AVX)
COARSE = WIDE and _has("avx512vnni")

_ONE = ir.VectorType(ir.FloatType(), VECTOR)
_COUNT = ir.IntType(32)
_COUNTS = ir.VectorType(_COUNT, VECTOR)
_SINGLE = ir.VectorType(ir.FloatType(), LANES)
_MASK = ir.IntType(LANES)
_INDEX = ir.IntType(64)
_FUSE = ("contract",)


class Call:
    """One call of an intrinsic: its arguments by name, and the builder of its code."""

    def __init__(self, context: Any, builder: Any, types_and_values: dict[str, tuple[Any, Any]]) -> None:
        self.context = context
        self.builder = builder
        self._arguments = types_and_values

    def number(self, name: str) -> Any:
        """Return the value of an argument that is a number."""
        return self._arguments[name][1]

    def pointer(self, name: str) -> Any:
        """Return where the numbers of an array start."""
        kind, value = self._arguments[name]
        # Through a slot, since a cast from numba's typed pointer to an opaque one is dropped as no change.
        slot = cgutils.alloca_once(self.builder, ir.PointerType())
        self.builder.store(self.context.make_array(kind)(self.context, self.builder, value).data, slot)
        return self.builder.load(slot, typ=ir.PointerType())

    def width(self, name: str, axis: int = 1) -> Any:
        """Return the length of an axis of an array."""
        kind, value = self._arguments[name]
        return self.builder.extract_value(self.context.make_array(kind)(self.context, self.builder, value).shape, axis)


def vector_intrinsic(result: Any = types.void, **dtypes: Any) -> Callable[[Callable[[Call], Any]], Any]:
    """Return a decorator that makes an intrinsic of a generator of code.

    Its arguments are arrays in C order of these dtypes, where None is any dtype, and numbers where the dtype is int.
    """

    def decorate(generate: Callable[[Call], Any]) -> Any:
        def declare(typing: Any, *arguments: Any) -> Any:
            for (name, dtype), kind in zip(dtypes.items(), arguments, strict=True):
                if dtype not in (int, None) and (kind.dtype != dtype or kind.layout != "C"):
                    raise TypeError(f"{name} must be {dtype} in C order, not {kind}")
            kinds = [
                types.int64 if dtype is int else kind for dtype, kind in zip(dtypes.values(), arguments, strict=True)
            ]

            def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                code = generate(Call(context, builder, dict(zip(dtypes, zip(kinds, values, strict=True), strict=True))))
                return context.get_dummy_value() if code is None else code

            return result(*kinds), lower

        # Numba reads the number of arguments from the signature.
        names = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *dtypes)]
        declare.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
        declare.__name__ = generate.__name__
        return intrinsic(declare)

    return decorate


_FUNCTIONS: dict[str, Any] = {
    "constants": types.float32,
    "slopes": types.float32,
    "first": int,
    "blocks": types.float32,
    "b": int,
    "strips": int,
}


@vector_intrinsic(**_FUNCTIONS, out=types.float32, row=int)
def write_values(call: Call) -> None:
    """Write the values to the rows of ``out`` from ``row`` on, float32 of BLOCK columns."""
    builder = call.builder
    rows = element(builder, call.pointer("out"), builder.mul(call.number("row"), _INDEX(BLOCK)))

    def use(strip: Any, values: list[Any]) -> None:
        for i, value in enumerate(values):
            at = builder.add(builder.mul(strip, _INDEX(LANES)), _INDEX(i * BLOCK))
            builder.store(value, element(builder, rows, at), align=4)

    _for_strips(call, use)


@vector_intrinsic(**_FUNCTIONS, hits=types.int64)
def count_signs(call: Call) -> None:
    """Write to ``hits[j]``, int64, how many values of function j are not negative."""
    builder = call.builder
    out = call.pointer("hits")
    counts = [cgutils.alloca_once(builder, _INDEX) for _ in range(N_FUNCTIONS)]
    for count in counts:
        builder.store(_INDEX(0), count)

    def use(strip: Any, values: list[Any]) -> None:
        for count, value in zip(counts, values, strict=True):
            n = builder.zext(builder.ctpop(_not_negative(builder, value)), _INDEX)
            builder.store(builder.add(builder.load(count, typ=_INDEX), n), count)

    _for_strips(call, use)
    for i, count in enumerate(counts):
        builder.store(builder.load(count, typ=_INDEX), element(builder, out, _INDEX(i), _INDEX))


def _stolen_test(n_vectors: int, *, by_integers: bool) -> Any:
    """Return the intrinsic that tests N_FUNCTIONS samples for ``n_vectors`` vectors of queries, and adds weights."""
    dtypes: dict[str, Any] = {
        "queries": types.float32,
        "v": int,
        "samples": types.int32 if by_integers else types.float32,
        "places": types.int64,
        "margins": types.float32,
        "owners": types.int64,
        "weights": types.int32,
        "t": int,
        "counts": types.int32,
    }
    if by_integers:
        dtypes |= {"slopes": types.int32, "units": types.float32, "undecided": types.int64, "n_undecided": types.int64}

    @vector_intrinsic(**dtypes)
    def test_stolen(call: Call) -> None:
        builder = call.builder
        kind = _COUNT if by_integers else ir.FloatType()
        vectors = [builder.add(call.number("v"), _INDEX(i)) for i in range(n_vectors)]
        numbers = [builder.add(call.number("t"), _INDEX(j)) for j in range(N_FUNCTIONS)]
        places, samples, width = call.pointer("places"), call.pointer("samples"), call.width("samples")
        rows = []
        for number in numbers:
            place = builder.load(element(builder, places, number, _INDEX), typ=_INDEX)
            rows.append(element(builder, samples, builder.mul(place, width), kind))
        margins = [_everywhere(builder, element(builder, call.pointer("margins"), number), _ONE) for number in numbers]
        tiles = _tiles(call, "queries", vectors)
        constants = [builder.load(tile, align=4, typ=_ONE) for tile in tiles]
        if by_integers:
            decide = _integer_decision(call, vectors, constants)
            sums = _integer_sums(builder, rows, _tiles(call, "slopes", vectors), width)
        else:
            starts = [[builder.fsub(constant, margin) for constant in constants] for margin in margins]
            sums = _sums(builder, starts, rows, tiles, VECTOR, width)
        zeros = ir.Constant(_ONE, [0.0] * VECTOR)
        for number, margin, totals in zip(numbers, margins, sums, strict=True):
            if by_integers:
                hits = [decide(i, number, margin, total) for i, total in enumerate(totals)]
            else:
                hits = [builder.fcmp_ordered(">=", value, zeros) for value in totals]
            _add_weights(call, number, vectors, hits)

    return test_stolen


def _tiles(call: Call, name: str, vectors: list[Any]) -> list[Any]:
    """Return where the rows of VECTOR numbers of some vectors start, in an array (vectors, width, VECTOR)."""
    builder, pointer = call.builder, call.pointer(name)
    size = builder.mul(call.width(name), _INDEX(VECTOR))
    return [element(builder, pointer, builder.mul(v, size)) for v in vectors]


def _integer_decision(call: Call, vectors: list[Any], constants: list[Any]) -> Callable[..., Any]:
    """Return the function that decides which queries of vector i hit a sample, and lists it if some are undecided."""
    builder = call.builder
    units = _tiles(call, "units", vectors)
    scales = [builder.load(unit, align=4, typ=_ONE) for unit in units]
    bounds = [builder.load(element(builder, unit, _INDEX(VECTOR)), align=4, typ=_ONE) for unit in units]
    undecided, lengths, width = call.pointer("undecided"), call.pointer("n_undecided"), call.width("undecided")

    def decide(i: int, number: Any, margin: Any, total: Any) -> Any:
        hits, certain = _decided(builder, builder.fsub(constants[i], margin), scales[i], total, bounds[i])
        known = builder.bitcast(certain, ir.IntType(VECTOR))
        unsure = builder.icmp_unsigned("!=", known, known.type(-1))
        with builder.if_then(unsure, likely=False):
            length = element(builder, lengths, _INDEX(i), _INDEX)
            n = builder.load(length, typ=_INDEX)
            at = builder.add(builder.mul(width, _INDEX(i)), n)
            builder.store(number, element(builder, undecided, at, _INDEX))
            builder.store(builder.add(n, _INDEX(1)), length)
        return builder.select(unsure, ir.Constant(hits.type, [0] * VECTOR), hits)

    return decide


def _integer_sums(builder: Any, rows: list[Any], columns: list[Any], pairs: Any) -> list[list[Any]]:
    """Return the sums over pairs of integers of row i times those of the vectors ``columns[j]``."""
    zeros = ir.Constant(_COUNTS, [0] * VECTOR)
    sums = [[cgutils.alloca_once_value(builder, zeros) for _ in columns] for _ in rows]
    with cgutils.for_range(builder, pairs) as pair:
        at = builder.mul(pair.index, _INDEX(VECTOR))
        vectors = [builder.load(element(builder, column, at, _COUNT), align=4, typ=_COUNTS) for column in columns]
        for row, totals in zip(rows, sums, strict=True):
            number = _everywhere(builder, element(builder, row, pair.index, _COUNT), _COUNTS)
            for vector, total in zip(vectors, totals, strict=True):
                builder.store(_add_pairs(builder, builder.load(total, typ=_COUNTS), vector, number), total)
    return [[builder.load(total, typ=_COUNTS) for total in totals] for totals in sums]


def _add_weights(call: Call, number: Any, vectors: list[Any], hits: list[Any]) -> None:
    """Add the weight of a sample, and its square, for the queries that hit it."""
    builder, counts, k = call.builder, call.pointer("counts"), call.width("counts")
    owner = builder.load(element(builder, call.pointer("owners"), number, _INDEX), typ=_INDEX)
    weight = builder.load(element(builder, call.pointer("weights"), number, _COUNT), typ=_COUNT)
    nothing = ir.Constant(_COUNTS, [0] * VECTOR)
    for v, hit in zip(vectors, hits, strict=True):
        place = builder.mul(builder.add(builder.mul(v, k), owner), _INDEX(2 * VECTOR))
        for i, add in enumerate((weight, builder.mul(weight, weight))):
            where = element(builder, counts, builder.add(place, _INDEX(i * VECTOR)), _COUNT)
            before = builder.load(where, align=4, typ=_COUNTS)
            some = builder.select(hit, splat(builder, add, _COUNTS), nothing)
            builder.store(builder.add(before, some), where, align=4)


@vector_intrinsic(
    types.int64, slopes=types.int32, units=types.float32, samples=types.int32, places=types.int64,
    margins=types.float32, t=int,
)  # fmt: skip
def decide_row(call: Call) -> Any:
    """Return bits for the VECTOR samples from t on: those that one query steals, and VECTOR places higher those undecided.

    ``slopes`` are whole vectors, zeros at the end; ``units`` are the constant, its factor, and the bound.
    """
    builder, t, width = call.builder, call.number("t"), call.width("samples")
    samples, places, slopes = (call.pointer(name) for name in ("samples", "places", "slopes"))
    steps = builder.udiv(call.width("slopes", 0), _INDEX(VECTOR))
    numbers = [builder.add(t, _INDEX(i)) for i in range(VECTOR)]
    at = [builder.load(element(builder, places, number, _INDEX), typ=_INDEX) for number in numbers]
    rows = [element(builder, samples, builder.mul(place, width), _COUNT) for place in at]
    # Half of the rows at a time: there are not more registers for their addresses.
    sums = [
        total
        for half in (rows[: VECTOR // 2], rows[VECTOR // 2 :])
        for total in _row_sums(builder, half, slopes, steps)
    ]
    step = 1
    while len(sums) > 1:
        # Two vectors become one, with the sums of pairs of their numbers side by side, until each lane has its own sum.
        lanes = range(VECTOR)
        sums = [
            builder.add(
                _shuffle(builder, *pair, [j + VECTOR - step if j & step else j for j in lanes]),
                _shuffle(builder, *pair, [j + VECTOR if j & step else j + step for j in lanes]),
            )
            for pair in zip(sums[::2], sums[1::2], strict=True)
        ]
        step *= 2
    constant, scale, bound = (
        _everywhere(builder, element(builder, call.pointer("units"), _INDEX(i)), _ONE) for i in range(3)
    )
    margin = builder.load(element(builder, call.pointer("margins"), t), align=4, typ=_ONE)
    hits, known = _decided(builder, builder.fsub(constant, margin), scale, sums[0], bound)
    masks = [builder.zext(builder.bitcast(mask, ir.IntType(VECTOR)), _INDEX) for mask in (hits, builder.not_(known))]
    return builder.or_(masks[0], builder.shl(masks[1], _INDEX(VECTOR)))


def _row_sums(builder: Any, rows: list[Any], other: Any, steps: Any) -> list[Any]:
    """Return vectors of partial sums of the products of pairs of integers of each row with another one."""
    zeros = ir.Constant(_COUNTS, [0] * VECTOR)
    sums = [cgutils.alloca_once(builder, _COUNTS) for _ in rows]
    for total in sums:
        builder.store(zeros, total)
    with cgutils.for_range(builder, steps) as step:
        first = builder.mul(step.index, _INDEX(VECTOR))
        vector = builder.load(element(builder, other, first, _COUNT), align=4, typ=_COUNTS)
        for row, total in zip(rows, sums, strict=True):
            numbers = builder.load(element(builder, row, first, _COUNT), align=4, typ=_COUNTS)
            builder.store(_add_pairs(builder, builder.load(total, typ=_COUNTS), vector, numbers), total)
    return [builder.load(total, typ=_COUNTS) for total in sums]


def _add_pairs(builder: Any, total: Any, one: Any, other: Any) -> Any:
    """Return a vector of sums, with the products of two vectors of pairs of integers added."""
    kind = ir.FunctionType(_COUNTS, [_COUNTS] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpwssd.512")
    return builder.call(function, [total, one, other])


def _decided(builder: Any, constants: Any, scales: Any, total: Any, bounds: Any) -> tuple[Any, Any]:
    """Return which values are not negative, and which are known: those whose sum of integers is beyond its bound."""
    start = builder.fmul(constants, scales, flags=_FUSE)
    value = builder.fadd(start, builder.sitofp(total, _ONE), flags=_FUSE)
    hits = builder.fcmp_ordered(">=", value, bounds)
    misses = builder.fcmp_ordered("<", value, builder.fneg(bounds))
    return hits, builder.or_(hits, misses)


@vector_intrinsic(types.int64, bits=int)
def lowest_bit(call: Call) -> Any:
    """Return the place of the lowest bit of a number that is not zero."""
    return call.builder.cttz(call.number("bits"), ir.IntType(1)(1))


@vector_intrinsic(samples=None, place=int)
def prefetch(call: Call) -> None:
    """Ask for a row of ``samples`` (m, r), of 4 bytes each, that the next loop reads: it would be waited for."""
    builder, r = call.builder, call.width("samples")
    row = element(builder, call.pointer("samples"), builder.mul(call.number("place"), r))
    kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(), *[ir.IntType(32)] * 3])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    line = 16
    lines = builder.udiv(builder.add(r, _INDEX(line - 1)), _INDEX(line))
    with cgutils.for_range(builder, lines) as each:
        where = element(builder, row, builder.mul(each.index, _INDEX(line)))
        builder.call(fetch, [where, *(ir.IntType(32)(number) for number in (0, 2, 1))])


@vector_intrinsic(
    types.int64,
    highest=types.float32, values=types.float32, limits=types.float32, places=types.uint8, classes=types.uint8,
    margins=types.float32,
)  # fmt: skip
def write_chosen(call: Call) -> Any:
    """Do what ``banks._choose`` does for a block, VECTOR samples at a time, and return how many are chosen."""
    builder = call.builder
    best, value, limit, margin_out = (call.pointer(name) for name in ("highest", "values", "limits", "margins"))
    bytes_out = [call.pointer(name) for name in ("places", "classes")]
    limits = [_everywhere(builder, element(builder, limit, _INDEX(c)), _ONE) for c in range(CLASSES)]
    few = ir.VectorType(ir.IntType(8), VECTOR)
    n: Any = _INDEX(0)
    for first in range(0, BLOCK, VECTOR):
        # Half of the places are of level 0, a quarter of level 1, and so on.
        left = [BLOCK - 1 - s for s in range(first, first + VECTOR)]
        levels = [min((BLOCK - 1).bit_length() - each.bit_length(), CLASSES - 1) for each in left]
        at_most = limits[levels[0]]
        for c in range(levels[0] + 1, levels[-1] + 1):
            lanes = [lane if levels[lane] < c else VECTOR + lane for lane in range(VECTOR)]
            at_most = _shuffle(builder, at_most, limits[c], lanes)
        margin = builder.fsub(
            *(builder.load(element(builder, each, _INDEX(first)), align=4, typ=_ONE) for each in (best, value))
        )
        chosen = builder.fcmp_ordered("<=", margin, at_most)
        code: Any = ir.Constant(_COUNTS, list(range(first, first + VECTOR)))
        for c in range(levels[-1]):
            above = builder.zext(builder.fcmp_ordered(">", margin, limits[c]), _COUNTS)
            code = builder.add(code, builder.shl(above, ir.Constant(_COUNTS, [8] * VECTOR)))
        margin, code = (_compressed(builder, each, chosen) for each in (margin, code))
        builder.store(margin, element(builder, margin_out, n), align=4)
        for i, out in enumerate(bytes_out):
            number = builder.lshr(code, ir.Constant(_COUNTS, [8 * i] * VECTOR))
            builder.store(builder.trunc(number, few), element(builder, out, n, few.element), align=1)
        n = builder.add(n, builder.zext(builder.ctpop(builder.bitcast(chosen, ir.IntType(VECTOR))), _INDEX))
    return n


def _compressed(builder: Any, vector: Any, mask: Any) -> Any:
    """Return the numbers under a mask one after the other. In registers: writing them out in one step is slow."""
    name = f"llvm.x86.avx512.mask.compress.v{VECTOR}{'f32' if vector.type == _ONE else 'i32'}"
    kind = ir.FunctionType(vector.type, [vector.type, vector.type, mask.type])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [vector, ir.Constant(vector.type, ir.Undefined), mask])


@vector_intrinsic(columns=None, c=int, first=int, rows=None)
def write_rows(call: Call) -> None:
    """Write VECTOR numbers of VECTOR columns, from c + 1 and ``first`` on, to the rows from ``first`` on, from c on."""
    builder, c, first = call.builder, call.number("c"), call.number("first")
    source, target, width = call.pointer("columns"), call.pointer("rows"), call.width("rows")
    vectors = []
    for i in range(VECTOR):
        at = builder.mul(builder.add(c, _INDEX(i + 1)), _INDEX(BLOCK))
        vectors.append(builder.load(element(builder, source, builder.add(at, first)), align=4, typ=_ONE))
    step = 1
    while step < VECTOR:
        # Of each two vectors, those numbers change places whose bit is not that of their vector.
        lanes = range(VECTOR)
        for i in (i for i in lanes if not i & step):
            pair = vectors[i], vectors[i + step]
            vectors[i] = _shuffle(builder, *pair, [j + VECTOR - step if j & step else j for j in lanes])
            vectors[i + step] = _shuffle(builder, *pair, [j + VECTOR if j & step else j + step for j in lanes])
        step *= 2
    for i, vector in enumerate(vectors):
        at = builder.add(builder.mul(builder.add(first, _INDEX(i)), width), c)
        builder.store(vector, element(builder, target, at), align=4)


def _shuffle(builder: Any, one: Any, other: Any, lanes: list[int]) -> Any:
    """Return the numbers of two vectors at these places; places from VECTOR on select from the second."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), lanes))


def _for_strips(call: Call, use: Callable[[Any, list[Any]], None]) -> None:
    """Sum the functions, LANES samples at a time, and hand the vectors of values to ``use``."""
    builder, r = call.builder, call.width("slopes")
    size = builder.mul(builder.add(r, _INDEX(1)), _INDEX(BLOCK))
    samples = element(builder, call.pointer("blocks"), builder.mul(call.number("b"), size))
    functions = [builder.add(call.number("first"), _INDEX(i)) for i in range(N_FUNCTIONS)]
    slopes, at = call.pointer("slopes"), call.pointer("constants")
    rows = [element(builder, slopes, builder.mul(function, r)) for function in functions]
    constants = [_everywhere(builder, element(builder, at, function), _SINGLE) for function in functions]
    with cgutils.for_range(builder, call.number("strips")) as strip:
        column = element(builder, samples, builder.mul(strip.index, _INDEX(LANES)))
        margins = builder.load(column, align=4, typ=_SINGLE)
        starts = [[builder.fsub(constant, margins)] for constant in constants]
        use(strip.index, [value for (value,) in _sums(builder, starts, rows, [column], BLOCK, r)])


def _sums(
    builder: Any, starts: list[list[Any]], rows: list[Any], columns: list[Any], stride: int, r: Any
) -> list[list[Any]]:
    """Add to ``starts[i][j]`` the products of row i, number after number, with the vectors of ``columns[j]``."""
    kind = starts[0][0].type
    sums = [[cgutils.alloca_once_value(builder, start) for start in some] for some in starts]
    with cgutils.for_range(builder, r) as axis:
        at = builder.mul(builder.add(axis.index, _INDEX(1)), _INDEX(stride))
        vectors = [builder.load(element(builder, column, at), align=4, typ=kind) for column in columns]
        for row, totals in zip(rows, sums, strict=True):
            number = _everywhere(builder, element(builder, row, axis.index), kind)
            for vector, total in zip(vectors, totals, strict=True):
                product = builder.fmul(number, vector, flags=_FUSE)
                builder.store(builder.fadd(product, builder.load(total, typ=kind), flags=_FUSE), total)
    return [[builder.load(total, typ=kind) for total in totals] for totals in sums]


def element(builder: Any, pointer: Any, index: Any, kind: Any = ir.FloatType()) -> Any:  # noqa: B008
    """Return where the number with this index is."""
    return builder.gep(pointer, [index], source_etype=kind)


def _everywhere(builder: Any, pointer: Any, vector: Any) -> Any:
    """Return a vector of the number at a place."""
    return splat(builder, builder.load(pointer, typ=vector.element), vector)


def splat(builder: Any, number: Any, vector: Any) -> Any:
    """Return a vector of one number."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _not_negative(builder: Any, values: Any) -> Any:
    """Return a bit for each value."""
    zeros = ir.Constant(_SINGLE, [0.0] * LANES)
    return builder.bitcast(builder.fcmp_ordered(">=", values, zeros), _MASK)


add_stolen, add_stolen_many = (_stolen_test(n, by_integers=False) for n in (1, MANY))
decide_stolen, decide_stolen_many = (_stolen_test(n, by_integers=True) for n in (1, MANY))
