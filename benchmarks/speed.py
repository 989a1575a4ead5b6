"""Jobs that people wait for, in turns with ``silhouette_samples`` on the same array and labels, or with k-means.

``python benchmarks/run.py --only speed`` takes some minutes. Gaussian blobs, centers twice as far apart as points from
their center; the whole public call on all cores. The images are the MNIST test set with ``ALLEGIANCE_DATA``, else the
digits of scikit-learn. One row at a time is scored after ``prepare()``: the median, and the 99th percentile against it.
Ten million rows of a Parquet file are in ``scale.py``.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_samples

from _report import Row, faster_row, limit_row, side_by_side
from allegiance import AffinityScorer, affinity, trust
from allegiance.io import fit_stream, open_table, propose
from reproduction.datasets import load_mnist_test

Floats = npt.NDArray[np.float64]


def run(quick: bool) -> list[Row]:
    """Do all jobs."""
    less, turns = (10, 1) if quick else (1, 5)
    rows = [images(quick)]
    for n, d, k, at_least in (
        (1000, 50, 10, 1.5),
        (10_000, 16, 20, 10.0),
        (10_000, 50, 50, 4.0),
        (10_000, 50, 100, 3.0),
    ):
        X, labels = blobs(n if n <= 1000 else n // less, d, k)
        ours = lambda X=X, labels=labels: affinity(X, labels, influence="euclidean")  # noqa: E731
        what = f"affinity, {len(X):,} x {d}, k = {k}"
        rows.append(_beside_silhouette(what, ours, X, labels, at_least, 4 * turns if n <= 1000 else turns))
    rows += embeddings(7000 // less, 1 if quick else 3) + served(100 if quick else 1000)
    return [*rows, *older_processors(10_000 // less, turns)]


def blobs(n: int, d: int, k: int, seed: int = 15) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Draw n points in d dimensions around k centers."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return 2.0 * rng.standard_normal((k, d))[labels] + rng.standard_normal((n, d)), labels


def _beside_silhouette(what: str, ours: Callable[[], Any], X: Floats, labels: Any, at_least: float, turns: int) -> Row:
    times = side_by_side({"ours": ours, "silhouette": lambda: silhouette_samples(X, labels)}, turns)
    return faster_row(what, times["ours"], "silhouette_samples", times["silhouette"], at_least)


def load_images() -> tuple[str, Floats]:
    """Return name and rows of the MNIST test images, or of the digits where these are missing."""
    try:
        return "MNIST", load_mnist_test().X
    except FileNotFoundError:
        return "digits", load_digits().data


def images(quick: bool) -> Row:
    """Time the paper's largest job, with centers given."""
    name, X = load_images()
    X = X[:2000] if quick else X
    means = KMeans(10, n_init=1, random_state=0).fit(X)
    ours = lambda: affinity(X, centers=means.cluster_centers_, influence="euclidean")  # noqa: E731
    what = f"{name}, {len(X):,} x {X.shape[1]}, k = 10"
    return _beside_silhouette(what, ours, X, means.labels_, 30.0, 2 if quick else 7)


def embeddings(n: int, turns: int) -> list[Row]:
    """Time unit vectors in 384 dimensions."""
    X, labels = blobs(n, 384, 100)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    what = f"{n:,} x 384, k = 100"
    beside = _beside_silhouette(f"affinity, {what}", lambda: affinity(X, labels), X, labels, 1.0, turns)
    return [beside, *trust_rows(X, 100, what)]


