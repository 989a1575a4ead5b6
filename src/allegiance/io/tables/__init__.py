"""Tables on disk: reading in batches, writing without half files, and the numbers in them."""

from __future__ import annotations

from allegiance.io import TableError

from ._error import unknown_column
from ._features import Features, Prepared, numbers_of
from ._labels import labels_of_column
from ._open import open_source
from ._plan import CATEGORICAL, IMPUTATIONS, plan_features
from ._prepared import PreparedSource
from ._sink import Sink, open_sink
from ._source import BATCH_ROWS, Source

__all__ = [
    "BATCH_ROWS",
    "CATEGORICAL",
    "IMPUTATIONS",
    "Features",
    "Prepared",
    "PreparedSource",
    "Sink",
    "Source",
    "TableError",
    "labels_of_column",
    "numbers_of",
    "open_sink",
    "open_source",
    "plan_features",
    "unknown_column",
]
