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
LANES, N_FUNCTIONS = (32, 8) if _has("avx512f") else (16, 6) if _has("avx") else (8, 6)
#: Groups of so many samples in a block.
STRIPS = BLOCK // LANES

#: Numbers in a vector register.
VECTOR = LANES // 2

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


@vector_intrinsic(types.int64, bits=int)
def lowest_bit(call: Call) -> Any:
    """Return the place of the lowest bit of a number that is not zero."""
    return call.builder.cttz(call.number("bits"), ir.IntType(1)(1))


def _for_strips(call: Call, use: Callable[[Any, list[Any]], None]) -> None:
    """Sum the functions, LANES samples at a time, and hand the vectors of values to ``use``."""
    builder, r = call.builder, call.width("slopes")
    size = builder.mul(builder.add(r, _INDEX(1)), _INDEX(BLOCK))
    samples = element(builder, call.pointer("blocks"), builder.mul(call.number("b"), size))
    functions = [builder.add(call.number("first"), _INDEX(i)) for i in range(N_FUNCTIONS)]
    slopes, at = call.pointer("slopes"), call.pointer("constants")
    rows = [element(builder, slopes, builder.mul(function, r)) for function in functions]
    constants = [everywhere(builder, element(builder, at, function), _SINGLE) for function in functions]
    with cgutils.for_range(builder, call.number("strips")) as strip:
        column = element(builder, samples, builder.mul(strip.index, _INDEX(LANES)))
        margins = builder.load(column, align=4, typ=_SINGLE)
        sums = [cgutils.alloca_once_value(builder, builder.fsub(constant, margins)) for constant in constants]
        with cgutils.for_range(builder, r) as axis:
            at = builder.mul(builder.add(axis.index, _INDEX(1)), _INDEX(BLOCK))
            vector = builder.load(element(builder, column, at), align=4, typ=_SINGLE)
            for row, total in zip(rows, sums, strict=True):
                number = everywhere(builder, element(builder, row, axis.index), _SINGLE)
                product = builder.fmul(number, vector, flags=_FUSE)
                builder.store(builder.fadd(product, builder.load(total, typ=_SINGLE), flags=_FUSE), total)
        use(strip.index, [builder.load(total, typ=_SINGLE) for total in sums])


def element(builder: Any, pointer: Any, index: Any, kind: Any = ir.FloatType()) -> Any:  # noqa: B008
    """Return where the number with this index is."""
    return builder.gep(pointer, [index], source_etype=kind)


def everywhere(builder: Any, pointer: Any, vector: Any) -> Any:
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
