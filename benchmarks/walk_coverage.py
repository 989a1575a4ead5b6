"""Do the 95 % intervals of hit-and-run hold the truth? ``python benchmarks/walk_coverage.py``.

Prints the table behind docs/decisions/0014-intervals-of-walks.md. Truth is the exact engine, or in nine dimensions the
closed form. Each scene has its own sites and its own seed, since the points of one scene walk through the same random
numbers; the error of a coverage is that over scenes. Four variants walk the same scenes:

- ``batches alone``: the variance of 32 batch means, as if batches were independent;
- ``+ burn-in``: the same after 1,000 sweeps instead of 30, which shows what the start of the walk matters;
- ``+ correlation``: with the correlation of successive batches;
- ``as it is``: slow walks start again along the axes of their cells, too.

Cost is the mean number of steps of a point, burn-in included, and its ratio to that of ``batches alone``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt

from allegiance import AffinityScorer
from allegiance.engines import Exact, HitAndRun, Queries, Settings, Tessellation, _hit_and_run, build_engine
from allegiance.engines._hit_and_run import FittedHitAndRun

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Half-widths asked for. At the larger one the first look of a walk is mostly the only one.
EPS = (0.03, 0.1)
#: Shares that are told apart.
CLASSES = ((0.0, 0.05), (0.05, 0.5), (0.5, 1.0))
#: A cell is tiny if it has less of the region than this: shared samples would leave it to a walk.
TINY = 0.02
#: Distance of the sites around a tiny cell, in a region of size one.
SPACING = 1e-3
#: Most points of a scene.
POINTS = 8

#: What a variant changes in the walk.
_ALONE: dict[str, object] = {"_dependence": np.ones_like, "_SLOW": np.inf}
VARIANTS: dict[str, dict[str, object]] = {
    "batches alone": _ALONE,
    "+ burn-in": {**_ALONE, "_BURN_IN_SWEEPS": 1000},
    "+ correlation": {"_SLOW": np.inf},
    "as it is": {},
}


@dataclass(frozen=True)
class Scene:
    """Cells to walk in, and the truth about them."""

    tessellation: Tessellation
    queries: Queries
    truth: Floats
    """(n, k) affinities."""
    seed: int


def tiny_cells(r: int, seed: int) -> Scene:
    """Return points among sites that are close together in a wide box."""
    rng = np.random.default_rng([seed, r])
    near = rng.uniform(0.3, 0.7, r) + SPACING * rng.normal(size=(r + 4, r))
    centers = np.vstack([near, rng.random((2, r))])
    X = rng.dirichlet(np.ones(r + 4), POINTS) @ near + 0.3 * SPACING * rng.normal(size=(POINTS, r))
    return _exact_scene(centers, X, np.vstack([X, np.zeros((1, r)), np.ones((1, r))]), seed, largest=TINY)


def cells_of_any_size(r: int, seed: int) -> Scene:
    """Return normal random points among six normal random sites."""
    rng = np.random.default_rng([seed, r])
    centers, X = rng.normal(size=(6, r)), rng.normal(size=(POINTS, r))
    return _exact_scene(centers, X, X, seed, largest=1.0)


def cells_in_a_simplex(r: int, seed: int) -> Scene:
    """Return points inside a simplex of normal random sites, in the whole space."""
    rng = np.random.default_rng([seed, r])
    centers = rng.normal(size=(r + 1, r))
    X = (0.9 * rng.dirichlet(np.full(r + 1, 1.5), POINTS) + 0.1 / (r + 1)) @ centers
    scorer = AffinityScorer(centers=centers, domain="space", engine="closed-form", influence="euclidean").fit(X)
    tessellation = scorer.fitted_.tessellation
    return Scene(tessellation, tessellation.queries(scorer.fitted_.locate(X).position), scorer.transform(X), seed)


#: The rows of the table: what is walked in, and how many dimensions it has.
REGIMES = (
    ("tiny cells", tiny_cells, 2),
    ("tiny cells", tiny_cells, 3),
    ("tiny cells", tiny_cells, 4),
    ("cells of any size", cells_of_any_size, 2),
    ("cells of any size", cells_of_any_size, 3),
    ("cells of any size", cells_of_any_size, 4),
    ("cells in a simplex", cells_in_a_simplex, 9),
)


def _exact_scene(centers: Floats, X: Floats, everything: Floats, seed: int, largest: float) -> Scene:
    fitted = AffinityScorer(centers=centers, engine="exact", n_jobs=1, influence="euclidean").fit(everything).fitted_
    tessellation = fitted.tessellation
    queries = tessellation.queries(fitted.locate(X).position)
    stolen = Exact().build(tessellation, Settings()).stolen(queries)
    volume = stolen.sum(axis=1)
    kept = (volume > 0) & (volume < largest * (2.0 * tessellation.region.half_width) ** tessellation.dim)
    return Scene(tessellation, queries.take(kept), stolen[kept] / volume[kept, None], seed)


def walk(scenes: list[Scene], eps: float) -> tuple[list[Bools], float]:
    """Return which intervals (n, k) of each scene hold the truth, and the mean number of steps of a point."""
    held = []
    steps = 0
    run = FittedHitAndRun._run

    def counting(self: FittedHitAndRun, walkers: Any, stretch: Any, counts: Any) -> None:
        nonlocal steps
        steps += walkers.queries.n * stretch.jumps.size
        run(self, walkers, stretch, counts)

    with patch.object(FittedHitAndRun, "_run", counting):
        for scene in scenes:
            measurer = build_engine(HitAndRun(), scene.tessellation, Settings(eps=eps, seed=scene.seed))
            estimate = measurer.estimate(scene.queries)
            held.append(np.abs(estimate.affinity - scene.truth) <= 1.96 * estimate.standard_error)
    return held, steps / sum(scene.queries.n for scene in scenes)


def coverage(held: list[Bools], scenes: list[Scene], low: float, high: float) -> str:
    """Write the share of intervals that hold the truth, its standard error over scenes, and their number."""
    chosen = [inside[(scene.truth >= low) & (scene.truth < high)] for inside, scene in zip(held, scenes, strict=True)]
    everything = np.concatenate(chosen)
    if not everything.size:
        return "-"
    mean = everything.mean()
    error = np.sqrt(sum(float((part - mean).sum()) ** 2 for part in chosen)) / everything.size
    return f"{mean:.3f} ± {error:.3f} ({everything.size:,})"


def rows(n_scenes: int, dimensions: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table."""
    for name, make, r in (regime for regime in REGIMES if regime[2] in dimensions):
        scenes = [scene for seed in range(n_scenes) if (scene := make(r, seed)).queries.n]
        for eps in EPS:
            base = 0.0
            for variant, changes in VARIANTS.items():
                with patch.dict(vars(_hit_and_run), changes):
                    held, steps = walk(scenes, eps)
                base = base or steps
                cells = [coverage(held, scenes, low, high) for low, high in CLASSES]
                yield (name, str(r), str(eps), variant, *cells, f"{steps:,.0f}", f"{steps / base:.2f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of hit-and-run.")
    parser.add_argument("--scenes", type=int, default=200, help="scenes for each row (default: %(default)s)")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 3, 4, 9], metavar="R", help="only these")
    options = parser.parse_args()
    columns = ["cells", "r", "eps", "variant", *(f"shares {low} to {high}" for low, high in CLASSES), "steps", "ratio"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows(options.scenes, options.dimensions):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
