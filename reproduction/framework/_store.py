"""Results kept between runs: JSON files, each written whole or not at all."""

from __future__ import annotations

import json
import shutil
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
        result = self.load(name)
        if result is None:
            result = compute()
            self.save(name, result)
        return result

    def forget(self, name: str) -> None:
        """Remove a result and those of its steps, whose names begin with its own and a slash."""
        self._path(name).unlink(missing_ok=True)
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"
