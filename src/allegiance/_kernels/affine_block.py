"""Some affine functions at a block of samples: the product in which sampling spends its time.

The value of function i at sample s of block b is
``constants[i] - blocks[b, 0, s] + sum_c slopes[i, c] * blocks[b, c + 1, s]``. All arrays are float32: ``constants``
(n,), ``slopes`` (n, r), ``blocks`` (number of blocks, r + 1, BLOCK), coordinate-major. Values are wanted for the
N_FUNCTIONS functions from ``first`` on and the first ``LANES * strips`` samples.

``add_stolen`` has it the other way round: queries stand side by side in vectors, and samples are read where they are,
row after row of (m, r), so that those chosen for a site need not be copied. ``queries[v, 0]`` and ``queries[v, c + 1]``
are the constants and slopes of VECTOR queries, less those of the site. The sample with number t of the list has the
place ``places[t]`` and a margin, an owner and a weight; what a query steals is added to
``found[v, owner, 0]``, squares of weights to ``found[v, owner, 1]``, int32.

``decide_stolen`` is the first stage of that where the processor multiplies pairs of small integers in one step
(AVX-512 VNNI): slopes and coordinates rounded to 16 bits, products summed in 32. ``units[v, 0]`` turns a constant into
such a sum, and a sum that is farther from zero than ``units[v, 1]`` has the sign of the product in single precision
(``banks._round_queries`` has the bound). For the others the number t is written to
``undecided[i, counts[i]]``, for the vector v + i, and ``add_stolen`` decides. Results are the same to the last bit.

The product is written in LLVM's language, since numba's knows no vectors: of a loop over samples it keeps the sums in
memory, which takes up to twice as long. How many sums fit into the registers depends on the processor. Each one is
taken coordinate after coordinate, so its bits do not.
"""

from __future__ import annotations

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


