"""Memory: nothing is made dense, doubled, or compared pair by pair as a whole."""

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from allegiance import ActiveKMeans, AffinityScorer, affinity
from allegiance.influence import Kernel, KernelEmbedding
from allegiance.metrics import lift_emd
from peak_memory import run_with_peak

#: Scores some rows of a table, whose number is the argument.
Work = Callable[[int], Any]


def text_like(rng: np.random.Generator, n: int, d: int, k: int, words: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return normalised rows of a few entries each, from vocabularies that the clusters share in part."""
    labels = rng.integers(k, size=n)
    columns = ((rng.zipf(1.3, (n, words)) + 40 * labels[:, None]) % d).astype(np.int32)
    starts = np.arange(0, n * words + 1, words, dtype=np.int32)
    X = sp.csr_array((rng.random(n * words), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / norms) @ X), labels


RNG = np.random.default_rng(0)
GROUPS = RNG.integers(0, 10, (2, 60_000))


def sparse_texts(top: int | None) -> Work:
    X, labels = text_like(RNG, 4000, 50_000, 5, 50)
    return lambda n: affinity(X[:n], labels[:n], top=top, influence="euclidean")


def top_affinities() -> Work:
    centers = RNG.normal(size=(200, 1)).cumsum(axis=0)
    X = RNG.uniform(centers.min(), centers.max(), (100_000, 1))
    scorer = AffinityScorer(centers=centers, n_jobs=1, influence="euclidean").fit(X[:100])
    return lambda n: scorer.affinity(X[:n], top=2)


def single_precision() -> Work:
    X = RNG.normal(size=(50_000, 40)).astype(np.float32)
    scorer = AffinityScorer(centers=X[:3], n_jobs=1, influence="euclidean").fit(X[:100])
    return lambda n: scorer.affinity(X[:n])


def covariance() -> Work:
    X, labels = RNG.normal(size=(60_000, 20)), np.arange(60_000) % 30
    return lambda n: AffinityScorer(influence="within", engine="shared", n_jobs=1).fit(X[:n], labels[:n])


def active() -> Work:
    X = (RNG.normal(size=(40, 3)) * 10)[GROUPS[0]] + RNG.normal(size=(60_000, 3))
    return lambda n: ActiveKMeans(40, n_init=1, n_jobs=1, random_state=0).fit(X[:n])


def clustering_distance() -> Work:
    X = RNG.normal(size=(10_000, 2))
    return lambda n: lift_emd(X[:n], GROUPS[0, :n], GROUPS[1, :n])


def kernel(approximation: str | None) -> Work:
    X, codes = RNG.normal(size=(20_000, 5)), np.arange(20_000) % 4
    if approximation is None:
        return lambda n: KernelEmbedding.fit_locate(X[:n], codes[:n], 4, Kernel("rbf").with_data(X), 2)
    diagram = AffinityScorer(influence=Kernel("rbf", approximation=approximation)).fit(X, codes).fitted_.diagram
    return lambda n: diagram.locate(X[:n])


@pytest.mark.parametrize(
    ("make", "rows", "most"),
    [
        pytest.param(partial(sparse_texts, None), 4000, 160e6, id="sparse texts: a tenth of the dense matrix"),
        pytest.param(partial(sparse_texts, 3), 4000, 160e6, id="sparse texts with top"),
        pytest.param(top_affinities, 100_000, 160e6, id="top=2: one of the two matrices (n, k) of a full result"),
        pytest.param(single_precision, 50_000, 16e6, id="single precision: less than a copy in double precision"),
        pytest.param(covariance, 60_000, 24e6, id="covariance: a copy, the positions, and residuals in pieces"),
        pytest.param(active, 60_000, 36e6, id="active k-means: less than two arrays (n, k)"),
        pytest.param(clustering_distance, 10_000, 60e6, id="LiftEMD: less than all pairs, 800 MB"),
        pytest.param(partial(kernel, None), 20_000, 100e6, id="kernel values, 3.2 GB", marks=pytest.mark.slow),
        pytest.param(partial(kernel, "fourier"), 20_000, 40e6, id="features, 80 MB", marks=pytest.mark.slow),
    ],
)
def test_most_memory(make, rows, most):
    work = make()
    work(200)  # libraries loaded on first use are not counted
    tracemalloc.start()
    work(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most


def test_sparse_centres_that_differ_in_few_columns(rng):
    """The box then has the axes of these columns; an identity of all columns would take 20 GB."""
    d = 50_000
    X = sp.csr_array((np.array([1.0, 2.0, 3.0, 4.0]), (np.arange(4), np.array([7, 7, 9, 9]))), shape=(4, d))
    result = affinity(X, [0, 0, 1, 1], influence="euclidean")
    np.testing.assert_array_equal(result.frame(details=True)["owner"], [0, 0, 1, 1])


@pytest.mark.slow
def test_a_hundred_thousand_texts_in_a_gigabyte():
    script = (
        "import numpy as np\n"
        "from test_scale import text_like\n"
        "from allegiance import affinity\n"
        "X, labels = text_like(np.random.default_rng(0), 100_000, 50_000, 10, 50)\n"
        "affinity(X, labels, influence='euclidean', top=3)\n"
    )
    _, peak = run_with_peak(script)
    assert peak < 1e9
