"""Processes killed at random moments and started again, and two processes that write one file."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from allegiance import load
from allegiance.io.partitions import RECORDS

from ._common import CONTEXT, Attack, Tally, leftovers, prepare, run, score, split

_BATCH, _FILES = 50, 30
#: Kills come until as long after the start as the last undisturbed run took, in seconds, and at least this long.
_SHORTEST = 0.5


def kills(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Kill runs (SIGKILL) that score a folder of files; the next one writes only what is missing."""
    table, scorer = prepare(folder)
    source = split(table, folder / "in", _FILES)
    out = folder / "out"
    score(source, scorer, folder / "undisturbed", _BATCH)
    expected = _tables(folder / "undisturbed")
    duration = _SHORTEST
    tally, kills = Tally(), 0
    while kills < attempts:
        shutil.rmtree(out, ignore_errors=True)
        # Some kills in a row, each of which must leave the next run something to continue with, then a complete run.
        for _ in range(int(rng.integers(1, 5))):
            child = run(source, scorer, out, _BATCH)
            time.sleep(float(rng.uniform(0.0, duration)))
            child.kill()
            child.join()
            kills += 1
            tally.held["killed at work" if child.exitcode else "done before it was killed"] += 1
            if not all(rows.equals(expected[name]) for name, rows in _tables(out).items()):
                tally.broken.append(f"kill {kills}: a file that is not complete")
        finished = {name: (out / name).stat().st_mtime_ns for name in _recorded(out)}
        started = time.perf_counter()
        child = run(source, scorer, out, _BATCH)
        child.join()
        if not finished:
            duration = max(time.perf_counter() - started, _SHORTEST)
        if child.exitcode != 0:
            tally.broken.append(f"kill {kills}: the next run failed")
        elif _tables(out) != expected:
            tally.broken.append(f"kill {kills}: the output differs from that of an undisturbed run")
        elif any((out / name).stat().st_mtime_ns != changed for name, changed in finished.items()):
            tally.broken.append(f"kill {kills}: a finished file was written again")
        elif left := leftovers(out, {*expected, RECORDS}):
            tally.broken.append(f"kill {kills}: left behind {left}")
    return tally


def _tables(folder: Path) -> dict[str, pa.Table]:
    """Return the output files of a folder by name."""
    return {path.name: pq.read_table(path) for path in sorted(folder.glob("[!.]*.parquet"))}


def _recorded(folder: Path) -> list[str]:
    """Return the names of the output files whose records say that they are finished."""
    records = (folder / RECORDS).glob("[!.]*.part.json")
    return [path.name.replace(".part.json", ".parquet") for path in records if json.loads(path.read_text())["size"]]


def one_output(attempts: int, rng: np.random.Generator, folder: Path) -> Tally:
    """Let two runs with different settings write one file: it is complete, and that of one of them."""
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
        # The output of one of them is complete, and nothing else is left behind.
        statuses = sorted([first.exitcode, second.exitcode])
        written = pq.read_table(out) if out.exists() else None
        if statuses != [0, 0]:
            tally.broken.append(f"attempt {attempt}: exit statuses {statuses}")
        elif written is None or not any(written.equals(whole) for whole in expected):
            tally.broken.append(f"attempt {attempt}: the output is that of neither run")
        elif left := leftovers(folder, known | {"shared.scorer"}):
            tally.broken.append(f"attempt {attempt}: left behind {left}")
        else:
            tally.held["complete outputs"] += 1
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
        "After any number of kills, the same call writes only missing files; the folder is that of an undisturbed run.",
        full=100,
        short=6,
        make=kills,
    ),
    "one_output": Attack(
        "two processes at one output",
        "The output is complete, and that of one of them.",
        full=40,
        short=6,
        make=one_output,
    ),
}
