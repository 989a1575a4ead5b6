"""All measurements, each in a process of its own that is stopped at the limit, kept in a CSV file as they come."""

import contextlib
import csv
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ._tasks import Scene, Task

_BENCHMARKS = Path(__file__).resolve().parents[1]
#: Longest preparation of a stage: libraries, compilation, a warm-up, data, and the fit that a score needs.
_PREPARATION = 180.0
COLUMNS = ("task", "stage", "n", "d", "k", "outcome", "seconds", "turns", "megabytes", "limit")
_WHY = {"memory": "> 8 GB", "unreached": "no fit"}


class Measurement(NamedTuple):
    """One stage of a task on one scene."""

    task: str
    stage: str
    scene: Scene
    outcome: str
    """"done", or why not: "time", "memory", "failed", "unreached" after the failure of an earlier stage."""
    seconds: float
    """The best turn; NaN if not done."""
    turns: int
    megabytes: float
    """Peak beyond what was resident before."""
    limit: float
    """Seconds that were allowed."""


class Known:
    """All measurements by task, stage and scene."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        self._by_key = {(m.task, m.stage, m.scene): m for m in measurements}

    def find(self, task: str, stage: str, scene: Scene) -> Measurement | None:
        """Return a measurement, or one that shows that fewer points of the kind were too many already."""
        if (task, stage, scene) in self._by_key:
            return self._by_key[task, stage, scene]
        smaller = (
            m
            for (name, part, other), m in self._by_key.items()
            if (name, part) == (task, stage) and other._replace(n=scene.n) == scene and other.n < scene.n
        )
        return next((m for m in smaller if m.outcome != "done"), None)

    def seconds(self, stages: Sequence[tuple[str, str]], scene: Scene) -> float | str | None:
        """Return the time of some stages together, or in words why there is none; None if nothing was tried."""
        total = 0.0
        for task, stage in stages:
            measurement = self.find(task, stage, scene)
            if measurement is None:
                return None
            if measurement.outcome != "done":
                outcome = measurement.outcome
                return f"> {measurement.limit:g} s" if outcome == "time" else _WHY.get(outcome, outcome)
            total += measurement.seconds
        return total if stages else None


def run_campaign(path: Path, tasks: Sequence[Task], scenes: Sequence[Scene], limit: float) -> None:
    """Measure everything that is not in the file yet."""
    done = {(m.task, m.stage, m.scene) for m in read(path)}
    jobs = [(task, scene) for scene in sorted(scenes) for task in tasks]
    for number, (task, scene) in enumerate(jobs, 1):
        missing = [stage.name for stage in task.stages if (task.name, stage.name, scene) not in done]
        if not missing or _hopeless(read(path), task, scene):
            continue
        what = f"{task.name}  n={scene.n:,} d={scene.d} k={scene.k}"
        print(f"{number}/{len(jobs)}  {what}", file=sys.stderr, end=" ", flush=True)
        started = time.perf_counter()
        measurements = [m for m in measure(task, scene, limit) if m.stage in missing]
        _append(path, measurements)
        outcomes = ", ".join(
            f"{m.stage} {m.seconds:.3g} s" if m.outcome == "done" else f"{m.stage}: {m.outcome}" for m in measurements
        )
        print(f"  {outcomes}  ({time.perf_counter() - started:.0f} s)", file=sys.stderr, flush=True)


def _hopeless(known: Sequence[Measurement], task: Task, scene: Scene) -> bool:
    """Return whether every stage of the task failed on fewer points of the same kind already."""
    measurements = (Known(known).find(task.name, stage.name, scene) for stage in task.stages)
    return all(m is not None and m.outcome != "done" for m in measurements)


def measure(task: Task, scene: Scene, limit: float) -> list[Measurement]:
    """Run a task in a process of its own, and stop it when a stage takes longer than allowed."""
    command = [sys.executable, "-m", "peers._measure", task.name, *map(str, scene)]
    with tempfile.TemporaryFile("w+") as errors:
        # Without a buffer, so that a message that was not read yet is seen by ``select``.
        with subprocess.Popen(
            command, cwd=_BENCHMARKS, stdout=subprocess.PIPE, stderr=errors, bufsize=0, start_new_session=True
        ) as process:
            try:
                measurements = _listen(process, task, scene, limit)
            finally:
                _stop(process)
        if any(m.outcome == "failed" for m in measurements):
            errors.seek(0)
            print(errors.read()[-2000:], file=sys.stderr)
    return measurements


def _listen(process: subprocess.Popen[bytes], task: Task, scene: Scene, limit: float) -> list[Measurement]:
    assert process.stdout is not None
    outcomes: dict[str, dict[str, Any]] = {stage.name: {"outcome": "unreached"} for stage in task.stages}
    for stage in task.stages:
        begun = _next(process.stdout, _PREPARATION)
        # The limit counts the first turn; the others are short.
        ended = _next(process.stdout, limit + 3.0) if isinstance(begun, dict) else begun
        outcome = ended if isinstance(ended, dict) else {"outcome": ended}
        if outcome.get("seconds", 0.0) > limit:
            outcome = {"outcome": "time"}
        outcomes[stage.name] = outcome
        if outcome["outcome"] != "done":
            break
    unknown: dict[str, Any] = {"seconds": float("nan"), "turns": 0, "megabytes": float("nan")}
    return [
        Measurement(task.name, scene=scene, limit=limit, **unknown | outcome | {"stage": name})
        for name, outcome in outcomes.items()
    ]


def _next(messages: IO[bytes], seconds: float) -> dict[str, Any] | str:
    """Return the next message of the process, or why there is none."""
    if not select.select([messages], [], [], seconds)[0]:
        return "time"
    line = messages.readline()
    return json.loads(line) if line else "failed"


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and those it started: they are its own session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def read(path: Path) -> list[Measurement]:
    """Return all measurements in the file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [
        Measurement(task, stage, Scene(int(n), int(d), int(k)), outcome, float(s), int(turns), float(mb), float(limit))
        for task, stage, n, d, k, outcome, s, turns, mb, limit in rows
    ]


def _append(path: Path, measurements: Sequence[Measurement]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        for m in measurements:
            writer.writerow(
                [m.task, m.stage, *m.scene, m.outcome, f"{m.seconds:.4g}", m.turns, f"{m.megabytes:.1f}", m.limit]
            )
