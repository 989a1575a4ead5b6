"""Has the data drifted since a scorer was fitted? Two periods compared, with one finding for each cause."""

from ._comparison import Finding, PeriodComparison, compare_periods, compare_profiles
from ._profile import Profile, baseline_of, profile_rows, with_baseline

__all__ = [
    "Finding",
    "PeriodComparison",
    "Profile",
    "baseline_of",
    "compare_periods",
    "compare_profiles",
    "profile_rows",
    "with_baseline",
]
