"""How often the 95 % intervals of shared samples hold, and whether claimed and true errors agree.

``python benchmarks/interval_coverage.py`` scores the same points with ten seeds at eps = 0.03 and compares each
share with a reference of plain counting in NumPy, ten times as precise and with no code of the engine in it: the same
uniform points for all queries, owners and thefts from the functions themselves. ``--quick`` takes a tenth of them.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allegiance import AffinityScorer
from allegiance.engines import Tessellation

Floats = npt.NDArray[np.float64]
SEEDS = 10
EPS = 0.03
Z95 = 1.96
#: Hits of a query in the reference: a hundred times those of an interval of eps.
REFERENCE_HITS = 100 * 0.25 * (Z95 / EPS) ** 2
_CHUNK = 2**15


class Scene(NamedTuple):
    """Overlapping Gaussian clusters, and how many of their points are scored."""

    dim: int
    k: int
    points: int
    spread: float = 1.5

    @property
    def r(self) -> int:
        """Dimensions after the reduction."""
        return min(self.k - 1, self.dim)

    def draw(self) -> tuple[Floats, Floats]:
        """Return centres and points, as many from each cluster."""
        rng = np.random.default_rng([self.dim, self.k])
        centers = self.spread * rng.standard_normal((self.k, self.dim))
        return centers, centers[np.arange(self.points) % self.k] + rng.standard_normal((self.points, self.dim))


#: With ten seeds 4,000 largest shares each: how many intervals hold is known to a third of a percent.
SCENES = (Scene(50, 10, 400), Scene(9, 20, 400), Scene(16, 20, 400), Scene(50, 50, 400), Scene(99, 100, 400))


class Coverage(NamedTuple):
    """What one scene says."""

    pairs: int
    largest: float
    every: float
    claimed: float
    true: float


def reference(scene: Tessellation, queries: tuple[Floats, Floats], seed: int = 0) -> Floats:
    """Count uniform points until all but the smallest 5 % of the cells have enough; return shares (n, k).

    The rest have a reference that is less precise, which can only lower the share of intervals that hold.
    """
    rng = np.random.default_rng([seed, 12345])
    a, b = (np.ascontiguousarray(part, dtype=np.float32) for part in scene.functions)
    query_a, query_b = (np.ascontiguousarray(part, dtype=np.float32) for part in queries)
    counts = np.zeros((len(query_a), len(a)))
    while np.quantile(counts.sum(axis=1), 0.05) < REFERENCE_HITS:
        points = rng.uniform(-1.0, 1.0, (_CHUNK, a.shape[1])).astype(np.float32)
        sites = points @ a.T - b
        stolen = points @ query_a.T - query_b >= sites.max(axis=1, keepdims=True)
        counts += stolen.T.astype(np.float32) @ np.eye(len(a), dtype=np.float32)[sites.argmax(axis=1)]
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return shares


def measure(scene: Scene, seeds: int = SEEDS) -> Coverage:
    """Score the points of a scene with several seeds and compare them with the reference."""
    centers, X = scene.draw()
    fitted = AffinityScorer(centers=centers, engine="shared", influence="euclidean").fit(X).fitted_
    queries = fitted.tessellation.queries(fitted.diagram.locate(X).position)
    truth = reference(fitted.tessellation, queries[:2])
    largest = (np.arange(len(X)), truth.argmax(axis=1))
    held, held_largest, claimed, true = [], [], [], []
    for seed in range(seeds):
        scorer = AffinityScorer(centers=centers, engine="shared", eps=EPS, random_state=seed, influence="euclidean")
        result = scorer.fit(X).affinity(X)
        off = np.abs(result.affinity - truth)
        inside = off <= Z95 * result.standard_error
        held.append(inside.mean())
        held_largest.append(inside[largest].mean())
        claimed.append(np.square(result.standard_error[largest]).mean())
        true.append(np.square(off[largest]).mean())
    roots = (float(np.sqrt(np.mean(part))) for part in (claimed, true))
    return Coverage(seeds * truth.size, float(np.mean(held_largest)), float(np.mean(held)), *roots)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the points")
    quick = parser.parse_args().quick
    print("| r | k | pairs | largest share held | all shares held | claimed rms error | true |")
    print("|---|---|---|---|---|---|---|")
    for scene in SCENES:
        points = scene.points // 10 if quick else scene.points
        found = measure(scene._replace(points=points))
        print(
            f"| {scene.r} | {scene.k} | {found.pairs:,} | {found.largest:.1%} | {found.every:.1%} "
            f"| {found.claimed:.4f} | {found.true:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
