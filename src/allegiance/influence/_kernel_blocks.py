"""Sums of kernel values in blocks: never all n² values at a time, and the same bits for a row whatever the others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allegiance._core import FloatArray, Rows, for_row_blocks, is_sparse

from ._kernel_values import KernelRows, SettledKernel

#: A block of kernel values: small enough for the cache.
KERNEL_ROWS, KERNEL_COLUMNS = 128, 1024


def for_kernel_rows(work: Callable[[slice], None], n_rows: int, kernel: SettledKernel, threads: int) -> None:
    """Call ``work(part)`` for slices of at most ``KERNEL_ROWS`` rows that cover ``range(n_rows)``.

    BLAS runs on one thread, on which its usual implementations treat all rows alike. A kernel that is a function may
    not be safe in threads, or may use its own: it is called from one.
    """

    def fill(rows: slice) -> None:
        for start in range(rows.start, rows.stop, KERNEL_ROWS):
            work(slice(start, min(start + KERNEL_ROWS, rows.stop)))

    if callable(kernel.name):
        fill(slice(0, n_rows))
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"), np.errstate(over="ignore", invalid="ignore"):
        for_row_blocks(fill, n_rows, threads, multiple=KERNEL_ROWS)


def prepare_block(kernel: SettledKernel, X: Rows, part: slice) -> KernelRows:
    """Return some rows of X ready for the kernel; dense ones filled up with copies of the last to a fixed number."""
    if is_sparse(X) or callable(kernel.name):
        return kernel.prepare(X[part])
    return kernel.prepare(X[np.minimum(np.arange(part.start, part.start + KERNEL_ROWS), part.stop - 1)])


def column_blocks(members: KernelRows) -> list[KernelRows]:
    """Return the members in blocks of at most ``KERNEL_COLUMNS``."""
    starts = range(0, members.rows.shape[0], KERNEL_COLUMNS)
    return [KernelRows(*(array[start : start + KERNEL_COLUMNS] for array in members)) for start in starts]


def check_kernel_values(*values: FloatArray | None) -> None:
    """Raise unless sums of kernel values are finite."""
    if not all(value is None or np.isfinite(value).all() for value in values):
        raise ValueError("kernel gives values that are not finite: scale X, or change the parameters of Kernel.")
