"""What a fresh process costs: imports, and the first call with an empty and with a warm kernel cache.

``python benchmarks/run.py --only cold_start`` counts processor time, so other work on the machine matters little. The
import of the package comes after scikit-learn's and includes resolving the public names, since ``import allegiance``
alone loads little. The first call includes numba's import. An empty cache is a new folder in ``NUMBA_CACHE_DIR``; the
next process has a warm cache. Every number is the best of several fresh processes.
"""

import os
import subprocess
import sys
import tempfile

from _report import Row, limit_row

IMPORT_SECONDS = 0.5
EMPTY_CACHE_SECONDS = 10.0
WARM_CACHE_SECONDS = 1.0

_TIMED = """
import time
import numpy as np
import sklearn.cluster
{before}
started = time.process_time()
{timed}
print(time.process_time() - started)
"""
_IMPORT = _TIMED.format(before="", timed="from allegiance import AffinityScorer, affinity")
_CALLS = """
rng = np.random.default_rng(0)
for d, k, engine in {calls}:
    affinity(rng.uniform(size=(200, d)), centers=rng.uniform(size=(k, d)), engine=engine, random_state=0)
"""
#: Dimensions, clusters and engines of the first calls.
CALLS = {
    "exact, 2-D": [(2, 5, "auto")],
    "shared, 9-D": [(20, 10, "auto")],
    "hit-and-run, 9-D": [(20, 10, "hit-and-run")],
}
CALLS["all engines"] = [*(call for calls in CALLS.values() for call in calls), (20, 30, "auto")]


def run(quick: bool) -> list[Row]:
    """Time fresh processes."""
    turns = 1 if quick else 3
    rows = [limit_row("import allegiance after sklearn.cluster", _best(_IMPORT, turns), "s", IMPORT_SECONDS)]
    for name, calls in list(CALLS.items())[: 2 if quick else None]:
        script = _TIMED.format(before="from allegiance import affinity", timed=_CALLS.format(calls=calls))
        with tempfile.TemporaryDirectory() as folder:
            empty = min(_seconds(script, f"{folder}/{turn}") for turn in range(turns))
            warm = _best(script, turns, f"{folder}/0")
        rows.append(limit_row(f"first call, empty cache ({name})", empty, "s", EMPTY_CACHE_SECONDS))
        rows.append(limit_row(f"first call, warm cache ({name})", warm, "s", WARM_CACHE_SECONDS))
    return rows


def _best(script: str, turns: int, cache: str = "") -> float:
    """Return the least processor time, after a process that reads the files from disk."""
    _seconds(script, cache)
    return min(_seconds(script, cache) for _ in range(turns))


def _seconds(script: str, cache: str) -> float:
    environment = os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})
    words = [sys.executable, "-c", script]
    return float(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)
