"""How volume is measured: one file per engine, all with the same two questions (can you serve it? then estimate)."""

from ._estimate import ENGINE_NAMES, Estimate, PrecisionWarning, Queries, Settings
from ._measure import TopEstimate, measure, measure_top
from ._scene import Scene
from ._select import METHODS, select_engine

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
