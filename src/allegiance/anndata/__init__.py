"""Trust for the clusters of an AnnData object, with scanpy's conventions: ``import allegiance.anndata as al``.

``trust`` writes scores to ``adata``, ``result`` returns them as an object, ``report`` writes the page,
``resolution_curve`` compares resolutions, ``split_and_merged`` names clusters to join or to split, and
``recorded_clusterer`` rebuilds the clusterer from the settings that scanpy recorded.
"""

from allegiance.clusterers import Leiden, Louvain

from ._trust import recorded_clusterer, report, resolution_curve, result, split_and_merged, trust
from ._trust import write_result as write_result

__all__ = [
    "Leiden",
    "Louvain",
    "recorded_clusterer",
    "report",
    "resolution_curve",
    "result",
    "split_and_merged",
    "trust",
]
