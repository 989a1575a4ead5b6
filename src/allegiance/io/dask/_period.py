"""A period in a Dask collection: its figures are computed where the rows are."""

from __future__ import annotations

from functools import partial
from typing import Any

from allegiance.fitting import Chunk, Fitted, period_of
from allegiance.results import Period

from ._fit import DaskChunks
from ._partitions import Partitions


def period_lazily(fitted: Fitted, X: Any) -> Period:
    """Return what the rows of a Dask array or frame X (n, d) add up to."""
    return DaskChunks(Partitions.of(X)).total(partial(_period_of_chunk, fitted.with_threads()))


def _period_of_chunk(fitted: Fitted, chunk: Chunk) -> Period | None:
    return period_of(fitted, chunk.X, chunk.start) if chunk.X.shape[0] else None
