"""k-means in feature space."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from allegiance import Fourier, Kernel, KernelKMeans, Nystroem
from allegiance.clusterers import _kernel_space
from allegiance.clusterers._lloyd import Lloyd


def cannot_hold(model):
    """Name the checks that cannot hold, and why."""
    if isinstance(model.kernel, Kernel):
        reason = "rows are drawn for the approximation, whatever their weights"
        return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}
    if model.kernel != "precomputed":
        return {}
    return {"check_clustering": "X is not a matrix of kernel values there"}


@parametrize_with_checks(
    [
        KernelKMeans(3, n_init=2, random_state=0),
        KernelKMeans(3, kernel="laplacian", n_init=1, random_state=0),
        KernelKMeans(3, kernel="precomputed", n_init=1, random_state=0),
        KernelKMeans(3, kernel=Kernel("rbf", approximation=Nystroem(20)), n_init=1, random_state=0),
    ],
    expected_failed_checks=cannot_hold,
)
def test_keeps_scikit_learns_contract(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    check(estimator)


@pytest.fixture
def blobs(rng):
    return np.vstack([rng.normal(size=(40, 3)) + shift for shift in (0.0, 4.0, -4.0)])


def inertia_by_hand(K, labels, weights=None):
    """Σ w |φ(x) - mean|² from the matrix of kernel values."""
    weights = np.ones(len(K)) if weights is None else weights
    total = 0.0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        share = weights[rows] / weights[rows].sum()
        block = K[np.ix_(rows, rows)]
        total += weights[rows] @ (np.diagonal(block) - 2 * block @ share + share @ block @ share)
    return total


def test_separates_two_rings_where_k_means_cannot():
    X, ring = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    labels = KernelKMeans(2, kernel=Kernel("rbf", gamma=5.0), random_state=0).fit_predict(X)
    assert adjusted_rand_score(ring, labels) > 0.99
    assert adjusted_rand_score(ring, KMeans(2, n_init=10, random_state=0).fit_predict(X)) < 0.1


@pytest.mark.parametrize("k", [2, 3, 5])
def test_linear_is_k_means(blobs, k):
    ours = KernelKMeans(k, kernel="linear", tol=0.0, n_init=20, random_state=0).fit(blobs)
    theirs = KMeans(k, tol=0.0, n_init=20, random_state=0).fit(blobs)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-2 if k == 5 else 1e-9)
    # From where it ended, k-means finds nothing to improve.
    means = np.array([blobs[ours.labels_ == i].mean(axis=0) for i in range(k)])
    again = KMeans(k, init=means, n_init=1, tol=0.0).fit(blobs)
    assert again.inertia_ == pytest.approx(ours.inertia_, rel=1e-9)
    assert adjusted_rand_score(again.labels_, ours.labels_) == 1.0


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "laplacian", "cosine", rbf_kernel])
def test_inertia_and_labels(blobs, kernel):
    model = KernelKMeans(3, kernel=kernel, tol=0.0, random_state=0).fit(blobs)
    K = Kernel.resolve(kernel).settle(blobs)
    prepared = K.prepare(blobs)
    assert model.inertia_ == pytest.approx(inertia_by_hand(K.block(prepared, prepared), model.labels_))
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)
    assert 1 <= model.n_iter_ <= 300


def test_precomputed_is_the_named_kernel(blobs):
    named = KernelKMeans(3, kernel=Kernel("rbf", gamma=0.1), random_state=0).fit(blobs[::2])
    given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(rbf_kernel(blobs[::2], gamma=0.1))
    assert adjusted_rand_score(named.labels_, given.labels_) == 1.0
    assert given.inertia_ == pytest.approx(named.inertia_)
    new = given.predict(rbf_kernel(blobs, blobs[::2], gamma=0.1))
    assert adjusted_rand_score(new, named.predict(blobs)) == 1.0


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_weights_are_repetitions_and_order_does_not_matter(blobs, rng, layout):
    weights = rng.integers(0, 4, len(blobs)).astype(float)
    weighted = KernelKMeans(4, n_init=3, random_state=0).fit(layout(blobs), sample_weight=weights)
    order = rng.permutation(int(weights.sum()))
    repeated = np.repeat(blobs, weights.astype(int), axis=0)[order]
    other = KernelKMeans(4, n_init=3, random_state=0).fit(layout(repeated))
    assert weighted.inertia_ == pytest.approx(other.inertia_)
    np.testing.assert_array_equal(weighted.predict(layout(blobs)), other.predict(layout(blobs)))


def test_many_rows_compute_kernel_values_again(blobs, monkeypatch):
    held = KernelKMeans(3, random_state=0).fit(blobs)
    monkeypatch.setattr(_kernel_space, "_MOST_HELD", 10)
    monkeypatch.setattr(_kernel_space, "_CHUNK", 50)
    again = KernelKMeans(3, random_state=0).fit(blobs)
    np.testing.assert_array_equal(again.labels_, held.labels_)
    assert again.inertia_ == pytest.approx(held.inertia_)


def test_an_approximation_with_all_rows_is_the_exact_kernel(blobs):
    exact = KernelKMeans(3, random_state=0).fit(blobs)
    close = KernelKMeans(3, kernel=Kernel("rbf", approximation=Nystroem(len(blobs))), random_state=0).fit(blobs)
    assert close.inertia_ == pytest.approx(exact.inertia_, rel=1e-6)
    assert adjusted_rand_score(close.labels_, exact.labels_) == 1.0
    np.testing.assert_array_equal(close.predict(blobs), close.labels_)


def test_an_empty_cluster_gets_the_farthest_row(blobs):
    """One cluster loses its only row to the others; the farthest row of all takes its place."""
    space = _kernel_space.kernel_space(blobs, np.ones(len(blobs)), Kernel("linear"), 0)
    codes = np.arange(len(blobs)) % 2
    means = np.array([blobs[codes == i].mean(axis=0) for i in range(2)])
    by_hand = ((blobs[:, None] - means) ** 2).sum(axis=2)
    distances = space.from_means(codes, np.arange(2))
    np.testing.assert_allclose(distances, by_hand, atol=1e-9)
    away = distances[np.arange(len(blobs)), codes]
    filled = Lloyd(n_clusters=3, n_init=1, max_iter=1, tol=0.0)._without_empty(space, codes, away)
    farthest = by_hand[np.arange(len(blobs)), codes].argmax()
    np.testing.assert_array_equal(np.flatnonzero(filled != codes), [farthest])
    assert filled[farthest] == 2


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=4"):
        model = KernelKMeans(4, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel must be one of"),
        ({"kernel": Kernel("rbf", degree=2)}, "got degree, but takes gamma"),
        ({"kernel": Kernel("laplacian", approximation=Fourier())}, "needs Kernel"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 1000}, "n_clusters=1000"),
        ({"n_init": 0}, "n_init"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"kernel": "precomputed"}, "square"),
    ],
)
def test_bad_parameters(blobs, params, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**{"n_clusters": 3, **params}).fit(blobs)


def test_bad_weights(blobs):
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        KernelKMeans(3).fit(blobs, sample_weight=np.zeros(len(blobs)))
