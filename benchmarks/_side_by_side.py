"""Times of competing ways to do one job, measured in turns.

Other programs slow a shared machine down for seconds at a time. Taking turns spreads such a spell over all candidates,
and the best of several turns is the one least disturbed: ratios in the table are ratios of bests of the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Task = Callable[[], object]


@dataclass(frozen=True)
class Times:
    """Seconds of one candidate, one per turn."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The turn least disturbed by others."""
        return min(self.seconds)


def side_by_side(tasks: Mapping[str, Task], turns: int, *, warm_up: bool = True) -> dict[str, Times]:
    """Run every task once per turn, in order, after a warm-up run of each."""
    if warm_up:
        for task in tasks.values():
            task()
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(turns):
        for name, task in tasks.items():
            started = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - started)
    return {name: Times(tuple(values)) for name, values in seconds.items()}
