"""Trust in the clusters of an AnnData object, by the conventions of scanpy: ``import allegiance.anndata as al``.

``trust`` writes what it finds next to the labels, where scanpy draws it, ``result`` gives it as an object, ``report``
writes the page, ``resolution_curve`` says which resolutions replicate, and ``split_and_merged`` names
clusters to join or to split.
"""

from ._trust import Leiden, Louvain, report, resolution_curve, result, split_and_merged, trust

__all__ = ["Leiden", "Louvain", "report", "resolution_curve", "result", "split_and_merged", "trust"]
