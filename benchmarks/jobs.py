"""Jobs of ``make bench``: the same work by us and by others, in turns, on one machine.

- Exact affinities in two and three dimensions, five sites in a box, processor time per query on one thread. Qhull cuts
  the cells of all sites with and without the query; its shares must agree with ours to 1e-9 before anything is timed.
- "kl" and an exact rbf kernel, relative to Euclidean distance on the same data and to one full kernel matrix.
- Growth with n: a line through the logarithms of time gives the exponent.
- Trust relative to affinity.
- Peak memory of scoring 1,000,000 x 50 float32 points in a fresh process, beyond what it had before the data.
- ActiveKMeans and IncrementalKMeans against scikit-learn's clusterers of the same kind: time, and adjusted Rand index.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, HalfspaceIntersection
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from _process_memory import peak, reset_peak, resident
from _report import Row, faster_row, limit_row, quantity
from _side_by_side import side_by_side
from allegiance import ActiveKMeans, AffinityScorer, IncrementalKMeans, PrecisionWarning, affinity, trust

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

#: Bytes beyond input and output that scoring may take, and the exponent of n that counts as linear growth.
ALLOWANCE, LINEAR = 500_000_000, 1.1


def run(quick: bool) -> list[Row]:
    """Do all jobs."""
    jobs: tuple[Callable[[bool], list[Row]], ...] = (
        exact_queries, influences, growth, trusted, memory, clusterers,
    )  # fmt: skip
    return [row for job in jobs for row in job(quick)]


def blobs(n: int, d: int, k: int, seed: int = 15) -> tuple[Floats, Labels]:
    """Draw n points in d dimensions around k centres."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return 2.0 * rng.standard_normal((k, d))[labels] + rng.standard_normal((n, d)), labels


def exact_queries(quick: bool) -> list[Row]:
    """Time one exact query in two and in three dimensions."""
    rows = []
    for dim in (2, 3):
        rng = np.random.default_rng(dim)
        sites = rng.uniform(0.15, 0.85, (5, dim))
        queries = rng.uniform(0.0, 1.0, (50_000 if quick else 500_000, dim))
        scorer = AffinityScorer(centers=sites, engine="exact", n_jobs=1, random_state=0, influence="euclidean").fit(
            queries
        )
        qhull = _Qhull(sites, queries)
        few = queries[: 50 if quick else 300]
        difference = float(np.abs(scorer.transform(few) - np.array([qhull.affinity(x) for x in few])).max())
        if difference > 1e-9:
            raise AssertionError(f"allegiance and Qhull differ by {difference:.1e}")
        tasks = {
            "ours": lambda scorer=scorer, queries=queries: scorer.affinity(queries),
            "qhull": lambda qhull=qhull, few=few: [qhull.affinity(x) for x in few],
        }
        times = side_by_side(tasks, 3 if quick else 9, clock=time.process_time)
        ours, theirs = times["ours"].best / len(queries), times["qhull"].best / len(few)
        what = f"exact {dim}-D k = 5, one query, 1 thread"
        rows.append(faster_row(what, ours, "Qhull, volume difference", theirs, 1.0))
    return rows


class _Qhull:
    """Affinities as differences of cell volumes, the way one would write them with scipy."""

    def __init__(self, sites: Floats, queries: Floats) -> None:
        # The box domain by its definition: the bounding box with a margin of 0.1 on each side.
        everything = np.vstack([queries, sites])
        lower, upper = everything.min(axis=0), everything.max(axis=0)
        lower, upper = lower - 0.1 * (upper - lower), upper + 0.1 * (upper - lower)
        eye = np.eye(sites.shape[1])
        walls = np.vstack([np.column_stack([eye, -upper]), np.column_stack([-eye, lower])])
        self._sites = sites
        self._cells = [np.vstack([_bisectors(c, np.delete(sites, i, axis=0)), walls]) for i, c in enumerate(sites)]
        self._before = np.array([_volume(cell, c) for cell, c in zip(self._cells, sites, strict=True)])

    def affinity(self, x: Floats) -> Floats:
        """Return the affinities (k,) of one query."""
        pairs = zip(self._cells, self._sites, strict=True)
        stolen = self._before - [_volume(np.vstack([cell, _bisectors(c, x[None])]), c) for cell, c in pairs]
        return np.asarray(stolen / stolen.sum())


def _bisectors(c: Floats, others: Floats) -> Floats:
    """Return half-spaces (m, r + 1) in Qhull's form: closer to ``c`` than to each of ``others``."""
    normals = others - c
    return np.column_stack([normals, -(normals * (others + c) / 2.0).sum(axis=1)])


def _volume(halfspaces: Floats, inside: Floats) -> float:
    return float(ConvexHull(HalfspaceIntersection(halfspaces, inside).intersections).volume)


def influences(quick: bool) -> list[Row]:
    """Time a divergence and a kernel."""
    n, turns = (2000, 1) if quick else (10_000, 3)
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 10
    counts = rng.poisson(rng.gamma(2.0, 1.0, (10, 1000))[labels]) + 0.5
    pixels = rng.normal(size=(10, 784))[labels] + rng.normal(size=(n, 784))
    gamma = 1.0 / pixels.var(axis=0).sum()
    tasks = {
        "kl": lambda: affinity(counts, labels, influence="kl"),
        "euclidean on counts": lambda: affinity(counts, labels, influence="euclidean"),
        "rbf": lambda: affinity(pixels, labels, influence="rbf"),
        "kernel matrix": lambda: [rbf_kernel(pixels[i : i + 1000], pixels, gamma=gamma) for i in range(0, n, 1000)],
    }
    best = {name: found.best for name, found in side_by_side(tasks, turns).items()}
    return [
        faster_row(f"kl, {n:,} x 1,000, k = 10", best["kl"], "euclidean", best["euclidean on counts"]),
        faster_row(f"rbf kernel, {n:,} x 784, k = 10", best["rbf"], "full kernel matrix", best["kernel matrix"]),
    ]


