"""Time and memory of one task on one job, in this process: ``python -m peers._measure TASK N D K``.

Prints one line of JSON when a stage begins and one when it ends, so that the parent process can stop it in time. Every
stage has run once before on a small job of the same kind. Memory is the peak during the stage beyond the memory
resident before it.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from _process_memory import peak, reserved, reset_peak, resident

from ._tasks import Scene, Stage, make_job, run_quietly, task_named

MEMORY_LIMIT = 8 * 10**9
#: Turns are repeated until they took this many seconds. The first is often slow, since its memory is new, so there are
#: at least three unless that takes too long.
_LONG_ENOUGH, _TOO_LONG = 2.0, 15.0
_LEAST_TURNS, _MOST_TURNS = 3, 5


def main() -> None:
    """Measure what the command line names."""
    task = task_named(sys.argv[1])
    scene = Scene(*map(int, sys.argv[2:5]))
    small = make_job(scene._replace(n=max(500, 20 * scene.k)), seed=1)
    for stage in task.stages:
        run_quietly(stage, stage.prepare(small))
    job = make_job(scene)
    _limit_memory()
    for stage in task.stages:
        try:
            prepared = run_quietly(Stage(stage.name, stage.prepare), job)
            _say(stage=stage.name)
            _say(stage=stage.name, outcome="done", **measured(stage, prepared))
        except MemoryError:
            _say(stage=stage.name)
            _say(stage=stage.name, outcome="memory")
            return


def measured(stage: Stage, prepared: Any, clock: Callable[[], float] = time.perf_counter) -> dict[str, float]:
    """Return the best seconds of some turns, how many they were, and the peak of memory in the first."""
    before = resident()
    reset_peak()
    started = clock()
    run_quietly(stage, prepared)
    seconds = [clock() - started]
    megabytes = max(0, peak() - before) / 1e6
    while _another(seconds):
        started = clock()
        run_quietly(stage, prepared)
        seconds.append(clock() - started)
    return {"seconds": min(seconds), "turns": len(seconds), "megabytes": megabytes}


def _another(seconds: list[float]) -> bool:
    if len(seconds) < _LEAST_TURNS:
        return sum(seconds) < _TOO_LONG
    return len(seconds) < _MOST_TURNS and sum(seconds) < _LONG_ENOUGH


def _limit_memory() -> None:
    """Allow this process so much more memory than it has now."""
    size = reserved() + MEMORY_LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))


def _say(**content: Any) -> None:
    print(json.dumps(content), flush=True)


if __name__ == "__main__":
    main()
