"""The memory that a script takes, in a process of its own: only the peak of a whole process counts."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
#: ``ru_maxrss`` would not do: a process inherits it from the one that started it, here a worker full of other tests.
_REPORT_AT_EXIT = """\
import atexit, sys
from _process_memory import peak
atexit.register(lambda: print(peak(), file=sys.stderr))
"""


def run_with_peak(script: str, *arguments: Any, enter: Callable[[], Any] | None = None) -> tuple[str, int]:
    """Run a script, which may import from tests; return what it printed and the most bytes that it used.

    The new process calls ``enter`` first.
    """
    done = subprocess.run(
        [sys.executable, "-c", _REPORT_AT_EXIT + script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=enter,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "benchmarks")])},
    )
    return done.stdout, int(done.stderr.splitlines()[-1])
