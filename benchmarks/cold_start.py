"""What a user waits for in a fresh process: imports, and the first call with an empty and with a warm kernel cache.

The import of the package is timed after scikit-learn's own (``import sklearn``, or ``import sklearn.cluster``, which
everyone who clusters has paid for) and includes resolving the public names, since ``import allegiance`` alone loads
little. The first call includes numba's import. An empty cache is a new folder in ``NUMBA_CACHE_DIR``; the process after
it finds it warm. Every number is the best of several fresh processes.

``python benchmarks/cold_start.py PYTHON...`` writes a table of these for interpreters of environments that have the
package installed, by default this one. It counts processor time, so that other work on the machine matters little, and
adds all imports of a process and all kernels at once. ``--turns 1`` measures everything once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

from _report import Row, limit_row

IMPORT_SECONDS = 0.5
EMPTY_CACHE_SECONDS = 10.0
WARM_CACHE_SECONDS = 1.0

_IMPORT = """
import time
import {first}
started = time.{clock}()
from allegiance import AffinityScorer, affinity
print(time.{clock}() - started)
"""
_FIRST_CALL = """
import time
import numpy as np
import sklearn.cluster
from allegiance import affinity
rng = np.random.default_rng(0)
X, C = rng.uniform(size=(200, {d})), rng.uniform(size=({k}, {d}))
started = time.{clock}()
affinity(X, centers=C, engine="{engine}", random_state=0)
print(time.{clock}() - started)
"""
_ALL_IMPORTS = """
import time
from allegiance import AffinityScorer, affinity
print(time.process_time())
"""
_ALL_KERNELS = """
import time
import numpy as np
import sklearn.cluster
from allegiance import affinity
from allegiance.geometry import sample_polytope
rng = np.random.default_rng(0)
started = time.process_time()
for d, k, engine in ((2, 5, "auto"), (20, 10, "auto"), (20, 30, "auto"), (20, 10, "hit-and-run")):
    affinity(rng.uniform(size=(200, d)), centers=rng.uniform(size=(k, d)), engine=engine, random_state=0).typicality
sample_polytope(np.vstack([np.eye(3), -np.eye(3)]), np.ones(6), 10, random_state=0)
print(time.process_time() - started)
"""
#: The engine that measures in the first call, and data and engine that lead there.
_CALLS = {
    "exact, 2-D": {"d": 2, "k": 5, "engine": "auto"},
    "shared, 9-D": {"d": 20, "k": 10, "engine": "auto"},
    "hit-and-run, 9-D": {"d": 20, "k": 10, "engine": "hit-and-run"},
}


def run(quick: bool) -> list[Row]:
    """Time fresh processes."""
    turns = 1 if quick else 3
    rows = []
    for first in ("sklearn", "sklearn.cluster")[: 1 if quick else None]:
        best = _import(first, turns)
        rows.append(limit_row(f"import allegiance after {first}", best, "s", IMPORT_SECONDS))
    for name, call in list(_CALLS.items())[: 2 if quick else None]:
        empty, warm = _first_call(_FIRST_CALL.format(**call, clock="perf_counter"), turns)
        rows.append(limit_row(f"first call, empty cache ({name})", empty, "s", EMPTY_CACHE_SECONDS))
        rows.append(limit_row(f"first call, warm cache ({name})", warm, "s", WARM_CACHE_SECONDS))
    return rows


def compare(interpreters: list[str], turns: int) -> None:
    """Print a table of seconds, with a row for each interpreter."""
    calls = [*(f"first call, {name}" for name in _CALLS), "all kernels"]
    print("| Python | numba | all imports | ours |", " | ".join(f"{call}, empty cache | warm" for call in calls), "|")
    print("|---" * 2 + "|---:" * (2 + 2 * len(calls)) + "|")
    for python in interpreters:
        versions = _said("import platform, numba; print(platform.python_version(), '|', numba.__version__)", python)
        seconds = [min(_seconds(_ALL_IMPORTS, python) for _ in range(2 * turns))]
        seconds.append(_import("sklearn.cluster", turns, "process_time", python))
        for call in _CALLS.values():
            seconds += _first_call(_FIRST_CALL.format(**call, clock="process_time"), turns, python)
        seconds += _first_call(_ALL_KERNELS, turns, python)
        print(f"| {versions.strip()} |", " | ".join(f"{value:.2f} s" for value in seconds), "|", flush=True)


def _import(first: str, turns: int, clock: str = "perf_counter", python: str = sys.executable) -> float:
    """Return best seconds of the import after that of another library."""
    code = _IMPORT.format(first=first, clock=clock)
    _seconds(code, python)  # reads the files from disk and writes their bytecode
    return min(_seconds(code, python) for _ in range(2 * turns))


def _first_call(code: str, turns: int, python: str = sys.executable) -> tuple[float, float]:
    """Return best seconds with an empty and with a warm cache."""
    empty, warm = [], []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            empty.append(_seconds(code, python, folder))
            warm.append(_seconds(code, python, folder))
    return min(empty), min(warm)


def _seconds(code: str, python: str, cache: str | None = None) -> float:
    return float(_said(code, python, {} if cache is None else {"NUMBA_CACHE_DIR": cache}))


def _said(code: str, python: str, variables: dict[str, str] | None = None) -> str:
    """Return what a fresh process prints."""
    environment = os.environ | (variables or {})
    return subprocess.run([python, "-c", code], check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", nargs="*", default=[sys.executable], help="interpreters")
    parser.add_argument("--turns", type=int, default=2, help="fresh processes for each number")
    asked = parser.parse_args()
    compare(asked.python, asked.turns)
