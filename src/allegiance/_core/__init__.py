"""What every part uses: arrays, parameters, randomness, threads, validation."""

from ._arrays import real_array
from ._extras import require
from ._lazy import Lazy
from ._parameters import Parameters
from ._progress import Advance, Progress, progress
from ._random import resolve_seed, stream
from ._registry import Registry
from ._rows import dense, is_lazy, is_sparse, row_dots, row_sums
from ._stored import STORED, kind_of, stored
from ._threads import effective_threads, for_row_blocks, kernel_ready
from ._typing import AnyArray, BoolArray, FloatArray, IntArray, RandomState, Rows
from ._validation import (
    check_centers,
    check_choice,
    check_count,
    check_jobs,
    check_number,
    check_rows,
    check_sites,
    check_table,
)

__all__ = [
    "STORED",
    "Advance",
    "AnyArray",
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Lazy",
    "Parameters",
    "Progress",
    "RandomState",
    "Registry",
    "Rows",
    "check_centers",
    "check_choice",
    "check_count",
    "check_jobs",
    "check_number",
    "check_rows",
    "check_sites",
    "check_table",
    "dense",
    "effective_threads",
    "for_row_blocks",
    "is_lazy",
    "is_sparse",
    "kernel_ready",
    "kind_of",
    "progress",
    "real_array",
    "require",
    "resolve_seed",
    "row_dots",
    "row_sums",
    "stored",
    "stream",
]
