"""The same bits whatever the threads, chunks, order of rows, processes, pickles and clones."""

import multiprocessing
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs

from allegiance import (
    ActiveKMeans,
    AffinityResult,
    AffinityScorer,
    ConsensusClustering,
    IncrementalKMeans,
    stability_curve,
)
from allegiance.domains import Polytope
from allegiance.engines import ENGINES
from allegiance.influence import BregmanDiagram, Kernel, KernelEmbedding
from allegiance.metrics import Pool, lift_clusters, lift_emd, one_hot
from reference.divergences import DIVERGENCES
from scenes import euclidean

#: A scene for each engine, with the user's own axes (d = r) and reduced (d > r).
SCENES: dict[str, dict[str, Any]] = {
    "one dimension": {"d": 1, "k": 4, "engines": {"exact"}},
    "exact": {"d": 2, "k": 5, "engines": {"exact"}},
    "exact, reduced": {"d": 7, "k": 4, "engines": {"exact"}, "kind": np.float32},
    "shared": {"d": 5, "k": 9, "engines": {"shared"}, "calibration": 2},
    "shared, reduced": {"d": 20, "k": 8, "engines": {"shared"}, "kind": np.float32},
    "shared, sparse": {"d": 20, "k": 8, "engines": {"shared"}, "kind": sp.csr_array},
    "shared in a ball": {"d": 3, "k": 6, "domain": "ball", "engines": {"shared"}},
    "walk": {"d": 3, "k": 6, "engine": "hit-and-run", "engines": {"hit-and-run"}},
    "walk, reduced": {"d": 9, "k": 4, "engine": "hit-and-run", "engines": {"hit-and-run"}},
    "walk in a ball": {"d": 4, "k": 3, "domain": "ball", "engine": "hit-and-run", "engines": {"hit-and-run"}},
    "whole plane": {"d": 2, "k": 6, "domain": "space", "engines": {"exact"}},
    "whole space, simplex": {"d": 6, "k": 5, "domain": "space", "engines": {"closed-form", "shared"}},
    "whole space, walk": {"d": 5, "k": 9, "domain": "space", "engines": {"hit-and-run", "shared"}},
    "own region": {"d": 2, "k": 4, "domain": Polytope.box([-20, -20], [20, 20]), "engines": {"exact"}},
}


