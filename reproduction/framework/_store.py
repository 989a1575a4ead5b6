"""Results kept between runs: JSON files, each written whole or not at all."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reproduction.files import write_whole


class Store:
    """Results by name in a folder; those made with another fingerprint do not count.

    Parameters
    ----------
    folder
        Where the files are.
    fingerprint
        What a kept result must have been made with.
    """

    def __init__(self, folder: Path, fingerprint: dict[str, Any]) -> None:
        self._folder = folder
        self._fingerprint = fingerprint
        self.seconds_saved = 0.0
        """How long it took to compute what :meth:`once` found saved."""

    def load(self, name: str) -> Any:
        """Return what was saved under a name, or None if nothing whole of the same kind was."""
        try:
            kept = json.loads(self._path(name).read_text())
        except (OSError, ValueError):
            return None
        return kept["result"] if kept.get("made_with") == self._fingerprint else None

    def save(self, name: str, result: Any) -> None:
        """Keep a result of plain lists, dictionaries, texts and numbers."""
        kept = {"made_with": self._fingerprint, "result": result}
        write_whole(self._path(name), json.dumps(kept, indent=1).encode())

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what was saved under a name, or compute and save it."""
        kept = self.load(name)
        if kept is not None:
            self.seconds_saved += kept["seconds"]
        else:
            started = time.perf_counter()
            kept = {"value": compute(), "seconds": time.perf_counter() - started}
            self.save(name, kept)
        return kept["value"]

    def forget(self, name: str) -> None:
        """Remove a result and those of its steps, whose names begin with its own and a slash."""
        self._path(name).unlink(missing_ok=True)
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
