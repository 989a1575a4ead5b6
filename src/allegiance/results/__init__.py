"""Results: affinities of points, trust in their labels, counts by cluster, tables and summaries."""

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
)
from ._period import (
    DOUBTFUL,
    FINE,
    LEVELS,
    N_CONTESTED,
    N_CONTRADICTED,
    N_UNLIKE,
    POINTS,
    UNLIKE,
    Moments,
    Period,
    Profile,
    is_unlike,
    unlike_rate,
)
from ._result import AffinityResult, Distances, HowMeasured, Ranks, review_rows, verdicts
from ._summary import FrameLike, footer, headlines, measured_by, text_table

__all__ = [
    "ATYPICAL",
    "CONTESTED",
    "CONTRADICTED",
    "DOUBTFUL",
    "FINE",
    "LEVELS",
    "NO_LABEL",
    "N_CONTESTED",
    "N_CONTRADICTED",
    "N_UNLIKE",
    "POINTS",
    "SUPPORTED",
    "UNLIKE",
    "VERDICTS",
    "AffinityResult",
    "ClusterFigures",
    "Distances",
    "FrameLike",
    "HowMeasured",
    "Moments",
    "Period",
    "Profile",
    "Ranks",
    "Tally",
    "count",
    "footer",
    "headlines",
    "is_unlike",
    "measured_by",
    "review_rows",
    "text_table",
    "unlike_rate",
    "verdicts",
]
