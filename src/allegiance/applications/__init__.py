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
from ._decisions import (
    DECISIONS,
    FIELDS,
    KEEP,
    MOVE,
    TO_NOISE,
    UNDO,
    UNSURE,
    apply_decisions,
    as_label,
    read_decisions,
    standing_decisions,
)
from ._documents import Documents, WordScores
from ._incremental import IncrementalKMeans
from ._stability_curve import StabilityCurve, reference_axes, stability_curve, uniform_in_box

__all__ = [
    "DECISIONS",
    "FIELDS",
    "KEEP",
    "MOVE",
    "TO_NOISE",
    "UNDO",
    "UNSURE",
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
    "apply_decisions",
    "as_label",
    "compare_clusterings",
    "compare_periods",
    "compare_profiles",
    "read_decisions",
    "reference_axes",
    "stability_curve",
    "standing_decisions",
    "uniform_in_box",
    "validate_consensus",
]
