"""The consensus of clusterings against its definition and against known truth."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from allegiance import ConsensusClustering
from allegiance.applications import _consensus
from allegiance.influence import Kernel


@pytest.fixture
def blobs():
    return make_blobs(240, centers=[[0, 0], [10, 0], [0, 10], [10, 10]], cluster_std=1.0, random_state=3)


@pytest.fixture
def corrupted(blobs, rng):
    """Six labelings of the blobs, each with a fifth of the points wrong and names of its own."""
    _, truth = blobs
    labelings = []
    for _ in range(6):
        labels = rng.permutation(4)[truth]
        wrong = rng.choice(truth.size, truth.size // 5, replace=False)
        labels[wrong] = rng.integers(0, 4, wrong.size)
        labelings.append(labels)
    return labelings


@pytest.mark.parametrize("method", ["kmeans", "hac"])
@pytest.mark.parametrize("approximation", [None, "fourier", "nystroem"])
def test_recovers_the_truth_from_corrupted_labelings(blobs, corrupted, method, approximation):
    X, truth = blobs
    assert max(adjusted_rand_score(truth, labels) for labels in corrupted) < 0.75
    kernel = Kernel("rbf", approximation=approximation)
    model = ConsensusClustering(corrupted, 4, method=method, kernel=kernel, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert adjusted_rand_score(truth, model.predict(X + 0.1)) == 1.0


@pytest.mark.parametrize("method", ["kmeans", "hac"])
def test_the_default_clusterings_of_separate_blobs_agree(blobs, method):
    X, truth = blobs
    model = ConsensusClustering(n_clusters=4, method=method, random_state=0).fit(X)
    assert list(model.labelings_) == ["k-means", "single", "average", "complete", "ward"]
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.lift_weights_.tolist() == [1.25] * 4  # five clusterings agree on four quarters


def explicit_lifts(X, labelings, bandwidth):
    """The points and the clusters as vectors whose products are the kernel, and the clusters' weights."""
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=1 / (2 * bandwidth**2)))
    points = vectors * np.sqrt(np.maximum(values, 0))
    sums, weights = [], []
    for labels in labelings:
        for label in np.unique(labels):
            sums.append(points[labels == label].sum(axis=0))
            weights.append(np.mean(labels == label))
    lifts = np.array(sums)
    return points, lifts / np.linalg.norm(lifts, axis=1, keepdims=True), np.array(weights)


@pytest.mark.parametrize("method", ["kmeans", "hac"])
def test_points_go_to_the_nearest_weighted_mean_of_lifts(rng, method):
    X = rng.normal(size=(80, 2))
    labelings = [rng.integers(0, 5, 80) for _ in range(3)]
    kernel = Kernel("rbf", gamma=0.5 / 0.7**2)
    model = ConsensusClustering(labelings, 4, method=method, kernel=kernel, random_state=0).fit(X)
    points, lifts, weights = explicit_lifts(X, labelings, 0.7)
    np.testing.assert_allclose(model.lift_gram_, lifts @ lifts.T, atol=1e-10)
    np.testing.assert_allclose(model.lift_weights_, weights)
    for group in range(model.n_clusters_):
        rows = model.lift_groups_ == group
        mean = weights[rows] @ lifts[rows] / weights[rows].sum()
        np.testing.assert_allclose(model.centers_[group] @ lifts, mean, atol=1e-10)
    centers = model.centers_ @ lifts
    distances = np.linalg.norm(points[:, None] - centers, axis=2)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def inertia(positions, weights, groups):
    total = 0.0
    for group in np.unique(groups):
        rows = groups == group
        mean = weights[rows] @ positions[rows] / weights[rows].sum()
        total += weights[rows] @ ((positions[rows] - mean) ** 2).sum(axis=1)
    return total


def greedy_merges(positions, weights, n_groups):
    """Try every merge, and keep the one with the least inertia."""
    groups = np.arange(len(weights))
    while np.unique(groups).size > n_groups:
        names = np.unique(groups)
        merged = [np.where(groups == b, a, groups) for i, a in enumerate(names) for b in names[i + 1 :]]
        groups = min(merged, key=lambda each: inertia(positions, weights, each))
    return groups


@pytest.mark.parametrize("method", ["kmeans", "hac"])
def test_lifts_are_grouped_with_the_least_inertia(rng, method):
    X = rng.normal(size=(80, 2))
    labelings = [np.append(np.arange(k), rng.integers(0, k, 80 - k)) for k in (4, 3)]
    kernel = Kernel("rbf", gamma=0.5)
    model = ConsensusClustering(labelings, 2, method=method, kernel=kernel, random_state=0).fit(X)
    _, lifts, weights = explicit_lifts(X, labelings, 1.0)
    if method == "hac":
        assert adjusted_rand_score(model.lift_groups_, greedy_merges(lifts, weights, 2)) == 1.0
    else:
        best = min(inertia(lifts, weights, np.array([(code >> i) & 1 for i in range(7)])) for code in range(128))
        assert inertia(lifts, weights, model.lift_groups_) == pytest.approx(best, rel=1e-9)


