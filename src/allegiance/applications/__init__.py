"""What the scores are for: active, incremental and consensus clustering, and comparing clusterings."""

from __future__ import annotations

from ._active import ActiveKMeans
from ._compare import (
    CandidateLine,
    ClusteringComparison,
    ConsensusValidation,
    compare_clusterings,
    validate_consensus,
)
from ._compare_periods import PeriodComparison, compare_periods, compare_profiles
from ._consensus import ConsensusClustering
from ._documents import Documents, WordScores
from ._incremental import IncrementalKMeans
from ._stability_curve import StabilityCurve, reference_axes, stability_curve, uniform_in_box

__all__ = [
    "ActiveKMeans",
    "CandidateLine",
    "ClusteringComparison",
    "ConsensusClustering",
    "ConsensusValidation",
    "Documents",
    "IncrementalKMeans",
    "PeriodComparison",
    "StabilityCurve",
    "WordScores",
    "compare_clusterings",
    "compare_periods",
    "compare_profiles",
    "reference_axes",
    "stability_curve",
    "uniform_in_box",
    "validate_consensus",
]
