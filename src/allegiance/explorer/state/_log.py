"""The log of decisions: one JSON object per line, on the disk before the next one can be made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from allegiance.applications import MOVE, UNDO, read_decisions, standing_decisions
from allegiance.io import close_locked, lock

from ._subject import Subject


def _now() -> datetime:
    return datetime.now(UTC)


class DecisionLog:
    """Decisions about the labels of a subject, in a file that is only ever appended to.

    A file from an earlier session is taken up where it ended. What a kill left of a line never counted: it is removed.
    While it is open, the file is locked: two explorers do not write one log.

    Parameters
    ----------
    path
        The file, by custom ``*.jsonl``.
    subject
        What the decisions are about.
    clock
        Gives the time, in UTC.

    Raises
    ------
    ValueError
        If the file holds decisions about other labels, or is in use.
    """

    def __init__(self, path: str | os.PathLike[str], subject: Subject, clock: Callable[[], datetime] = _now) -> None:
        self.path = Path(path)
        self._subject = subject
        self._clock = clock
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            if lock(self._descriptor) is False:
                raise ValueError(f"{self.path} is in use by another explorer: close it, or name another file.")
            self._records = self._resume()
        except BaseException:
            close_locked(self._descriptor)
            raise
        self.standing = self._by_point()
        """The decision that counts for each point decided, in the order in which they were made."""

    def _by_point(self) -> dict[int, Mapping[str, Any]]:
        found = {self._subject.row_of(number): record for number, record in standing_decisions(self._records).items()}
        return {row: record for row, record in found.items() if row is not None}

    def _resume(self) -> list[dict[str, Any]]:
        """Return the records of an earlier session, after removing what a kill left of a line."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._descriptor, whole)
            os.fsync(self._descriptor)
        if not whole:
            return []
        try:
            records = read_decisions([json.loads(line) for line in content[:whole].splitlines() if line.strip()])
        except ValueError as error:
            raise ValueError(f"{self.path} is not a log of decisions, one JSON object per line: {error}") from error
        for record in records:
            self._check(record)
        return records

    def _check(self, record: dict[str, Any]) -> None:
        """Raise unless a record is about a label of the subject."""
        subject, said = self._subject, record.get("label")
        row = subject.row_of(record["row"])
        if row is not None and str(said) == str(subject.label(row)):
            return
        here = "that row is not there" if row is None else f"here it is {subject.label(row)!r}"
        raise ValueError(
            f"{self.path} holds decisions about another clustering: row {record['row']} was labelled {said!r}, but "
            f"{here}. Name another file for the decisions about this one."
        )

    def decide(self, row: int, decision: str, new_label: Any = None) -> dict[str, Any]:
        """Write a decision to the disk, and return its record.

        Parameters
        ----------
        row
            The point.
        decision
            One of ``DECISIONS``.
        new_label
            Where it is moved to, for "move".
        """
        subject = self._subject
        record = {
            "row": subject.number(row),
            **subject.id_of(row),
            "label": subject.label(row),
            "decision": decision,
            "new_label": new_label if decision == MOVE else None,
            "decided_at": self._clock().isoformat(timespec="milliseconds"),
        }
        self._append(record)
        return record

    def undo(self) -> int | None:
        """Take the last decision back and return its row; None if there is none."""
        if not self.standing:
            return None
        row = next(reversed(self.standing))
        self.decide(row, UNDO)
        return row

    def _append(self, record: dict[str, Any]) -> None:
        checked = read_decisions([record])[0]
        line = json.dumps(record, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        end = os.fstat(self._descriptor).st_size
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
            os.fsync(self._descriptor)
        except OSError:
            # A full disk must not leave half a line that the next decision would be glued to.
            os.ftruncate(self._descriptor, end)
            raise
        self._records.append(checked)
        self.standing = self._by_point()

    def close(self) -> None:
        """Close the file, and let others write it."""
        if self._descriptor >= 0:
            close_locked(self._descriptor)
            self._descriptor = -1
