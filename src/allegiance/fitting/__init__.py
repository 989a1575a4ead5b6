"""From data to a fitted object: one algorithm for memory, files and many machines."""

from ._chunks import Chunk, Chunks, InMemory
from ._clusterer import fit_clusterer, nearest_sites
from ._columns import Columns
from ._fit import Fit, fit, needs_memory
from ._fitted import Fitted
from ._fitted_card import fitted_html
from ._labels import NOISE, Labels, align, labels_of
from ._specification import Specification

__all__ = [
    "NOISE",
    "Chunk",
    "Chunks",
    "Columns",
    "Fit",
    "Fitted",
    "InMemory",
    "Labels",
    "Specification",
    "align",
    "fit",
    "fit_clusterer",
    "fitted_html",
    "labels_of",
    "nearest_sites",
    "needs_memory",
]
