"""A period in a table that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from allegiance._core import Progress, check_count, progress
from allegiance.fitting import Fitted, in_own_units, period_of, profile_of
from allegiance.io import TableError
from allegiance.io._old_tables import BATCH_ROWS, PreparedSource
from allegiance.results import Period, Profile

from ._rows import as_source, feature_columns, matrices


def profile_stream(
    source: Any,
    fitted: Fitted,
    *,
    columns: Sequence[str] | None = None,
    reference: bool = False,
    batch_rows: int = BATCH_ROWS,
    verbose: bool | Callable[[Progress], Any] = False,
) -> Profile:
    """Return the figures of the rows of a table, read once and in batches; memory does not depend on its length.

    Parameters
    ----------
    source
        A table: what :func:`allegiance.io._old_tables.open_source` takes, or what it returns.
    fitted
        What scores the rows.
    columns
        The columns that hold the features; by default those of the fit, by name, or all.
    reference
        Whether later periods will be compared with this one.
    batch_rows
        Rows in memory at a time.
    verbose
        As in :func:`score_stream`.
    """
    table = as_source(source, [])
    # A prepared table has numbers only, which are compared in the units that they had before they were scaled.
    preparation = table.features.preparation if isinstance(table, PreparedSource) else None
    names = columns if columns is not None else fitted.columns.known_names
    used = feature_columns(table, None if names is None else list(names), [])
    bare, start = fitted.without_preprocessing(), 0
    total: Period | None = None
    with progress(table.n_rows, "scoring", verbose, unit="rows") as advance:
        for rows, _ in matrices(table, used, None, check_count(batch_rows, "batch_rows")):
            features = rows if preparation is None else in_own_units(preparation, rows)
            found = period_of(bare, rows, start, features)
            total = found if total is None else total.plus(found)
            start += rows.shape[0]
            advance(rows.shape[0])
    if total is None:
        raise TableError(f"{table.where} has no rows.")
    return profile_of(bare, total, reference=reference, names=used)
