"""How volume is measured: one file per engine, all with the same two questions (why not? then build it)."""

from ._choose import EXACT_SITES, Auto, measurer_for
from ._closed_form import ClosedForm
from ._engine import (
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
from ._measure import measure, measure_top
from ._shared_samples import FEW_SITES, SharedSamples
from ._standing import Standing, standing_of
from ._tessellation import Tessellation

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
    "Standing",
    "Tessellation",
    "binomial_errors",
    "engine_code",
    "engine_names",
    "measure",
    "measure_top",
    "measurer_for",
    "standing_of",
]
