"""The parts of an output that are done, so that a killed run can go on where it stopped."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allegiance._core import require
from allegiance.io.tables import TableError

_MANIFEST = "manifest.json"


class Checkpoint:
    """A folder beside the output with one file for each batch, complete or absent, and a description of the run.

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
        self.folder = Path(f"{os.fspath(output)}.partial")
        run = json.loads(json.dumps(run))
        if self.folder.exists():
            before = self._read_manifest()
            if not resume:
                self.remove()
            elif before is not None and self._part(0).exists():
                self._check_same(before, run)
        self.folder.mkdir(exist_ok=True)
        self._write(_MANIFEST, json.dumps(run, indent=1).encode())
        self.n_parts = 0
        while self._part(self.n_parts).exists():
            self.n_parts += 1

    def _read_manifest(self) -> dict[str, Any] | None:
        """Return the description of the run that made the folder; None if it did not get that far."""
        path = self.folder / _MANIFEST
        if path.exists():
            described: dict[str, Any] = json.loads(path.read_text())
            return described
        if any(not name.name.endswith(".tmp") for name in self.folder.iterdir()):
            raise TableError(f"{self.folder} is in the way: it is not the folder of an interrupted run. Move it away.")
        return None

    def _check_same(self, before: dict[str, Any], run: dict[str, Any]) -> None:
        differing = [name for name in {**before, **run} if before.get(name) != run.get(name)]
        if differing:
            raise TableError(
                f"{self.folder} holds parts of another run: {', '.join(differing)} differed. Remove the folder, or "
                "pass resume=False to start again."
            )

    def _part(self, number: int) -> Path:
        return self.folder / f"part-{number:08d}.arrow"

    def _write(self, name: str, content: Any) -> None:
        """Write a file that is there completely or not at all, whenever the process or the machine stops."""
        unfinished = self.folder / f"{name}.tmp"
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.folder / name)

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
        """Return how many rows are done, where all parts but the last have ``batch_rows``."""
        if not self.n_parts:
            return 0
        arrow = require("pyarrow", "io", "score_stream")
        with arrow.OSFile(str(self._part(self.n_parts - 1))) as file:
            last = arrow.ipc.open_file(file).get_batch(0).num_rows
        return (self.n_parts - 1) * batch_rows + int(last)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)
