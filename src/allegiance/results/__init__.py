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
from ._result import AffinityResult, Distances, HowMeasured, Ranks, review_count, review_rows, verdicts
from ._summary import check_names, cluster_lines, footer, headlines, how_measured, shown_name, text_table

__all__ = [
    "ATYPICAL",
    "CONTESTED",
    "CONTRADICTED",
    "NO_LABEL",
    "SUPPORTED",
    "VERDICTS",
    "AffinityResult",
    "ClusterFigures",
    "Distances",
    "FrameLike",
    "HowMeasured",
    "Ranks",
    "Tally",
    "check_names",
    "cluster_lines",
    "count",
    "count_by_cluster",
    "footer",
    "headlines",
    "how_measured",
    "review_count",
    "review_rows",
    "shown_name",
    "text_table",
    "verdicts",
]
