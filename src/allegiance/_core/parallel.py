"""Threads over blocks of rows, and random streams that do not depend on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from .validation import AnyArray, RandomState

#: Rows below which another thread costs more than it brings.
_MIN_ROWS = 64
#: Blocks per thread, so that a slow block does not keep the others waiting.
_BLOCKS_PER_THREAD = 4
#: Multiplications below which a kernel is done before other threads have started.
_MIN_PRODUCTS = 2**24


def effective_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: None or -1 are all cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    if n_jobs is None:
        return available
    if n_jobs < 0:
        return max(1, available + 1 + n_jobs)
    return n_jobs


def kernel_ready(*arrays: AnyArray) -> list[AnyArray]:
    """Return arrays as kernels are compiled for: contiguous and writable, copied only if they are not.

    Read-only arrays, such as the memory maps in which joblib hands a fitted estimator to its workers, would otherwise
    make numba compile the kernel once more.
    """
    return [array if array.flags.carray else np.require(array, requirements=["C", "W"]) for array in arrays]


def slices(rows: int | slice, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows that cover so many rows, or a range of them."""
    start, stop = (0, rows) if isinstance(rows, int) else (rows.start, rows.stop)
    return (slice(first, min(first + size, stop)) for first in range(start, stop, size))


class Threads:
    """Threads that several calls of :func:`for_row_blocks` share, one after the other, in a ``with`` block.

    They live as long as the block, inside one call of the user, so nothing of them can be inherited by a forked
    process. Starting threads takes most of a millisecond; rounds of a few milliseconds should share them.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._pool = ThreadPoolExecutor(number)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def start(self, work: Callable[[slice], None], slices: list[slice]) -> Callable[[], Any]:
        """Begin to call ``work`` for all slices; return what waits for the end, or works with one thread or slice."""
        started = map(work, slices) if min(self.number, len(slices)) <= 1 else self._pool.map(work, slices)
        return lambda: list(started)

    def run(self, work: Callable[[slice], None], slices: list[slice]) -> None:
        """Call ``work`` for all slices, and wait."""
        self.start(work, slices)()


def row_blocks(
    n_rows: int, threads: int, *, blocks_per_thread: int = _BLOCKS_PER_THREAD, multiple: int = 1, least: int = _MIN_ROWS
) -> list[slice]:
    """Return slices that cover ``range(n_rows)``, each starting at a multiple of ``multiple``.

    There are as many as keep all threads busy, but none of much less than ``least`` rows.
    """
    blocks = max(min(threads * blocks_per_thread, n_rows // least), 1) if threads > 1 else 1
    size = max(-(-n_rows // blocks), 1)
    size = -(-size // multiple) * multiple
    return [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]


def for_row_blocks(
    work: Callable[[slice], None], n_rows: int, threads: int | Threads, *, products: float = np.inf, **blocks: int
) -> None:
    """Call ``work(rows)`` for the slices of :func:`row_blocks`, which takes the other arguments.

    ``work`` must write to its own rows only. Threads pay off because kernels release the GIL. Where the number of
    multiplications is known, ``products``, a small job stays in this thread.
    """
    number = threads if isinstance(threads, int) else threads.number
    slices = row_blocks(n_rows, number if products >= _MIN_PRODUCTS else 1, **blocks)
    if len(slices) == 1:
        work(slices[0])
    elif isinstance(threads, Threads):
        threads.run(work, slices)
    else:
        with Threads(number) as started:
            started.run(work, slices)


@cache
def thread_pools() -> Any:
    """Find the libraries with threads of their own: a search that takes longer than a small k-means."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def on_one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread, so that sums have the same bits on any machine."""
    return thread_pools().limit(limits=1)


def resolve_seed(random_state: RandomState) -> int:
    """Turn what the user passed as ``random_state`` into one integer that can be stored and replayed.

    An integer is kept; ``None`` takes fresh entropy; a ``Generator`` or ``RandomState`` is advanced by one draw.
    """
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ValueError(f"random_state must be a non-negative integer, got {random_state}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise TypeError(
        "random_state must be None, an integer, a numpy.random.Generator or a numpy.random.RandomState, "
        f"got {type(random_state).__name__}."
    )


def stream(seed: int, *key: int) -> np.random.Generator:
    """Return the generator of the stream named ``key`` under ``seed``.

    Streams with different keys are independent, and a stream does not depend on which others were used before it:
    that is what makes results the same for any thread count, chunk size and order of rows.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
