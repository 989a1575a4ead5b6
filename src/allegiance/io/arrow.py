"""Scores for engines that hand over Arrow data, such as Spark, DuckDB and Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from allegiance._core.validation import check_count
from allegiance.fitting import Fitted

from .features import FeaturePlan
from .files import TableError
from .saved import plan_of
from .streams import Batch, BatchScorer, Rows
from .tables import open_table

_WHERE = "the Arrow data"
#: The plan of each model, and what scores prepared rows, so that volumes are prepared once and not with every batch.
#: A value must not hold its key, or the scorer would never be freed.
_READY: WeakKeyDictionary[Fitted, tuple[FeaturePlan | None, Fitted]] = WeakKeyDictionary()


def score_arrow(
    fitted: Fitted,
    data: Any,
    *,
    columns: Sequence[str] | None,
    keep: Sequence[str] | Mapping[str, str],
    labels: str | None,
    top: int | None,
    details: bool,
) -> Any:
    """Score a record batch or a table; see :meth:`AffinityScorer.score_arrow`."""
    given = _arrow_data(data)
    kept = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    table = given if isinstance(given, pa.Table) else pa.Table.from_batches([given])
    known = columns if columns is not None else fitted.columns.known_names
    asked = [*([] if known is None else known), *kept, *([labels] if labels else [])]
    missing = [name for name in asked if name not in table.column_names]
    if missing:
        raise TableError(f"{_WHERE} lacks the columns {missing}: it has {table.column_names}.")
    plan, inner = _ready(fitted) if columns is None else (None, fitted)
    frames = fitted.columns.preparation is not None and plan is None and fitted.columns.known_names is not None
    names = None if known is None else [str(name) for name in known]
    score = BatchScorer(
        inner, list(kept.values()), top=None if top is None else check_count(top, "top"), details=details, where=_WHERE
    )
    rows = Rows(open_table(table), plan, names, labels=labels, keep=list(kept), frames=frames, typed=True)
    batches = list(rows.batches(max(table.num_rows, 1)))
    if not batches:
        kept_schema = pa.schema([table.schema.field(name) for name in kept])
        batches = [Batch(np.empty((0, len(rows.names))), None, pa.RecordBatch.from_pylist([], kept_schema), 0, 0)]
    found = score(batches[0]).replace_schema_metadata(None)
    return pa.Table.from_batches([found]) if isinstance(given, pa.Table) else found


def _ready(fitted: Fitted) -> tuple[FeaturePlan | None, Fitted]:
    """Return the plan of a model, and what scores the rows that it prepares."""
    if fitted.columns.preparation is not None and "plan" not in fitted.parts:
        return None, fitted
    if fitted not in _READY:
        _READY[fitted] = plan_of(fitted), fitted.without_preprocessing()
    return _READY[fitted]


def _arrow_data(data: Any) -> Any:
    """Return a record batch or a table; frames of other libraries that speak Arrow become tables."""
    if isinstance(data, pa.RecordBatch | pa.Table):
        return data
    if hasattr(data, "__arrow_c_array__"):
        return pa.record_batch(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise TypeError(f"score_arrow takes a pyarrow RecordBatch or Table, got {type(data).__name__}.")
