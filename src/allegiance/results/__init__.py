"""What a user gets: affinities of points, trust in their labels, and all that follows from them."""

from ._base import AnyResult, HowMeasured, NotCalibratedError, Result
from ._by_cluster import ATYPICAL, ClusterFigures, Tally
from ._frames import FrameLike
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
from ._proximity import Proximity
from ._result import AffinityResult
from ._review import review_rows
from ._summary import count, footer, headlines, measured_by
from ._top import TopAffinityResult
from ._verdict import CONTESTED, CONTRADICTED, NO_LABEL, SUPPORTED, VERDICTS

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
    "AnyResult",
    "ClusterFigures",
    "FrameLike",
    "HowMeasured",
    "Moments",
    "NotCalibratedError",
    "Period",
    "Profile",
    "Proximity",
    "Result",
    "Tally",
    "TopAffinityResult",
    "count",
    "footer",
    "headlines",
    "is_unlike",
    "measured_by",
    "review_rows",
    "unlike_rate",
]
