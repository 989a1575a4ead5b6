"""Comparing clusterings, and a consensus with those it was made of: known answers, and tables made the long way."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score

from allegiance import AffinityScorer, Calibration, ConsensusClustering, compare_clusterings, trust, validate_consensus
from allegiance.applications import _consensus

CORNERS = np.array([[0.0, 0.0], [20.0, 0.0], [10.0, 17.3]])
BETWEEN = CORNERS.mean(axis=0)


@pytest.fixture
def blobs(rng):
    """Three tight blobs, and one point between them as the last row."""
    truth = np.append(np.repeat([0, 1, 2], 20), 0)
    X = np.vstack([CORNERS[truth[:-1]] + 0.3 * rng.normal(size=(60, 2)), BETWEEN])
    return X, truth


SCORER = AffinityScorer(influence="within", calibration=5, random_state=7)


@pytest.fixture
def compared(blobs):
    """The clusterings of the blobs that are compared, and their comparison."""
    X, truth = blobs
    moved = np.append(truth[:-1], 1)
    candidates = {"truth": truth, "moved": moved, "k-means": KMeans(3, n_init=5, random_state=0)}
    return candidates, compare_clusterings(X, candidates, scorer=SCORER)


class TestKnownTruth:
    def test_what_comes_back_is_above_shuffled_labels(self, rng):
        X, species = load_iris(return_X_y=True)
        unrelated = {"shuffled": rng.permutation(species), "random": rng.integers(0, 3, species.size)}
        related = {"k-means": KMeans(3, n_init=5, random_state=0), "species": species}
        comparison = compare_clusterings(X, unrelated | related, scorer=SCORER)
        shuffled, random, kmeans, true = comparison.above_chance
        assert max(shuffled, random) < 0.1
        assert kmeans > 0.6
        assert true > 0.8
        assert comparison.best in ("species", "k-means")
        assert np.isin(comparison.best_by_point, ["species", "k-means"]).all()
        assert "unrelated to the data" in repr(comparison)

    def test_more_clusters_than_there_are_lose_trust(self, blobs):
        X, truth = blobs
        candidates = {"nine": KMeans(9, random_state=0, n_init=1), "three": truth}
        comparison = compare_clusterings(X, candidates, scorer=SCORER)
        assert comparison.best == "three"
        assert comparison.above_chance[0] < 0.9 < comparison.above_chance[1]

    def test_one_cluster_is_certain_and_best_for_nothing(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(X, {"one": np.zeros(61), "three": truth}, scorer=SCORER)
        np.testing.assert_array_equal(comparison.trust[:, 0], 1.0)
        np.testing.assert_array_equal(comparison.trust_above_chance[:, 0], 0.0)
        assert comparison.above_chance[0] == 0.0
        assert (comparison.best_by_point[:60] == "three").all()


class TestAgainstTheLongWay:
    def test_results_are_those_of_trust(self, blobs, compared):
        X, _ = blobs
        candidates, comparison = compared
        assert not hasattr(candidates["k-means"], "labels_")
        labels = candidates | {"k-means": candidates["k-means"].fit_predict(X)}
        assert comparison.names == list(labels)
        for j, (name, each) in enumerate(labels.items()):
            alone = trust(X, each, n_resamples=5, random_state=7)
            np.testing.assert_array_equal(comparison.results[name].affinity, alone.affinity)
            np.testing.assert_array_equal(comparison.trust[:, j], alone.trust)
            # Chance depends on the clusters of the repeats, which the clusterer makes here and its stand-in there.
            assert comparison.above_chance[j] == pytest.approx(alone.summary().above_chance, abs=0.01)

    def test_best_row_by_row(self, rng):
        X = rng.normal(size=(40, 3))
        candidates = {"three": np.arange(40) % 3, "five": np.arange(40) % 5}
        comparison = compare_clusterings(X, candidates, scorer=SCORER)
        for row in range(40):
            above = {}
            for name, result in comparison.results.items():
                # 1 - E is the distance to perfect agreement, which is 1 on the scale above chance.
                unit = (1 - result.replication) / (1 - result.summary().above_chance)
                above[name] = 1 - (1 - result.trust[row]) / unit
            assert comparison.best_by_point[row] == max(above, key=above.get)
            np.testing.assert_allclose(comparison.trust_above_chance[row], list(above.values()), rtol=1e-9)

    def test_candidates_frame(self, compared):
        _, comparison = compared
        frame = comparison.candidates()
        assert list(frame.columns) == [
            *("name", "n_clusters", "labeled", "replication", "above_chance"),
            *("firm", "borderline", "doubtful", "best_for", "stable"),
        ]
        assert frame.name.tolist() == comparison.names
        assert frame.best_for.sum() == 61
        np.testing.assert_array_equal(comparison.n_firm[:60], 3)
        np.testing.assert_array_equal(frame.above_chance, comparison.above_chance)
        for row in frame.itertuples():
            result = comparison.results[row.name]
            assert row.n_clusters == 3
            assert row.labeled == 1.0
            assert row.replication == result.replication
            assert row.firm == (result.verdict == "firm").sum()
            assert row.firm + row.borderline + row.doubtful == 61
            assert row.stable == result.stable.mean()
            assert row.best_for == (comparison.best_by_point == row.name).sum()

    def test_seed_is_resolved_once(self, blobs):
        X, truth = blobs
        scorer = AffinityScorer(domain="ball", engine="shared", calibration=3, random_state=None)
        comparison = compare_clusterings(X, {"a": truth, "b": truth}, scorer=scorer)
        np.testing.assert_array_equal(comparison.results["a"].affinity, comparison.results["b"].affinity)
        assert comparison.results["a"].summary().measurement.seed == comparison.results["b"].summary().measurement.seed
        assert scorer.random_state is None


class TestCandidates:
    def test_a_frozen_one_keeps_its_clusters(self, blobs):
        X, _ = blobs
        fitted = KMeans(3, n_init=5, random_state=0).fit(X[:60])
        comparison = compare_clusterings(X, {"frozen": FrozenEstimator(fitted)}, scorer=SCORER)
        np.testing.assert_array_equal(comparison.results["frozen"].label, fitted.predict(X))

    def test_noise_has_no_label_to_trust(self, blobs):
        X, truth = blobs
        candidates = {"dbscan": DBSCAN(eps=2.0), "truth": truth}
        comparison = compare_clusterings(X, candidates, scorer=SCORER)
        sparse = compare_clusterings(sp.csr_array(X), candidates, scorer=AffinityScorer(calibration=3))
        dense = compare_clusterings(X, candidates, scorer=AffinityScorer(calibration=3))
        np.testing.assert_allclose(sparse.trust, dense.trust, atol=1e-6)
        assert comparison.results["dbscan"].label[-1] == -1
        assert np.isnan(comparison.trust[-1, 0])
        assert comparison.trust_above_chance[-1, 0] == 0.0
        assert comparison.candidates().labeled[0] == 60 / 61
        assert "Noise has no label" in repr(comparison)


class TestShown:
    def test_frame_has_a_row_per_point_and_three_columns_per_candidate(self, blobs):
        X, truth = blobs
        index = pd.Index([f"p{i}" for i in range(61)])
        names = np.array(["red", "green", "blue"])[truth]
        candidates = {"numbers": truth, "names": names}
        comparison = compare_clusterings(pd.DataFrame(X, index=index, columns=["x", "y"]), candidates, scorer=SCORER)
        frame = comparison.frame()
        assert list(frame.columns) == [
            *[f"{what}_{name}" for name in candidates for what in ("label", "trust", "verdict")],
            "best",
            "n_firm",
        ]
        assert frame.index.equals(index)
        assert frame["label_names"].tolist() == names.tolist()
        np.testing.assert_array_equal(frame["trust_numbers"], comparison.trust[:, 0])
        np.testing.assert_array_equal(frame["n_firm"], comparison.n_firm)
        assert isinstance(comparison.frame(like=pl.DataFrame(X)), pl.DataFrame)

    def test_polars_in_polars_out_and_names_are_escaped(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(pl.DataFrame(X, schema=["x", "y"]), {"<b>mine</b>": truth}, scorer=SCORER)
        assert isinstance(comparison.frame(), pl.DataFrame)
        assert "&lt;b&gt;mine&lt;/b&gt;" in comparison._repr_html_()
        assert "<b>mine</b>" not in comparison._repr_html_()

    def test_summary_names_the_most_trusted_and_counts_points(self, compared):
        _, comparison = compared
        lines = repr(comparison).splitlines()
        assert f"above chance: {comparison.best}. " in lines[1]
        everywhere, none = (comparison.n_firm == 3).sum(), comparison.never_firm.sum()
        assert lines[1].endswith(f"{everywhere} points, under some {61 - everywhere - none}, under none {none}")
        assert [line.split()[0] for line in lines[4:7]] == comparison.names


#: Without the search for a stand-in.
BY_KMEANS = clone(SCORER).set_params(calibration=Calibration(5, clusterer=KMeans(5, n_init=1, random_state=0)))


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(200, centers=5, cluster_std=2.5, random_state=4)[0]


@pytest.fixture(scope="module")
def validated(overlapping):
    model = ConsensusClustering(n_clusters=5, random_state=0).fit(overlapping)
    return model, validate_consensus(overlapping, model.labelings_, model.labels_, scorer=BY_KMEANS)


def test_figures_and_rows_are_those_of_compare_clusterings(overlapping, validated):
    model, validation = validated
    assert validation.comparison.names == [*model.labelings_, "consensus"]
    comparison = compare_clusterings(overlapping, model.labelings_ | {"consensus": model.labels_}, scorer=BY_KMEANS)
    np.testing.assert_array_equal(validation.comparison.above_chance, comparison.above_chance)
    np.testing.assert_array_equal(validation.comparison.firm, comparison.firm)
    np.testing.assert_array_equal(validation.gain, comparison.above_chance[-1] - comparison.above_chance[:-1])
    frame = validation.frame()
    assert frame.clustering.tolist() == [*model.labelings_, "consensus"]
    np.testing.assert_allclose(frame.gain, frame.above_chance.iloc[-1] - frame.above_chance)
    np.testing.assert_array_equal(frame.firm, comparison.firm.sum(axis=0))
    np.testing.assert_array_equal(frame.firm.iloc[-1] - frame.firm, frame.turned_firm - frame.turned_weak)


def test_the_same_labels_change_nothing_and_names_are_escaped(overlapping, validated):
    model, _ = validated
    scorer = clone(BY_KMEANS).set_params(domain="ball", eps=0.02)
    validation = validate_consensus(overlapping, {"a < b": model.labels_}, model.labels_, scorer=scorer)
    frame = validation.frame()
    assert frame.clustering.tolist() == ["a < b", "consensus"]
    assert not frame[["rand_distance", "gain", "turned_firm", "turned_weak"]].any(axis=None)
    lines = str(validation).splitlines()
    assert [line.split("  ")[0] for line in lines[4:6]] == ["a < b", "consensus"]
    assert validation.verdict in lines
    assert ">a &lt; b</td>" in validation._repr_html_()


def test_separate_blobs_are_supported_before_and_after():
    X, truth = make_blobs(90, centers=[[0, 0], [20, 0], [0, 20]], cluster_std=0.5, random_state=0)
    validation = validate_consensus(X, {"one": truth, "two": 2 - truth}, truth, scorer=SCORER)
    assert (validation.comparison.above_chance > 0.9).all()
    assert validation.frame().verdict.tolist() == ["little changed", "little changed", ""]
    assert "nothing to gain" in validation.verdict


@pytest.mark.slow
def test_a_consensus_of_unlucky_runs_of_k_means_improves():
    corners = [[8 * i, 8 * j] for i in range(4) for j in range(4)]
    X, truth = make_blobs(1600, centers=corners, cluster_std=1.3, random_state=0)
    runs = [KMeans(16, init="random", n_init=1, random_state=i).fit_predict(X) for i in range(5)]
    assert max(adjusted_rand_score(truth, labels) for labels in runs) < 0.92
    model = ConsensusClustering(runs, 16, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.97
    validation = validate_consensus(X, model.labelings_, model.labels_)
    assert validation.verdict.startswith("Improved")
    assert (validation.gain > 0).all()


def test_a_consensus_that_has_nothing_to_do_with_the_clusterings_is_found_out(rng):
    X, truth = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], cluster_std=1.2, random_state=0)
    validation = validate_consensus(X, [truth, truth], rng.integers(0, 4, 300), scorer=SCORER)
    assert validation.verdict.startswith("Worse")
    assert "resembles none of them" in validation.verdict
    assert abs(validation.comparison.above_chance[-1]) < 0.1


def test_verdicts_follow_the_gain(validated, monkeypatch):
    _, validation = validated
    middle = float(np.median(validation.gain))
    assert middle != 0.0
    monkeypatch.setattr(_consensus, "_CONSIDERABLE", abs(middle) / 2)
    assert validation.verdict.startswith("Improved" if middle > 0 else "Worse")
    verdicts = validation.frame().verdict[:-1]
    assert (verdicts == "improved").tolist() == (validation.gain >= abs(middle) / 2).tolist()
    monkeypatch.setattr(_consensus, "_CONSIDERABLE", 0.99)
    assert set(validation.frame().verdict[:-1]) == {"little changed"}
    doubtful = ~validation.comparison.firm[:, -1]
    assert f"{validation.comparison.never_firm.sum()} of the {doubtful.sum()}" in validation.verdict


def test_functions_are_clusterers():
    X = np.random.default_rng(0).normal(np.repeat([-5.0, 5.0], 30)[:, None], size=(60, 2))

    def halves(rows):
        return (rows[:, 0] > 0.0).astype(int)

    model = ConsensusClustering([halves, KMeans(2, random_state=0)], n_clusters=2, random_state=0).fit(X)
    assert list(model.labelings_) == ["halves", "KMeans"]
    assert model.labels_.tolist() == halves(X).tolist()
    validation = validate_consensus(X, [halves, model.labels_], halves, scorer=AffinityScorer(calibration=3))
    assert validation.rand_distance.tolist() == [0.0, 0.0]
    comparison = compare_clusterings(X, {"labels": model.labels_, "function": halves}, scorer=SCORER)
    assert [result.label.tolist() for result in comparison.results.values()] == [model.labels_.tolist()] * 2
