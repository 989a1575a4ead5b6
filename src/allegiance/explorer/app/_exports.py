"""Files to take away: the decisions, and the table with the labels after them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from allegiance._core import AnyArray, dense, is_sparse
from allegiance.applications import FIELDS
from allegiance.explorer.state import Session
from allegiance.io._old_tables import open_sink
from allegiance.results import VERDICTS

FORMATS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
TABLES = ("decisions", "relabelled")
#: Features in the relabelled table; of wider data only scores are written.
_MAX_FEATURES = 500


def export(session: Session, table: str, format: str) -> bytes:
    """Return a table as the content of a file.

    Parameters
    ----------
    session
        The review.
    table
        One of ``TABLES``.
    format
        One of ``FORMATS``.
    """
    columns = _decisions(session) if table == "decisions" else _relabelled(session)
    rows = nw.from_dict(columns, backend="pyarrow").to_native()
    with tempfile.TemporaryDirectory(prefix="allegiance-export-") as folder:
        path = Path(folder) / f"{table}.{format}"
        # Opened in a spreadsheet as often as not, with names that anyone may have chosen.
        with open_sink(path, escape_formulas=True) as sink:
            sink.write(rows)
        return path.read_bytes()


def _decisions(session: Session) -> dict[str, Any]:
    """Return the decisions that count, in the order in which they were made."""
    records = list(session.log.standing.values())
    names = ["row", *session.subject.ids, *FIELDS[1:]]
    columns = {name: [record.get(name) for record in records] for name in names}
    return {name: _of_one_kind(values) for name, values in columns.items()}


def _relabelled(session: Session) -> dict[str, Any]:
    """Return all points with what identifies them, their features, the new label, and what it was."""
    subject = session.subject
    n = subject.n_points
    rows = np.arange(n) if subject.numbers is None else subject.numbers
    columns: dict[str, Any] = {"row": rows, **{name: list(column) for name, column in subject.ids.items()}}
    decided: list[Any] = [None] * n
    for row, record in session.log.standing.items():
        decided[row] = record["decision"]
    scores: dict[str, Any] = {
        "label": _of_one_kind(session.relabelled().tolist()),
        "label_before": _of_one_kind(subject.labels.tolist()),
        "decision": decided,
        subject.quantity.replace(" ", "_"): subject.ranking,
        "verdict": np.array(VERDICTS)[subject.verdict],
        "rival": _of_one_kind(subject.classes[subject.rival].tolist()),
    }
    features = subject.features
    if features is not None and len(features.names) <= _MAX_FEATURES and not is_sparse(features.rows):
        values: AnyArray = dense(features.rows)
        for place, name in enumerate(features.names):
            free = name if name not in columns and name not in scores else f"{name} (feature)"
            columns[free] = values[:, place]
    return columns | scores


def _of_one_kind(values: list[Any]) -> list[Any]:
    """Return values of one type, as columns of a table have."""
    kinds = {type(value) for value in values if value is not None}
    return values if len(kinds) <= 1 else [None if value is None else str(value) for value in values]
