"""Which labels of a clustering can be trusted: an affinity vector for every point.

The public names below are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import displays, metrics
    from ._affinity import affinity
    from ._scorer import AffinityScorer
    from .applications import (
        ActiveKMeans,
        ConsensusClustering,
        IncrementalKMeans,
        compare_clusterings,
        stability_curve,
        validate_consensus,
    )
    from .clusterers import BregmanKMeans, KernelKMeans
    from .domains import Polytope
    from .engines import PrecisionWarning
    from .geometry import sample_polytope
    from .influence import BregmanDivergence
    from .io.streams import fit_stream, score_stream
    from .results._result import AffinityResult
    from .results._top import TopAffinityResult

__version__ = "0.1.0"

_HOMES = {
    "ActiveKMeans": ".applications",
    "AffinityResult": ".results",
    "AffinityScorer": "._scorer",
    "BregmanDivergence": ".influence",
    "BregmanKMeans": ".clusterers",
    "ConsensusClustering": ".applications",
    "IncrementalKMeans": ".applications",
    "KernelKMeans": ".clusterers",
    "Polytope": ".domains",
    "PrecisionWarning": ".engines",
    "TopAffinityResult": ".results",
    "affinity": "._affinity",
    "compare_clusterings": ".applications",
    "fit_stream": ".io.streams",
    "sample_polytope": ".geometry",
    "score_stream": ".io.streams",
    "stability_curve": ".applications",
    "validate_consensus": ".applications",
}
_MODULES = ("displays", "metrics")

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
    "compare_clusterings",
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
