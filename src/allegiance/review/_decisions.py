"""Review decisions: an append-only log that survives a crash, and applying decisions to labels."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from allegiance._core.validation import AnyArray
from allegiance.fitting import NOISE
from allegiance.io.files import close_locked, lock

KEEP, MOVE, TO_NOISE, UNSURE = "keep", "move", "noise", "unsure"
#: Possible decisions about a label.
DECISIONS = (KEEP, MOVE, TO_NOISE, UNSURE)
#: Further log entries: undo the last decision about a row; name a cluster.
UNDO, NAME = "undo", "name"
#: Possible starts of a log line.
_LINE_STARTS = (b'{"row": ', b'{"decision": ')


def apply_decisions(labels: Any, decisions: Any) -> Any:
    """Return labels with the decisions of a review applied: moved labels changed, noise as -1, all others kept.

    Parameters
    ----------
    labels
        (n,) labels as they were reviewed: array, list or Series.
    decisions
        The decisions or table exported from the page, or the log of a server: a path (CSV, TSV, JSON, JSON Lines,
        Parquet, Arrow, XLSX), a frame, or a list of dicts. Required are ``row`` (from 0) and ``decision`` ("keep",
        "move", "noise" or "unsure"), and ``new_label`` for "move". ``label``, if present, is compared with ``labels``.
        The last decision about a row counts.

    Returns
    -------
    array or Series
        (n,) of the kind of ``labels``.

    Raises
    ------
    ValueError
        If a decision refers to a missing row or to other labels.

    Examples
    --------
    >>> from allegiance.review import apply_decisions
    >>> moved = {"row": 2, "label": 1, "decision": "move", "new_label": 0}
    >>> apply_decisions([0, 1, 1], [moved, {"row": 0, "decision": "noise"}])
    array([-1,  1,  0])
    """
    old = np.asarray(labels)
    if old.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, one label per row, got shape {old.shape}.")
    new = old.astype(object)
    for row, record in final_decisions(read_decisions(decisions)).items():
        if row >= old.size:
            raise ValueError(f"decisions has row {row} but labels has {old.size} entries: pass the labels reviewed.")
        label = record.get("label")
        if label is not None and label_text(label) != label_text(old[row]):
            raise ValueError(
                f"decisions has the label {label!r} for row {row}, but labels has {old[row]!r}: pass the labels as "
                "they were reviewed, in the same order."
            )
        if record["decision"] == MOVE:
            new[row] = _as_label(record["new_label"], old)
        elif record["decision"] == TO_NOISE:
            new[row] = str(NOISE) if _has_names(old) else NOISE
    return _like(labels, old, new)


def final_decisions(records: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the final decision about each row, in the order of the decisions."""
    final: dict[int, Mapping[str, Any]] = {}
    for record in _not_undone(records):
        # Moved to the end, so that the dict is in the order of the final decisions.
        final.pop(record["row"], None)
        final[record["row"]] = record
    return final


