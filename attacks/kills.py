"""Processes killed at random moments, and started again."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from ._attack import Attack, Tally
from ._streams import leftovers, prepare, run, score

_BATCH = 200
#: Kills come until as long after the start as the last undisturbed run took, in seconds, and at least this long.
_SHORTEST = 0.5


def make(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Kill runs (SIGKILL) that score a table in parts; the next one goes on, and the output is as if nothing was."""
    table, scorer = prepare(folder)
    out = folder / "out.parquet"
    score(table, scorer, folder / "undisturbed.parquet", _BATCH)
    expected = pq.read_table(folder / "undisturbed.parquet")
    known = {path.name for path in folder.iterdir()}
    duration = _SHORTEST
    tally, kills = Tally(), 0
    while kills < attempts:
        out.unlink(missing_ok=True)
        # Some kills in a row, each of which must leave the next one something to go on with, then one run to the end.
        for _ in range(int(rng.integers(1, 5))):
            child = run(table, scorer, out, _BATCH)
            time.sleep(float(rng.uniform(0.0, duration)))
            child.kill()
            child.join()
            kills += 1
            tally.held["killed at work" if child.exitcode else "done before it was killed"] += 1
            if out.exists() and not pq.read_table(out).equals(expected):
                tally.broken.append(f"kill {kills}: an output that is not complete")
        started = time.perf_counter()
        child = run(table, scorer, out, _BATCH)
        child.join()
        duration = max(time.perf_counter() - started, _SHORTEST)
        if child.exitcode != 0:
            tally.broken.append(f"kill {kills}: the next run failed")
        elif not pq.read_table(out).equals(expected):
            tally.broken.append(f"kill {kills}: the output differs from that of an undisturbed run")
        elif left := leftovers(folder, known | {"out.parquet"}):
            tally.broken.append(f"kill {kills}: left behind {left}")
    return tally


ATTACK = Attack(
    "kills",
    "After any number of kills the same command goes on; its rows are those of an undisturbed run, and nothing is "
    "left behind.",
    full=100,
    short=6,
    make=make,
)
