"""Which labels of a clustering can be trusted: an affinity vector for every point.

The public names below are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import datasets, displays, metrics
    from ._affinity import affinity
    from ._estimator import AffinityScorer
    from ._result import AffinityResult
    from ._top_result import TopAffinityResult
    from .applications import (
        ActiveKMeans,
        ConsensusClustering,
        IncrementalKMeans,
        affinity_against_distance,
        compare_clusterings,
        stability_curve,
        validate_consensus,
    )
    from .clusterers import BregmanKMeans, KernelKMeans
    from .diagrams import BregmanDivergence
    from .domains import Polytope
    from .engines import PrecisionWarning
    from .samplers import sample_polytope
    from .streaming import fit_stream, score_stream

__version__ = "0.1.0"

_HOMES = {
    "ActiveKMeans": ".applications",
    "AffinityResult": "._result",
    "AffinityScorer": "._estimator",
    "BregmanDivergence": ".diagrams",
    "BregmanKMeans": ".clusterers",
    "ConsensusClustering": ".applications",
    "IncrementalKMeans": ".applications",
    "KernelKMeans": ".clusterers",
    "Polytope": ".domains",
    "PrecisionWarning": ".engines",
    "TopAffinityResult": "._top_result",
    "affinity": "._affinity",
    "affinity_against_distance": ".applications",
    "compare_clusterings": ".applications",
    "fit_stream": ".streaming",
    "sample_polytope": ".samplers",
    "score_stream": ".streaming",
    "stability_curve": ".applications",
    "validate_consensus": ".applications",
}
_MODULES = ("datasets", "displays", "metrics")

__all__ = [
    "ActiveKMeans",
    "AffinityResult",
    "AffinityScorer",
    "BregmanDivergence",
    "BregmanKMeans",
    "ConsensusClustering",
    "IncrementalKMeans",
    "KernelKMeans",
    "Polytope",
    "PrecisionWarning",
    "TopAffinityResult",
    "affinity",
    "affinity_against_distance",
    "compare_clusterings",
    "datasets",
    "displays",
    "fit_stream",
    "metrics",
    "sample_polytope",
    "score_stream",
    "stability_curve",
    "validate_consensus",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name], __name__), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