def _write_values(
    typing: Any, constants: Any, slopes: Any, first: Any, blocks: Any, b: Any, strips: Any, out: Any, row: Any
) -> Any:
    """Write the values to the rows of ``out`` from ``row`` on, float32 of BLOCK columns."""
    signature = types.void(constants, slopes, types.int64, blocks, types.int64, types.int64, out, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = array_pointer(context, builder, signature, arguments, 6, types.float32)
        rows = element(builder, rows, builder.mul(arguments[7], _INDEX(BLOCK)))

        def use(strip: Any, values: list[Any]) -> None:
            for i, value in enumerate(values):
                at = builder.add(builder.mul(strip, _INDEX(LANES)), _INDEX(i * BLOCK))
                builder.store(value, element(builder, rows, at), align=4)

        _for_strips(context, builder, signature, arguments, use)
        return context.get_dummy_value()

    return signature, generate


def _count_signs(
    typing: Any, constants: Any, slopes: Any, first: Any, blocks: Any, b: Any, strips: Any, hits: Any
) -> Any:
    """Write to ``hits[j]``, int64, how many values of function j are not negative."""
    signature = types.void(constants, slopes, types.int64, blocks, types.int64, types.int64, hits)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out = array_pointer(context, builder, signature, arguments, 6, types.int64)
        counts = [cgutils.alloca_once(builder, _INDEX) for _ in range(N_FUNCTIONS)]
        for count in counts:
            builder.store(_INDEX(0), count)

        def use(strip: Any, values: list[Any]) -> None:
            for count, value in zip(counts, values, strict=True):
                found = builder.zext(builder.ctpop(_not_negative(builder, value)), _INDEX)
                builder.store(builder.add(builder.load(count, typ=_INDEX), found), count)

        _for_strips(context, builder, signature, arguments, use)
        for i, count in enumerate(counts):
            builder.store(builder.load(count, typ=_INDEX), element(builder, out, _INDEX(i), _INDEX))
        return context.get_dummy_value()

    return signature, generate


def _add_stolen(n_vectors: int) -> Any:
    """Return the intrinsic for so many vectors of queries."""

    def add(
        typing: Any, queries: Any, v: Any, samples: Any, places: Any, margins: Any, owners: Any, weights: Any, t: Any,
        found: Any,
    ) -> Any:  # fmt: skip
        """Test N_FUNCTIONS samples, and add weights and their squares to what queries have found."""
        signature = types.void(queries, types.int64, samples, places, margins, owners, weights, types.int64, found)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = {
                i: array_pointer(context, builder, signature, arguments, i, dtype)
                for i, dtype in ((0, types.float32), (2, types.float32), (3, types.int64), (4, types.float32),
                                 (5, types.int64), (6, types.int32), (8, types.int32))
            }  # fmt: skip
            r = _columns(context, builder, signature, arguments, 2)
            k = _columns(context, builder, signature, arguments, 8)
            size = builder.mul(builder.add(r, _INDEX(1)), _INDEX(VECTOR))
            vectors = [builder.add(arguments[1], _INDEX(i)) for i in range(n_vectors)]
            tiles = [element(builder, pointers[0], builder.mul(v, size)) for v in vectors]
            numbers = [builder.add(arguments[7], _INDEX(j)) for j in range(N_FUNCTIONS)]
            places = [builder.load(element(builder, pointers[3], number, _INDEX), typ=_INDEX) for number in numbers]
            rows = [element(builder, pointers[2], builder.mul(place, r)) for place in places]
            margins = [_everywhere(builder, element(builder, pointers[4], number), _ONE) for number in numbers]
            constants = [builder.load(tile, align=4, typ=_ONE) for tile in tiles]
            starts = [[builder.fsub(constant, margin) for constant in constants] for margin in margins]
            zeros = ir.Constant(_ONE, [0.0] * VECTOR)
            for number, values in zip(numbers, _sums(builder, starts, rows, tiles, VECTOR, r), strict=True):
                hits = [builder.fcmp_ordered(">=", value, zeros) for value in values]
                _add_weights(builder, pointers[5], pointers[6], number, pointers[8], vectors, k, hits)
            return context.get_dummy_value()

        return signature, generate

    return add


def _decide_stolen(n_vectors: int) -> Any:
    """Return the intrinsic for so many vectors of queries."""

    def decide(
        typing: Any, queries: Any, slopes: Any, units: Any, v: Any, samples: Any, places: Any, margins: Any,
        owners: Any, weights: Any, t: Any, found: Any, undecided: Any, counts: Any,
    ) -> Any:  # fmt: skip
        """Test N_FUNCTIONS samples by integers, add what is certain, and write down which numbers are not."""
        signature = types.void(
            queries, slopes, units, types.int64, samples, places, margins, owners, weights, types.int64, found,
            undecided, counts,
        )  # fmt: skip

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = {
                i: array_pointer(context, builder, signature, arguments, i, dtype)
                for i, dtype in ((0, types.float32), (1, types.int32), (2, types.float32), (4, types.int32),
                                 (5, types.int64), (6, types.float32), (7, types.int64), (8, types.int32),
                                 (10, types.int32), (11, types.int64), (12, types.int64))
            }  # fmt: skip
            columns = {i: _columns(context, builder, signature, arguments, i) for i in (0, 4, 10, 11)}
            vectors = [builder.add(arguments[3], _INDEX(i)) for i in range(n_vectors)]
            tiles, scales, bounds, constants = [], [], [], []
            for v in vectors:
                at = builder.mul(v, builder.mul(columns[4], _INDEX(VECTOR)))
                tiles.append(element(builder, pointers[1], at, _COUNT))
                unit = element(builder, pointers[2], builder.mul(v, _INDEX(2 * VECTOR)))
                scales.append(builder.load(unit, align=4, typ=_ONE))
                bounds.append(builder.load(element(builder, unit, _INDEX(VECTOR)), align=4, typ=_ONE))
                at = builder.mul(v, builder.mul(columns[0], _INDEX(VECTOR)))
                constants.append(builder.load(element(builder, pointers[0], at), align=4, typ=_ONE))
            numbers = [builder.add(arguments[9], _INDEX(j)) for j in range(N_FUNCTIONS)]
            rows = []
            for number in numbers:
                place = builder.load(element(builder, pointers[5], number, _INDEX), typ=_INDEX)
                rows.append(element(builder, pointers[4], builder.mul(place, columns[4]), _COUNT))
            for number, totals in zip(numbers, _integer_sums(builder, rows, tiles, columns[4]), strict=True):
                margin = _everywhere(builder, element(builder, pointers[6], number), _ONE)
                hits = []
                for i, total in enumerate(totals):
                    start = builder.fmul(builder.fsub(constants[i], margin), scales[i], flags=_FUSE)
                    value = builder.fadd(start, builder.sitofp(total, _ONE), flags=_FUSE)
                    hits.append(builder.fcmp_ordered(">=", value, bounds[i]))
                    missed = builder.fcmp_ordered("<", value, builder.fneg(bounds[i]))
                    known = builder.bitcast(builder.or_(hits[-1], missed), ir.IntType(VECTOR))
                    unsure = builder.icmp_unsigned("!=", known, known.type(-1))
                    with builder.if_then(unsure, likely=False):
                        count = element(builder, pointers[12], _INDEX(i), _INDEX)
                        n = builder.load(count, typ=_INDEX)
                        at = builder.add(builder.mul(columns[11], _INDEX(i)), n)
                        builder.store(number, element(builder, pointers[11], at, _INDEX))
                        builder.store(builder.add(n, _INDEX(1)), count)
                    hits[-1] = builder.select(unsure, ir.Constant(hits[-1].type, [0] * VECTOR), hits[-1])
                _add_weights(builder, pointers[7], pointers[8], number, pointers[10], vectors, columns[10], hits)
            return context.get_dummy_value()

        return signature, generate

    return decide


def _integer_sums(builder: Any, rows: list[Any], columns: list[Any], pairs: Any) -> list[list[Any]]:
    """Return the sums over pairs of integers of row i times those of the vectors ``columns[j]``."""
    kind = ir.FunctionType(_COUNTS, [_COUNTS] * 3)
    multiply = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpdpwssd.512")
    zeros = ir.Constant(_COUNTS, [0] * VECTOR)
    sums = [[cgutils.alloca_once_value(builder, zeros) for _ in columns] for _ in rows]
    with cgutils.for_range(builder, pairs) as pair:
        at = builder.mul(pair.index, _INDEX(VECTOR))
        vectors = [builder.load(element(builder, column, at, _COUNT), align=4, typ=_COUNTS) for column in columns]
        for row, totals in zip(rows, sums, strict=True):
            number = _everywhere(builder, element(builder, row, pair.index, _COUNT), _COUNTS)
            for vector, total in zip(vectors, totals, strict=True):
                builder.store(builder.call(multiply, [builder.load(total, typ=_COUNTS), vector, number]), total)
    return [[builder.load(total, typ=_COUNTS) for total in totals] for totals in sums]


def _add_weights(
    builder: Any, owners: Any, weights: Any, number: Any, found: Any, vectors: list[Any], k: Any, hits: list[Any]
) -> None:
    """Add the weight of a sample, and its square, for the queries that hit it."""
    owner = builder.load(element(builder, owners, number, _INDEX), typ=_INDEX)
    weight = builder.load(element(builder, weights, number, _COUNT), typ=_COUNT)
    nothing = ir.Constant(_COUNTS, [0] * VECTOR)
    for v, hit in zip(vectors, hits, strict=True):
        place = builder.mul(builder.add(builder.mul(v, k), owner), _INDEX(2 * VECTOR))
        for i, add in enumerate((weight, builder.mul(weight, weight))):
            where = element(builder, found, builder.add(place, _INDEX(i * VECTOR)), _COUNT)
            before = builder.load(where, align=4, typ=_COUNTS)
            some = builder.select(hit, splat(builder, add, _COUNTS), nothing)
            builder.store(builder.add(before, some), where, align=4)


def _prefetch(typing: Any, samples: Any, place: Any) -> Any:
    """Ask for a row of ``samples`` (m, r), of 4 bytes each, that the next loop reads: it would be waited for."""
    signature = types.void(samples, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = array_pointer(context, builder, signature, arguments, 0, signature.args[0].dtype)
        r = _columns(context, builder, signature, arguments, 0)
        row = element(builder, start, builder.mul(arguments[1], r))
        kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(), *[ir.IntType(32)] * 3])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        line = 16
        lines = builder.udiv(builder.add(r, _INDEX(line - 1)), _INDEX(line))
        with cgutils.for_range(builder, lines) as each:
            where = element(builder, row, builder.mul(each.index, _INDEX(line)))
            builder.call(fetch, [where, *(ir.IntType(32)(number) for number in (0, 2, 1))])
        return context.get_dummy_value()

    return signature, generate


