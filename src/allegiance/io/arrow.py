"""Scores for engines that hand over Arrow data, such as Spark, DuckDB and Polars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from allegiance._core.validation import check_count
from allegiance.fitting import Fitted

from .files import TableError
from .streams import Batch, BatchScorer, rows_for
from .tables import open_table

_WHERE = "the Arrow data"
#: What scores prepared rows, so that volumes are prepared once for a model and not with every batch. A value must not
#: hold its key, or the scorer would never be freed.
_WITHOUT_PLAN: WeakKeyDictionary[Fitted, Fitted] = WeakKeyDictionary()


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
    asked = [*(known if known is not None else []), *kept, *([labels] if labels else [])]
    missing = [name for name in asked if name not in table.column_names]
    if missing:
        raise TableError(f"{_WHERE} lacks the columns {missing}: it has {table.column_names}.")
    inner = _without_plan(fitted) if columns is None else fitted
    top = None if top is None else check_count(top, "top")
    score = BatchScorer(inner, list(kept.values()), _WHERE, top=top, details=details)
    rows = rows_for(fitted, open_table(table), columns, labels=labels, keep=list(kept), typed=True)
    empty = pa.RecordBatch.from_pylist([], pa.schema([table.schema.field(name) for name in kept]))
    nothing = Batch(np.empty((0, len(rows.names))), None, empty, 0, 0)
    found = score(next(rows.batches(max(table.num_rows, 1)), nothing)).replace_schema_metadata(None)
    return pa.Table.from_batches([found]) if isinstance(given, pa.Table) else found


def _without_plan(fitted: Fitted) -> Fitted:
    """Return what scores rows that the plan of a model has prepared."""
    if fitted.columns.preparation is not None and "plan" not in fitted.parts:
        return fitted
    if fitted not in _WITHOUT_PLAN:
        _WITHOUT_PLAN[fitted] = fitted.without_preprocessing()
    return _WITHOUT_PLAN[fitted]


def _arrow_data(data: Any) -> Any:
    """Return a record batch or a table; frames of other libraries that speak Arrow become tables."""
    if isinstance(data, pa.RecordBatch | pa.Table):
        return data
    if hasattr(data, "__arrow_c_array__"):
        return pa.record_batch(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise TypeError(f"score_arrow takes a pyarrow RecordBatch or Table, got {type(data).__name__}.")
