"""Which labels of a clustering can be trusted: an affinity vector for every point.

The public names below are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._affinity import affinity
    from ._estimator import AffinityScorer
    from ._result import AffinityResult
    from .clusterers import BregmanKMeans, KernelKMeans
    from .diagrams import BregmanDivergence
    from .domains import Polytope
    from .engines import PrecisionWarning
    from .samplers import sample_polytope

__version__ = "0.1.0"

_HOMES = {
    "AffinityResult": "._result",
    "AffinityScorer": "._estimator",
    "BregmanDivergence": ".diagrams",
    "BregmanKMeans": ".clusterers",
    "KernelKMeans": ".clusterers",
    "Polytope": ".domains",
    "PrecisionWarning": ".engines",
    "affinity": "._affinity",
    "sample_polytope": ".samplers",
}

__all__ = [
    "AffinityResult",
    "AffinityScorer",
    "BregmanDivergence",
    "BregmanKMeans",
    "KernelKMeans",
    "Polytope",
    "PrecisionWarning",
    "affinity",
    "sample_polytope",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
