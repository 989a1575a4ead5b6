"""The finished parts of an output, so that a killed run can resume where it stopped."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from .files import NO_ROOM, TEMPORARY, TableError, close_locked, lock, write_whole

#: The file that marks a folder as ours; the run that uses the folder locks it and writes its name there.
_LOCK = "allegiance.lock"
_MANIFEST = "manifest.json"
_OURS = re.compile(rf"{re.escape(_MANIFEST)}|part-\d{{8,}}\.arrow|{re.escape(TEMPORARY)}.*")
#: Where a part says how many rows of the table it and all parts before it took.
_CONSUMED = b"allegiance.consumed"


class Checkpoint:
    """A folder next to the output with one file for each batch, complete or absent, and a description of the run.

    A context manager: until it is left, no other run can use the folder ``<output>.partial``. ``run`` are plain values
    by name that two runs must share for one to resume the other; without ``resume`` old parts are removed. A run that
    is not ``resumable``, since its rows come from standard input, has no use for them either.
    """

    def __init__(
        self, output: str | os.PathLike[str], run: dict[str, Any], *, resume: bool, resumable: bool = True
    ) -> None:
        self._output = os.fspath(output)
        self.folder = Path(f"{self._output}.partial")
        self.n_parts = 0
        self.consumed = 0
        """Rows of the table that the parts took."""
        self.n_rows = 0
        """Rows that the parts hold: fewer where rows were left out."""
        self._run = json.loads(json.dumps(run))
        self._resume, self._resumable = resume and resumable, resumable
        self._lock = -1

    def __enter__(self) -> Checkpoint:
        self._lock = self._locked()
        try:
            if self._resume and self._part(0).exists():
                self._check_same()
                while self._part(self.n_parts).exists():
                    self.n_parts += 1
                for part in self.parts():
                    self.consumed = int(part.schema.metadata[_CONSUMED])
                    self.n_rows += part.num_rows
            self._remove_files(self.n_parts)
            # A run that was killed while it wrote the output left its temporary file.
            for left in self.folder.parent.glob(f"{TEMPORARY}*-{self.folder.name.removesuffix('.partial')}"):
                left.unlink(missing_ok=True)
            write_whole(self.folder / _MANIFEST, json.dumps(self._run, indent=1).encode())
        except BaseException:
            close_locked(self._lock)
            raise
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        close_locked(self._lock)
        if isinstance(error, OSError) and error.errno in NO_ROOM and self._resumable and self.folder.exists():
            reason = f"{error.strerror}. Scored rows are kept in {self.folder}: make room and start the same run again"
            raise OSError(error.errno, reason, error.filename) from error

    def _locked(self) -> int:
        """Create the folder if need be, and return the descriptor of its lock once it is held."""
        path = self.folder / _LOCK
        while True:
            with suppress(FileExistsError):
                self.folder.mkdir()
            try:
                if not path.exists() and any(self.folder.iterdir()):
                    raise TableError(
                        f"{self.folder} is in the way: it is not the folder of an interrupted run. Move it away."
                    )
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            except FileNotFoundError:  # the previous run has just removed the folder
                continue
            if lock(descriptor) is False:
                holder = os.read(descriptor, 1000).decode(errors="replace")
                os.close(descriptor)
                raise TableError(f"{self._output} is being written by another run, {holder}: wait until it has ended.")
            # The previous run may have removed the file before it released it: such a lock excludes no one.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                since = time.strftime("%Y-%m-%d %H:%M:%S")
                with suppress(OSError):  # a full disk is reported where it matters
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} since {since}".encode())
                return descriptor
            close_locked(descriptor)

    def _check_same(self) -> None:
        """Raise unless the parts that are there belong to this run."""
        restart = "Pass resume=False (--restart) to start again, or choose another output."
        try:
            before = json.loads((self.folder / _MANIFEST).read_bytes())
            differing = [name for name in {**before, **self._run} if before.get(name) != self._run.get(name)]
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise TableError(
                f"{self.folder} holds parts of an interrupted run, but its description is damaged. {restart}"
            ) from error
        if differing:
            raise TableError(f"{self.folder} holds parts of another run: {', '.join(differing)} differed. {restart}")

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:08d}.arrow"

    def add(self, batch: pa.RecordBatch, consumed: int) -> None:
        """Keep the next record batch, after which so many rows of the table have been taken."""
        batch = batch.replace_schema_metadata({**(batch.schema.metadata or {}), _CONSUMED: str(consumed)})
        buffer = pa.BufferOutputStream()
        with pa.ipc.new_file(buffer, batch.schema) as writer:
            writer.write_batch(batch)
        write_whole(self._part(self.n_parts), buffer.getvalue())
        self.n_parts += 1

    def parts(self) -> Iterator[pa.RecordBatch]:
        """Yield the record batches in order; one is in memory at a time."""
        for number in range(self.n_parts):
            with pa.OSFile(str(self._part(number))) as file:
                yield pa.ipc.open_file(file).get_batch(0)

    def _remove_files(self, kept: int) -> None:
        """Remove our files except the lock, the first ``kept`` parts, and their description if there are any."""
        stays = {self._part(number).name for number in range(kept)} | ({_MANIFEST} if kept else set())
        # The description last: a run that is killed here leaves no parts without it.
        for entry in sorted(self.folder.iterdir(), key=lambda entry: entry.name == _MANIFEST):
            if _OURS.fullmatch(entry.name) and entry.name not in stays:
                entry.unlink()

    def remove(self) -> None:
        """Remove what was written here, and the folder unless it holds something else."""
        self._remove_files(0)
        (self.folder / _LOCK).unlink()
        with suppress(OSError):
            self.folder.rmdir()
