"""Repeating a clustering: subsamples, matching, chance, placing, failures and stand-ins."""

from itertools import permutations
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_wine, make_blobs, make_circles
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer, Calibration
from allegiance.calibration import above_chance, matches, replicate, stand_in

FEW = Calibration(4)


def blobs(n=240, k=4, seed=0, spread=1.0):
    centers = 8.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1], [2, 0], [0, 2]])[:k]
    return make_blobs(n, centers=centers, cluster_std=spread, random_state=seed)


class Unfriendly(ClusterMixin, BaseEstimator):
    """A clusterer that fails where a test tells it to, and notes the rows that it saw."""

    seen: ClassVar[list] = []

    def __init__(self, fails_if_first_below=-np.inf, random_state=None):
        self.fails_if_first_below = fails_if_first_below
        self.random_state = random_state

    def fit(self, X):
        Unfriendly.seen.append(np.array(X))
        if X[0, 0] < self.fails_if_first_below:
            raise RuntimeError("the first row is too small")
        self.labels_ = (X[:, 0] > np.median(X[:, 0])).astype(int)
        return self


class TestMatches:
    @pytest.mark.parametrize("seed", range(6))
    def test_against_all_pairings(self, seed):
        rng = np.random.default_rng(seed)
        codes, new = rng.integers(-1, 3, 30), rng.integers(-1, 4, 30)
        found = matches(codes, new)
        best = max(
            sum(int(((codes == old) & (new == partner)).sum()) for old, partner in enumerate(chosen))
            for chosen in permutations(range(4), 3)
        )
        assert found.sum() == best
        assert not found[(codes < 0) | (new < 0)].any()

    @pytest.mark.parametrize(
        ("sizes", "found"), [([10], [1] * 6 + [0] * 4), ([4, 2, 4], [1] * 4 + [0] * 2 + [1] * 4)], ids=["fewer", "more"]
    )
    def test_more_and_fewer_clusters(self, sizes, found):
        assert matches(np.repeat([0, 1], [6, 4]), np.repeat(np.arange(len(sizes)), sizes)).tolist() == found


