"""How volume is measured: one file per engine, all with the same two questions (why not? then build it)."""

from ._auto import EXACT_SITES, Auto, measure, measure_blocks, measurer_for
from ._base import (
    ENGINES,
    LEAST_EPS,
    UNDECIDED_EPS,
    VERDICT,
    Z95,
    Engine,
    Estimate,
    Measurer,
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
    "UNDECIDED_EPS",
    "VERDICT",
    "Z95",
    "Auto",
    "ClosedForm",
    "Engine",
    "Estimate",
    "Exact",
    "HitAndRun",
    "Measurer",
    "PrecisionWarning",
    "Queries",
    "Settings",
    "SharedSamples",
    "Tessellation",
    "binomial_errors",
    "engine_code",
    "engine_names",
    "measure",
    "measure_blocks",
    "measurer_for",
]