class TimedKMeans(KMeans):
    """k-means that adds up the processor time of its fits."""

    seconds: ClassVar[list[float]] = []

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit, and note the time."""
        started = time.thread_time()
        super().fit(X, y, sample_weight)
        self.seconds.append(time.thread_time() - started)
        return self


def trust_rows(X: Floats, k: int, what: str) -> list[Row]:
    """Compare the processor time of trust with that of the affinities and its refits, and that without the clusterer.

    The refits include those of null data.
    """
    kmeans = TimedKMeans(k, n_init=1, random_state=0)
    labels = kmeans.fit_predict(X)
    affinity(X, labels)
    TimedKMeans.seconds.clear()
    known = _processor_seconds(lambda: trust(X, labels, clusterer=kmeans))
    refits, scores = sum(TimedKMeans.seconds), _processor_seconds(lambda: affinity(X, labels))
    alone = _processor_seconds(lambda: trust(X, labels))
    return [
        faster_row(
            f"trust, {what}, clusterer known, CPU", known, "affinity + 1.5 x refits", scores + 1.5 * refits, 1.0
        ),
        faster_row(f"trust, {what}, labels only, CPU", alone, "1.5 x clusterer known", 1.5 * known, 1.0),
    ]


def _processor_seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def served(n: int) -> list[Row]:
    """Time one new row after another with the default influence and trust, also from a table."""
    rows = []
    for d, k, limit in ((16, 10, 1e-3), (50, 50, 1e-3)):
        X, labels = blobs(10_000, d, k)
        scorer = AffinityScorer(calibration=True, n_jobs=1, random_state=0).fit(X, labels).prepare()
        ours = np.array([_seconds(scorer, X[[i]]) for i in range(n)])
        middle, what = float(np.median(ours)), f"one row with trust, k = {k}, d = {d}"
        rows.append(limit_row(f"{what}: median", middle, "s", limit))
        rows.append(limit_row(f"{what}: 99th percentile", float(np.quantile(ours, 0.99)), "s", 2.0 * middle))
    X, labels = blobs(5000, 15, 10)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(15)]).assign(plan=np.where(labels % 2, "gold", "basic"))
    table, settings = open_table(frame), {"calibration": 5, "n_jobs": 1, "random_state": 0}
    model = fit_stream(table, AffinityScorer(**settings), plan=propose(table), n_clusters=10).prepare()
    X = np.column_stack([X, labels % 2 == 0, labels % 2 == 1])
    plain = AffinityScorer(**settings).fit(X, labels).prepare()
    records = frame.head(n).to_dict("records")
    times = [
        float(np.median([_seconds(each, row) for row in some]))
        for each, some in ((model, records), (plain, [X[[i]] for i in range(n)]))
    ]
    return [*rows, faster_row("one row of the API example, as a table", times[0], "as an array", times[1], 0.5)]


def _seconds(scorer: AffinityScorer, row: Any) -> float:
    started = time.perf_counter()
    result = scorer.affinity(row)
    _ = result.trust, result.verdict
    return time.perf_counter() - started


#: Settings of Numba for processors with fewer instructions, and how many times slower than here they may be. BLAS and
#: NumPy keep the instructions of this one.
_OLDER = {
    "without AVX-512": ({"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+bmi,+bmi2,+popcnt"}, 1.7),
    "without fused multiplication": (
        {"NUMBA_CPU_NAME": "sandybridge", "NUMBA_CPU_FEATURES": "+avx,+popcnt,+sse4.2"},
        3.0,
    ),
    "without AVX": ({"NUMBA_CPU_NAME": "generic"}, 3.0),
}
_TIMED_AFFINITY = """
import sys, time
from allegiance import affinity
from speed import blobs

X, labels = blobs(*map(int, sys.argv[1:4]))
for _ in range(1 + int(sys.argv[4])):
    started = time.process_time()
    affinity(X, labels, n_jobs=1)
    print(time.process_time() - started)
"""


def older_processors(n: int, turns: int) -> list[Row]:
    """Compare compiled code for older processors with that for this one, in processor seconds of one thread."""
    rows = []
    for d, k in (16, 20), (50, 50):
        shape = [n, d, k, turns]
        ours = _least_seconds(shape, {})
        for name, (environment, limit) in _OLDER.items():
            ratio = _least_seconds(shape, environment) / ours
            rows.append(limit_row(f"affinity, {n:,} x {d}, k = {k}, {name}: times as slow", ratio, "", limit))
    return rows


def _least_seconds(shape: list[int], environment: dict[str, str]) -> float:
    """Return the least of several turns in a new process, after one that compiles."""
    words = [sys.executable, "-c", _TIMED_AFFINITY, *map(str, shape)]
    environment = os.environ | environment | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    seconds = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout.split()
    return min(map(float, seconds[1:]))
