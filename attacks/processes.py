"""Processes killed at random moments and started again, and two processes that write one file."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from allegiance import load

from ._common import CONTEXT, Attack, Tally, leftovers, prepare, run, score

_BATCH = 200
#: Kills come until as long after the start as the last undisturbed run took, in seconds, and at least this long.
_SHORTEST = 0.5


def kills(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
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


def one_output(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Let two runs with different settings write one output: it is that of one of them, whole."""
    table, scorer = prepare(folder)
    out = folder / "out.parquet"
    settings = [(200, False), (350, True)]
    expected = []
    for number, (rows, details) in enumerate(settings):
        score(table, scorer, folder / f"alone-{number}.parquet", rows, details)
        expected.append(pq.read_table(folder / f"alone-{number}.parquet"))
    known = {path.name for path in folder.iterdir()} | {"out.parquet"}
    tally = Tally()
    for attempt in range(attempts):
        if attempt % 4 == 3:
            _save_at_once(scorer, folder / "shared.scorer", tally, attempt)
            continue
        out.unlink(missing_ok=True)
        first = run(table, scorer, out, *settings[0])
        time.sleep(float(rng.uniform(0.0, 0.2)))
        second = run(table, scorer, out, *settings[1])
        first.join()
        second.join()
        # The one that was refused must not have left anything behind, nor the other lost anything.
        statuses = sorted([first.exitcode, second.exitcode])
        written = pq.read_table(out) if out.exists() else None
        if statuses not in ([0, 0], [0, 1]):
            tally.broken.append(f"attempt {attempt}: exit statuses {statuses}")
        elif written is None or not any(written.equals(whole) for whole in expected):
            tally.broken.append(f"attempt {attempt}: the output is that of neither run")
        elif left := leftovers(folder, known | {"shared.scorer"}):
            tally.broken.append(f"attempt {attempt}: left behind {left}")
        else:
            tally.held["one refused" if statuses == [0, 1] else "one after the other"] += 1
    return tally


def _save_often(scorer: Path, path: Path) -> None:
    loaded = load(scorer)
    for _ in range(10):
        loaded.save(path)
        load(path)


def _save_at_once(scorer: Path, path: Path, tally: Tally, attempt: int) -> None:
    """Save and load one scorer in two processes, at one path."""
    children = [CONTEXT.Process(target=_save_often, args=(scorer, path)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    if any(child.exitcode for child in children) or path.read_bytes() != scorer.read_bytes():
        tally.broken.append(f"attempt {attempt}: a scorer saved twice at once is not what was saved")
    else:
        tally.held["scorers saved at once"] += 1


ATTACKS = {
    "kills": Attack(
        "kills",
        "After any number of kills the same command goes on; its rows are those of an undisturbed run, and nothing is "
        "left behind.",
        full=100,
        short=6,
        make=kills,
    ),
    "one_output": Attack(
        "two processes at one output",
        "The output is that of one of them, whole; the other waits its turn or is told who is writing.",
        full=40,
        short=6,
        make=one_output,
    ),
}
