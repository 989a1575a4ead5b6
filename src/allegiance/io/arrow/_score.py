"""Arrow data in, Arrow data with scores out: nothing is read, written or remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from allegiance._core import ForkLock, check_count, require
from allegiance.fitting import Fitted
from allegiance.io import TableError
from allegiance.io.streams import BatchScorer

_WHERE = "the Arrow data"


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
    arrow = require("pyarrow", "io", "score_arrow")
    given = _arrow_data(arrow, data)
    kept = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    used = _feature_columns(fitted, given.schema.names, columns, [*kept, *([labels] if labels else [])])
    missing = [name for name in (*used, *kept, *([labels] if labels else [])) if name not in given.schema.names]
    if missing:
        raise TableError(f"{_WHERE} lacks the columns {missing}: it has {given.schema.names}.")
    score = _scorer_for(fitted, used, kept, labels, None if top is None else check_count(top, "top"), details)
    if isinstance(given, arrow.RecordBatch):
        return score(given, 0).replace_schema_metadata(None)
    batches, first = [], 0
    for batch in given.to_batches() or [arrow.RecordBatch.from_pylist([], schema=given.schema)]:
        batches.append(score(batch, first).replace_schema_metadata(None))
        first += batch.num_rows
    return arrow.Table.from_batches(batches)


#: What scores the batches of each fitted object, so that volumes are prepared once and not with every batch.
_SCORERS: WeakKeyDictionary[Fitted, dict[Any, BatchScorer]] = WeakKeyDictionary()
_PREPARING = ForkLock()


def _scorer_for(
    fitted: Fitted, columns: list[str], keep: dict[str, str], labels: str | None, top: int | None, details: bool
) -> BatchScorer:
    asked = (tuple(columns), tuple(keep.items()), labels, top, details)
    with _PREPARING:
        known = _SCORERS.setdefault(fitted, {})
        if asked not in known:
            known[asked] = BatchScorer(fitted, columns, keep, labels, top, details, _WHERE)
        return known[asked]


def _arrow_data(arrow: Any, data: Any) -> Any:
    """Return a record batch or a table; other libraries' frames that speak Arrow become tables."""
    if isinstance(data, arrow.RecordBatch | arrow.Table):
        return data
    if hasattr(data, "__arrow_c_array__"):
        return arrow.record_batch(data)
    if hasattr(data, "__arrow_c_stream__"):
        return arrow.table(data)
    raise TypeError(f"score_arrow takes a pyarrow RecordBatch or Table, got {type(data).__name__}.")


def _feature_columns(
    fitted: Fitted, names: Sequence[str], columns: Sequence[str] | None, others: Sequence[str]
) -> list[str]:
    """Return the columns that hold the features: those named, those of the fit, or all but ``others``."""
    known = columns if columns is not None else fitted.columns.known_names
    return list(known) if known is not None else [name for name in names if name not in others]
