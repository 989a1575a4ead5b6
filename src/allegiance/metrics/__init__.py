"""Distances between clusterings of the same points."""

from ._lift_emd import lift_emd
from ._rand import rand_distance

__all__ = ["lift_emd", "rand_distance"]
