"""How volume is measured: one file per engine, all with the same two questions (can you serve it? then estimate)."""

from ._choose import METHODS, select_engine
from ._estimate import ENGINE_NAMES, Estimate, PrecisionWarning, Queries, Settings
from ._measure import TopEstimate, measure, measure_top
from ._tessellation import Scene

__all__ = [
    "ENGINE_NAMES",
    "METHODS",
    "Estimate",
    "PrecisionWarning",
    "Queries",
    "Scene",
    "Settings",
    "TopEstimate",
    "measure",
    "measure_top",
    "select_engine",
]
