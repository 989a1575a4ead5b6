"""Decisions about labels: an append-only log that survives a kill, and labels with the decisions applied."""

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
from allegiance.io import close_locked, lock

KEEP, MOVE, TO_NOISE, UNSURE = "keep", "move", "noise", "unsure"
#: What a person can decide about a label.
DECISIONS = (KEEP, MOVE, TO_NOISE, UNSURE)
#: In logs, which are never rewritten: take back the last decision about a row; name a cluster.
UNDO, NAME = "undo", "name"
#: How the lines of a log start.
_LINE_STARTS = (b'{"row": ', b'{"decision": ')


def apply_decisions(labels: Any, decisions: Any) -> Any:
    """Return labels with the decisions of a review applied: moved labels changed, noise as -1, all others kept.

    Parameters
    ----------
    labels
        (n,) labels as they were reviewed: array, list or Series.
    decisions
        What the page exported (decisions or table) or the log of a server: a path (CSV, TSV, JSON, JSON Lines,
        Parquet, Arrow, XLSX), a frame, or a list of dicts. Needed are ``row`` (from 0) and ``decision`` ("keep",
        "move", "noise" or "unsure"), ``new_label`` for "move"; ``label`` is compared with ``labels`` if it is there. Of
        several decisions about one row the last one counts.

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
        said = record.get("label")
        if said is not None and label_text(said) != label_text(old[row]):
            raise ValueError(
                f"decisions says that row {row} had the label {said!r}, but labels has {old[row]!r} there: pass the "
                "labels as they were reviewed, in the same order."
            )
        if record["decision"] == MOVE:
            new[row] = _as_label(record["new_label"], old)
        elif record["decision"] == TO_NOISE:
            new[row] = str(NOISE) if _has_names(old) else NOISE
    return _like(labels, old, new)


def final_decisions(records: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """Return the decision that counts for each row, in the order in which they were made."""
    final: dict[int, Mapping[str, Any]] = {}
    for record in _not_undone(records):
        # Put at the end: a dict keeps the order in which rows were last decided.
        final.pop(record["row"], None)
        final[record["row"]] = record
    return final


def _not_undone(records: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the decisions that were not taken back; an undo takes back the last one about its row."""
    made: list[Mapping[str, Any]] = []
    for record in records:
        if record["decision"] != UNDO:
            made.append(record)
            continue
        for place in reversed(range(len(made))):
            if made[place]["row"] == record["row"]:
                del made[place]
                break
    return made


def read_decisions(decisions: Any) -> list[dict[str, Any]]:
    """Return decisions of any kind that :func:`apply_decisions` takes as checked records, in their order."""
    if isinstance(decisions, str | os.PathLike):
        decisions = _read_file(Path(decisions))
    frame = nw.from_native(decisions, pass_through=True, eager_only=True)
    found = frame.rows(named=True) if isinstance(frame, nw.DataFrame) else decisions
    records = (_checked(record, number) for number, record in enumerate(found))
    return [record for record in records if record is not None]


def _read_file(path: Path) -> Any:
    kind = path.suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        return _json_lines(path.read_bytes(), path)
    if kind == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    from allegiance.io.tables import open_table

    # Labels such as 007 stay as they are written.
    return open_table(path).read(typed=False).to_pylist()


def _json_lines(content: bytes, path: Path) -> list[Any]:
    """Read a log. A last line without its end was being written when the process was killed, and never counted."""
    *whole, _ = content.split(b"\n")
    try:
        return [json.loads(line) for line in whole if line.strip()]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not a decision log (one JSON object per line): {error}.") from error


def _checked(record: Any, number: int) -> dict[str, Any] | None:
    """Return a decision with plain values, None for a row without one, or raise an error that names it."""
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
        raise ValueError(f"decisions moves row {row} but has no new_label for it: say where to.")
    return {**values, "row": int(row), "decision": decision}


def _as_label(value: Any, labels: AnyArray) -> Any:
    """Return a new label, which may have been written as text, as one of the kind of ``labels``."""
    if _has_names(labels):
        return label_text(value)
    try:
        return int(label_text(value))
    except ValueError:
        raise ValueError(f"new_label={value!r} is not a number, but the labels are: use a number.") from None


def _has_names(labels: AnyArray) -> bool:
    return labels.dtype.kind == "U" or (labels.dtype.kind == "O" and any(isinstance(v, str) for v in labels.tolist()))


def _plain(value: Any) -> Any:
    """Return a value without NumPy's types; None for what tables write for a missing one."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value == "" or value != value else value


def label_text(label: Any) -> str:
    """Return a label as it is compared: whole numbers alike, however a table stores them."""
    text = str(_plain(label))
    return text.split(".", maxsplit=1)[0] if re.fullmatch(r"-?\d+\.0+", text) else text


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


class DecisionLog:
    """An append-only file of decisions, each saved to disk before the next one is made.

    A log from an earlier session is resumed. An incomplete last line, left by a kill, is removed. Any other file is
    refused and stays as it is. The file is locked while it is open, so that two servers cannot write to it.

    Parameters
    ----------
    path
        The file; it is created if it does not exist.
    labels
        The label of each row number before the review.
    classes
        Labels that a row may move to; by default those in ``labels``.
    """

    def __init__(
        self, path: str | os.PathLike[str], labels: Mapping[int, Any], classes: Iterable[Any] | None = None
    ) -> None:
        self.path = Path(path)
        self._labels = labels
        self._classes = {label_text(label) for label in (labels.values() if classes is None else classes)}
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self.names: dict[str, str] = {}
        """Names that clusters were given, by their labels as text."""
        try:
            if lock(self._descriptor) is False:
                raise ValueError(
                    f"{self.path} is in use by another server: close it, or name another file (log=..., --decisions)."
                )
            self._records = self._resume()
        except BaseException:
            close_locked(self._descriptor)
            raise
        self.final = final_decisions(self._records)
        """The decision that counts for each row, in the order in which they were made."""

    def _resume(self) -> list[dict[str, Any]]:
        """Return the records of an earlier session; the file changes only if all of it is a log."""
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
        """Raise an error if a record is about another clustering."""
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
                "Choose another file (log=..., --decisions)."
            )

    def decide(self, row: int, decision: str, new_label: Any = None, ids: Mapping[str, Any] | None = None) -> None:
        """Write a decision about a row to the disk; ``ids`` identify the row for readers of the file."""
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
        """Take the last decision back and return its row; None if there is none."""
        made = _not_undone(self._records)
        if not made:
            return None
        self.decide(made[-1]["row"], UNDO)
        return int(made[-1]["row"])

    def clear(self, row: int) -> None:
        """Take back every decision about a row."""
        while row in self.final:
            self.decide(row, UNDO)

    def rename(self, label: str, name: str) -> None:
        """Write a name for a cluster to the disk."""
        self._append({"decision": NAME, "label": label, "name": name, "decided_at": _now()})
        self.names[label] = name

    def _append(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        self._check_file()
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            os.fsync(self._descriptor)
        except OSError:
            # A full disk must not leave half a line to which the next decision would be appended.
            os.ftruncate(self._descriptor, self._size)
            raise
        self._size += len(line)

    def _check_file(self) -> None:
        """Raise an error if the file was deleted, replaced or edited since the last decision."""
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
        """Close the file, so that others can write it."""
        if self._descriptor >= 0:
            close_locked(self._descriptor)
            self._descriptor = -1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
