"""The parts of an output that are done, so that a killed run can go on where it stopped."""

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

from allegiance._core import require
from allegiance.io import TableError, close_locked, lock, write_whole

#: The file that marks a folder as ours and is locked by the run that uses it. It says which run that is.
_LOCK = "allegiance.lock"
_MANIFEST = "manifest.json"
#: The names of all files we write: these, parts, and what is left of one if the process dies while writing it.
_OURS = re.compile(rf"{re.escape(_MANIFEST)}|part-\d{{8,}}\.arrow|\.allegiance-.*")


class Checkpoint:
    """A folder next to the output with one file for each batch, complete or absent, and a description of the run.

    A context manager: until it is left, no other run can use the folder.

    Parameters
    ----------
    output
        The path of the output; the folder is ``<output>.partial``.
    run
        What makes two runs the same: plain values by name.
    resume
        Go on with the parts of an interrupted run, which must have been the same. If not, they are thrown away.
    """

    def __init__(self, output: str | os.PathLike[str], run: dict[str, Any], *, resume: bool) -> None:
        self._output = os.fspath(output)
        self.folder = Path(f"{self._output}.partial")
        self.n_parts = 0
        self._run = json.loads(json.dumps(run))
        self._resume = resume
        self._lock = -1

    def __enter__(self) -> Checkpoint:
        self._lock = self._locked()
        try:
            if self._resume and self._part(0).exists():
                self._check_same()
                while self._part(self.n_parts).exists():
                    self.n_parts += 1
            self._remove_files(self.n_parts)
            self._write(_MANIFEST, json.dumps(self._run, indent=1).encode())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        close_locked(self._lock)

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
            except FileNotFoundError:  # the run before has just removed the folder
                continue
            if lock(descriptor) is False:
                holder = os.read(descriptor, 1000).decode(errors="replace")
                close_locked(descriptor)
                raise TableError(f"{self._output} is being written by another run, {holder}: wait until it has ended.")
            # The run before may have removed the file before it let go of it: a lock on it would exclude no one.
            if path.exists() and os.path.samestat(path.stat(), os.fstat(descriptor)):
                since = time.strftime("%Y-%m-%d %H:%M:%S")
                with suppress(OSError):  # a full disk is told where it matters
                    os.ftruncate(descriptor, 0)
                    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} since {since}".encode())
                return descriptor
            close_locked(descriptor)

    def _check_same(self) -> None:
        """Raise unless the parts that are there belong to this run."""
        try:
            before = json.loads((self.folder / _MANIFEST).read_bytes())
            differing = [name for name in {**before, **self._run} if before.get(name) != self._run.get(name)]
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise TableError(
                f"{self.folder} holds parts of an interrupted run, but its description is damaged. "
                "Pass resume=False (--restart) to start again."
            ) from error
        if differing:
            raise TableError(
                f"{self.folder} holds parts of another run: {', '.join(differing)} differed. "
                "Pass resume=False (--restart) to start again."
            )

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:08d}.arrow"

    def _write(self, name: str, content: Any) -> None:
        write_whole(self.folder / name, content)

    def add(self, batch: Any) -> None:
        """Keep the next record batch."""
        arrow = require("pyarrow", "io", "score_stream")
        buffer = arrow.BufferOutputStream()
        with arrow.ipc.new_file(buffer, batch.schema) as writer:
            writer.write_batch(batch)
        self._write(self._part(self.n_parts).name, buffer.getvalue())
        self.n_parts += 1

    def parts(self) -> Iterator[Any]:
        """Yield the record batches kept, in order, one in memory at a time."""
        arrow = require("pyarrow", "io", "score_stream")
        for number in range(self.n_parts):
            with arrow.OSFile(str(self._part(number))) as file:
                yield arrow.ipc.open_file(file).get_batch(0)

    def n_rows(self, batch_rows: int) -> int:
        """Return how many rows are done, where all parts except the last have ``batch_rows``."""
        if not self.n_parts:
            return 0
        arrow = require("pyarrow", "io", "score_stream")
        with arrow.OSFile(str(self._part(self.n_parts - 1))) as file:
            last = arrow.ipc.open_file(file).get_batch(0).num_rows
        return (self.n_parts - 1) * batch_rows + int(last)

    def _remove_files(self, kept: int) -> None:
        """Remove our files except the first ``kept`` parts and the lock."""
        parts = {self._part(number).name for number in range(kept)}
        for entry in list(self.folder.iterdir()):
            if _OURS.fullmatch(entry.name) and entry.name not in parts:
                entry.unlink()

    def remove(self) -> None:
        """Remove what was written here, and the folder unless there is something else in it."""
        self._remove_files(0)
        (self.folder / _LOCK).unlink()
        with suppress(OSError):
            self.folder.rmdir()
