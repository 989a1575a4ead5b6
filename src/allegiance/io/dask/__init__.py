"""Dask: the sums of a fit as reductions, and scores partition by partition."""

from ._connect import connect
from ._fit import fit_affinity_lazily, fit_lazily
from ._lazy_result import LazyAffinityResult
from ._period import period_lazily
from ._score import affinity_lazily, predict_lazily

__all__ = [
    "LazyAffinityResult",
    "affinity_lazily",
    "connect",
    "fit_affinity_lazily",
    "fit_lazily",
    "period_lazily",
    "predict_lazily",
]