def _write_chosen(typing: Any, highest: Any, values: Any, limits: Any, places: Any, classes: Any, margins: Any) -> Any:
    """Do what ``banks._choose`` does for a block, VECTOR samples at a time, and return how many are chosen."""
    signature = types.int64(highest, values, limits, places, classes, margins)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        best, value, limit, margin_out = (
            array_pointer(context, builder, signature, arguments, i, types.float32) for i in (0, 1, 2, 5)
        )
        bytes_out = [array_pointer(context, builder, signature, arguments, i, types.uint8) for i in (3, 4)]
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
                at_most = _shuffled(builder, at_most, limits[c], lanes)
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

    return signature, generate


def _compressed(builder: Any, vector: Any, mask: Any) -> Any:
    """Return the numbers under a mask one after the other. In registers: writing them out in one step is slow."""
    name = f"llvm.x86.avx512.mask.compress.v{VECTOR}{'f32' if vector.type == _ONE else 'i32'}"
    kind = ir.FunctionType(vector.type, [vector.type, vector.type, mask.type])
    function = cgutils.get_or_insert_function(builder.module, kind, name)
    return builder.call(function, [vector, ir.Constant(vector.type, ir.Undefined), mask])


def _write_rows(typing: Any, columns: Any, c: Any, first: Any, rows: Any) -> Any:
    """Write VECTOR numbers of VECTOR columns, from c + 1 and ``first`` on, to the rows from ``first`` on, from c on."""
    signature = types.void(columns, types.int64, types.int64, rows)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, target = (
            array_pointer(context, builder, signature, arguments, i, signature.args[i].dtype) for i in (0, 3)
        )
        width = _columns(context, builder, signature, arguments, 3)
        vectors = []
        for i in range(VECTOR):
            at = builder.mul(builder.add(arguments[1], _INDEX(i + 1)), _INDEX(BLOCK))
            vectors.append(builder.load(element(builder, source, builder.add(at, arguments[2])), align=4, typ=_ONE))
        step = 1
        while step < VECTOR:
            # Of each two vectors, those numbers change places whose bit is not that of their vector.
            lanes = range(VECTOR)
            for i in (i for i in lanes if not i & step):
                pair = vectors[i], vectors[i + step]
                vectors[i] = _shuffled(builder, *pair, [j + VECTOR - step if j & step else j for j in lanes])
                vectors[i + step] = _shuffled(builder, *pair, [j + VECTOR if j & step else j + step for j in lanes])
            step *= 2
        for i, vector in enumerate(vectors):
            at = builder.add(builder.mul(builder.add(arguments[2], _INDEX(i)), width), arguments[1])
            builder.store(vector, element(builder, target, at), align=4)
        return context.get_dummy_value()

    return signature, generate


