"""Python processes that an attack starts, kills and looks at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

#: Longer than any of them takes on a busy machine: one that is not done by then hangs.
PATIENCE = 180.0


def start(*words: str, **settings: Any) -> subprocess.Popen[str]:
    """Start ``python words``."""
    return subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings
    )


def finish(child: subprocess.Popen[str], patience: float = PATIENCE) -> tuple[int | None, str]:
    """Wait for a process; return its exit status, None if it hung and was killed, and what it wrote."""
    try:
        out, err = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        return None, out + err
    return child.returncode, out + err


def command(*words: str | Path) -> list[str]:
    """Return what runs the command line of the package."""
    return ["-c", "from allegiance.cli import main; main()", *map(str, words)]
