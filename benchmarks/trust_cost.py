"""What trust costs beside affinity, which it is built on.

10,000 x 50 with k = 10, where trust may take one second more, and 1,000,000 x 50, where it may take 1.3 times as long:
the halves that are clustered anew do not grow with the data. The labels are given. The peer is affinity with the
influence of trust, so that the difference is the calibration; the default, Euclidean affinity is shown as well.
"""

from __future__ import annotations

import numpy as np

from _report import Row, faster_row
from _side_by_side import Times, side_by_side
from allegiance import affinity, trust

D, K = 50, 10
_MOST_SECONDS_MORE = 1.0
_MOST_TIMES = 1.3


def run(quick: bool) -> list[Row]:
    """Measure both jobs."""
    small, large, turns = (2000, 20_000, 1) if quick else (10_000, 1_000_000, 3)
    return [*_few_points(small, 2 * turns - 1), *_many_points(large, turns)]


def _few_points(n: int, turns: int) -> list[Row]:
    times = _times(n, turns)
    ours, peer, plain = (times[name].best for name in ("trust", "affinity", "euclidean"))
    what = f"trust, {n:,} x {D}, k = {K}"
    more = ours - peer
    target = f"<= {_MOST_SECONDS_MORE:g} s more"
    return [
        Row(f"{what}: more than affinity", more, "s", target=target, met=more <= _MOST_SECONDS_MORE),
        faster_row(what, ours, 'affinity, "within"', peer),
        faster_row(what, ours, "affinity, default", plain),
    ]


def _many_points(n: int, turns: int) -> list[Row]:
    times = _times(n, turns)
    ours, peer, plain = (times[name].best for name in ("trust", "affinity", "euclidean"))
    what = f"trust, {n:,} x {D}, k = {K}"
    target = f"<= {_MOST_TIMES:g} x its time"
    return [
        Row(what, ours, "s", 'affinity, "within"', peer, peer / ours, target, ours / peer <= _MOST_TIMES),
        faster_row(what, ours, "affinity, default", plain),
    ]


def _times(n: int, turns: int) -> dict[str, Times]:
    rng = np.random.default_rng(0)
    labels = np.arange(n) % K
    X = rng.normal(size=(K, D))[labels] + rng.normal(size=(n, D))
    return side_by_side(
        {
            "trust": lambda: trust(X, labels),
            "affinity": lambda: affinity(X, labels, influence="within"),
            "euclidean": lambda: affinity(X, labels),
        },
        turns,
    )
