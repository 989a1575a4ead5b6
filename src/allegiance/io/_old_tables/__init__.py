"""Tables on disk: reading in batches, writing without half files, and the numbers in them."""

from __future__ import annotations

from allegiance.io import TableError

from ._error import unknown_column
from ._features import IMPUTATIONS, Features, Noticed, Prepared, check_categories
from ._labels import labels_of_column
from ._open import open_source
from ._plan import check_features, number_features, plan_features
from ._prepared import PreparedSource
from ._readings import CATEGORICAL, number_values
from ._sink import Sink, open_sink
from ._source import BATCH_ROWS, Source

__all__ = [
    "BATCH_ROWS",
    "CATEGORICAL",
    "IMPUTATIONS",
    "Features",
    "Noticed",
    "Prepared",
    "PreparedSource",
    "Sink",
    "Source",
    "TableError",
    "check_categories",
    "check_features",
    "labels_of_column",
    "number_features",
    "number_values",
    "open_sink",
    "open_source",
    "plan_features",
    "unknown_column",
]
