"""What the scores are for: active, incremental and consensus clustering, and comparing clusterings."""

from __future__ import annotations

from ._active import ActiveKMeans
from ._base_clusterings import default_labelings
from ._compare_clusterings import CandidateLine, ClusteringComparison, compare_clusterings
from ._compare_periods import PeriodComparison, compare_periods, compare_profiles
from ._consensus import ConsensusClustering
from ._documents import Documents, WordScores
from ._incremental import IncrementalKMeans
from ._reference_data import reference_axes, uniform_in_box
from ._stability_curve import StabilityCurve, stability_curve
from ._validate_consensus import ConsensusValidation, validate_consensus

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
    "default_labelings",
    "reference_axes",
    "stability_curve",
    "uniform_in_box",
    "validate_consensus",
]
