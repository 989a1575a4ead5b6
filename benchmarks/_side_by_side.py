"""Times of competing ways to do one job, measured in turns.

Other programs slow a shared machine down for seconds at a time. Taking turns spreads such a spell over all candidates,
and the best of several turns is the one least disturbed: ratios in the table are ratios of bests of the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Task = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Times:
    """Seconds of one candidate, one per turn."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The turn least disturbed by others."""
        return min(self.seconds)


def side_by_side(
    tasks: Mapping[str, Task], turns: int, *, clock: Clock = time.perf_counter, warm_up: bool = True
) -> dict[str, Times]:
    """Run every task once per turn, in order, after one run of each that is not counted.

    ``clock=time.process_time`` counts the processor's time instead of the wall's: for tasks on one thread.
    """
    if warm_up:
        for task in tasks.values():
            task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(turns):
        for name, task in tasks.items():
            started = clock()
            task()
            seconds[name].append(clock() - started)
    return {name: Times(tuple(values)) for name, values in seconds.items()}