class TestReplicate:
    def test_clear_clusters_come_back(self):
        X, y = blobs()
        found = replicate(X, y, KMeans(4, n_init=3), calibration=FEW)
        assert found.share == 1.0
        assert 0.0 < found.share - found.interval[0] < 0.2
        assert found.interval[1] >= 1.0
        assert np.array_equal(found.above_chance, np.ones(4))
        # Every row is left out of one subsample of each pair, and only that counts.
        assert np.array_equal(found.times, np.full(240, 2))
        assert np.allclose(found.rate, 1.0)
        assert np.allclose(found.consensus, 1.0)

    def test_subsamples_are_drawn_until_the_monte_carlo_error_is_small(self):
        X, y = blobs()
        assert len(replicate(X, y, KMeans(4, n_init=3)).shares) == 20
        X = np.random.default_rng(0).normal(size=(80, 4))  # no clusters: each subsample is cut elsewhere
        labels = KMeans(3, n_init=3, random_state=0).fit_predict(X)
        assert len(replicate(X, labels, KMeans(3, n_init=1)).shares) > 100
        assert len(replicate(X, labels, KMeans(3, n_init=1), calibration=Calibration(12)).shares) == 12

    def test_groups_are_sampled_as_a_whole(self):
        X, y = blobs()
        groups = np.arange(240) % 12
        one = replicate(X, y, KMeans(4, n_init=1), calibration=FEW, groups=groups)
        named = replicate(X, y, KMeans(4, n_init=1), calibration=FEW, groups=np.array(list("lkjihgfedcba"))[groups])
        for group in range(12):
            assert np.ptp(one.times[groups == group]) == 0
        assert np.array_equal(one.times, named.times)
        # Clusters that are groups of their own are missing from the half that does not contain their group.
        batches = replicate(X, y, KMeans(4, n_init=3), calibration=FEW, groups=y)
        assert batches.share < replicate(X, y, KMeans(4, n_init=3), calibration=FEW).share - 0.15

    def test_chance_is_what_shuffled_labels_reach(self):
        X, y = blobs(600)
        shuffled = np.random.default_rng(0).permutation(y)
        found = replicate(X, shuffled, KMeans(4, n_init=1), calibration=Calibration(10))
        assert found.share == pytest.approx(found.chance, abs=0.02)
        assert np.abs(found.above_chance.mean()) < 0.03
        assert above_chance(1.0, 1.0) == 0.0

    @pytest.mark.parametrize(
        ("clusterer", "limit", "rows"),
        [
            (KMeans(4, n_init=1), None, 120),
            (GaussianMixture(4), None, 120),
            (HDBSCAN(copy=True), None, 192),
            (KMeans(4, n_init=1), 50, 50),
        ],
    )
    def test_rows_of_a_subsample(self, clusterer, limit, rows):
        X, y = blobs()
        found = replicate(X, y, clusterer, calibration=Calibration(4, rows_per_subsample=limit))
        assert found.times.sum() == 4 * (240 - rows)

    def test_subsamples_of_a_long_table_have_the_rows_asked_for(self):
        X, y = blobs(1500)
        sizes = []

        def cluster(rows):
            sizes.append(len(rows))
            return (rows[:, 0] > 4).astype(int)

        calibration = Calibration(2, clusterer=cluster, rows_per_subsample=100)
        AffinityScorer(calibration=calibration, n_jobs=1).fit(X, y)
        assert min(sizes) == 100

    def test_halves_that_agree_with_each_other_count_no_more_than_with_the_labels(self):
        X, y = blobs(600)
        other = (np.arange(600) % 2) + 2 * (y % 2)
        found = replicate(X, other, KMeans(4, n_init=3), calibration=FEW)
        assert found.kept.min() > 0.99
        assert found.shares.mean() - 0.01 < found.share <= found.shares.mean()
        assert found.kept.mean() - found.shares.mean() > 0.2

    def test_a_limit_on_the_rows_does_not_lower_what_comes_back_of_smooth_borders(self):
        # One cut across a long cloud: its place varies with the square root of the rows.
        X = np.random.default_rng(3).normal(size=(20_000, 2)) * [5.0, 1.0]
        y = KMeans(2, n_init=1, random_state=0).fit_predict(X)
        few, more = (
            replicate(X, y, KMeans(2, n_init=1), calibration=Calibration(10, rows_per_subsample=rows)).share
            for rows in (500, 6000)
        )
        assert few == pytest.approx(more, abs=0.01)

    def test_threads_sparse_rows_and_frames_do_not_matter(self):
        X, y = blobs()
        X = X - X.min()
        expected = replicate(X, y, KMeans(4, n_init=1), calibration=FEW).shares
        for rows in (sp.csr_matrix(X), pd.DataFrame(X, columns=["a", "b"])):
            assert np.array_equal(replicate(rows, y, KMeans(4, n_init=1), calibration=FEW, threads=3).shares, expected)

    def test_parameters_that_count_rows_shrink_with_them(self):
        X, y = blobs()
        found = replicate(X, y, HDBSCAN(min_cluster_size=40, copy=True), calibration=FEW)
        assert found.share > 0.9  # 40 of all 240 would be two thirds of a cluster in half of the rows
        assert found.placed_by_neighbor

    def test_pipelines_without_predict_are_placed_behind_the_transformers(self):
        X, y = blobs()
        stretched = X * [1.0, 1e6]
        pipeline = make_pipeline(StandardScaler(), AgglomerativeClustering(4))
        assert replicate(stretched, y, pipeline, calibration=FEW).share == 1.0

    def test_failures_are_left_out_and_told(self):
        X, _ = blobs()
        y = (X[:, 0] > np.median(X[:, 0])).astype(int)
        Unfriendly.seen.clear()
        assert len(replicate(X, y, Unfriendly(), calibration=Calibration(8)).shares) == 8
        fourth = sorted(rows[0, 0] for rows in Unfriendly.seen)[3]
        some = replicate(X, y, Unfriendly(fails_if_first_below=fourth), calibration=Calibration(8))
        assert (len(some.shares), len(some.failures)) == (5, 3)
        assert "too small" in some.failures[0]
        with pytest.raises(ValueError, match=r"every subsample of 120 rows.*too small"):
            replicate(X, y, Unfriendly(fails_if_first_below=np.inf), calibration=FEW)

    def test_nothing_but_noise_and_too_few_rows(self):
        X, y = blobs()
        with pytest.raises(ValueError, match="noise"):
            replicate(X, y, DBSCAN(eps=1e-9), calibration=FEW)
        with pytest.raises(ValueError, match="at least 2"):
            replicate(X[:1], y[:1], KMeans(1), calibration=FEW)

    def test_interval_is_of_one_repeat(self):
        X, _ = blobs(spread=4.0)
        y = KMeans(4, n_init=5, random_state=0).fit_predict(X)
        found = replicate(X, y, KMeans(4, n_init=5), calibration=Calibration(20))

        # Deviations from the labels, from each other, and of independent samples: 1, 2 and sqrt(2). So the odds of the
        # doubt are multiplied by sqrt(2) and divided by it, and variances by 2 and by 1/2.
        def scale(rate, factor):
            return 1 / (1 + factor * (1 / rate - 1))

        def margin(variance, rate, n):
            smoothed = (n * rate + 1) / (n + 2)
            # Student's t with 19 degrees of freedom at 95%, from a table.
            return 1.729133 * np.sqrt(variance + smoothed * (1 - smoothed) / n)

        variances = []
        for c, (shares, kept) in enumerate(zip(found.cluster_shares.T, found.cluster_kept.T, strict=True)):
            rate = (scale(shares.mean(), 2**0.5) + scale(min(kept.mean(), shares.mean()), 0.5**0.5)) / 2
            assert found.cluster_rates[c] == pytest.approx(rate)
            variances.append((2 * shares.var(ddof=1) + kept.var(ddof=1) / 2) / 2)
            expected = margin(variances[-1], rate, (y == c).sum())
            assert found.cluster_margins()[c] == pytest.approx(expected, rel=1e-6)
        # The whole is the sum of independent clusters.
        half = margin((np.bincount(y) / 240) ** 2 @ variances, found.share, 240)
        assert found.interval == pytest.approx((found.share - half, found.share + half), rel=1e-6)
        rates = scale(found.shares.mean(), 2**0.5), scale(min(found.kept.mean(), found.shares.mean()), 0.5**0.5)
        assert found.share == pytest.approx(np.mean(rates))

    def test_overlapping_subsamples_of_density_clusterers(self):
        """Pairs of 80% leave out disjoint rows: deviations from covariances of means, not from the closed form."""
        m, size = 50, 40
        inside = np.zeros((2, m))
        inside[0, :size] = inside[1, m - size :] = 1.0 / size
        labels = np.full(m, 1.0 / m)
        deviations = [np.sqrt(m * ((a - b) ** 2).sum()) for a, b in ((inside[0], labels), (inside[0], inside[1]))]
        X, y = blobs()
        own = replicate(X, y, HDBSCAN(copy=True), calibration=FEW).extrapolation
        ratios = 2**0.5 / np.array(deviations)
        assert own[:2] == pytest.approx(ratios)
        odds = np.array([0.1, 0.2]) / [0.9, 0.8] * ratios**0.5
        assert own.rates(0.9, 0.8) == pytest.approx(1 / (1 + odds))


