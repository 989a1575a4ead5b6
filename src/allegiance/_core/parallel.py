"""Threads over row blocks, and random streams that do not depend on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from .validation import AnyArray, RandomState

#: Rows below which another thread does not pay off.
_MIN_ROWS = 64
#: Blocks per thread, to balance slow and fast blocks.
_BLOCKS_PER_THREAD = 4
#: Multiplications below which a kernel finishes before other threads start.
_MIN_PRODUCTS = 2**24


def effective_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``; None or -1 means all cores available to this process."""
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
    """Return contiguous, writable arrays: numba would compile again for the read-only ones of joblib's workers."""
    return [array if array.flags.carray else np.require(array, requirements=["C", "W"]) for array in arrays]


def slices(rows: int | slice, size: int) -> Iterator[slice]:
    """Yield slices of at most ``size`` rows that cover a number of rows, or a range of rows."""
    start, stop = (0, rows) if isinstance(rows, int) else (rows.start, rows.stop)
    return (slice(first, min(first + size, stop)) for first in range(start, stop, size))


class Threads:
    """A thread pool for several calls of :func:`for_row_blocks`: starting threads takes most of a millisecond."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._pool = ThreadPoolExecutor(number)

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def run(self, work: Callable[[slice], None], slices: list[slice]) -> None:
        """Call ``work`` for all slices, and wait; one thread or slice works in the calling thread."""
        list(map(work, slices) if min(self.number, len(slices)) <= 1 else self._pool.map(work, slices))


def for_row_blocks(
    work: Callable[[slice], None],
    n_rows: int,
    threads: int | Threads,
    *,
    products: float = np.inf,
    blocks_per_thread: int = _BLOCKS_PER_THREAD,
    multiple: int = 1,
    least: int = _MIN_ROWS,
) -> None:
    """Call ``work(rows)`` for blocks of rows that start at multiples of ``multiple`` and keep all threads busy.

    ``work`` must only write to its own rows. Threads pay off because kernels release the GIL. ``products`` is the
    number of multiplications, if known; small jobs run in the calling thread.
    """
    number = threads if isinstance(threads, int) else threads.number
    n_blocks = 1
    if number > 1 and products >= _MIN_PRODUCTS:
        n_blocks = max(min(number * blocks_per_thread, n_rows // least), 1)
    size = -(-max(-(-n_rows // n_blocks), 1) // multiple) * multiple
    slices = [slice(start, min(start + size, n_rows)) for start in range(0, max(n_rows, 1), size)]
    if len(slices) == 1:
        work(slices[0])
    elif isinstance(threads, Threads):
        threads.run(work, slices)
    else:
        with Threads(number) as pool:
            pool.run(work, slices)


@cache
def thread_pools() -> Any:
    """Return the controller of BLAS and OpenMP threads. It is cached, since finding the libraries is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def on_one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread, so that sums have the same bits on any machine."""
    return thread_pools().limit(limits=1)


def resolve_seed(random_state: RandomState) -> int:
    """Return the integer seed of all streams of random numbers; a generator is advanced by one draw."""
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
    """Return the random generator of the stream ``key`` of a seed, which parallel work can draw from in any order."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
