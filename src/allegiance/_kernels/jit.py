"""The decorators that compile kernels, and intrinsics from generators of LLVM IR."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils, config, event
from numba.extending import intrinsic

from allegiance._core.progress import remark

F = TypeVar("F", bound=Callable[..., Any])

#: Set ``ALLEGIANCE_CACHE=0`` to compile in every process.
CACHE = os.environ.get("ALLEGIANCE_CACHE", "1") != "0"
#: Time and size of each file whose code may be in a kernel.
_SOURCE_STAMP = tuple(
    (path.name, path.stat().st_mtime, path.stat().st_size) for path in sorted(Path(__file__).parent.glob("*.py"))
)
_config: Any = config


def jit(*, fuse: bool = False, reorder: bool = False, inline: bool = False) -> Callable[[F], F]:
    """Compile a kernel: cached on disk, without the GIL, in strict floating-point arithmetic.

    Only kernels that never feed a rounded number back into themselves may ask for less: in a Markov chain one changed
    bit changes the whole chain. What is allowed is decided when the kernel is compiled, the same for every row.

    Parameters
    ----------
    fuse
        Allow a multiplication and an addition to be rounded once.
    reorder
        Allow the terms of a sum to be added in another order, so that it can be vectorised.
    inline
        Write the function out where it is called: a loop that calls one is not vectorised.

    Notes
    -----
    No kernel uses ``parallel=True``: kernels release the GIL and :func:`allegiance._core.for_row_blocks` runs them on
    disjoint row blocks from ordinary threads. That is safe inside thread pools and forked workers, where numba's own
    threads may abort or hang, needs no serial twin, and compiles in half the time. A division by zero gives inf or nan,
    as in NumPy: a check that raises would keep loops from being vectorised.

    A cached kernel is compiled again after a change of any file in this folder, since code of one file is compiled
    into kernels of others.
    """
    fastmath: Any = ({"contract"} if fuse else set()) | ({"reassoc"} if reorder else set()) or False
    settings: Any = {"nogil": True, "fastmath": fastmath, "error_model": "numpy"}
    if inline:
        settings["inline"] = "always"

    def compile_on_first_call(function: F) -> F:
        if CACHE:
            try:
                kernel: Any = numba.njit(cache=True, **settings)(function)  # noqa: TID251
            except RuntimeError:  # from numba, where no folder can be written to
                _warn_once()
            else:
                with suppress(AttributeError):  # of other versions of numba, which would look at one file only
                    kernel._cache._cache_file._source_stamp = _SOURCE_STAMP
                return cast("F", kernel)
        return cast("F", numba.njit(**settings)(function))  # noqa: TID251

    return compile_on_first_call


@cache
def _warn_once() -> None:
    """Warn once for all kernels that they are not cached."""
    warnings.warn(
        "Compiled kernels are not cached, because neither the package folder nor the user's cache is writable. "
        "Every process will compile them, which takes a few seconds. Set NUMBA_CACHE_DIR to a writable folder.",
        RuntimeWarning,
        stacklevel=2,
    )


class _Remark(event.Listener):
    """Says once, to a user who watches, why the first call takes longer than the next ones."""

    said = False

    def on_start(self, event: Any) -> None:
        """Remark on the first compilation of a kernel."""
        kernel = getattr(event.data.get("dispatcher"), "py_func", None)
        if not self.said and getattr(kernel, "__module__", "").startswith(__package__):
            self.said = remark("Compiling kernels. This takes a few seconds, and only the first time.")

    def on_end(self, event: Any) -> None:
        """Ignore the end of a compilation."""


event.register("numba:compile", _Remark())


def has_feature(feature: str) -> bool:
    """Tell whether Numba compiles for processors with an instruction set: the host's, or that of its settings."""
    if _config.CPU_FEATURES is None:
        return bool(binding.get_host_cpu_features().get(feature))
    return f"+{feature}" in _config.CPU_FEATURES.split(",")


class Call:
    """One call of an intrinsic: its arguments by name, and the builder of its code."""

    def __init__(self, context: Any, builder: Any, types_and_values: dict[str, tuple[Any, Any]]) -> None:
        self.context = context
        self.builder = builder
        self._arguments = types_and_values

    def number(self, name: str) -> Any:
        """Return the code of an argument of an intrinsic that is a number."""
        return self._arguments[name][1]

    def pointer(self, name: str) -> Any:
        """Return a pointer to the numbers of an array that is an argument of an intrinsic."""
        kind, value = self._arguments[name]
        # Through a slot, since a cast from numba's typed pointer to an opaque one is dropped as no change.
        slot = cgutils.alloca_once(self.builder, ir.PointerType())
        self.builder.store(self.context.make_array(kind)(self.context, self.builder, value).data, slot)
        return self.builder.load(slot, typ=ir.PointerType())

    def width(self, name: str, axis: int = 1) -> Any:
        """Return the length of an axis of an array that is an argument of an intrinsic."""
        kind, value = self._arguments[name]
        return self.builder.extract_value(self.context.make_array(kind)(self.context, self.builder, value).shape, axis)


def vector_intrinsic(result: Any = types.void, **dtypes: Any) -> Callable[[Callable[[Call], Any]], Any]:
    """Return a decorator that makes an intrinsic of a generator of code.

    Its arguments are arrays in C order of these dtypes, where None is any dtype, and numbers where the dtype is int.
    """

    def decorate(generate: Callable[[Call], Any]) -> Any:
        def declare(typing: Any, *arguments: Any) -> Any:
            """Tell Numba the types of an intrinsic, and how to compile it."""
            for (name, dtype), kind in zip(dtypes.items(), arguments, strict=True):
                if dtype not in (int, None) and (kind.dtype != dtype or kind.layout != "C"):
                    raise TypeError(f"{name} must be {dtype} in C order, not {kind}")
            kinds = [
                types.int64 if dtype is int else kind for dtype, kind in zip(dtypes.values(), arguments, strict=True)
            ]

            def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
                """Generate the code of one call of an intrinsic."""
                code = generate(Call(context, builder, dict(zip(dtypes, zip(kinds, values, strict=True), strict=True))))
                return context.get_dummy_value() if code is None else code

            return result(*kinds), lower

        # Numba reads the number of arguments from the signature.
        names = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("typing", *dtypes)]
        declare.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
        declare.__name__ = generate.__name__
        return intrinsic(declare)

    return decorate


@vector_intrinsic(types.int64, bits=int)
def lowest_bit(call: Call) -> Any:
    """Return the place of the lowest bit of a number that is not zero: an intrinsic of most processors."""
    return call.builder.cttz(call.number("bits"), ir.IntType(1)(1))


def element(builder: Any, pointer: Any, index: Any, kind: Any = ir.FloatType()) -> Any:  # noqa: B008
    """Return where the number with this index is."""
    return builder.gep(pointer, [index], source_etype=kind)


def splat(builder: Any, number: Any, vector: Any) -> Any:
    """Return a vector of one number."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)
