"""Applications of the scores: active, incremental and consensus clustering, and comparing clusterings."""

from __future__ import annotations

from ._active import ActiveKMeans
from ._compare import (
    ClusteringComparison,
    ConsensusValidation,
    compare_clusterings,
    validate_consensus,
)
from ._consensus import ConsensusClustering
from ._incremental import IncrementalKMeans
from ._split_and_merged import split_and_merged
from ._stability_curve import StabilityCurve, stability_curve

__all__ = [
    "ActiveKMeans",
    "ClusteringComparison",
    "ConsensusClustering",
    "ConsensusValidation",
    "IncrementalKMeans",
    "StabilityCurve",
    "compare_clusterings",
    "split_and_merged",
    "stability_curve",
    "validate_consensus",
]