def _shuffled(builder: Any, one: Any, other: Any, lanes: list[int]) -> Any:
    """Return the numbers of two vectors with these places, those of the other one counted on."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), lanes))


def _for_strips(
    context: Any, builder: Any, signature: Any, arguments: Any, use: Callable[[Any, list[Any]], None]
) -> None:
    """Sum the functions at LANES samples after the other, and hand the vectors of values to ``use``."""
    constants, slopes, samples = (
        array_pointer(context, builder, signature, arguments, i, types.float32) for i in (0, 1, 3)
    )
    first, block, strips = arguments[2], arguments[4], arguments[5]
    r = _columns(context, builder, signature, arguments, 1)
    size = builder.mul(builder.add(r, _INDEX(1)), _INDEX(BLOCK))
    samples = element(builder, samples, builder.mul(block, size))
    functions = [builder.add(first, _INDEX(i)) for i in range(N_FUNCTIONS)]
    rows = [element(builder, slopes, builder.mul(function, r)) for function in functions]
    constants = [_everywhere(builder, element(builder, constants, function), _SINGLE) for function in functions]
    with cgutils.for_range(builder, strips) as strip:
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


def array_pointer(context: Any, builder: Any, signature: Any, arguments: Any, place: int, dtype: Any) -> Any:
    """Return where the numbers of an array start; of another dtype or layout they would not be where they are read."""
    array = signature.args[place]
    if array.dtype != dtype or array.layout != "C":
        raise TypeError(f"argument {place} must be {dtype} in C order, not {array}")
    # Through a slot, since a cast from numba's typed pointer to an opaque one is dropped as no change.
    slot = cgutils.alloca_once(builder, ir.PointerType())
    builder.store(context.make_array(array)(context, builder, arguments[place]).data, slot)
    return builder.load(slot, typ=ir.PointerType())


def _columns(context: Any, builder: Any, signature: Any, arguments: Any, place: int) -> Any:
    return builder.extract_value(context.make_array(signature.args[place])(context, builder, arguments[place]).shape, 1)


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


write_values: Any = intrinsic(_write_values)
add_stolen: Any = intrinsic(_add_stolen(1))
add_stolen_many: Any = intrinsic(_add_stolen(MANY))
decide_stolen: Any = intrinsic(_decide_stolen(1))
decide_stolen_many: Any = intrinsic(_decide_stolen(MANY))
count_signs: Any = intrinsic(_count_signs)
prefetch: Any = intrinsic(_prefetch)
write_chosen: Any = intrinsic(_write_chosen)
write_rows: Any = intrinsic(_write_rows)
