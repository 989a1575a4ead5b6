"""Compiled kernels on disk: a cache that may be absent, read-only, full or damaged."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, NullCache

from allegiance._core import remark

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
