"""From data to a fitted object: one algorithm for memory, files and many machines."""

from ._fit import Chunk, Chunks, Fit, InMemory, Specification, fit, needs_memory
from ._fitted import Fitted, PreparedInput, nearest_sites
from ._inputs import (
    Columns,
    PreparedColumns,
    check_input,
    cluster,
    fit_clusterer,
    has_pipeline,
    training_labels,
    unwrap_estimator,
)
from ._labels import NOISE, Labels, align, labels_of, merged_classes

__all__ = [
    "NOISE",
    "Chunk",
    "Chunks",
    "Columns",
    "Fit",
    "Fitted",
    "InMemory",
    "Labels",
    "PreparedColumns",
    "PreparedInput",
    "Specification",
    "align",
    "check_input",
    "cluster",
    "fit",
    "fit_clusterer",
    "has_pipeline",
    "labels_of",
    "merged_classes",
    "nearest_sites",
    "needs_memory",
    "training_labels",
    "unwrap_estimator",
]
