"""Clusterers for the kinds of influence that no maintained package clusters with."""

from ._bregman_kmeans import BregmanKMeans
from ._kernel_kmeans import KernelKMeans

__all__ = ["BregmanKMeans", "KernelKMeans"]
