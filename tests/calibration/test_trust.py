"""Trust: the chance that a label comes back, through the functions that users call."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logit
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score, pairwise_distances_argmin, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from allegiance import AffinityScorer, Calibration, trust
from allegiance.calibration import NullData, fit_trust_map, matches, replicate


def mixture(n, seed, spread=1.6):
    """Four clusters that overlap."""
    rng = np.random.default_rng(seed)
    which = rng.integers(0, 4, n)
    return np.array([[0, 0], [5, 0], [0, 5], [5, 5.0]])[which] + spread * rng.normal(size=(n, 2)), which


def kmeans_labels(X, k, seed=0):
    return KMeans(k, n_init=5, random_state=seed).fit_predict(X)


class TestDefinition:
    def test_independent_samples_bring_back_what_trust_says(self):
        said, came_back = [], []
        for seed in range(4):
            X, _ = mixture(400, [seed, 0])
            labels = kmeans_labels(X, 4)
            result = trust(X, labels, clusterer=KMeans(4, n_init=5), n_resamples=20)
            back = [
                matches(labels, KMeans(4, n_init=5, random_state=r).fit(mixture(400, [seed, r])[0]).predict(X))
                for r in range(1, 9)
            ]
            said.append(result.replication)
            came_back.append(np.mean(back))
            low, high = result.replication_interval
            assert np.mean([low <= share.mean() <= high for share in back]) >= 0.5
        assert np.mean(said) == pytest.approx(np.mean(came_back), abs=0.03)

    def test_where_there_are_no_clusters_little_comes_back(self):
        X = np.random.default_rng(0).normal(size=(600, 10))
        result = trust(X, clusterer=KMeans(3, n_init=5, random_state=0), n_jobs=1, n_resamples=40)
        assert result.replication == pytest.approx(0.5, abs=0.1)
        assert str(result).splitlines()[1].startswith("No evidence of clusters: ")
        assert np.mean(result.verdict == "firm") < 0.75

    def test_points_clusters_and_the_whole_agree(self):
        X, _ = mixture(600, 1)
        result = trust(X, kmeans_labels(X, 4), clusterer=KMeans(4, n_init=5))
        low, high = result.replication_interval
        assert 0.0 <= low <= result.replication <= high <= 1.0
        assert result.replication == pytest.approx(np.mean(result.trust))
        found = replicate(X, result.label, KMeans(4, n_init=5))
        assert result.replication == pytest.approx(found.share, abs=0.005)
        for row in result.by_cluster().itertuples():
            inside = result.label == row.cluster
            came_back = found.rate[inside].mean()
            assert row.replication == pytest.approx(result.trust[inside].mean())
            assert row.replication == pytest.approx(came_back, abs=0.03)
        assert roc_auc_score(result.own_affinity > 0.8, result.trust) > 0.9
        assert result.review(30).index.tolist() == np.argsort(-result.priority, kind="stable")[:30].tolist()


class TestNeverTheWrongWayRound:
    def test_slopes_in_well_separated_scenes(self):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            k = (3, 5, 8)[seed]
            X, _ = make_blobs(300, centers=8 * rng.normal(size=(k, 5)), random_state=seed)
            fitted = AffinityScorer(influence="within", calibration=10).fit(X, kmeans_labels(X, k)).fitted_
            assert (fitted.trust_map.slopes >= 0).all()
            assert (fitted.trust_map.review_slopes > 0).all()

    def test_a_small_cluster_beside_large_ones(self):
        # 700, 700 and 100 points around (0, 0), (20, 0) and (20, 5): trust used to rise towards the border.
        found = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            where = np.repeat([[0, 0], [20, 0], [20, 5.0]], [700, 700, 100], axis=0)
            X, y = where + rng.normal(size=where.shape), np.repeat([0, 1, 2], [700, 700, 100])
            labels = KMeans(3, n_init=10, random_state=seed).fit_predict(X)
            result = trust(X, labels, n_resamples=20)
            main = np.array([np.bincount(y[labels == c]).argmax() for c in range(3)])
            wrong = main[labels] != y
            if wrong.any():
                found.append(roc_auc_score(wrong, result.priority))
        assert np.mean(found) >= 0.9


class TestInvariance:
    @pytest.mark.parametrize("change", [lambda X: 8 * X, lambda X: -X, lambda X: X[:, ::-1], lambda X: X.astype("f")])
    def test_units_signs_precision_and_column_order(self, change):
        # They used to act like another seed: trust moved by up to 0.30.
        X, _ = make_blobs(200, 4, centers=4, cluster_std=3.0, random_state=0)
        labels, clusterer = kmeans_labels(X, 4), KMeans(4, n_init=2)
        expected, other = (trust(rows, labels, clusterer=clusterer, n_resamples=6).trust for rows in (X, change(X)))
        np.testing.assert_allclose(other, expected, atol=1e-4)

    def test_seeds_of_any_size_compare_with_null_data(self):
        # Seeds of 2**32 or more used to reach scikit-learn, which rejects them.
        X = np.random.default_rng(0).normal(size=(200, 4))
        for seed in (2**32, 2**40 + 1):
            result = trust(X, clusterer=KMeans(5, n_init=2), n_resamples=10, random_state=seed)
            assert str(result).splitlines()[1].startswith("No evidence of clusters: ")

    def test_null_data_keep_answers_of_yes_and_no_but_not_modes(self):
        rng = np.random.default_rng(0)
        yes, modes = rng.random(1000) < 0.2, rng.normal(size=1000) + 10 * rng.integers(2, size=1000)
        drawn = NullData(np.column_stack([yes, modes])).draw(1000, rng)
        assert np.isin(drawn[:, 0], [0, 1]).mean() > 0.99
        assert abs(drawn[:, 0].mean() - 0.2) < 0.05  # four standard errors
        between = [np.mean(np.abs(values - 5) < 2) for values in (modes, drawn[:, 1])]
        assert between[0] < 0.01 < 0.2 < between[1]
        np.testing.assert_allclose([drawn[:, 1].mean(), drawn[:, 1].std()], [modes.mean(), modes.std()], atol=0.7)

    @pytest.mark.parametrize(("n", "limit"), [(400, None), (1500, 100)], ids=["all", "more than a sample holds"])
    def test_order_of_rows(self, n, limit):
        X = np.round(mixture(n, 4)[0], 1)  # with duplicates
        labels, order = kmeans_labels(X, 4), np.random.default_rng(0).permutation(n)
        scorer = AffinityScorer(influence="within", calibration=Calibration(4, rows_per_subsample=limit))
        one, other = scorer.fit_affinity(X, labels), scorer.fit_affinity(X[order], labels[order])
        assert np.abs(one.trust[order] - other.trust).max() < 1e-12
        assert one.summary().note == other.summary().note

    def test_names_of_the_labels_and_threads(self):
        X, _ = mixture(300, 6)
        labels = kmeans_labels(X, 4)
        expected = trust(X, labels, n_resamples=5, n_jobs=1).trust
        named = trust(X, np.array(["d", "a", "c", "b"])[labels], n_resamples=5, n_jobs=3).trust
        assert np.abs(named - expected).max() < 1e-12
        assert np.array_equal(trust(X, labels, n_resamples=5, n_jobs=2).trust, expected)

    def test_units_of_the_columns_where_the_clusterer_does_not_mind_them(self):
        X, _ = mixture(300, 9)
        labels = kmeans_labels(X, 4)
        pipeline = make_pipeline(StandardScaler(), KMeans(4, n_init=3))
        one, other = (trust(X * unit, labels, clusterer=pipeline, n_resamples=5) for unit in (1.0, [1.0, 1000.0]))
        assert one.replication == pytest.approx(other.replication, abs=0.05)


class TestWhatIsRepeated:
    def test_the_estimator_that_made_the_labels(self):
        X, _ = make_circles(600, factor=0.4, noise=0.04, random_state=0)
        spectral = SpectralClustering(2, gamma=50, random_state=0)
        scorer = AffinityScorer(spectral, influence="rbf", calibration=4).fit(X)
        note = scorer.fitted_.trust_map.note
        assert "SpectralClustering" in note
        assert "nearest neighbor" in note
        assert scorer.affinity(X).replication > 0.9

    def test_a_clusterer_labels_and_is_repeated(self):
        X, _ = mixture(200, 10)
        result = trust(X, clusterer=KMeans(4, n_init=3, random_state=0), n_resamples=4)
        assert result.classes.size == 4
        assert "KMeans" in result.summary().note
        frozen = FrozenEstimator(KMeans(4, n_init=3, random_state=0).fit(X))
        again = AffinityScorer(frozen, influence="within", calibration=4).fit_affinity(X)
        assert again.replication < 1.0  # what is frozen is repeated all the same

    def test_a_bare_clusterer_behind_the_transformers_of_a_pipeline(self):
        X, _ = mixture(200, 12)
        pipeline = make_pipeline(StandardScaler(), KMeans(4, n_init=3, random_state=0))
        calibration = Calibration(4, clusterer=KMeans(4, n_init=3))
        result = AffinityScorer(pipeline, influence="within", calibration=calibration).fit_affinity(X * [1.0, 1000.0])
        assert result.replication > 0.5

    def test_another_optimum_of_a_randomized_clusterer_is_no_reason_to_warn(self):
        """Four blobs have two optima with two clusters, and single runs end in either."""
        X, _ = make_blobs(200, centers=[[0, 0], [0, 10], [11, 0], [11, 10]], random_state=0)
        kmeans = make_pipeline(StandardScaler(with_std=False), KMeans(2, n_init=1, init="random", random_state=0))
        labels = np.array([X[:, 0] > 5, X[:, 1] > 5], dtype=int)
        labels = min(labels, key=lambda one: adjusted_rand_score(one, kmeans.fit_predict(X)))
        assert adjusted_rand_score(labels, kmeans.fit_predict(X)) < 0.1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert trust(X, labels, clusterer=kmeans, n_resamples=20).replication < 0.9
        best = kmeans.set_params(kmeans__n_init=10)  # always cuts the longer side
        with pytest.warns(UserWarning, match="does not reproduce"):
            trust(X, (X[:, 1] > 5).astype(int), clusterer=best, n_resamples=4)

    def test_labels_that_k_means_only_keeps_when_it_starts_there_warn(self):
        """k-means was the stand-in, with an adjusted Rand index of 0.00 and without a warning."""
        X, _ = make_blobs(200, centers=[[0, 10], [10, 0], [100, 110], [110, 100]], random_state=0)
        labels = (X[:, 1] < X[:, 0]).astype(int)
        assert np.array_equal(KMeans(2, init=[[50, 60], [60, 50]], n_init=1).fit_predict(X), labels)
        with pytest.warns(UserWarning, match="None of the built-in clusterers reproduces"):
            trust(X, labels, n_resamples=4)

    def test_another_number_of_clusters_warns_although_runs_of_the_clusterer_differ(self):
        X = StandardScaler().fit_transform(load_wine().data)
        labels = KMeans(3, n_init=10, random_state=0).fit_predict(X)
        with pytest.warns(UserWarning, match="does not reproduce"):
            trust(X, labels, clusterer=KMeans(7, n_init=3, random_state=0), n_resamples=4)

    def test_labels_that_no_stand_in_reproduces_warn_once(self):
        X, _ = mixture(300, 13)
        labels = (np.sin(3 * X[:, 0]) > 0).astype(int)
        with pytest.warns(UserWarning, match="clusterer=") as warned:
            result = trust(X, labels, n_resamples=4)
        assert len(warned) == 1
        assert "None of the built-in clusterers" in str(result)
        assert "--" not in str(warned[0].message)  # options are for the command line
        assert np.diff(result.replication_interval) > 0.4

    @pytest.mark.parametrize("shape", ["blobs", "moons"])
    def test_density_clusterers_do_not_fragment_on_halves(self, shape):
        """min_cluster_size once shrank to 2 on a half, and perfect clusters got a trust of 5%."""
        if shape == "blobs":
            X, _ = make_blobs(600, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], random_state=0)
        else:
            X, _ = make_moons(600, noise=0.05, random_state=0)
        hdbscan = HDBSCAN(copy=True)
        result = trust(X, hdbscan.fit_predict(X), clusterer=hdbscan, n_resamples=20)
        assert result.replication > 0.9
        assert "(adjusted Rand index 1.00)" in result.summary().note

    def test_the_radius_of_dbscan_adapts_to_half_of_the_rows(self):
        X, _ = make_moons(800, noise=0.07, random_state=1)
        dbscan = make_pipeline(StandardScaler(), DBSCAN(0.16, min_samples=5))
        labels = dbscan.fit_predict(X)
        others = [make_moons(800, noise=0.07, random_state=seed)[0] for seed in range(2, 6)]
        nearest = [dbscan.fit_predict(other)[pairwise_distances_argmin(X, other)] for other in others]
        back = np.mean([matches(labels, other)[labels >= 0].mean() for other in nearest])
        assert trust(X, labels, clusterer=dbscan, n_resamples=20).replication == pytest.approx(back, abs=0.06)

    def test_a_function_is_a_clusterer(self):
        X, _ = mixture(300, 20)

        def cluster(rows):
            return AgglomerativeClustering(4).fit_predict(rows)

        one, other = (trust(X, clusterer=c, n_resamples=6) for c in (cluster, AgglomerativeClustering(4)))
        np.testing.assert_array_equal(one.trust, other.trust)
        assert "cluster" in one.summary().note
        with pytest.raises(TypeError, match="a function from X to labels"):
            trust(X, clusterer="kmeans")

    def test_pipelines_are_repeated_as_a_whole_and_measured_in_their_space(self):
        """Trust once differed by up to 0.6 from that of the pipeline alone, and mixed frames failed."""
        X, _ = mixture(200, 11)
        frame = pd.DataFrame({"a": X[:, 0], "b": 1000 * X[:, 1], "town": np.where(X[:, 0] > 2, "Ulm", "Bonn")})
        columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["town"]))
        pipeline = make_pipeline(columns, KMeans(4, n_init=3, random_state=0))
        one = trust(frame, clusterer=pipeline, n_resamples=6)
        assert "with ColumnTransformer -> KMeans(n_clusters=4, n_init=3, random_state=0)," in one.summary().note
        assert 0.3 < one.replication <= 1.0
        other = trust(frame, one.label, clusterer=pipeline, n_resamples=6)
        for name in ("trust", "rival", "affinity", "typicality"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)

    def test_groups_are_sampled_as_a_whole(self):
        """Clusters that are only batches replicate in new rows of the same batches, and not in new batches."""
        rng = np.random.default_rng(0)
        batch = np.repeat(np.arange(8), 50)
        X = (rng.normal(size=(8, 4)) * 6)[batch] + rng.normal(size=(400, 4))
        kmeans = KMeans(8, n_init=5, random_state=0)
        rows, batches = (trust(X, batch, clusterer=kmeans, groups=g, n_resamples=10) for g in (None, batch))
        assert rows.replication > 0.95
        assert batches.replication < 0.7
        with pytest.raises(ValueError, match="groups has shape"):
            trust(X, batch, clusterer=kmeans, groups=batch[:9])
        with pytest.raises(ValueError, match="single group"):
            trust(X, batch, clusterer=kmeans, groups=np.zeros(400))

    def test_sample_weights_reach_the_clusterer(self):
        X, which = mixture(300, 21)
        weights = np.where(which == 0, 50.0, 0.02)
        kmeans = KMeans(3, n_init=3, random_state=0)
        result = trust(X, clusterer=kmeans, sample_weight=weights, n_resamples=6)
        expected = kmeans.fit(X, sample_weight=weights).labels_
        assert adjusted_rand_score(result.label, expected) == 1.0
        with pytest.raises(TypeError, match="does not take it"):
            trust(X, clusterer=AgglomerativeClustering(3), sample_weight=weights)

    @pytest.mark.parametrize("kind", ["distances", "similarities"])
    def test_precomputed_matrices_are_sampled_on_both_axes(self, kind):
        X, _ = mixture(200, 22, spread=0.6)
        distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        if kind == "distances":
            clusterer, matrix = AgglomerativeClustering(4, metric="precomputed", linkage="average"), distances
        else:
            clusterer, matrix = SpectralClustering(4, affinity="precomputed"), np.exp(-(distances**2))
        result = trust(matrix, clusterer=clusterer, n_resamples=6)
        assert result.replication > 0.95
        assert "(adjusted Rand index 1.00)" in result.summary().note
        labels = trust(matrix, result.label, clusterer=clusterer, n_resamples=6)
        np.testing.assert_array_equal(result.trust, labels.trust)
        with pytest.raises(ValueError, match="remove 'precomputed' to pass rows"):
            trust(X, result.label, clusterer=clusterer)

    def test_clusters_that_were_joined_afterwards_warn(self):
        X, _ = mixture(400, 16)
        labels = kmeans_labels(X, 4)
        corners = [labels[np.argmin(((X - place) ** 2).sum(axis=1))] for place in ([0, 0], [5, 5])]
        with pytest.warns(UserWarning, match="None of the built-in clusterers"):
            trust(X, np.where(labels == corners[0], corners[1], labels), n_resamples=20)

    def test_warnings_come_only_where_something_is_wrong(self):
        X, which = mixture(300, 15, spread=0.7)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert trust(X, kmeans_labels(X, 4), n_resamples=4).summary().problems == []
        with pytest.warns(UserWarning, match="does not reproduce"):
            trust(X, np.arange(300) % 2 + 2 * (X[:, 0] > 2), clusterer=KMeans(4, n_init=3), n_resamples=4)
        with pytest.warns(UserWarning, match="same order"):
            result = trust(X, np.random.default_rng(0).permutation(which), n_resamples=4)
        assert result.summary().above_chance < 0.1

    def test_labels_that_their_clusterer_reproduces_are_not_called_unrelated(self):
        # One cluster with nearly all rows: 93% replicate, as by chance. The warning said that no label does.
        X = np.random.default_rng(3).standard_t(1.5, size=(150, 8))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = trust(X, clusterer=AgglomerativeClustering(3, linkage="single"), n_resamples=10)
            # In uniform data, runs of k-means differ, but each of them made its labels.
            uniform = trust(
                np.random.default_rng(0).uniform(size=(3000, 3)),
                clusterer=KMeans(5, n_init=1, random_state=3),
                n_resamples=10,
            )
        assert result.replication > 0.9
        assert "depends on its random start" in uniform.summary().note


class TestHardCases:
    @pytest.mark.parametrize(("n", "k"), [(5, 1), (5, 2), (5, 5), (2, 2)])
    def test_few_rows_and_few_clusters(self, n, k):
        X = np.random.default_rng(0).normal(size=(n, 2))
        result = trust(X, np.arange(n) % k, influence="euclidean", n_resamples=4)
        assert ((result.trust >= 0) & (result.trust <= 1)).all()

    def test_one_cluster_and_one_point_are_certain(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        result = trust(X, np.zeros(50, dtype=int))
        assert np.array_equal(result.trust, np.ones(50))
        assert result.summary().above_chance == 0.0
        assert trust(X[:1], [0], influence="euclidean").trust.tolist() == [1.0]

    def test_clusters_of_three_and_singletons(self):
        rng = np.random.default_rng(1)
        X = 10 * np.repeat(rng.normal(size=(12, 3)), 3, axis=0) + 0.01 * rng.normal(size=(36, 3))
        assert 0.3 < trust(X, np.repeat(np.arange(12), 3), n_resamples=20).replication <= 1.0
        X = np.random.default_rng(2).normal(size=(300, 5))
        result = trust(X, AgglomerativeClustering(3, linkage="average").fit_predict(X), n_resamples=20)
        assert "average linkage" in result.summary().note
        assert result.replication > 0.9

    def test_duplicates_only(self):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 40, axis=0)
        assert trust(X, np.repeat([0, 1], 40), influence="euclidean", n_resamples=5).replication > 0.9
        mixed = trust(np.zeros((40, 2)), np.arange(40) % 2, influence="euclidean", n_resamples=5)
        assert mixed.replication < 0.8

    def test_noise_has_no_trust(self):
        X, _ = mixture(300, 17, spread=0.8)
        X[:20] = np.random.default_rng(0).uniform(-20, 25, (20, 2))
        labels = HDBSCAN(min_cluster_size=10, copy=True).fit_predict(X)
        result = trust(X, labels)
        assert np.isnan(result.trust[labels < 0]).all()
        assert np.isfinite(result.trust[labels >= 0]).all()
        assert "HDBSCAN" in result.summary().note
        assert set(result.verdict[labels < 0]) == {"noise"}
        with pytest.raises(ValueError, match="noise"):
            trust(X, np.full(300, -1))

    def test_a_clusterer_that_fails_says_its_name(self):
        X, _ = mixture(60, 18)
        square = np.abs(X[:, :1] - X[:, :1].T)
        precomputed = AgglomerativeClustering(2, metric="precomputed", linkage="average")
        with pytest.raises(ValueError, match="square"):
            trust(square[:, :30], clusterer=precomputed)

    def test_sparse_rows(self):
        X, _ = mixture(300, 19)
        X = X - X.min()
        labels = kmeans_labels(X, 4)
        dense, sparse = (trust(rows, labels, n_resamples=5) for rows in (X, sp.csr_matrix(X)))
        assert sparse.replication == pytest.approx(dense.replication, abs=0.03)

    def test_beyond_the_farthest_member_trust_fades(self):
        X, _ = mixture(300, 20, spread=0.5)
        scorer = AffinityScorer(KMeans(4, n_init=3, random_state=0), calibration=4).fit(X)
        away = np.array([[5.0, 5.0], [50.0, 50.0], [500.0, 500.0]])
        near, far, farther = scorer.affinity(away).trust
        assert near > 0.9
        assert far < 0.02
        assert farther == pytest.approx(far / 120, rel=0.5)


class TestReviewOrder:
    def test_size_prior_moves_the_order_and_not_trust(self):
        X, which = mixture(600, 22)
        X = X[(which > 0) | (np.arange(600) % 5 == 0)]
        labels = kmeans_labels(X, 4)
        largest, results, ranks = np.bincount(labels).argmax(), [], []
        for size in (1.0, 0.0):
            scorer = AffinityScorer(influence="within", calibration=Calibration(5, size_prior=size))
            results.append(scorer.fit_affinity(X, labels))
            ranks.append(np.argsort(np.argsort(-results[-1].priority))[labels == largest].mean())
        assert np.array_equal(results[0].trust, results[1].trust)
        assert ranks[0] < ranks[1]


class TestMap:
    def test_fit_against_a_general_optimiser(self):
        rng = np.random.default_rng(23)
        X, _ = mixture(200, 24)
        codes = kmeans_labels(X, 4)
        own, close = rng.uniform(size=200), rng.uniform(size=200)
        reach = np.full(4, 10.0)
        calibration, clusterer = Calibration(10), KMeans(4, n_init=1)
        fitted = fit_trust_map(calibration, X, codes, own, close, reach=reach, clusterer=clusterer)
        found = replicate(X, codes, clusterer, calibration=calibration)
        w, y = found.times, found.times * found.rate
        F = (np.column_stack([own, close]) - [own.mean(), close.mean()]) / [own.std(), close.std()]

        def loss(b):
            z = b[0] + F @ b[1:3] + b[3:][codes]
            fit = w * np.logaddexp(0, z) - y * z
            even = np.logaddexp(0, b[0]) - b[0] / 2
            return (fit.sum() + even) / (w.sum() + 1) + (b[1:] ** 2).sum() / (2 * 200)

        bounds = [(None, None), (0, None), (0, None), *[(None, None)] * 4]
        best = minimize(loss, np.zeros(7), method="SLSQP", bounds=bounds, options={"ftol": 1e-14, "maxiter": 1000}).x
        expected = best[0] + F @ best[1:3] + best[3:][codes]
        chance = fitted.trust(own, close, codes, np.zeros(200))
        assert np.ptp(logit(chance) - expected) < 2e-3  # one shift makes their mean the share that comes back
        assert chance.mean() == pytest.approx(found.share)


class TestScore:
    @pytest.mark.slow
    def test_prefers_the_true_number_of_clusters(self):
        X, _ = mixture(400, 27, spread=0.8)
        scores = {}
        for k in (2, 3, 4, 7):
            scorer = AffinityScorer(KMeans(k, n_init=5, random_state=0), calibration=10).fit(X)
            scores[k] = scorer.score(X)
            assert scores[k] == pytest.approx(scorer.affinity(X).summary().above_chance)
        assert max(scores, key=scores.get) == 4
        assert scores[4] == pytest.approx(1.0, abs=0.02)

    def test_without_calibration_x_is_subsampled(self):
        X, _ = mixture(400, 28, spread=0.8)
        assert AffinityScorer(KMeans(4, n_init=5, random_state=0)).fit(X).score(X) > 0.9
        assert AffinityScorer().fit(X, kmeans_labels(X, 4)).score(X) > 0.9
