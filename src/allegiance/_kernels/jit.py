"""The decorator that compiles every kernel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event

from allegiance._core.progress import remark

F = TypeVar("F", bound=Callable[..., Any])

#: Set ``ALLEGIANCE_CACHE=0`` to compile in every process.
CACHE = os.environ.get("ALLEGIANCE_CACHE", "1") != "0"
#: Time and size of each file whose code may be in a kernel.
_SOURCE_STAMP = tuple(
    (path.name, path.stat().st_mtime, path.stat().st_size) for path in sorted(Path(__file__).parent.glob("*.py"))
)
_warned = False


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
                _warn()
            else:
                with suppress(AttributeError):  # of other versions of numba, which would look at one file only
                    kernel._cache._cache_file._source_stamp = _SOURCE_STAMP
                return cast("F", kernel)
        return cast("F", numba.njit(**settings)(function))  # noqa: TID251

    return compile_on_first_call


def _warn() -> None:
    """Warn once for all kernels."""
    global _warned  # noqa: PLW0603
    if not _warned:
        _warned = True
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
