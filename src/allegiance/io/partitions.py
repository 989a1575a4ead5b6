"""Partitioned output, local or remote: one file per input partition. A rerun writes only missing files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from allegiance._core.validation import require

from .files import TEMPORARY, TableError, filesystem_of, is_url, read_file, stamp, write_whole
from .sinks import Sink, open_sink
from .tables import FORMATS, Table

if TYPE_CHECKING:
    from allegiance.results import Summary

#: Maximum rows of a part; longer input files give several parts.
PART_ROWS = 1_000_000
#: Folder of run records in an output folder. Dataset readers ignore names with a leading underscore.
RECORDS = "_allegiance"
_KNOWN_ENDINGS = {ending for endings in FORMATS.values() for ending in endings} | {".gz", ".bz2", ".zst"}


class Partition(NamedTuple):
    """A piece of the input that becomes one output file."""

    name: str
    table: Table
    """The input file."""
    start: int
    stop: int | None
    """The row after its last one; None for the end of the file."""


class ScoredPart(NamedTuple):
    """The rows of a finished part."""

    rows: int
    """Their number."""
    summary: Summary
    review: pa.Table | None
    """The first ones to review, if a list was requested."""


def list_partitions(table: Table) -> list[Partition]:
    """Return the partitions of a table: one per input file, or several for files with more than a million rows."""
    parts: list[Partition] = []
    files = table.partitions()
    names = _file_names([one.where for one in files])
    for name, one in zip(names, files, strict=True):
        count = one.n_rows
        if count is None or count <= PART_ROWS:
            parts.append(Partition(name, one, 0, None))
            continue
        for number, start in enumerate(range(0, count, PART_ROWS)):
            parts.append(Partition(f"{name}-{number:05d}", one, start, min(start + PART_ROWS, count)))
    return parts


def _file_names(paths: Sequence[str]) -> list[str]:
    """Return unique file names for paths, without shared folders and endings."""
    pieces = [(path if is_url(path) else os.path.abspath(path)).replace(os.sep, "/").split("/") for path in paths]
    shared = _shared_length([each[:-1] for each in pieces])
    names: list[str] = []
    for each in pieces:
        *folders, name = each[shared:]
        while PurePosixPath(name).suffix.lower() in _KNOWN_ENDINGS:
            name = PurePosixPath(name).stem
        name = "__".join([*folders, name]).replace(" ", "-")
        names.append(
            next(one for one in (name, *(f"{name}-{i}" for i in range(2, len(paths) + 2))) if one not in names)
        )
    return names


def _shared_length(paths: Sequence[Sequence[str]]) -> int:
    """Return the number of leading folders that all paths share."""
    length = 0
    for names in zip(*paths, strict=False):
        if len({*names}) > 1:
            break
        length += 1
    return length


class PartitionedSink:
    """A folder of Parquet files, each with a record of the run that wrote it.

    A part is finished when its record belongs to this run, and the file has the recorded size. Files appear
    complete or not at all, so a run may be killed at any time and started again.

    Parameters
    ----------
    folder
        A local folder, which is created, or a URL.
    if_exists
        How to treat parts of another run: "error" raises, "update" replaces them, "replace" also replaces finished
        parts of this run.
    metadata
        As in :func:`allegiance.io.open_sink`.
    """

    #: The format of the files.
    format = "parquet"

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        if_exists: str = "error",
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = os.fspath(folder).rstrip("/" + os.sep) + "/"
        self.if_exists, self._metadata = if_exists, metadata
        self._stack = ExitStack()
        if is_url(self.path):
            filesystem_of(self.path)
        elif os.path.isdir(self.path) and not os.path.isdir(self.path + RECORDS) and os.listdir(self.path):
            raise TableError(f"{self.path} is not empty and was not written by allegiance: name another folder.")
        elif os.path.exists(self.path.rstrip("/")) and not os.path.isdir(self.path):
            raise TableError(f"{self.path} is a file: name a folder.")

    def check(self, fields: Any) -> None:
        """Raise if the format cannot store a column."""
        open_sink("part.parquet", force=True).check(fields)

    def __enter__(self) -> PartitionedSink:
        if not is_url(self.path):
            os.makedirs(self.path + RECORDS, exist_ok=True)
            filelock = require("filelock", "io", "a folder of outputs")
            lock = filelock.FileLock(f"{self.path}{RECORDS}/lock", blocking=False)
            try:
                self._stack.enter_context(lock)
            except filelock.Timeout:
                raise TableError(f"{self.path} is being written by another run: wait until it ends.") from None
            for folder in (self.path, self.path + RECORDS):
                for left in Path(folder).glob(f"{TEMPORARY}*"):  # of a run that was killed: this one has the lock
                    left.unlink()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def file_of(self, part: Partition) -> str:
        """Return the output path of a part."""
        return f"{self.path}{part.name}.parquet"

    def find(self, part: Partition, run: Mapping[str, Any], empty: Summary) -> ScoredPart | None:
        """Return a part that this run has finished, or None if it must be written; ``empty`` summarizes no rows."""
        if self.if_exists == "replace":
            return None
        file = self.file_of(part)
        size = _size(file)
        text = read_file(self._record_of(part))
        if text is None:
            if size is not None and self.if_exists == "error":
                raise TableError(f"{file} exists and was not written by allegiance. Pass --if-exists replace.")
            return None
        try:
            values = json.loads(text)
            same = values["run"] == self._digest(part, run)
            if same and values["size"] is None:
                return None  # an earlier run was killed at this part
            if same and values["size"] == size:
                review = values["review"]
                rows = None if review is None else pa.ipc.open_stream(base64.b64decode(review)).read_all()
                return ScoredPart(values["rows"], empty.from_json(values["summary"]), rows)
        except (ValueError, KeyError, TypeError, pa.ArrowException):
            pass
        if self.if_exists == "error" and size is not None:
            raise TableError(
                f"{file} was written by another run: its inputs, model or options differ. Pass force=True (--if-exists "
                "replace) or --if-exists update, or name another folder."
            )
        return None

    def open(self, part: Partition, run: Mapping[str, Any]) -> Sink:
        """Return the sink of a part. Its record says from now on that the file is one of this run."""
        write_whole(self._record_of(part), json.dumps({"run": self._digest(part, run), "size": None}).encode())
        return open_sink(self.file_of(part), force=True, metadata=self._metadata)

    def finish(self, part: Partition, run: Mapping[str, Any], done: ScoredPart) -> None:
        """Write the record of a part after its file is complete."""
        packed = None
        if done.review is not None:
            buffer = pa.BufferOutputStream()
            with pa.ipc.new_stream(buffer, done.review.schema) as writer:
                writer.write_table(done.review)
            packed = base64.b64encode(buffer.getvalue().to_pybytes()).decode()
        values = {
            "run": self._digest(part, run),
            "source": part.table.where,
            "start": part.start,
            "rows": done.rows,
            "size": _size(self.file_of(part)),
            "summary": done.summary.to_json(),
            "review": packed,
        }
        write_whole(self._record_of(part), json.dumps(values).encode())

    def _record_of(self, part: Partition) -> str:
        return f"{self.path}{RECORDS}/{part.name}.part.json"

    def _digest(self, part: Partition, run: Mapping[str, Any]) -> str:
        """Return a hash of everything that determines the rows of a part."""
        values = [dict(run), part.table.fingerprint(), part.start, part.stop]
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def _size(path: str) -> int | None:
    """Return the size of a file, None if it does not exist."""
    values = stamp(path)
    return None if values is None else int(values[0])
