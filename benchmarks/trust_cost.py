"""What trust costs beside affinity, which it is built on.

10,000 x 50 with k = 10, where trust may take one second more, and 1,000,000 x 50, where it may take 1.3 times as long:
the halves that are clustered anew do not grow with the data. The labels are given. The peer is affinity with the
influence of trust, so that the difference is the calibration; the default, Euclidean affinity is shown as well. The
rows on one thread count the processor's time, which other programs on the machine hardly change.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from _report import Row, faster_row
from _side_by_side import side_by_side
from allegiance import affinity, trust

D, K = 50, 10
_MOST_SECONDS_MORE = 1.0
_MOST_TIMES = 1.3
Judge = Callable[[str, float, float], Row]


def run(quick: bool) -> list[Row]:
    """Measure both jobs."""
    few, many, turns = (2000, 20_000, 1) if quick else (10_000, 1_000_000, 3)
    return [*_rows(few, 2 * turns - 1, _seconds_more), *_rows(many, turns, _times_as_long)]


def _rows(n: int, turns: int, judge: Judge) -> list[Row]:
    what = f"trust, {n:,} x {D}, k = {K}"
    rows = []
    for where, jobs, clock in (("", None, time.perf_counter), (", one thread", 1, time.process_time)):
        best = _best(n, turns, jobs, clock)
        rows += [
            judge(what + where, best["trust"], best["within"]),
            faster_row(what + where, best["trust"], "affinity, default", best["euclidean"]),
        ]
    return rows


def _seconds_more(what: str, ours: float, peer: float) -> Row:
    met = ours - peer <= _MOST_SECONDS_MORE
    return Row(what, ours, "s", 'affinity, "within"', peer, peer / ours, f"<= {_MOST_SECONDS_MORE:g} s more", met)


def _times_as_long(what: str, ours: float, peer: float) -> Row:
    met = ours / peer <= _MOST_TIMES
    return Row(what, ours, "s", 'affinity, "within"', peer, peer / ours, f"<= {_MOST_TIMES:g} x its time", met)


def _best(n: int, turns: int, jobs: int | None, clock: Callable[[], float]) -> dict[str, float]:
    """Return the seconds of the turn least disturbed, for each candidate."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % K
    X = rng.normal(size=(K, D))[labels] + rng.normal(size=(n, D))
    times = side_by_side(
        {
            "trust": lambda: trust(X, labels, n_jobs=jobs),
            "within": lambda: affinity(X, labels, influence="within", n_jobs=jobs),
            "euclidean": lambda: affinity(X, labels, n_jobs=jobs),
        },
        turns,
        clock=clock,
    )
    return {name: found.best for name, found in times.items()}
