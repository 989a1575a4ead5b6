"""What every part uses: arrays, parameters, randomness, threads, validation."""

from ._arrays import of_moderate_size, power_of_two, real_array
from ._extras import require
from ._fork_lock import ForkLock
from ._lazy import Lazy
from ._parameters import Parameters
from ._progress import Advance, Progress, Verbose, in_notebook, progress, remark, watched
from ._random import resolve_seed, stream
from ._registry import Registry
from ._rows import dense, is_lazy, is_sparse, row_dots, row_sums
from ._schema import (
    POSITIVE,
    Array,
    CheckedLater,
    Either,
    Matrix,
    Number,
    OrNone,
    Part,
    Size,
    Sizes,
    Spec,
    Starts,
    Text,
    check_parts,
    floats,
)
from ._sequences import is_missing, one_for_each, texts_for_each
from ._stored import STORED, Kind, kind_of, stored
from ._threads import Threads, effective_threads, for_row_blocks, kernel_ready
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
    "POSITIVE",
    "STORED",
    "Advance",
    "AnyArray",
    "Array",
    "BoolArray",
    "CheckedLater",
    "Either",
    "FloatArray",
    "ForkLock",
    "IntArray",
    "Kind",
    "Lazy",
    "Matrix",
    "Number",
    "OrNone",
    "Parameters",
    "Part",
    "Progress",
    "RandomState",
    "Registry",
    "Rows",
    "Size",
    "Sizes",
    "Spec",
    "Starts",
    "Text",
    "Threads",
    "Verbose",
    "check_centers",
    "check_choice",
    "check_count",
    "check_jobs",
    "check_number",
    "check_parts",
    "check_rows",
    "check_sites",
    "check_table",
    "dense",
    "effective_threads",
    "floats",
    "for_row_blocks",
    "in_notebook",
    "is_lazy",
    "is_missing",
    "is_sparse",
    "kernel_ready",
    "kind_of",
    "of_moderate_size",
    "one_for_each",
    "power_of_two",
    "progress",
    "real_array",
    "remark",
    "require",
    "resolve_seed",
    "row_dots",
    "row_sums",
    "stored",
    "stream",
    "texts_for_each",
    "watched",
]
