"""A period in a table that need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from allegiance._core import Progress, check_count, progress
from allegiance.drift import Profile, in_own_units, profile_rows
from allegiance.fitting import Fitted
from allegiance.io import TableError
from allegiance.io._old_tables import BATCH_ROWS, PreparedSource

from ._rows import as_source, feature_columns, matrices


def profile_stream(
    source: Any,
    fitted: Fitted,
    *,
    columns: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    verbose: bool | Callable[[Progress], Any] = False,
) -> Profile:
    """Return the profile of the rows of a table, read once and in batches; memory does not depend on its length.

    Parameters
    ----------
    source
        A table: what :func:`allegiance.io._old_tables.open_source` takes, or what it returns.
    fitted
        What scores the rows.
    columns
        The columns that hold the features; by default those of the fit, by name, or all.
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
    fitted, start = fitted.without_preprocessing(), 0
    total: Profile | None = None
    with progress(table.n_rows, "scoring", verbose, unit="rows") as advance:
        for rows, _ in matrices(table, used, None, check_count(batch_rows, "batch_rows")):
            features = rows if preparation is None else in_own_units(preparation, rows)
            found = profile_rows(fitted, rows, features=features, names=used, start=start)
            total = found if total is None else total.plus(found)
            start += rows.shape[0]
            advance(rows.shape[0])
    if total is None:
        raise TableError(f"{table.where} has no rows.")
    return total
