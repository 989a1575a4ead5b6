"""From data to a fitted object: one algorithm for memory, files and many machines."""

from ._chunks import Chunk, Chunks, InMemory
from ._clusterer import cluster, fit_clusterer, nearest_sites, training_labels
from ._columns import Columns, PreparedColumns
from ._fit import Fit, fit, needs_memory
from ._fitted import Fitted, PreparedInput
from ._fitted_card import fitted_html
from ._labels import NOISE, Labels, align, labels_of
from ._periods import baseline_of, check_comparable, in_own_units, period_of, profile_of, with_baseline
from ._pipelines import has_pipeline, unwrap_estimator
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
    "PreparedColumns",
    "PreparedInput",
    "Specification",
    "align",
    "baseline_of",
    "check_comparable",
    "cluster",
    "fit",
    "fit_clusterer",
    "fitted_html",
    "has_pipeline",
    "in_own_units",
    "labels_of",
    "nearest_sites",
    "needs_memory",
    "period_of",
    "profile_of",
    "training_labels",
    "unwrap_estimator",
    "with_baseline",
]
