"""Results: affinities of points, trust in their labels, counts by cluster, tables and summaries."""

from allegiance.notebook import count

from ._frames import FrameLike
from ._result import AffinityResult, Measurement, Ranks, distance_and_closeness, join_results, review_count, review_rows
from ._summary import (
    ATYPICAL,
    FIRM,
    VERDICTS,
    ClusterFigures,
    Summary,
    check_names,
    count_by_cluster,
    display_name,
)

__all__ = [
    "ATYPICAL",
    "FIRM",
    "VERDICTS",
    "AffinityResult",
    "ClusterFigures",
    "FrameLike",
    "Measurement",
    "Ranks",
    "Summary",
    "check_names",
    "count",
    "count_by_cluster",
    "display_name",
    "distance_and_closeness",
    "join_results",
    "review_count",
    "review_rows",
]
