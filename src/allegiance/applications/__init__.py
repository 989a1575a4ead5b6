"""What the scores are for: active, incremental and consensus clustering, and comparing clusterings."""

from __future__ import annotations

from ._active import ActiveKMeans
from ._against_distance import AffinityAgainstDistance, affinity_against_distance
from ._compare import ClusteringComparison, compare_clusterings
from ._consensus import ConsensusClustering
from ._curve import StabilityCurve, stability_curve
from ._incremental import IncrementalKMeans
from ._validate_consensus import ConsensusValidation, validate_consensus

__all__ = [
    "ActiveKMeans",
    "AffinityAgainstDistance",
    "ClusteringComparison",
    "ConsensusClustering",
    "ConsensusValidation",
    "IncrementalKMeans",
    "StabilityCurve",
    "affinity_against_distance",
    "compare_clusterings",
    "stability_curve",
    "validate_consensus",
]
