"""k-means on a sample of stable and unstable points."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from allegiance import ActiveKMeans, AffinityScorer
from allegiance.applications._active import NearestCenters, fit_to_centers, stability

SEPARATE = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [20.0, 20.0]])


def separate_blobs(n=400):
    return make_blobs(n, centers=SEPARATE, random_state=0)


def overlapping_blobs():
    """Five blobs, of whose points one in six or so is unstable."""
    return make_blobs(3000, centers=5, cluster_std=1.5, random_state=0)[0]


class TestKnownAnswers:
    def test_separate_blobs_are_found_as_k_means_finds_them(self):
        X, truth = separate_blobs()
        model = ActiveKMeans(4, random_state=0).fit(X)
        assert adjusted_rand_score(truth, model.labels_) == 1.0
        assert adjusted_rand_score(KMeans(4, n_init=10, random_state=0).fit_predict(X), model.labels_) == 1.0
        assert model.n_stable_ == 400
        assert model.stable_fraction_ == 1.0

    def test_a_sample_of_everything_is_k_means(self):
        X, _ = make_blobs(300, centers=4, cluster_std=1.5, random_state=1)
        model = ActiveKMeans(4, sample_size=1.0, n_init=20, random_state=0).fit(X)
        theirs = KMeans(4, n_init=20, random_state=0).fit(X)
        assert adjusted_rand_score(theirs.labels_, model.labels_) == 1.0
        assert model.inertia_ == pytest.approx(theirs.inertia_)
        np.testing.assert_array_equal(model.sample_indices_, np.arange(300))

    def test_centers_are_those_of_the_sample_and_labels_those_of_the_centers(self):
        X, _ = make_blobs(1000, n_features=5, centers=6, cluster_std=4.0, random_state=2)
        model = ActiveKMeans(6, random_state=0).fit(X)
        sample = X[model.sample_indices_]
        near = pairwise_distances(sample, model.cluster_centers_).argmin(axis=1)
        means = [sample[near == i].mean(axis=0) for i in range(6)]
        np.testing.assert_allclose(model.cluster_centers_, means, atol=0.2)
        apart = pairwise_distances(X, model.cluster_centers_)
        np.testing.assert_array_equal(model.labels_, apart.argmin(axis=1))
        assert model.inertia_ == pytest.approx((apart.min(axis=1) ** 2).sum())
        new = X[:50] + 3.0
        apart = pairwise_distances(new, model.cluster_centers_)
        np.testing.assert_allclose(model.transform(new), apart)
        np.testing.assert_array_equal(model.predict(new), apart.argmin(axis=1))
        assert model.score(new) == pytest.approx(-(apart.min(axis=1) ** 2).sum())

    def test_one_cluster(self):
        X, _ = separate_blobs(100)
        model = ActiveKMeans(1, random_state=0).fit(X)
        assert not model.labels_.any()
        np.testing.assert_allclose(model.cluster_centers_[0], X[model.sample_indices_].mean(axis=0))


class TestSample:
    @pytest.mark.parametrize("d", [2, 12], ids=["plane", "reduced"])
    def test_stable_points_are_those_of_the_scorer(self, d):
        X, _ = make_blobs(400, d, centers=5, cluster_std=3.0, random_state=3)
        seeds = X[:5]
        extremes = X[NearestCenters.of(seeds).extreme_rows(X)]
        largest, owner = stability(fit_to_centers(seeds, extremes, 0, None), X)
        result = AffinityScorer(centers=seeds, random_state=0, influence="euclidean").fit(X).affinity(X)
        np.testing.assert_array_equal(largest, result.affinity.max(axis=1))
        np.testing.assert_array_equal(owner, result.frame(details=True)["owner"])
        assert extremes.shape[0] <= 2 * min(d, 4)

    @pytest.mark.parametrize("fraction", [0.0, 0.25, 0.6, 1.0])
    def test_has_the_share_asked_for(self, fraction):
        X = overlapping_blobs()
        model = ActiveKMeans(5, stable_fraction=fraction, random_state=0).fit(X)
        size = round(2 * np.sqrt(X.shape[0]))
        assert model.sample_indices_.size == size
        assert np.unique(model.sample_indices_).size == size
        assert model.n_stable_sampled_ == round(fraction * size)
        assert model.n_stable_sampled_ + model.n_unstable_sampled_ == size
        assert model.stable_fraction_ == model.n_stable_sampled_ / size
        assert model.n_stable_ + model.n_unstable_ == X.shape[0]
        assert min(model.n_stable_, model.n_unstable_) > size

    @pytest.mark.parametrize(
        ("sample_size", "expected"), [(None, 40), (30, 30), (0.3, 120), (1.0, 400), (1, 4), (1000, 400)]
    )
    def test_size(self, sample_size, expected):
        model = ActiveKMeans(4, sample_size=sample_size, random_state=0).fit(separate_blobs()[0])
        assert model.sample_indices_.size == expected

    def test_too_few_unstable_points_are_said(self):
        X, _ = separate_blobs()
        with pytest.warns(UserWarning, match="30 unstable points in a sample of 40"):
            model = ActiveKMeans(4, stable_fraction=0.25, random_state=0).fit(X)
        assert (model.n_stable_sampled_, model.n_unstable_sampled_) == (40, 0)
        assert model.stable_fraction_ == 1.0

    def test_too_few_stable_points_are_said(self, rng):
        X = rng.normal(size=(300, 8))  # no clusters, so that few points are stable
        with pytest.warns(UserWarning, match="stable points in a sample of 280"):
            model = ActiveKMeans(5, sample_size=280, stable_fraction=1.0, random_state=0).fit(X)
        assert model.n_stable_sampled_ == model.n_stable_ < 280

    def test_has_the_share_of_all_points_by_default(self):
        X = overlapping_blobs()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ActiveKMeans(5, random_state=0).fit(X)
        assert model.stable_fraction_ == pytest.approx(model.n_stable_ / X.shape[0], abs=0.01)
        # Unstable points alone lie between the blobs, and so do their centers.
        assert model.inertia_ < 0.8 * ActiveKMeans(5, stable_fraction=0.0, random_state=0).fit(X).inertia_


class TestInput:
    def test_sparse_equals_dense(self, rng):
        X = rng.poisson(0.4, size=(400, 15)) * rng.random((400, 15))
        settings = {"stable_fraction": 0.5, "n_init": 1, "random_state": 0}
        dense = ActiveKMeans(4, **settings).fit(X)
        sparse = ActiveKMeans(4, **settings).fit(sp.csr_array(X))
        np.testing.assert_array_equal(dense.sample_indices_, sparse.sample_indices_)
        np.testing.assert_allclose(dense.cluster_centers_, sparse.cluster_centers_, atol=1e-12)
        np.testing.assert_allclose(dense.transform(X), sparse.transform(sp.csr_array(X)), atol=1e-12)

    def test_frames_keep_their_names(self):
        import pandas as pd
        import polars as pl

        X, _ = separate_blobs()
        for frame in (pd.DataFrame(X, columns=["a", "b"]), pl.DataFrame(X, schema=["a", "b"])):
            model = ActiveKMeans(4, random_state=0).fit(frame)
            assert model.feature_names_in_.tolist() == ["a", "b"]
            assert model.get_feature_names_out().tolist() == [f"activekmeans{i}" for i in range(4)]
            np.testing.assert_array_equal(model.predict(frame), model.labels_)

    def test_duplicates_leave_clusters_empty(self):
        X = np.repeat([[1.0, 2.0], [3.0, 1.0]], 50, axis=0)
        with pytest.warns(ConvergenceWarning, match="only 2 of n_clusters=3"):
            model = ActiveKMeans(3, random_state=0).fit(X)
        assert model.inertia_ == pytest.approx(0.0, abs=1e-12)