class TestStandIn:
    @pytest.mark.parametrize(
        ("clusterer", "name"),
        [
            (KMeans(5, n_init=5, random_state=0), "k-means"),
            (GaussianMixture(3, random_state=3), "mixture"),
            (AgglomerativeClustering(5), "Ward"),
            (AgglomerativeClustering(3, linkage="average"), "average"),
            (HDBSCAN(min_cluster_size=10, copy=True), "HDBSCAN"),
        ],
    )
    def test_is_recognised(self, clusterer, name):
        rng = np.random.default_rng(1)
        X = np.vstack([rng.normal(size=(120, 2)) * [4, 0.6], rng.normal(size=(120, 2)), rng.normal(size=(60, 2)) + 3])
        found = stand_in(X, clusterer.fit_predict(X))
        assert name in found.name
        assert found.ari >= 0.6

    def test_k_means_keeps_its_own_labels_and_moves_those_of_a_mixture(self):
        X = np.random.default_rng(0).normal(size=(200, 20))
        X[:100] += 2.0
        found = stand_in(X, GaussianMixture(4, reg_covar=1e-3, random_state=0).fit_predict(X))
        assert found.name == "a Gaussian mixture (full)"
        labels = KMeans(12, n_init=5, random_state=0).fit_predict(X)
        found = stand_in(X, labels)
        assert (found.name, found.reproduces) == ("k-means", True)

    def test_columns_rings_sparse_rows_noise_and_shuffled_labels(self):
        X, y = blobs(spread=3.0)
        stretched = X * [1.0, 300.0]
        labels = make_pipeline(StandardScaler(), KMeans(4, n_init=5, random_state=0)).fit_predict(stretched)
        assert "standardized" in stand_in(stretched, labels).name
        assert stand_in(*make_circles(400, factor=0.4, noise=0.04, random_state=0)).name == "single linkage"
        labels = KMeans(4, n_init=5, random_state=0).fit_predict(X)
        assert stand_in(sp.csr_matrix(X), labels).name == "k-means"
        labels[::7] = -1  # no density clusterer made this noise
        for odd in (labels, np.random.default_rng(0).permutation(y)):
            assert not stand_in(X, odd).reproduces
            assert stand_in(X, odd).margin > 0.2

    @pytest.mark.parametrize(
        "clusterer",
        [
            HDBSCAN(7, copy=True),
            HDBSCAN(12, copy=True),
            HDBSCAN(5, cluster_selection_method="leaf", copy=True),
            DBSCAN(2.3, min_samples=7),
        ],
    )
    def test_settings_of_density_clusterers_are_recovered(self, clusterer):
        X = StandardScaler().fit_transform(load_wine().data)
        found = stand_in(X, clusterer.fit_predict(X))
        assert type(found.clusterer) is type(clusterer)
        assert found.ari == 1.0

    def test_the_middle_of_the_settings_that_find_the_labels(self):
        """The smallest one found fragments: labels that replicate to 100% got 84%."""
        X = np.vstack(
            [make_blobs(150, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.5, random_state=0)[0], [[30, 30]]]
        )
        labels = HDBSCAN(10, copy=True).fit_predict(X)
        found = stand_in(X, labels)
        assert found.also == "min_cluster_size from 3 to 50"
        for size in (3, 50):
            assert np.array_equal(HDBSCAN(size, copy=True).fit_predict(X), labels)
        known, best = (
            replicate(X, labels, one, calibration=Calibration(20)).share
            for one in (HDBSCAN(10, copy=True), found.clusterer)
        )
        assert best == pytest.approx(known, abs=0.005)

    def test_labels_of_ward_are_not_taken_for_those_of_k_means(self):
        """k-means keeps these labels when it starts at them, but does not find them by itself."""
        rng = np.random.default_rng(3)
        X = np.vstack([rng.normal(size=(150, 2)) * [3, 0.3], rng.normal(size=(30, 2)) * 0.3 + [0, 3]])
        assert stand_in(X, AgglomerativeClustering(5).fit_predict(X)).name == "Ward's method"