def growth(quick: bool) -> list[Row]:
    """Time affinity for more and more points."""
    sizes = (1_000, 10_000, 100_000) if quick else (10_000, 100_000, 1_000_000)
    seconds = []
    for n in sizes:
        rng = np.random.default_rng(0)
        centers = rng.standard_normal((10, 20), dtype=np.float32)
        X = rng.standard_normal((n, 20), dtype=np.float32) + centers[np.arange(n) % 10]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrecisionWarning)
            task = {"ours": lambda X=X, centers=centers: affinity(X, centers=centers, influence="euclidean")}
            seconds.append(side_by_side(task, 3 if n <= 100_000 else 1)["ours"].best)
    exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    spread = f"{quantity(seconds[0], 's')} to {quantity(seconds[-1], 's')}"
    what = f"growth with n = {sizes[0]:,} .. {sizes[-1]:,} (k = 10, d = 20): {spread}"
    return [Row(what, exponent, "exponent", target=f"<= {LINEAR:g}", met=exponent <= LINEAR)]


def trusted(quick: bool) -> list[Row]:
    """Time trust, whose subsamples do not grow with the data."""
    rows = []
    for n, at_least, turns in (
        ((2000, None, 1), (20_000, None, 1)) if quick else ((10_000, None, 5), (1_000_000, 1 / 1.3, 3))
    ):
        X, labels = blobs(n, 50, 10, seed=0)
        tasks = {
            "trust": lambda X=X, labels=labels: trust(X, labels),
            "within": lambda X=X, labels=labels: affinity(X, labels, influence="within"),
        }
        best = {name: times.best for name, times in side_by_side(tasks, turns).items()}
        rows.append(
            faster_row(f"trust, {n:,} x 50, k = 10", best["trust"], 'affinity, "within"', best["within"], at_least)
        )
    return rows


def memory(quick: bool) -> list[Row]:
    """Measure the peak of a fresh process."""
    n = 100_000 if quick else 1_000_000
    done = subprocess.run([sys.executable, __file__, str(n)], check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    known = f"input {quantity(found['input'], 'B')}, output {quantity(found['output'], 'B')}"
    what = f"peak memory, {n:,} x 50 float32, k = 10 ({known})"
    return [limit_row(what, found["peak"], "B", found["input"] + found["output"] + ALLOWANCE, **found)]


def measure_memory(n: int) -> dict[str, float]:
    """Score ``n`` points in this process and return bytes: input, output, peak beyond the baseline."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((10, 50), dtype=np.float32)
    affinity(rng.standard_normal((500, 50), dtype=np.float32), centers=centers, influence="euclidean")
    baseline = resident()
    X = rng.standard_normal((n, 50), dtype=np.float32)
    for start in range(0, n, 100_000):
        rows = X[start : start + 100_000]
        rows += centers[np.arange(len(rows)) % 10]
    reset_peak()
    result = affinity(X, centers=centers, influence="euclidean")
    beyond = peak() - baseline
    arrays = {id(value): value for value in vars(result).values() if isinstance(value, np.ndarray)}
    return {"input": X.nbytes, "output": sum(array.nbytes for array in arrays.values()), "peak": beyond}


def clusterers(quick: bool) -> list[Row]:
    """Compare active and incremental k-means with what scikit-learn offers for the same job."""
    n = 5000 if quick else 20_000
    X, truth = make_blobs(n, 10, centers=20, cluster_std=3.0, random_state=0)

    def in_batches(model: IncrementalKMeans | MiniBatchKMeans) -> Labels:
        for start in range(0, n, 1000):
            model.partial_fit(X[start : start + 1000])
        return (model.finalize() if hasattr(model, "finalize") else model).predict(X)

    pairs: dict[str, tuple[Callable[[], Labels], str, Callable[[], Labels]]] = {
        "active": (
            lambda: ActiveKMeans(20, random_state=0).fit(X).labels_,
            "KMeans",
            lambda: KMeans(20, n_init=1, random_state=0).fit(X).labels_,
        ),
        "incremental, batches of 1000": (
            lambda: in_batches(IncrementalKMeans(20, random_state=0)),
            "MiniBatchKMeans",
            lambda: in_batches(MiniBatchKMeans(20, random_state=0)),
        ),
    }
    rows = []
    for name, (ours, peer, theirs) in pairs.items():
        times = side_by_side({"ours": ours, "theirs": theirs}, 1 if quick else 2)
        what = f"{name}, blobs, {n:,} x 10, k = 20"
        found, known = (float(adjusted_rand_score(truth, task())) for task in (ours, theirs))
        rows.append(faster_row(f"{what}: time", times["ours"].best, peer, times["theirs"].best))
        rows.append(Row(f"{what}: adjusted Rand", found, "", peer, known, found / known))
    return rows


if __name__ == "__main__":
    print(json.dumps(measure_memory(int(sys.argv[1]))))
