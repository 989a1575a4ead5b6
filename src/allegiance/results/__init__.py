"""Results: affinities of points, trust in their labels, counts by cluster, tables and summaries."""

from allegiance._core.validation import FrameLike
from allegiance.notebook import count

from ._clusters import (
    ATYPICAL,
    CONTESTED,
    CONTRADICTED,
    NO_LABEL,
    SUPPORTED,
    VERDICTS,
    ClusterFigures,
    Tally,
    count_by_cluster,
)
from ._result import AffinityResult, HowMeasured, Ranks, distance_and_closeness, review_rows, verdicts
from ._summary import footer, headlines, measured_by

__all__ = [
    "ATYPICAL",
    "CONTESTED",
    "CONTRADICTED",
    "NO_LABEL",
    "SUPPORTED",
    "VERDICTS",
    "AffinityResult",
    "ClusterFigures",
    "FrameLike",
    "HowMeasured",
    "Ranks",
    "Tally",
    "count",
    "count_by_cluster",
    "distance_and_closeness",
    "footer",
    "headlines",
    "measured_by",
    "review_rows",
    "verdicts",
]
