"""Running times, and how far sampled affinities are from exact ones."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import KMeans

from allegiance import AffinityScorer, affinity
from allegiance.geometry import sample_polytope
from reproduction.datasets import DataSet, FloatArray, load_available
from reproduction.framework import Check, Finding, Section, Setup, Table, compare_numbers, seconds_spread, spread
from reproduction.walks import cell_walls, root_mean_square, widened_box

#: Seconds and error as the paper prints them.
PAPER = {
    "2D5C-500": ("0.11 ± 0.005 s", "± 0.02"),
    "3D5C-500": ("0.19 ± 0.008 s", "± 0.035"),
    "Iris": ("0.24 ± 0.012 s", "-"),
    "Soybean": ("0.31 ± 0.08 s", "-"),
    "MNIST test data": ("0.58 ± 0.5 s", "-"),
}
PAPER_ERRORS = {"2D5C-500": 0.02, "3D5C-500": 0.035}
HEAD = ("data", "n x d, k", "paper, time", "ours, all points, one thread", "engine", "paper, error", "ours, rms (max)")
#: Steps of the paper's walk: before counting, and counted.
BURN_IN = SAMPLES = 1000
#: The error that the paper expects of that many samples.
PREDICTED = 0.04
#: Points of each dataset whose cells are walked at Python's pace for the comparison with exact affinities.
WALKED = 20


def run(setup: Setup) -> Section:
    """Time every dataset; compare with exact volumes where the dimension allows."""
    present, missing = load_available("2D5C-500", "3D5C-500", "Iris", "Soybean", "MNIST test data")
    kmeans = [KMeans(data.n_clusters, n_init=10, random_state=0).fit(data.X) for data in present]
    clustered = [(data, fitted.cluster_centers_) for data, fitted in zip(present, kmeans, strict=True)]
    times = {data.name: _seconds(data, centers, setup) for data, centers in clustered}
    errors = {data.name: _walk_errors(data, centers, setup) for data, centers in clustered if data.name in PAPER_ERRORS}
    rows = tuple(_row(data, times[data.name], errors.get(data.name)) for data in present)
    return Section(
        title="Running times and error of approximation",
        method="The paper reports seconds for the affinities of all points (according to its text; its caption says "
        "one point) by 1,000 steps of hit-and-run after a burn-in of 1,000, and the error against exact areas and "
        "volumes in two and three dimensions. We time `affinity(X, centers=C)` with default settings, for all points "
        "and the centers of k-means, in processor time of one thread, which other work on the machine does not "
        "disturb. For the error, we repeat the paper's walk on 20 points for each seed. The error of a point is the "
        "largest difference between its k shares and the exact ones; the table shows the root mean square and the "
        "maximum over points and seeds.",
        tables=(Table(HEAD, rows),),
        findings=tuple(_findings(times, errors)),
        remarks=(
            *missing,
            "By default, allegiance measures two and three dimensions exactly. The last column is the error of the "
            "paper's walk.",
            "Successive steps of a walk depend on each other, so 1,000 of them are worth fewer independent samples, "
            "and fewer in three dimensions than in two.",
        ),
    )


def _seconds(data: DataSet, centers: FloatArray, setup: Setup) -> tuple[list[float], str]:
    """Return the processor seconds of one call for each seed, and the engine that measured most points."""
    affinity(data.X[:10], centers=centers, random_state=0, influence="euclidean")
    seconds = []
    for seed in setup.seeds:
        started = time.process_time()
        result = affinity(data.X, centers=centers, random_state=seed, n_jobs=1, influence="euclidean")
        seconds.append(time.process_time() - started)
    names, counts = np.unique(result.frame(details=True)["engine"], return_counts=True)
    return seconds, str(names[counts.argmax()])


def _walk_errors(data: DataSet, centers: FloatArray, setup: Setup) -> FloatArray:
    """Return the largest error of the k shares of each point, for some points of each seed."""
    exact = AffinityScorer(centers=centers, engine="exact", random_state=0, influence="euclidean").fit(data.X)
    errors = []
    for seed in setup.seeds:
        rows = np.random.default_rng(seed).choice(data.X.shape[0], WALKED, replace=False)
        walked = np.array([_walked(centers, data.X, x, seed) for x in data.X[rows]])
        errors.append(np.abs(walked - exact.transform(data.X[rows])).max(axis=1))
    return np.concatenate(errors)


def _walked(centers: FloatArray, X: FloatArray, x: FloatArray, seed: int) -> FloatArray:
    """Return the affinities (k,) of one point by the paper's own algorithm, in the default box."""
    walls = cell_walls(centers, x, *widened_box(np.vstack([X, centers])))
    z = sample_polytope(*walls, SAMPLES, burn_in=BURN_IN, random_state=seed)
    owner = ((z[:, None, :] - centers) ** 2).sum(axis=2).argmin(axis=1)
    return np.bincount(owner, minlength=centers.shape[0]) / SAMPLES


def _row(data: DataSet, timed: tuple[list[float], str], errors: FloatArray | None) -> tuple[str, ...]:
    n, d = data.X.shape
    seconds, engine = timed
    paper_time, paper_error = PAPER[data.name]
    error = "-" if errors is None else f"{root_mean_square(errors):.3f} ({errors.max():.3f})"
    return data.name, f"{n:,} x {d}, {data.n_clusters}", paper_time, seconds_spread(seconds), engine, paper_error, error


def _findings(times: dict[str, tuple[list[float], str]], errors: dict[str, FloatArray]) -> Iterator[Finding]:
    for name, error in errors.items():
        rms = root_mean_square(error)
        yield Finding(
            f"1,000 steps of hit-and-run after 1,000 keep within the predicted error of {PREDICTED} ({name})",
            (Check("root mean square", rms, "<=", PREDICTED, ".3f"),),
            f"{np.mean(error <= PREDICTED):.0%} of points within it",
            compare_numbers([(PAPER_ERRORS[name], rms)], 0.01),
        )
    if "MNIST test data" in times:
        seconds = times["MNIST test data"][0]
        yield Finding(
            "All 10,000 affinities of MNIST within 0.58 s",
            (Check("mean seconds of one thread", float(np.mean(seconds)), "<=", 0.58, ".2f"),),
            f"{spread(seconds)} s",
            "differ",
            timed=True,
        )
