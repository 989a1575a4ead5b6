"""Wide sparse and single-precision data: nothing is made dense or doubled as a whole."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp

from allegiance import AffinityScorer, affinity
from peak_memory import run_with_peak


def peak_of(work: Callable[[], object]) -> int:
    """Return the most bytes that were allocated at once."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def text_like(rng: np.random.Generator, n: int, d: int, k: int, words: int) -> tuple[sp.csr_array, np.ndarray]:
    """Return normalised rows of a few entries each, from vocabularies that the clusters share in part."""
    labels = rng.integers(k, size=n)
    columns = ((rng.zipf(1.3, (n, words)) + 40 * labels[:, None]) % d).astype(np.int32)
    starts = np.arange(0, n * words + 1, words, dtype=np.int32)
    X = sp.csr_array((rng.random(n * words), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / norms) @ X), labels


@pytest.mark.parametrize("top", [None, 3])
def test_wide_sparse_data_is_never_dense(rng, top):
    n, d = 4000, 50_000
    X, labels = text_like(rng, n, d, 5, 50)
    affinity(X[:200], labels[:200], top=top, influence="euclidean")
    peak = peak_of(lambda: affinity(X, labels, top=top, influence="euclidean"))
    assert peak < n * d * 8 / 10, "a tenth of the dense matrix"


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


def test_single_precision_data_is_not_copied_to_double(rng):
    X = rng.normal(size=(50_000, 40)).astype(np.float32)
    scorer = AffinityScorer(centers=X[:3], n_jobs=1, influence="euclidean").fit(X[:100])
    scorer.affinity(X[:100])
    assert peak_of(lambda: scorer.affinity(X)) < X.size * 8, "less than one copy in double precision"


def test_the_covariance_within_clusters_needs_no_second_copy(rng):
    X = rng.normal(size=(60_000, 20))
    labels = np.arange(60_000) % 30
    scorer = AffinityScorer(influence="within", engine="shared", n_jobs=1)
    # The positions of the points are one copy; the residuals come in pieces.
    assert peak_of(lambda: scorer.fit(X, labels)) < 2.5 * X.nbytes
