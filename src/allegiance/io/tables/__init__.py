"""Tables on disk: reading in batches, writing without half files, and the numbers in them."""

from __future__ import annotations

from ._atomic import check_writable, replacing
from ._error import TableError, unknown_column
from ._features import Features, Prepared
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
    "check_writable",
    "open_sink",
    "open_source",
    "plan_features",
    "replacing",
    "unknown_column",
]
