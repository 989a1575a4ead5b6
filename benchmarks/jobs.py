"""Jobs of ``make bench``: the same work by us and by others, in turns, on one machine.

- Exact affinities in two and three dimensions, five sites in a box, processor time per query on one thread. Qhull cuts
  the cells of all sites with and without the query; its shares must agree with ours to 1e-9 before anything is timed.
- Shared samples: Gaussian blobs, centres twice as far apart as points from their centre, the whole public call on all
  cores. ``silhouette_samples`` gets the same array and labels.
- 10,000 images of 784 pixels, k = 10, the paper's largest job: strokes drawn at random stand in for the digits.
- "kl" and an exact rbf kernel, relative to Euclidean distance on the same data and to one full kernel matrix.
- Growth with n: a line through the logarithms of time gives the exponent.
- Trust relative to affinity, and trust in 384-dimensional unit vectors with k = 100, as embeddings are.
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
from sklearn.metrics import adjusted_rand_score, silhouette_samples
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
        exact_queries, sampled, images, influences, growth, trusted, memory, clusterers,
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


def sampled(quick: bool) -> list[Row]:
    """Time scores that are measured with shared samples."""
    less, turns = (10, 1) if quick else (1, 5)
    rows = []
    for n, d, k, at_least, more in ((1000, 50, 10, 1.0, 4), (10_000 // less, 50, 50, 4.0, 1)):
        X, labels = blobs(n, d, k)
        tasks = {
            "ours": lambda X=X, labels=labels: affinity(X, labels, influence="euclidean"),
            "silhouette": lambda X=X, labels=labels: silhouette_samples(X, labels),
        }
        times = side_by_side(tasks, more * turns)
        what = f"affinity, {n:,} x {d}, k = {k}"
        rows.append(
            faster_row(what, times["ours"].best, "sklearn silhouette_samples", times["silhouette"].best, at_least)
        )
    n = 3000 // less
    X, labels = blobs(n, 50, 100)
    best = side_by_side({"ours": lambda: affinity(X, labels, influence="euclidean")}, turns)["ours"].best
    rows.append(limit_row(f"affinity, {n:,} x 50, k = 100: each point", best / n, "s", 1e-3))
    for n, d, k in ((20_000 // less, 16, 20), (10_000 // less, 50, 50)):
        X, labels = blobs(n, d, k)
        task = {"ours": lambda X=X, labels=labels: affinity(X, labels, n_jobs=1, influence="euclidean")}
        best = side_by_side(task, turns, clock=time.process_time)["ours"].best
        rows.append(Row(f"affinity, {n:,} x {d}, k = {k}, one thread", best))
    return rows


def images(quick: bool) -> list[Row]:
    """Time the paper's largest job."""
    rng = np.random.default_rng(0)
    n = 2000 if quick else 10_000
    place = rng.uniform(6.0, 22.0, (10, 8, 2))[np.arange(n) % 10] + rng.normal(0.0, 1.5, (n, 8, 2))
    rows, columns = (np.exp(-((np.arange(28) - place[:, :, [i]]) ** 2) / 8.0) for i in range(2))
    strokes = np.einsum("ns,nsy,nsx->nyx", rng.uniform(100.0, 255.0, (n, 8)), rows, columns, optimize=True)
    X = np.clip(strokes.reshape(n, 784) + rng.normal(0.0, 10.0, (n, 784)), 0.0, 255.0)
    means = KMeans(10, n_init=1, random_state=0).fit(X)
    tasks = {
        "ours": lambda: affinity(X, centers=means.cluster_centers_, influence="euclidean"),
        "silhouette": lambda: silhouette_samples(X, means.labels_),
    }
    best = {name: times.best for name, times in side_by_side(tasks, 2 if quick else 7).items()}
    what = f"images, {n:,} x 784, k = 10"
    return [faster_row(what, best["ours"], "sklearn silhouette_samples", best["silhouette"], 25.0)]


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
    n = 700 if quick else 7000
    X, labels = blobs(n, 384, 100)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    started = time.perf_counter()
    trust(X, labels)
    rows.append(limit_row(f"trust, {n:,} x 384, k = 100", time.perf_counter() - started, "s", 20.0))
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
