"""How the cost grows with points, clusters and dimensions."""

from __future__ import annotations

import time
import warnings

import numpy as np

from allegiance import PrecisionWarning, affinity
from reproduction.framework import Check, Finding, Section, Setup, Table

#: Points, clusters and dimensions while the other two stay at the values in the middle.
POINTS = (10_000, 30_000, 100_000, 300_000)
CLUSTERS = (6, 10, 20, 30)
DIMENSIONS = (10, 30, 100, 300, 1000)
_N, _K, _D = 10_000, 10, 30
_TURNS = 3
#: Claims on the exponents, and what we call linear, cubic and none.
CLAIMS = {
    "points n": ("Cost grows linearly in n", 1.15),
    "clusters k": ("Cost grows at most with the cube of k", 3.0),
    "dimensions d": ("Cost does not grow with d after reduction", 0.3),
}


def run(setup: Setup) -> Section:
    """Time one call for each size; the exponent is the slope of the logarithms."""
    series = {
        "points n": (POINTS, [_seconds(n, _K, _D) for n in POINTS]),
        "clusters k": (CLUSTERS, [_seconds(_N, k, _D) for k in CLUSTERS]),
        "dimensions d": (DIMENSIONS, [_seconds(_N, _K, d) for d in DIMENSIONS]),
    }
    exponents = {
        name: float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) for name, (sizes, seconds) in series.items()
    }
    ranges = {
        name: (f"{sizes[0]:,} to {sizes[-1]:,}", f"{seconds[0]:.3f} to {seconds[-1]:.3f} s")
        for name, (sizes, seconds) in series.items()
    }
    rows = tuple((name, *ranges[name], f"{exponents[name]:.2f}") for name in series)
    return Section(
        title="Growth of the cost",
        method="The paper's bound is linear in n, cubic in k after the reduction, and independent of d apart from the "
        f"reduction itself. We time `affinity(X, centers=C)` on Gaussian blobs around n = {_N:,}, k = {_K}, d = {_D}, "
        f"in processor time of one thread, best of {_TURNS} calls.",
        tables=(Table(("varied", "from, to", "time", "exponent"), rows),),
        findings=tuple(
            Finding(
                claim,
                (Check("exponent", exponents[name], "<", limit, ".2f"),),
                f"{name.split()[0]} {ranges[name][0]}: {ranges[name][1]}",
                timed=True,
            )
            for name, (claim, limit) in CLAIMS.items()
        ),
        remarks=("Only the product that projects the points on the span of the centers grows with d.",),
    )


def _seconds(n: int, k: int, d: int) -> float:
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((k, d), dtype=np.float32)
    X = rng.standard_normal((n, d), dtype=np.float32) + centers[np.arange(n) % k]
    best = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)
        affinity(X[:100], centers=centers, random_state=0, influence="euclidean")
        for _ in range(_TURNS):
            started = time.process_time()
            affinity(X, centers=centers, random_state=0, n_jobs=1, influence="euclidean")
            best = min(best, time.process_time() - started)
    return best
