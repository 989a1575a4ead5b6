"""How the time of ``affinity(X, centers=C)`` grows with points, clusters and dimensions, on all cores.

One of n, k and d varies while the others stay; a line through the logarithms gives the exponent. Only that of n has a
target, linear growth: with k and d the number r = min(k - 1, d) of dimensions after the reduction changes, and with it
the engine, so their exponents describe a mixture. Data are Gaussian blobs around the given centres.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from _report import Row, quantity
from _side_by_side import Times, side_by_side
from allegiance import PrecisionWarning, affinity

#: An exponent up to this counts as linear: fixed costs pull it below 1, cache misses above.
LINEAR = 1.1


def run(quick: bool) -> list[Row]:
    """Time all three series."""
    points = (1_000, 10_000, 100_000) if quick else (10_000, 30_000, 100_000, 300_000, 1_000_000)
    clusters = (3, 10, 30) if quick else (3, 10, 30, 100)
    dimensions = (2, 10, 100) if quick else (2, 3, 10, 30, 100, 300, 1000)
    n = 2_000 if quick else 10_000
    return [
        _series("n", points, [(size, 10, 20) for size in points], LINEAR),
        _series("k", clusters, [(n, k, 50) for k in clusters]),
        _series("d", dimensions, [(n, 10, d) for d in dimensions]),
    ]


def _series(
    name: str, values: Sequence[int], shapes: Sequence[tuple[int, int, int]], at_most: float | None = None
) -> Row:
    times = [_time(n, k, d) for n, k, d in shapes]
    seconds = [value.best for value in times]
    exponent = float(np.polyfit(np.log(values), np.log(seconds), 1)[0])
    fixed = {"n": "k = 10, d = 20", "k": f"n = {shapes[0][0]:,}, d = 50", "d": f"n = {shapes[0][0]:,}, k = 10"}[name]
    spread = f"{quantity(seconds[0], 's')} to {quantity(seconds[-1], 's')}"
    return Row(
        f"growth with {name} = {values[0]:,} .. {values[-1]:,} ({fixed}): {spread}",
        exponent,
        "exponent",
        target="" if at_most is None else f"<= {at_most:g}",
        met=None if at_most is None else exponent <= at_most,
        details={"values": list(values), "seconds": seconds},
    )


def _time(n: int, k: int, d: int) -> Times:
    X, centers = _blobs(n, k, d)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        affinity(X[:100], centers=centers, random_state=0)
        turns = 3 if n <= 100_000 else 1
        task = {"ours": lambda: affinity(X, centers=centers, random_state=0)}
        return side_by_side(task, turns, warm_up=False)["ours"]


def _blobs(n: int, k: int, d: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((k, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += centers[np.arange(n) % k]
    return X, centers
