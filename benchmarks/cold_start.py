"""What a user waits for in a fresh process: the import, and the first call with an empty and with a warm kernel cache.

The import is timed after scikit-learn's own (``import sklearn``, or ``import sklearn.cluster``, which everyone who
clusters has paid for) and includes resolving the public names, since ``import allegiance`` alone loads little. The
first call includes numba's import. An empty cache is a new folder in ``NUMBA_CACHE_DIR``; the process after it finds it
warm. Every number is the best of several fresh processes.
"""

from __future__ import annotations

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
started = time.perf_counter()
from allegiance import AffinityScorer, affinity
print(time.perf_counter() - started)
"""
_FIRST_CALL = """
import time
import numpy as np
import sklearn.cluster
from allegiance import affinity
rng = np.random.default_rng(0)
X, C = rng.uniform(size=(200, {d})), rng.uniform(size=({k}, {d}))
started = time.perf_counter()
affinity(X, centers=C, engine="{engine}", random_state=0)
print(time.perf_counter() - started)
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
        code = _IMPORT.format(first=first)
        _seconds(code)  # reads the files from disk and writes their bytecode
        best = min(_seconds(code) for _ in range(2 * turns))
        rows.append(limit_row(f"import allegiance after {first}", best, "s", IMPORT_SECONDS))
    for name, call in list(_CALLS.items())[: 2 if quick else None]:
        empty, warm = _first_call(_FIRST_CALL.format(**call), turns)
        rows.append(limit_row(f"first call, empty cache ({name})", empty, "s", EMPTY_CACHE_SECONDS))
        rows.append(limit_row(f"first call, warm cache ({name})", warm, "s", WARM_CACHE_SECONDS))
    return rows


def _first_call(code: str, turns: int) -> tuple[float, float]:
    """Return best seconds with an empty and with a warm cache."""
    empty, warm = [], []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as folder:
            empty.append(_seconds(code, folder))
            warm.append(_seconds(code, folder))
    return min(empty), min(warm)


def _seconds(code: str, cache: str | None = None) -> float:
    environment = dict(os.environ)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return float(done.stdout)
