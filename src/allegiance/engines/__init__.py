"""Engines, which measure volume: each has its own file, says whether it can run, and builds the measurement."""

from ._auto import EXACT_SITES as EXACT_SITES
from ._auto import Auto as Auto
from ._auto import build_engine as build_engine
from ._base import ENGINES as ENGINES
from ._base import LEAST_EPS as LEAST_EPS
from ._base import Z95 as Z95
from ._base import Engine as Engine
from ._base import Estimate as Estimate
from ._base import FittedEngine as FittedEngine
from ._base import PrecisionWarning
from ._base import Queries as Queries
from ._base import Settings as Settings
from ._base import binomial_errors as binomial_errors
from ._base import engine_code as engine_code
from ._base import engine_names as engine_names
from ._base import measure as measure
from ._base import measure_blocks as measure_blocks
from ._exact import Exact
from ._hit_and_run import HitAndRun
from ._shared_samples import SharedSamples
from ._tessellation import Tessellation as Tessellation
from ._whole_space import ClosedForm

#: What users may rely on; the other names serve the rest of the package.
__all__ = ["ClosedForm", "Exact", "HitAndRun", "PrecisionWarning", "SharedSamples"]
