"""What a user gets: affinities of points, and all that follows from them."""

from ._base import HowMeasured, RankedResult, concatenate
from ._frames import FrameLike
from ._result import AffinityResult
from ._top import TopAffinityResult

__all__ = ["AffinityResult", "FrameLike", "HowMeasured", "RankedResult", "TopAffinityResult", "concatenate"]
