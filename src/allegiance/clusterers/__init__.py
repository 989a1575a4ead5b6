"""Clusterers in the spaces where affinities are measured, for lack of maintained ones elsewhere."""

from ._kernel_kmeans import KernelKMeans

__all__ = ["KernelKMeans"]
