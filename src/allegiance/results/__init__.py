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
from ._result import AffinityResult, HowMeasured, Ranks, distance_and_closeness, review_count, review_rows, verdicts
from ._summary import check_names, cluster_lines, footer, headlines, how_measured, shown_name

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
    "check_names",
    "cluster_lines",
    "count",
    "count_by_cluster",
    "distance_and_closeness",
    "footer",
    "headlines",
    "how_measured",
    "review_count",
    "review_rows",
    "shown_name",
    "verdicts",
]
