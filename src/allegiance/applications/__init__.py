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
from ._stability_curve import StabilityCurve, reference_axes, stability_curve, uniform_in_box

__all__ = [
    "ActiveKMeans",
    "ClusteringComparison",
    "ConsensusClustering",
    "ConsensusValidation",
    "IncrementalKMeans",
    "StabilityCurve",
    "compare_clusterings",
    "reference_axes",
    "split_and_merged",
    "stability_curve",
    "uniform_in_box",
    "validate_consensus",
]
