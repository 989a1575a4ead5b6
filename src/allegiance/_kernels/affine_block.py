"""Some affine functions at a block of samples: the product in which sampling spends its time.

The value of function i at sample s of block b is
``constants[i] - blocks[b, 0, s] + sum_c slopes[i, c] * blocks[b, c + 1, s]``. All arrays are float32: ``constants``
(n,), ``slopes`` (n, r), ``blocks`` (number of blocks, r + 1, BLOCK), coordinate-major. Values are wanted for the
N_FUNCTIONS functions from ``first`` on and the first ``LANES * strips`` samples.

The product is written in LLVM IR, since Numba has no vector type: of a loop over samples it keeps the sums in memory,
which takes up to twice as long. How many sums fit into the registers depends on the processor. Each one is
taken coordinate after coordinate, so its bits do not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .jit import Call, element, has_feature, splat, vector_intrinsic

#: Samples in one block. A block of coordinates stays in the inner caches.
BLOCK = 256
#: Samples summed at a time, and functions that share each load of a sample. AVX-512 has room for 16 vectors of sums and
#: needs more than six, or each sum would wait for the last one. Without AVX a vector has four numbers.
LANES, N_FUNCTIONS = (32, 8) if has_feature("avx512f") else (16, 6) if has_feature("avx") else (8, 6)
#: Groups of so many samples in a block.
STRIPS = BLOCK // LANES

#: Numbers in a vector register.
VECTOR = LANES // 2

_SINGLE = ir.VectorType(ir.FloatType(), LANES)
_INDEX = ir.IntType(64)
_FUSE = ("contract",)


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

    def store_values(strip: Any, values: list[Any]) -> None:
        for i, value in enumerate(values):
            at = builder.add(builder.mul(strip, _INDEX(LANES)), _INDEX(i * BLOCK))
            builder.store(value, element(builder, rows, at), align=4)

    _for_strips(call, store_values)


@vector_intrinsic(**_FUNCTIONS, hits=types.int64)
def count_signs(call: Call) -> None:
    """Write to ``hits[j]``, int64, at how many samples of a block affine function j is not negative."""
    builder = call.builder
    out, zeros = call.pointer("hits"), ir.Constant(_SINGLE, [0.0] * LANES)
    counts = [cgutils.alloca_once(builder, _INDEX) for _ in range(N_FUNCTIONS)]
    for count in counts:
        builder.store(_INDEX(0), count)

    def use(strip: Any, values: list[Any]) -> None:
        for count, value in zip(counts, values, strict=True):
            signs = builder.bitcast(builder.fcmp_ordered(">=", value, zeros), ir.IntType(LANES))
            n = builder.zext(builder.ctpop(signs), _INDEX)
            builder.store(builder.add(builder.load(count, typ=_INDEX), n), count)

    _for_strips(call, use)
    for i, count in enumerate(counts):
        builder.store(builder.load(count, typ=_INDEX), element(builder, out, _INDEX(i), _INDEX))


def _for_strips(call: Call, use: Callable[[Any, list[Any]], None]) -> None:
    """Sum affine functions at LANES samples of a block at a time, and hand the vectors of values to ``use``."""
    builder, r = call.builder, call.width("slopes")
    size = builder.mul(builder.add(r, _INDEX(1)), _INDEX(BLOCK))
    samples = element(builder, call.pointer("blocks"), builder.mul(call.number("b"), size))
    functions = [builder.add(call.number("first"), _INDEX(i)) for i in range(N_FUNCTIONS)]
    slopes, at = call.pointer("slopes"), call.pointer("constants")
    rows = [element(builder, slopes, builder.mul(function, r)) for function in functions]
    constants = [
        splat(builder, builder.load(element(builder, at, function), typ=ir.FloatType()), _SINGLE)
        for function in functions
    ]
    with cgutils.for_range(builder, call.number("strips")) as strip:
        column = element(builder, samples, builder.mul(strip.index, _INDEX(LANES)))
        margins = builder.load(column, align=4, typ=_SINGLE)
        sums = [cgutils.alloca_once_value(builder, builder.fsub(constant, margins)) for constant in constants]
        with cgutils.for_range(builder, r) as axis:
            at = builder.mul(builder.add(axis.index, _INDEX(1)), _INDEX(BLOCK))
            vector = builder.load(element(builder, column, at), align=4, typ=_SINGLE)
            for row, total in zip(rows, sums, strict=True):
                number = builder.load(element(builder, row, axis.index), typ=ir.FloatType())
                product = builder.fmul(splat(builder, number, _SINGLE), vector, flags=_FUSE)
                builder.store(builder.fadd(product, builder.load(total, typ=_SINGLE), flags=_FUSE), total)
        use(strip.index, [builder.load(total, typ=_SINGLE) for total in sums])
