"""Partitioned output, local or remote: one file per partition of the input. A rerun writes only missing files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from allegiance._core.validation import require

from .files import ENDINGS, TEMPORARY, TableError, filesystem_of, is_url, read_file, stamp, write_whole
from .sinks import Sink, open_sink
from .tables import Table

if TYPE_CHECKING:
    from allegiance.results import Summary

#: Maximum rows of a partition; longer input files give several partitions.
PART_ROWS = 1_000_000
#: Folder of run records in an output folder. Dataset readers ignore names with a leading underscore.
RECORDS = "_allegiance"
_KNOWN_ENDINGS = {*ENDINGS, ".gz", ".bz2", ".zst"}


class Partition(NamedTuple):
    """Rows ``start`` to ``stop`` (None for the end) of an input file, which become one output file."""

    name: str
    table: Table
    start: int
    stop: int | None


class ScoredPartition(NamedTuple):
    """The number of rows of a finished partition, their summary, and the first ones to review, if requested."""

    rows: int
    summary: Summary
    review: pa.Table | None


def list_partitions(table: Table) -> list[Partition]:
    """Return the partitions of a table: one per input file, or several for files with more than a million rows."""
    files = table.partitions()
    partitions: list[Partition] = []
    for name, one in zip(_partition_names([one.where for one in files]), files, strict=True):
        if one.n_rows is None or one.n_rows <= PART_ROWS:
            partitions.append(Partition(name, one, 0, None))
            continue
        for number, start in enumerate(range(0, one.n_rows, PART_ROWS)):
            partitions.append(Partition(f"{name}-{number:05d}", one, start, min(start + PART_ROWS, one.n_rows)))
    return partitions


def _partition_names(paths: Sequence[str]) -> list[str]:
    """Return unique names of partitions for input paths, without shared folders and endings."""
    pieces = [(path if is_url(path) else os.path.abspath(path)).replace(os.sep, "/").split("/") for path in paths]
    levels = zip(*(each[:-1] for each in pieces), strict=False)
    shared = len([*takewhile(lambda names: len({*names}) == 1, levels)])
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


class PartitionedSink:
    """A local folder, which is created, or a URL: one Parquet file per partition, and records of their runs.

    A partition is finished when its record belongs to this run, and the file has the recorded size. Files appear
    complete or not at all, so a run may be killed at any time and started again. ``if_exists`` decides about partitions
    of another run: "error" raises, "update" replaces them, "replace" also replaces finished partitions of this run.
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
        """Raise if the files of partitions cannot store a column."""
        Sink(self.path, self.format, True, {}, False).check(fields)

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

    def file_of(self, partition: Partition) -> str:
        """Return the output path of a partition."""
        return f"{self.path}{partition.name}.parquet"

    def find(self, partition: Partition, run: Mapping[str, Any], empty: Summary) -> ScoredPartition | None:
        """Return a partition that this run has finished, None if it must be written; ``empty`` summarizes no rows."""
        if self.if_exists == "replace":
            return None
        file = self.file_of(partition)
        size = (stamp(file) or [None])[0]
        text = read_file(self._record_of(partition))
        if text is None:
            if size is not None and self.if_exists == "error":
                raise TableError(f"{file} exists and was not written by allegiance. Pass `force=True`.")
            return None
        try:
            values = json.loads(text)
            same = values["run"] == self._digest(partition, run)
            if same and values["size"] is None:
                return None  # an earlier run was killed at this partition
            if same and values["size"] == size:
                review = values["review"]
                rows = None if review is None else pa.ipc.open_stream(base64.b64decode(review)).read_all()
                return ScoredPartition(values["rows"], empty.from_json(values["summary"]), rows)
        except (ValueError, KeyError, TypeError, pa.ArrowException):
            pass
        if self.if_exists == "error" and size is not None:
            raise TableError(
                f"{file} was written by another run: its inputs, model or options differ. Pass `force=True`, or name "
                "another folder."
            )
        return None

    def open(self, partition: Partition, run: Mapping[str, Any]) -> Sink:
        """Return the sink of a partition, whose record says from now on that the file is one of this run."""
        write_whole(
            self._record_of(partition), json.dumps({"run": self._digest(partition, run), "size": None}).encode()
        )
        return open_sink(self.file_of(partition), force=True, metadata=self._metadata)

    def finish(self, partition: Partition, run: Mapping[str, Any], done: ScoredPartition) -> None:
        """Write the record of a partition after its file is complete."""
        buffer = pa.BufferOutputStream()
        if done.review is not None:
            with pa.ipc.new_stream(buffer, done.review.schema) as writer:
                writer.write_table(done.review)
        values = {
            "run": self._digest(partition, run),
            "source": partition.table.where,
            "start": partition.start,
            "rows": done.rows,
            "size": (stamp(self.file_of(partition)) or [None])[0],
            "summary": done.summary.to_json(),
            "review": base64.b64encode(buffer.getvalue()).decode() or None,
        }
        write_whole(self._record_of(partition), json.dumps(values).encode())

    def _record_of(self, partition: Partition) -> str:
        """Return the path of the record of a partition."""
        return f"{self.path}{RECORDS}/{partition.name}.part.json"

    def _digest(self, partition: Partition, run: Mapping[str, Any]) -> str:
        """Return a hash of everything that determines the rows of a partition."""
        values = [dict(run), partition.table.fingerprint(), partition.start, partition.stop]
        return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()
