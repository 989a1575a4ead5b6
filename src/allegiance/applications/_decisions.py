"""What people decided about labels, and labels with these decisions applied."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from allegiance._core import AnyArray
from allegiance.fitting import NOISE
from allegiance.io._old_tables import open_source

KEEP, MOVE, TO_NOISE, UNSURE = "keep", "move", "noise", "unsure"
#: What a person can decide about a label.
DECISIONS = (KEEP, MOVE, TO_NOISE, UNSURE)
#: Takes the last decision about a row back; occurs in logs only, which are never rewritten.
UNDO = "undo"
#: The columns of a decision; those that identify the row, if any, stand behind ``row``.
FIELDS = ("row", "label", "decision", "new_label", "decided_at")


def apply_decisions(labels: Any, decisions: Any) -> Any:
    """Return labels with the decisions of a review applied: moved labels changed, noise as -1, all others kept.

    Parameters
    ----------
    labels
        (n,) labels as they were reviewed: array, list or Series.
    decisions
        What the explorer or the report exported, or the explorer's log: a path (CSV, TSV, Parquet, Arrow, JSON Lines),
        a frame, or a list of dicts. Needed are ``row`` (from 0) and ``decision`` ("keep", "move", "noise" or "unsure"),
        ``new_label`` for "move"; ``label`` is compared with ``labels`` if it is there. Of several decisions about one
        row the last one counts.

    Returns
    -------
    array or Series
        (n,) of the kind of ``labels``.

    Raises
    ------
    ValueError
        If a decision is about a row that is not there, or was made about other labels than these.

    Examples
    --------
    >>> from allegiance import apply_decisions
    >>> moved = {"row": 2, "label": 1, "decision": "move", "new_label": 0}
    >>> apply_decisions([0, 1, 1], [moved, {"row": 0, "decision": "noise"}])
    array([-1,  1,  0])
    """
    old = np.asarray(labels)
    if old.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, one label per row, got shape {old.shape}.")
    standing = standing_decisions(read_decisions(decisions))
    new = old.astype(object)
    for row, record in standing.items():
        if row >= old.size:
            raise ValueError(f"decisions has row {row} but labels has {old.size} entries: pass the labels reviewed.")
        said = record.get("label")
        if said is not None and _text(said) != _text(old[row]):
            raise ValueError(
                f"decisions says that row {row} had the label {said!r}, but labels has {old[row]!r} there: pass the "
                "labels as they were reviewed, in the same order."
            )
        if record["decision"] == MOVE:
            new[row] = as_label(record["new_label"], old)
        elif record["decision"] == TO_NOISE:
            new[row] = str(NOISE) if old.dtype.kind in "UO" and _has_names(old) else NOISE
    return _like(labels, old, new)


def standing_decisions(records: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the decision that counts for each row, in the order in which they were made.

    Parameters
    ----------
    records
        Checked, as :func:`read_decisions` returns them.
    """
    made: dict[int, list[Mapping[str, Any]]] = {}
    for record in records:
        before = made.pop(record["row"], [])
        kept = before[:-1] if record["decision"] == UNDO else [*before, record]
        if kept:
            # Put back at the end: a dict keeps the order in which rows were last decided.
            made[record["row"]] = kept
    return {row: kept[-1] for row, kept in made.items()}


def read_decisions(decisions: Any) -> list[dict[str, Any]]:
    """Return decisions of any kind that :func:`apply_decisions` takes as checked records, in their order."""
    if isinstance(decisions, str | os.PathLike):
        path = Path(decisions)
        lines = path.suffix.lower() in (".jsonl", ".ndjson")
        found = _json_lines(path) if lines else open_source(path, codes=("label", "new_label")).read().to_pylist()
    else:
        frame = nw.from_native(decisions, pass_through=True, eager_only=True)
        found = frame.rows(named=True) if isinstance(frame, nw.DataFrame) else decisions
    return [_checked(record, number) for number, record in enumerate(found)]


def _json_lines(path: Path) -> list[Any]:
    """Read a log. A last line without its end was being written when the process was killed: it never counted."""
    *whole, _ = path.read_text(encoding="utf-8").split("\n")
    try:
        return [json.loads(line) for line in whole if line.strip()]
    except ValueError as error:
        raise ValueError(f"{path} is not a log of decisions, one JSON object per line: {error}.") from error


def _checked(record: Any, number: int) -> dict[str, Any]:
    """Return a decision with plain values, or raise an error that names it."""
    if not isinstance(record, Mapping):
        raise TypeError(f"decisions must hold one dict or row per decision, got {record!r} as number {number}.")
    values = {name: _plain(value) for name, value in record.items()}
    row, decision = values.get("row"), values.get("decision")
    if isinstance(row, float) and row.is_integer():
        row = int(row)
    if not isinstance(row, Integral) or row < 0:
        raise ValueError(f"decisions has row={row!r} as number {number}: rows are whole numbers from 0.")
    if decision not in (*DECISIONS, UNDO):
        raise ValueError(f"decisions has decision={decision!r} for row {row}: use one of {', '.join(DECISIONS)}.")
    if decision == MOVE and values.get("new_label") is None:
        raise ValueError(f"decisions moves row {row} but has no new_label for it: say where to.")
    return {**values, "row": int(row), "decision": decision}


def as_label(value: Any, labels: AnyArray) -> Any:
    """Return a new label, which may have been written as text, as one of the kind of ``labels``."""
    if _has_names(labels):
        return _text(value)
    try:
        return int(_text(value))
    except ValueError:
        raise ValueError(f"new_label={value!r} is not a number, but the labels are: use a number.") from None


def _has_names(labels: AnyArray) -> bool:
    return labels.dtype.kind == "U" or (labels.dtype.kind == "O" and any(isinstance(v, str) for v in labels.tolist()))


def _plain(value: Any) -> Any:
    """Return a value without NumPy's types; None for what tables write for a missing one."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value == "" or value != value else value


def _text(label: Any) -> str:
    """Return a label as it is compared: whole numbers alike, however a table stores them."""
    label = _plain(label)
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _like(labels: Any, old: AnyArray, new: AnyArray) -> Any:
    """Return the new labels as what the old ones came in."""
    kind = old.dtype.kind
    found = new if kind == "O" else np.array(new.tolist(), dtype=None if kind in "Uu" else old.dtype)
    series = nw.from_native(labels, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return found
    made = nw.new_series(series.name or "", found.tolist(), backend=series.implementation).to_native()
    index = nw.maybe_get_index(series)
    if index is not None:
        made.index, made.name = index, labels.name
    return made
