"""What the scores are for: active, incremental and consensus clustering, and comparing clusterings."""

from __future__ import annotations

from ._active import ActiveKMeans
from ._compare import ClusteringComparison, compare_clusterings
from ._consensus import ConsensusClustering
from ._curve import StabilityCurve, stability_curve
from ._incremental import IncrementalKMeans
from ._validate_consensus import ConsensusValidation, validate_consensus

__all__ = [
    "ActiveKMeans",
    "ClusteringComparison",
    "ConsensusClustering",
    "ConsensusValidation",
    "IncrementalKMeans",
    "StabilityCurve",
    "compare_clusterings",
    "stability_curve",
    "validate_consensus",
]
