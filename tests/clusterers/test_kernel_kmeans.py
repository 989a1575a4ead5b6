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

from allegiance.clusterers import KernelKMeans, _kernel_kmeans


def needs_square(model):
    """Name the check that passes rows of coordinates to every clusterer, whatever its pairwise tag."""
    if model.kernel != "precomputed":
        return {}
    return {"check_clustering": "X is not a matrix of kernel values there"}


@parametrize_with_checks(
    [
        KernelKMeans(3, n_init=2, random_state=0),
        KernelKMeans(3, kernel="laplacian", n_init=1, random_state=0),
        KernelKMeans(3, kernel="precomputed", n_init=1, random_state=0),
    ],
    expected_failed_checks=needs_square,
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
    labels = KernelKMeans(2, kernel_params={"gamma": 5.0}, random_state=0).fit_predict(X)
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
    K = _kernel_kmeans.Kernel.of(kernel, None, blobs)
    prepared = K.prepare(blobs)
    assert model.inertia_ == pytest.approx(inertia_by_hand(K.block(prepared, prepared), model.labels_))
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)
    assert 1 <= model.n_iter_ <= 300


def test_precomputed_is_the_named_kernel(blobs):
    named = KernelKMeans(3, kernel_params={"gamma": 0.1}, random_state=0).fit(blobs[::2])
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
    monkeypatch.setattr(_kernel_kmeans, "_MOST_HELD", 10)
    monkeypatch.setattr(_kernel_kmeans, "_CHUNK", 50)
    again = KernelKMeans(3, random_state=0).fit(blobs)
    np.testing.assert_array_equal(again.labels_, held.labels_)
    assert again.inertia_ == pytest.approx(held.inertia_)


def test_an_empty_cluster_gets_the_farthest_row(blobs):
    """One cluster loses its only row to the others; the farthest row of all takes its place."""
    points = _kernel_kmeans._Points.of(blobs, _kernel_kmeans.Kernel.of("linear", None, blobs), np.ones(len(blobs)))
    codes = np.arange(len(blobs)) % 2
    distances, _ = points.distances(codes, 3)
    assert np.isinf(distances[:, 2]).all()
    filled = _kernel_kmeans._fill_empty(points, codes, distances, 3)
    means = np.array([blobs[codes == i].mean(axis=0) for i in range(2)])
    farthest = ((blobs - means[codes]) ** 2).sum(axis=1).argmax()
    np.testing.assert_array_equal(np.flatnonzero(filled != codes), [farthest])
    assert filled[farthest] == 2


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = KernelKMeans(4, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel must be one of"),
        ({"kernel_params": {"degree": 2}}, "kernel_params"),
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
