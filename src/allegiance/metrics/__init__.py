"""Distances between clusterings of the same points."""

from ._lift_emd import lift_emd
from ._lift_kernel import lift_kernel, median_distance
from ._lifts import Lifts, lift_clusters
from ._memberships import Pool, check_codes, one_hot
from ._rand import rand_distance

__all__ = [
    "Lifts",
    "Pool",
    "check_codes",
    "lift_clusters",
    "lift_emd",
    "lift_kernel",
    "median_distance",
    "one_hot",
    "rand_distance",
]
