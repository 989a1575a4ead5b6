"""The one decorator for compiled functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

from ._cache import cache_for

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