def _not_undone(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the decisions that were not undone; an undo removes the last decision about its row."""
    decisions: list[Mapping[str, Any]] = []
    for record in records:
        if record["decision"] != UNDO:
            decisions.append(record)
            continue
        for place in reversed(range(len(decisions))):
            if decisions[place]["row"] == record["row"]:
                del decisions[place]
                break
    return decisions


def read_decisions(decisions: Any) -> list[dict[str, Any]]:
    """Return checked decisions, in order, from any input that :func:`apply_decisions` takes."""
    if isinstance(decisions, str | os.PathLike):
        decisions = _read_file(Path(decisions))
    frame = nw.from_native(decisions, pass_through=True, eager_only=True)
    rows = frame.rows(named=True) if isinstance(frame, nw.DataFrame) else decisions
    records = (_check_decision(record, number) for number, record in enumerate(rows))
    return [record for record in records if record is not None]


def _read_file(path: Path) -> Any:
    """Return the decisions in a file, untyped."""
    kind = path.suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        return _json_lines(path.read_bytes(), path)
    if kind == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    from allegiance.io.tables import open_table

    # Untyped, so that labels such as 007 stay unchanged.
    return open_table(path).read(typed=False).to_pylist()


def _json_lines(content: bytes, path: Path) -> list[Any]:
    """Read a decision log. An incomplete last line, left by a killed process, is ignored."""
    *whole, _ = content.split(b"\n")
    try:
        return [json.loads(line) for line in whole if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a decision log (one JSON object per line): {error}.") from error


def _check_decision(record: Any, number: int) -> dict[str, Any] | None:
    """Return a decision with plain values, or None for a row without one; errors name the row."""
    if not isinstance(record, Mapping):
        raise TypeError(f"decisions must hold one dict or row per decision, got {record!r} as number {number}.")
    values = {name: _plain(value) for name, value in record.items()}
    row, decision = values.get("row"), values.get("decision")
    if decision == NAME or (decision is None and "decision" in values and "verdict" in values):
        return None
    if "label_before" in values:  # A table whose labels are already corrected.
        values |= {"label": values["label_before"], "new_label": values.get("label")}
    if re.fullmatch(r"[0-9]+", label_text(row)):  # Tables may hold texts or floats.
        row = int(label_text(row))
    if type(row) is not int or row < 0:
        raise ValueError(f"decisions has row={row!r} as number {number}: rows are whole numbers from 0.")
    if decision not in (*DECISIONS, UNDO):
        raise ValueError(f"decisions has decision={decision!r} for row {row}: use one of {', '.join(DECISIONS)}.")
    if decision == MOVE and values.get("new_label") is None:
        raise ValueError(f"decisions moves row {row} but has no new_label for it: add one.")
    return {**values, "row": int(row), "decision": decision}


def _as_label(value: Any, labels: AnyArray) -> Any:
    """Convert the new label of a decision, possibly written as text, to the type of ``labels``."""
    if _has_names(labels):
        return label_text(value)
    try:
        return int(label_text(value))
    except ValueError:
        raise ValueError(f"new_label={value!r} is not a number, but the labels are: use a number.") from None


def _has_names(labels: AnyArray) -> bool:
    """Return whether the labels that decisions apply to are names."""
    return labels.dtype.kind == "U" or (labels.dtype.kind == "O" and any(isinstance(v, str) for v in labels.tolist()))


def _plain(value: Any) -> Any:
    """Return a value of a decision as a plain Python type; None for missing values."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value == "" or value != value else value


def label_text(label: Any) -> str:
    """Return a label of a decision as text for comparisons; 7 and 7.0 are the same."""
    text = str(_plain(label))
    return text.split(".", maxsplit=1)[0] if re.fullmatch(r"-?\d+\.0+", text) else text


def _like(labels: Any, old: AnyArray, new: AnyArray) -> Any:
    """Return the labels after decisions in the type of the old ones."""
    kind = old.dtype.kind
    array = new if kind == "O" else np.array(new.tolist(), dtype=None if kind in "Uu" else old.dtype)
    series = nw.from_native(labels, pass_through=True, allow_series=True)
    if not isinstance(series, nw.Series):
        return array
    column = nw.new_series(series.name or "", array.tolist(), backend=series.implementation).to_native()
    index = nw.maybe_get_index(series)
    if index is not None:
        column.index, column.name = index, labels.name
    return column


class DecisionLog:
    """An append-only file of decisions, each saved to disk before the next one is made.

    A log from an earlier session is resumed, without an incomplete last line left by a crash. Any other file is
    refused and stays unchanged. The file is locked while it is open, so that two servers cannot write to it.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    labels
        The label of each row number before the review.
    classes
        Labels to which a row may move; by default those in ``labels``.
    """

    def __init__(
        self, path: str | os.PathLike[str], labels: Mapping[int, Any], classes: Iterable[Any] | None = None
    ) -> None:
        self.path = Path(path)
        self._labels = labels
        self._classes = {label_text(label) for label in (labels.values() if classes is None else classes)}
        # Without O_BINARY, Windows writes two characters for the end of a line.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self.path, flags, 0o666)
        self.names: dict[str, str] = {}
        """User-defined cluster names by label as text."""
        try:
            if lock(self._descriptor) is False:
                raise ValueError(f"{self.path} is in use by another server: close it, or name another file (`log=`).")
            self._records = self._resume()
        except BaseException:
            close_locked(self._descriptor)
            raise
        self.final = final_decisions(self._records)
        """The final decision about each row, in the order of the decisions."""

    def _resume(self) -> list[dict[str, Any]]:
        """Return the decisions of an earlier session; the file only changes if it is a valid log."""
        content = self.path.read_bytes()
        self._size = content.rfind(b"\n") + 1
        tail = content[self._size :]
        try:
            lines = _json_lines(content[: self._size], self.path)
            records = read_decisions(lines)
        except TypeError as error:
            raise ValueError(f"{self.path} is not a decision log (one JSON object per line): {error}") from error
        if tail and not any(start.startswith(tail) or tail.startswith(start) for start in _LINE_STARTS):
            raise ValueError(f"{self.path} is not a decision log: its last line is not the start of a decision.")
        for record in records:
            self._check_record(record)
        for line in lines:
            if line.get("decision") == NAME:
                self.names[str(line.get("label"))] = str(line.get("name") or "")
        if tail:
            os.ftruncate(self._descriptor, self._size)
            os.fsync(self._descriptor)
        return records

    def _check_record(self, record: Mapping[str, Any]) -> None:
        """Raise an error if a decision refers to another clustering."""
        row, label, target = record["row"], record.get("label"), record.get("new_label")
        here = self._labels.get(row)
        problem = None
        if here is None:
            problem = "that row does not exist here"
        elif label_text(label) != label_text(here):
            problem = f"here it is {here!r}"
        elif record["decision"] == MOVE and label_text(target) not in self._classes:
            problem = f"it moves the row to {target!r}, which is not a cluster here"
        if problem is not None:
            raise ValueError(
                f"{self.path} has decisions about another clustering: row {row} was labeled {label!r}, but {problem}. "
                "Choose another file (`log=`)."
            )

    def decide(self, row: int, decision: str, new_label: Any = None, ids: Mapping[str, Any] | None = None) -> None:
        """Save a decision about a row; ``ids`` identify the row for readers of the file."""
        record = {
            "row": row,
            **(ids or {}),
            "label": _plain(self._labels[row]),
            "decision": decision,
            "new_label": new_label if decision == MOVE else None,
            "decided_at": _now(),
        }
        checked = read_decisions([record])
        self._append(record)
        self._records += checked
        self.final = final_decisions(self._records)

    def undo(self) -> int | None:
        """Undo the last decision and return its row; None if there is none."""
        decisions = _not_undone(self._records)
        if not decisions:
            return None
        self.decide(decisions[-1]["row"], UNDO)
        return int(decisions[-1]["row"])

    def clear(self, row: int) -> None:
        """Undo all decisions about a row."""
        while row in self.final:
            self.decide(row, UNDO)

    def rename(self, label: str, name: str) -> None:
        """Save a name for a cluster in the decision log."""
        self._append({"decision": NAME, "label": label, "name": name, "decided_at": _now()})
        self.names[label] = name

    def _append(self, record: dict[str, Any]) -> None:
        """Append a decision to the log, and sync it to disk."""
        line = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        self._check_file()
        try:
            n_bytes = 0
            while n_bytes < len(line):
                n_bytes += os.write(self._descriptor, line[n_bytes:])
            os.fsync(self._descriptor)
        except OSError:
            # If the disk is full, remove the incomplete line before the next decision is appended.
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)

    def _check_file(self) -> None:
        """Raise an error if the decision log was deleted, replaced or edited since the last decision."""
        opened = os.fstat(self._descriptor)
        try:
            same = os.path.samestat(opened, os.stat(self.path))
        except FileNotFoundError:
            same = False
        if not same or opened.st_size != self._size:
            raise OSError(
                f"{self.path} was deleted, replaced or edited by another program; this decision is not saved. Restore "
                "the file and start the review again."
            )

    def close(self) -> None:
        """Close the decision log and release its lock."""
        if self._descriptor >= 0:
            close_locked(self._descriptor)
            self._descriptor = -1


def _now() -> str:
    """Return the time of a decision as text."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
