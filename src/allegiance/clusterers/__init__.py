"""Clusterers for the kinds of influence that no maintained package clusters with, and k-means for our own use."""

from ._bregman_kmeans import BregmanKMeans
from ._by_name import ALGORITHMS, LIKE_KMEANS, clusterer_by_name
from ._kernel_kmeans import KernelKMeans
from ._kmeans_starts import KMeansClusters, KMeansStarts, on_one_thread
from ._lloyd import warn_if_empty

__all__ = [
    "ALGORITHMS",
    "LIKE_KMEANS",
    "BregmanKMeans",
    "KMeansClusters",
    "KMeansStarts",
    "KernelKMeans",
    "clusterer_by_name",
    "on_one_thread",
    "warn_if_empty",
]
