"""Which labels of a clustering can be trusted: an affinity vector for every point, and the chance that its label holds.

The public names below are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import displays, drift, metrics
    from ._api import affinity, trust
    from ._scorer import AffinityScorer
    from .applications import (
        ActiveKMeans,
        ConsensusClustering,
        Documents,
        IncrementalKMeans,
        compare_clusterings,
        stability_curve,
        validate_consensus,
    )
    from .calibration import Calibration
    from .clusterers import BregmanKMeans
    from .domains import Ball, Box, Polytope, Space
    from .engines import ClosedForm, Exact, HitAndRun, PrecisionWarning, SharedSamples
    from .geometry import sample_polytope
    from .influence import (
        KL,
        Bregman,
        Cosine,
        ItakuraSaito,
        Kernel,
        Logistic,
        Mahalanobis,
        Weights,
        Within,
    )
    from .io.saved import load
    from .io.streams import fit_stream, score_stream
    from .results import AffinityResult

__version__ = "0.1.0"

_HOMES = {
    "._api": ["affinity", "trust"],
    "._scorer": ["AffinityScorer"],
    ".applications": [
        "ActiveKMeans",
        "ConsensusClustering",
        "Documents",
        "IncrementalKMeans",
        "compare_clusterings",
        "stability_curve",
        "validate_consensus",
    ],
    ".calibration": ["Calibration"],
    ".clusterers": ["BregmanKMeans"],
    ".domains": ["Ball", "Box", "Polytope", "Space"],
    ".engines": ["ClosedForm", "Exact", "HitAndRun", "PrecisionWarning", "SharedSamples"],
    ".geometry": ["sample_polytope"],
    ".influence": [
        "KL",
        "Bregman",
        "Cosine",
        "ItakuraSaito",
        "Kernel",
        "Logistic",
        "Mahalanobis",
        "Weights",
        "Within",
    ],
    ".io.saved": ["load"],
    ".io.streams": ["fit_stream", "score_stream"],
    ".results": ["AffinityResult"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("displays", "drift", "metrics")

__all__ = [
    "KL",
    "ActiveKMeans",
    "AffinityResult",
    "AffinityScorer",
    "Ball",
    "Box",
    "Bregman",
    "BregmanKMeans",
    "Calibration",
    "ClosedForm",
    "ConsensusClustering",
    "Cosine",
    "Documents",
    "Exact",
    "HitAndRun",
    "IncrementalKMeans",
    "ItakuraSaito",
    "Kernel",
    "Logistic",
    "Mahalanobis",
    "Polytope",
    "PrecisionWarning",
    "SharedSamples",
    "Space",
    "Weights",
    "Within",
    "affinity",
    "compare_clusterings",
    "displays",
    "drift",
    "fit_stream",
    "load",
    "metrics",
    "sample_polytope",
    "score_stream",
    "stability_curve",
    "trust",
    "validate_consensus",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name], __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