def training(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a scene and their labels: overlapping clusters."""
    d, k = SCENES[name]["d"], SCENES[name]["k"]
    X, labels = make_blobs(120, d, centers=k, cluster_std=4.0, center_box=(-6, 6), random_state=0)
    return X, labels


@cache
def scene(name: str, n_jobs: int = 1) -> tuple[AffinityScorer, Any]:
    """Return a fitted scorer and points to score: some of the fit, some near the middle, the last one far off."""
    settings = {"eps": 0.2, "random_state": 3, "influence": "euclidean", **SCENES[name]}
    kind = settings.pop("kind", np.float64)
    del settings["engines"], settings["d"], settings["k"]
    settings["engine"] = ENGINES[settings.get("engine", "auto")](max_samples=100_000)
    X, labels = training(name)
    scorer = AffinityScorer(**settings, n_jobs=n_jobs).fit(X, labels)
    inner = scorer.cluster_centers_.mean(axis=0) + 0.1 * (X[:66] - X.mean(axis=0))
    points = np.concatenate([X[:66], inner, 30.0 * X[-1:]])
    return scorer, kind(points) if kind is sp.csr_array else points.astype(kind)


#: Every day a scene that is exact and one that is sampled; all in the slow run.
each_scene = pytest.mark.parametrize(
    "name",
    [name if name in ("exact, reduced", "shared") else pytest.param(name, marks=pytest.mark.slow) for name in SCENES],
)


def chunks(name: str, cuts: list[int]) -> list[AffinityResult]:
    scorer, points = scene(name)
    edges = [0, *cuts, points.shape[0]]
    return [scorer.affinity(points[i:j]) for i, j in pairwise(edges)]


def mapped(name: str, folder: Path) -> AffinityResult:
    joblib.dump(scene(name)[0], folder / "scorer")
    return joblib.load(folder / "scorer", mmap_mode="r").affinity(scene(name)[1])


def from_threads(name: str) -> list[AffinityResult]:
    scorer, points = scene(name, n_jobs=2)
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(scorer.affinity, [points] * 8))


def through_joblib(name: str, backend: str) -> list[AffinityResult]:
    scorer, points = scene(name, n_jobs=2)
    calls = (joblib.delayed(scorer.affinity)(points[i : i + 34]) for i in range(0, points.shape[0], 34))
    return list(joblib.Parallel(2, backend=backend)(calls))


#: Ways to score the points of a scene: the results of all points in a list, or of consecutive parts.
WAYS: dict[str, Callable[[str, Path], list[AffinityResult]]] = {
    "pickle": lambda name, _: [pickle.loads(pickle.dumps(scene(name)[0])).affinity(scene(name)[1])],
    "clone": lambda name, _: [clone(scene(name)[0]).fit(*training(name)).affinity(scene(name)[1])],
    "mapped read-only": lambda name, folder: [mapped(name, folder)],
    "2 threads": lambda name, _: [scene(name, n_jobs=2)[0].affinity(scene(name)[1])],
    "all cores": lambda name, _: [scene(name, n_jobs=-1)[0].affinity(scene(name)[1])],
    "many chunks": lambda name, _: chunks(name, [1, 2, 4, 7, 68, 69, 131]),
    "three chunks": lambda name, _: chunks(name, [43, 88]),
    "a row alone": lambda name, _: chunks(name, [132]),
    "thread pool": lambda name, _: from_threads(name),
    "joblib threads": lambda name, _: through_joblib(name, "threading"),
    "joblib processes": lambda name, _: through_joblib(name, "loky"),
}


@each_scene
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=pytest.mark.slow) if "processes" in way else way for way in WAYS]
)
def test_scores(name, way, tmp_path):
    scorer, points = scene(name)
    whole = scorer.affinity(points).frame(details=True)
    assert SCENES[name]["engines"] <= set(whole["engine"]), "the engines the scene is here for"
    results = WAYS[way](name, tmp_path)
    parts = [[result] for result in results] if len(results[0]) == len(whole) else [results]
    for part in parts:
        assert pd.concat([result.frame(details=True) for result in part], ignore_index=True).equals(whole)


@each_scene
def test_scores_in_another_order(name):
    scorer, points = scene(name)
    order = np.random.default_rng(0).permutation(points.shape[0])
    expected = scorer.affinity(points).frame(details=True).iloc[order].reset_index(drop=True)
    assert scorer.affinity(points[order]).frame(details=True).equals(expected)


@each_scene
def test_scores_of_the_fit(name):
    X, labels = training(name)
    scorer = clone(scene(name)[0])
    np.testing.assert_array_equal(scorer.fit_transform(X, labels), scorer.transform(X))


# Newer Pythons warn of any fork of a process with threads: this is the test that our kernels survive it.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_scores_in_a_forked_process():
    def work() -> list[np.ndarray]:
        X, labels = training("shared, reduced")
        fitted = euclidean(X, labels, n_jobs=2, random_state=0)
        return [fitted.affinity, *(scorer.affinity(points).affinity for scorer, points in map(scene, SCENES))]

    expected = work()
    receiver, sender = multiprocessing.get_context("fork").Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=lambda: sender.send(work()))
    child.start()
    sender.close()
    try:
        assert receiver.poll(120), "the forked process hangs"
        for name, mine, theirs in zip(["fit", *SCENES], expected, receiver.recv(), strict=True):
            np.testing.assert_array_equal(theirs, mine, err_msg=name)
    finally:
        child.kill()
        child.join()


def test_a_pickle_contains_no_samples():
    scorer, points = scene("shared, reduced")
    before = len(pickle.dumps(clone(scorer).fit(*training("shared, reduced"))))
    scorer.affinity(points)
    assert len(pickle.dumps(scorer)) < before + 10_000


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_pickled_results_keep_their_kind_of_frame(library):
    X, labels = make_blobs(30, 2, centers=3, random_state=0)
    result = euclidean(library.DataFrame({"a": X[:, 0], "b": X[:, 1]}), labels, calibration=2, top=2)
    copy = pickle.loads(pickle.dumps(result))
    assert isinstance(copy.frame(), library.DataFrame)
    assert copy.frame(details=True).equals(result.frame(details=True))
    assert repr(copy) == repr(result)


SAMPLE = make_blobs(700, n_features=4, centers=5, cluster_std=3.0, random_state=4)[0]
GROUPS = np.random.default_rng(0).integers(0, 5, (2, 700))


def stream(**settings: Any) -> IncrementalKMeans:
    model = IncrementalKMeans(5, init_size=60, **settings)
    for batch in np.split(SAMPLE, [60, 130, 400]):
        model.partial_fit(batch)
    return model


FITS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "active": (lambda **settings: ActiveKMeans(5, **settings).fit(SAMPLE), ("sample_indices_", "labels_")),
    "incremental": (stream, ("cluster_centers_", "counts_", "pending_")),
    "consensus": (
        lambda **settings: ConsensusClustering(n_clusters=5, **settings).fit(SAMPLE[:120]),
        ("lift_gram_", "labels_"),
    ),
    "curve": (
        lambda **settings: stability_curve(
            SAMPLE[:80], AgglomerativeClustering(), (2, 4), n_references=2, n_resamples=4, **settings
        ),
        ("by_resample", "reference"),
    ),
}


@pytest.mark.parametrize("name", FITS)
def test_applications(name):
    fit, attributes = FITS[name]
    model = fit(random_state=7, n_jobs=1)
    others = [fit(random_state=7, n_jobs=2), fit(random_state=7, n_jobs=3), pickle.loads(pickle.dumps(model))]
    for other in others + (
        [] if name in ("curve", "incremental") else [clone(model).fit(SAMPLE[: len(model.labels_)])]
    ):
        for attribute in attributes:
            np.testing.assert_array_equal(getattr(other, attribute), getattr(model, attribute), err_msg=attribute)
        if name != "curve":
            np.testing.assert_array_equal(other.predict(SAMPLE), model.predict(SAMPLE))
    if name not in ("incremental", "consensus"):
        assert (getattr(fit(random_state=8, n_jobs=1), attributes[-1]) != getattr(model, attributes[-1])).any()


@pytest.mark.parametrize("approximation", [None, "fourier"])
def test_distances_between_clusterings(approximation):
    kernel = Kernel("rbf", approximation=approximation)
    assert len({lift_emd(SAMPLE, *GROUPS, kernel=kernel, n_jobs=jobs) for jobs in (1, 2, 3)}) == 1


def lifts(approximation: str | None) -> Callable[..., Any]:
    pool = Pool.of([one_hot(codes) for codes in GROUPS])
    kernel = Kernel("rbf", gamma=0.5, approximation=approximation)
    return lift_clusters(SAMPLE, pool.columns, kernel, 0, threads=1).with_rows


def kernel_position(kernel: Kernel) -> Callable[..., Any]:
    embedding, _ = KernelEmbedding.fit_locate(SAMPLE[:300], GROUPS[0, :300], 5, kernel.with_data(SAMPLE), 1)
    return lambda rows, threads=1: embedding.locate(rows, threads).position


def feature_position(kernel: Kernel, seed: int = 2**60) -> Callable[..., Any]:
    fitted = AffinityScorer(influence=kernel, random_state=seed).fit(SAMPLE[:300], GROUPS[0, :300]).fitted_
    return lambda rows, threads=1: fitted.diagram.locate(rows, threads).position


def bregman_position(name: str) -> Callable[..., Any]:
    sites = np.random.default_rng(1).uniform(0.1, 0.9, (4, 90))
    diagram = BregmanDiagram.of_sites(sites, DIVERGENCES[name])

    def located(rows: np.ndarray, threads: int = 1) -> np.ndarray:
        located = diagram.locate(rows, threads)
        return np.column_stack([located.position, located.residual, *diagram.query_functions(located.position)])

    return located


#: Functions from rows and a number of threads to an array, and the rounding that BLAS may add relative to its size.
ROWWISE: dict[str, tuple[Callable[[], Callable[..., np.ndarray]], float]] = {
    **{name: (partial(bregman_position, name), 0.0) for name in DIVERGENCES},
    **{name: (partial(kernel_position, Kernel(name)), 1e-12) for name in ("rbf", "polynomial", "laplacian")},
    "fourier": (partial(feature_position, Kernel("rbf", approximation="fourier")), 1e-11),
    "hashing": (partial(feature_position, Kernel("polynomial", approximation="hashing")), 1e-11),
    "nystroem": (partial(feature_position, Kernel("laplacian", approximation="nystroem")), 1e-11),
    "lifts": (partial(lifts, None), 0.0),
    "lifts, fourier": (partial(lifts, "fourier"), 0.0),
}


@pytest.mark.parametrize("name", ROWWISE)
def test_rows_do_not_depend_on_each_other(name):
    make, rounding = ROWWISE[name]
    locate, rows = make(), SAMPLE
    if name in DIVERGENCES:
        rows = np.random.default_rng(0).uniform(0.1, 0.9, (3000, 90))
    together = locate(rows)
    tolerance: dict[str, Any] = {"atol": rounding * np.abs(together).max(), "rtol": 0}
    for part in (slice(0, 1), slice(17, 18), slice(100, len(rows) - 1), np.random.default_rng(2).permutation(700)[:77]):
        np.testing.assert_allclose(locate(rows[part]), together[part], **tolerance)
    np.testing.assert_allclose(locate(rows, threads=3), together, **tolerance)


@pytest.mark.parametrize("name", ["fourier", "hashing"])
def test_features_follow_from_the_seed(name):
    make = ROWWISE[name][0]
    np.testing.assert_array_equal(make()(SAMPLE), make()(SAMPLE))
    assert not np.allclose(make(seed=1)(SAMPLE), make()(SAMPLE))
