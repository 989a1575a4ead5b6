"""The one decorator for compiled functions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

#: Set ``ALLEGIANCE_CACHE=0`` where the package folder and the home folder are read-only, or to debug.
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
    No kernel uses ``parallel=True``: kernels release the GIL and :mod:`allegiance._threads` runs them on disjoint
    row blocks from ordinary threads. That is safe inside thread pools and forked workers, where numba's own threads
    may abort or hang, needs no serial twin, and compiles in half the time.
    """
    fastmath: Any = ({"contract"} if fuse else set()) | ({"reassoc"} if reorder else set()) or False
    decorator: Any = numba.njit(cache=CACHE, nogil=True, fastmath=fastmath)  # noqa: TID251
    return cast("Callable[[F], F]", decorator)
