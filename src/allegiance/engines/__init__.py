"""How volume is measured: one file per engine, all with the same two questions (why not? then build it)."""

from ._auto import EXACT_SITES, Auto, build_engine, measure, measure_blocks
from ._base import (
    ENGINES,
    LEAST_EPS,
    Z95,
    Engine,
    Estimate,
    FittedEngine,
    PrecisionWarning,
    Queries,
    Settings,
    binomial_errors,
    engine_code,
    engine_names,
)
from ._exact import Exact
from ._hit_and_run import HitAndRun
from ._shared_samples import FEW_SITES, SharedSamples
from ._tessellation import Tessellation
from ._whole_space import ClosedForm

__all__ = [
    "ENGINES",
    "EXACT_SITES",
    "FEW_SITES",
    "LEAST_EPS",
    "Z95",
    "Auto",
    "ClosedForm",
    "Engine",
    "Estimate",
    "Exact",
    "FittedEngine",
    "HitAndRun",
    "PrecisionWarning",
    "Queries",
    "Settings",
    "SharedSamples",
    "Tessellation",
    "binomial_errors",
    "build_engine",
    "engine_code",
    "engine_names",
    "measure",
    "measure_blocks",
]
