"""Exact volumes against shared samples by dimension and number of clusters: ``python benchmarks/engine_choice.py``.

Prints the table behind docs/decisions/0003-engine-choice.md: what a triangulation costs to build and per query, and
what shared samples at eps = 0.03 cost, on one thread, for normal random sites in a box around normal random data.
"""

from __future__ import annotations

import time

import numpy as np

from allegiance import AffinityScorer
from allegiance.engines import Exact, Settings

SCENES = ((2, 5), (2, 50), (2, 500), (3, 5), (3, 50), (3, 200), (4, 5), (4, 12), (4, 40), (5, 6), (5, 10), (6, 7))
N_QUERIES = 2000


def best_time(scorer: AffinityScorer, X: np.ndarray, turns: int = 3) -> float:
    """Return the least time of some turns, in seconds per query."""
    times = []
    for _ in range(turns):
        started = time.perf_counter()
        scorer.affinity(X)
        times.append(time.perf_counter() - started)
    return min(times) / len(X)


def main() -> None:
    """Measure all scenes."""
    print("| r | k | simplices | build | exact, per point | shared samples, per point |")
    print("|---|---|---|---|---|---|")
    for r, k in SCENES:
        rng = np.random.default_rng(0)
        centers, X = rng.normal(size=(k, r)), rng.normal(size=(N_QUERIES, r))
        started = time.perf_counter()
        exact = AffinityScorer(centers=centers, engine="exact", n_jobs=1).fit(X)
        build = time.perf_counter() - started
        shared = AffinityScorer(centers=centers, engine="shared", n_jobs=1, random_state=0).fit(X)
        simplices = Exact().build(exact.fitted_.tessellation, Settings()).n_simplices
        times = [f"{1e6 * best_time(scorer, X):.2g} µs" for scorer in (exact, shared)]
        print(f"| {r} | {k} | {simplices:,} | {1e3 * build:.0f} ms | {times[0]} | {times[1]} |", flush=True)


if __name__ == "__main__":
    main()
