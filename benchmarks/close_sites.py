"""What measuring shallow cells from their own position gains and costs: ``python benchmarks/close_sites.py``.

Prints the tables of docs/engines.md. Sites are the corners of a small simplex and two corners of a box of size one,
points are mixtures of the former: affinities are then the shares of the mixture, known in rational arithmetic. "From
the origin" forms the gap of two functions from their values, "from home" from the clearance at the point, which is what
the engine does where a cell is shallow. Time is processor time on one thread, both ways in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from allegiance import AffinityScorer
from allegiance.engines import Exact, Settings, _exact

Floats = npt.NDArray[np.float64]

DIMENSIONS = (1, 2, 3, 4)
SPACINGS = (7e-5, 1e-6, 1e-7, 1e-9)
#: Clusters of the scenes that are timed, by dimension, and their points.
CLUSTERS = {1: 20, 2: 20, 3: 20, 4: 10}
N_POINTS = 20_000
TURNS = 5
#: No cell is so shallow.
_NEVER = {"_SHALLOW": -1.0}


def mixtures(r: int, spacing: float, n: int = 50) -> tuple[Floats, Floats]:
    """Return the corners (r + 1, r) of a small simplex, no flat one, and points (n, r) inside."""
    rng = np.random.default_rng(r)
    corner = rng.uniform(0.3, 0.7, r)
    around = np.vstack([np.zeros(r), np.eye(r) + rng.uniform(-0.2, 0.2, (r, r))])
    sites = corner + spacing * around
    return sites, rng.dirichlet(np.full(r + 1, 3.0), n) @ sites


def shares(sites: Floats, x: Floats) -> list[Fraction]:
    """Return the barycentric coordinates of a point as they are, by elimination in rational arithmetic."""
    corners = [[Fraction(float(value)) for value in site] for site in sites]
    rows = [[corner[c] for corner in corners] + [Fraction(float(x[c]))] for c in range(len(x))]
    rows.append([Fraction(1)] * (len(corners) + 1))
    for pivot in range(len(rows)):
        chosen = next(i for i in range(pivot, len(rows)) if rows[i][pivot] != 0)
        rows[pivot], rows[chosen] = rows[chosen], rows[pivot]
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for i, row in enumerate(rows):
            if i != pivot:
                rows[i] = [value - row[pivot] * other for value, other in zip(row, rows[pivot], strict=True)]
    return [row[-1] for row in rows]


def error(r: int, spacing: float, changes: dict[str, float]) -> float:
    """Return the largest error of a share."""
    sites, X = mixtures(r, spacing)
    corners = np.vstack([np.zeros((1, r)), np.ones((1, r))])
    fitted = AffinityScorer(centers=np.vstack([sites, corners]), engine="exact").fit(np.vstack([X, corners])).fitted_
    queries = fitted.tessellation.queries(fitted.locate(X).position)
    with patch.dict(vars(_exact), changes):
        found = Exact().build(fitted.tessellation, Settings()).estimate(queries).affinity[:, : r + 1]
    truth = np.array([[float(share) for share in shares(sites, x)] for x in X])
    return float(np.abs(found - truth).max())


def errors() -> Iterator[str]:
    """Yield the rows of the first table."""
    for r in DIMENSIONS:
        for spacing in SPACINGS:
            before, now = error(r, spacing, _NEVER), error(r, spacing, {})
            yield f"| {r} | {spacing:.0e} | {before:.0e} | {now:.0e} | {2.0**-52 / spacing:.0e} |"


def costs() -> Iterator[str]:
    """Yield the rows of the second table: normal random sites and points, and the same sites with close points."""
    for r in DIMENSIONS:
        rng = np.random.default_rng(r)
        centers, X = rng.normal(size=(CLUSTERS[r], r)), rng.normal(size=(N_POINTS, r))
        close = centers[rng.integers(CLUSTERS[r], size=N_POINTS)] + 1e-3 * rng.normal(size=(N_POINTS, r))
        fitted = AffinityScorer(centers=centers, engine="exact", n_jobs=1).fit(X).fitted_
        measurer = Exact().build(fitted.tessellation, Settings())
        for name, points in (("any", X), ("beside a site", close)):
            queries = fitted.tessellation.queries(fitted.locate(points).position)
            best = {"before": np.inf, "now": np.inf}
            for _ in range(TURNS):
                for way, changes in (("before", _NEVER), ("now", {})):
                    with patch.dict(vars(_exact), changes):
                        started = time.process_time()
                        measurer.stolen(queries)
                        best[way] = min(best[way], (time.process_time() - started) / N_POINTS)
            ratio = best["now"] / best["before"]
            times = [f"{1e6 * seconds:.2g} µs" for seconds in best.values()]
            yield f"| {r} | {CLUSTERS[r]} | {name} | {times[0]} | {times[1]} | {ratio:.2f} |"


def main() -> None:
    """Print both tables."""
    print("| r | sites apart | error, from the origin | from home | rounding / distance |\n|---|---|---|---|---|")
    for row in errors():
        print(row, flush=True)
    print("\n| r | k | points | from the origin | from home where shallow | ratio |\n|---|---|---|---|---|---|")
    for row in costs():
        print(row, flush=True)


if __name__ == "__main__":
    main()