@given(st.permutations(range(4)))
def test_order_of_the_clusterings_and_names_of_their_clusters_do_not_matter(order):
    X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0], [20.0], [21.0]])
    labelings = [[0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1, 2, 2]]
    shuffled = [[f"cluster {order[0] * label % 5}" for label in labelings[i]] for i in order if order[0]]
    labels = ConsensusClustering(shuffled or labelings, 3, method="hac", n_jobs=1).fit_predict(X)
    assert labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_takes_fitted_and_unfitted_clusterers_and_labels(blobs):
    X, truth = blobs
    fitted = KMeans(4, n_init=5, random_state=1).fit(X)
    unfitted = GaussianMixture(4, random_state=2)
    scan = DBSCAN(eps=1.0).fit(X)
    model = ConsensusClustering([fitted, unfitted, truth, scan, KMeans(4, n_init=1, random_state=0)], 4).fit(X)
    assert list(model.labelings_) == ["KMeans", "GaussianMixture", "labels", "DBSCAN", "KMeans 2"]
    np.testing.assert_array_equal(model.labelings_["KMeans"], fitted.labels_)
    np.testing.assert_array_equal(model.labelings_["DBSCAN"], scan.labels_)
    assert not hasattr(unfitted, "weights_")
    assert adjusted_rand_score(truth, model.labels_) == 1.0


def test_noise_belongs_to_no_cluster_but_gets_a_consensus_label(blobs):
    X, truth = blobs
    noisy = truth.copy()
    noisy[::5] = -1
    model = ConsensusClustering([noisy, noisy], 4, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.lift_weights_.sum() == pytest.approx(2 * 0.8)


def test_clusterers_see_the_frame_itself(blobs):
    X, truth = blobs
    frame = pd.DataFrame(X, columns=["length", "width"])
    fitted = KMeans(4, n_init=5, random_state=0).fit(frame)  # warns if it is asked for an array without names
    by_name = make_pipeline(make_column_transformer(("passthrough", ["width", "length"])), KMeans(4, random_state=0))
    model = ConsensusClustering([fitted, by_name], 4, random_state=0).fit(frame)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.feature_names_in_.tolist() == ["length", "width"]


def test_too_few_distinct_clusters_give_a_smaller_consensus_and_a_warning(blobs):
    X, truth = blobs
    with pytest.warns(ConvergenceWarning, match="4 clusters instead of n_clusters=9"):
        model = ConsensusClustering([truth, truth], 9).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(truth, model.labels_) == 1.0


def test_a_center_without_points_is_left_out(rng):
    X = np.repeat([[0.0], [1.0]], 20, axis=0)  # two places only, so that at most two centers can have points
    labelings = [rng.integers(0, 4, 40) for _ in range(2)]
    with pytest.warns(ConvergenceWarning, match="no point is nearest"):
        model = ConsensusClustering(labelings, 4, method="hac").fit(X)
    assert np.unique(model.labels_).tolist() == list(range(model.n_clusters_))
    assert model.n_clusters_ <= 2
    assert set(model.lift_groups_) == {-1, *range(model.n_clusters_)}
    assert np.isfinite(model.centers_).all()


@pytest.mark.parametrize("matrix", [np.asarray, sp.csr_array])
def test_default_linkages_are_those_of_scikit_learn(rng, matrix):
    X = rng.normal(size=(200, 3))
    actual = ConsensusClustering(n_clusters=6, random_state=0).fit(matrix(X)).labelings_
    for linkage in ("single", "average", "complete", "ward"):
        expected = AgglomerativeClustering(6, linkage=linkage).fit_predict(X)
        assert adjusted_rand_score(actual[linkage], expected) == 1.0
    equally_far = ConsensusClustering(n_clusters=5, random_state=0).fit(matrix(np.eye(12))).labelings_
    assert {np.unique(labels).size for labels in equally_far.values()} == {5}


def test_too_many_rows_for_the_default_clusterings_are_refused_before_memory_runs_out(monkeypatch):
    monkeypatch.setattr(_consensus, "MAX_ROWS", 20)
    X = np.arange(21.0)[:, None]
    with pytest.raises(ValueError, match="Pass clusterings= for more than 20 rows"):
        ConsensusClustering(n_clusters=2).fit(X)
    assert ConsensusClustering([np.arange(21) // 11], 2).fit(X).n_clusters_ == 2
