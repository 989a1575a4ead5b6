"""The decorator that compiles every kernel."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler_lock import global_compiler_lock

from allegiance._core import remark

F = TypeVar("F", bound=Callable[..., Any])

#: Set ``ALLEGIANCE_CACHE=0`` to compile anew in every process.
CACHE = os.environ.get("ALLEGIANCE_CACHE", "1") != "0"


def jit(*, fuse: bool = False, reorder: bool = False) -> Callable[[F], F]:
    """Compile a kernel: cached on disk, without the GIL, in strict floating-point arithmetic.

    Only kernels that never feed a rounded number back into themselves may ask for less: in a Markov chain one changed
    bit changes the whole chain. What is allowed is decided when the kernel is compiled, the same for every row.

    Parameters
    ----------
    fuse
        Allow a multiplication and an addition to be rounded once.
    reorder
        Allow the terms of a sum to be added in another order, so that it can be vectorised.

    Notes
    -----
    No kernel uses ``parallel=True``: kernels release the GIL and :func:`allegiance._core.for_row_blocks` runs them on
    disjoint row blocks from ordinary threads. That is safe inside thread pools and forked workers, where numba's own
    threads may abort or hang, needs no serial twin, and compiles in half the time. A division by zero gives inf or nan,
    as in NumPy: a check that raises would keep loops from being vectorised.
    """
    fastmath: Any = ({"contract"} if fuse else set()) | ({"reassoc"} if reorder else set()) or False
    compiler: Any = numba.njit(nogil=True, fastmath=fastmath, error_model="numpy")  # noqa: TID251

    def compile_on_first_call(function: F) -> F:
        dispatcher = compiler(function)
        if CACHE:
            dispatcher._cache = cache_for(function)
        return cast("F", dispatcher)

    return compile_on_first_call


if hasattr(os, "register_at_fork"):
    # A process must not be forked while another of its threads compiles: the child could never compile anything.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


#: What reading a damaged file raises: unpickling one may call for anything.
_DAMAGED = (pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError)
_noted = False
_remarked = False


def cache_for(function: Callable[..., Any]) -> Any:
    """Return the cache of a kernel; one that holds nothing, with one warning, where no folder can be written to."""
    try:
        return KernelCache(function)
    except (RuntimeError, OSError):
        _note("neither the folder of the package nor that of the user's cache can be written to")
        return NullCache()


def cache_folder() -> str | None:
    """Return the folder in which compiled kernels are kept; None if no folder can be written to."""
    # Of any function of this package: the choice depends on where its file lies.
    folder: str | None = cache_for(cache_folder).cache_path
    return folder


class KernelCache(FunctionCache):
    """numba's cache of one function, which compiles again where the file is damaged, and goes on where it cannot write.

    numba itself would raise whatever reading or writing the file raised, and would go on using a kernel although a
    function that is compiled into it has changed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = _stamp_of_all_kernels()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function from the disk; None if it is not there, or damaged."""
        try:
            found = super().load_overload(sig, target_context)
            if found is None:
                _remark()
            return found
        except (*_DAMAGED, MemoryError, OSError):
            # An empty index: saving reads it first, and would fail as loading did.
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, if there is room."""
        try:
            super().save_overload(sig, data)
        except (*_DAMAGED, OSError) as error:
            _note(f"{self.cache_path} cannot be written to ({error})")


@cache
def _stamp_of_all_kernels() -> str:
    """Return a digest of all files of kernels."""
    sources = (path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return sha256(b"".join(sources)).hexdigest()


def _remark() -> None:
    """Say once, to a user who watches, why the first call takes longer than the next ones."""
    global _remarked  # noqa: PLW0603
    _remarked = _remarked or remark(
        "Kernels are compiled for their first use, which takes some seconds, and kept for the next time."
    )


def _note(reason: str) -> None:
    global _noted  # noqa: PLW0603
    if _noted:
        return
    _noted = True
    warnings.warn(
        f"Compiled kernels are not kept: {reason}. Every process will compile them anew, which takes some seconds. Set "
        "NUMBA_CACHE_DIR to a folder that can be written to.",
        RuntimeWarning,
        stacklevel=2,
    )
