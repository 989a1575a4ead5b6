"""Validation of a consensus by trust in its labels and in those it was made of."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from allegiance import AffinityScorer, ConsensusClustering, compare_clusterings, validate_consensus
from allegiance.applications import _compare

SCORER = AffinityScorer(influence="within", calibration=8, random_state=3)


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(200, centers=5, cluster_std=2.5, random_state=4)[0]


@pytest.fixture(scope="module")
def validated(overlapping):
    model = ConsensusClustering(n_clusters=5, random_state=0).fit(overlapping)
    return model, validate_consensus(overlapping, model.labelings_, model.labels_, scorer=SCORER)


def test_figures_are_those_of_compare_clusterings(overlapping, validated):
    model, validation = validated
    assert validation.comparison.names == [*model.labelings_, "consensus"]
    comparison = compare_clusterings(overlapping, model.labelings_ | {"consensus": model.labels_}, scorer=SCORER)
    np.testing.assert_array_equal(validation.comparison.above_chance, comparison.above_chance)
    np.testing.assert_array_equal(validation.comparison.supported, comparison.supported)
    np.testing.assert_array_equal(validation.gain, comparison.above_chance[-1] - comparison.above_chance[:-1])


def test_the_same_labels_change_nothing(overlapping, validated):
    model, _ = validated
    scorer = AffinityScorer(domain="ball", eps=0.02, calibration=4)
    validation = validate_consensus(overlapping, [model.labels_], model.labels_, scorer=scorer)
    frame = validation.frame()
    assert frame.clustering.tolist() == ["labels", "consensus"]
    assert not frame[["rand_distance", "gain", "turned_supported", "turned_doubtful"]].any(axis=None)


def test_separate_blobs_are_supported_before_and_after():
    X, truth = make_blobs(90, centers=[[0, 0], [20, 0], [0, 20]], cluster_std=0.5, random_state=0)
    validation = validate_consensus(X, {"one": truth, "two": 2 - truth}, truth)
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
    validation = validate_consensus(X, [truth, truth], rng.integers(0, 4, 300))
    assert validation.verdict.startswith("Lost")
    assert "little to do with them" in validation.verdict
    assert abs(validation.comparison.above_chance[-1]) < 0.1


def test_verdicts_follow_the_gain(validated, monkeypatch):
    _, validation = validated
    middle = float(np.median(validation.gain))
    assert middle != 0.0
    monkeypatch.setattr(_compare, "_CONSIDERABLE", abs(middle) / 2)
    assert validation.verdict.startswith("Improved" if middle > 0 else "Lost")
    verdicts = validation.frame().verdict[:-1]
    assert (verdicts == "improved").tolist() == (validation.gain >= abs(middle) / 2).tolist()
    monkeypatch.setattr(_compare, "_CONSIDERABLE", 0.99)
    assert set(validation.frame().verdict[:-1]) == {"little changed"}
    doubtful = ~validation.comparison.supported[:, -1]
    assert f"{validation.comparison.never_supported.sum()} of the {doubtful.sum()}" in validation.verdict


def test_frame_has_a_row_for_each_clustering_and_the_consensus(validated):
    model, validation = validated
    frame = validation.frame()
    assert frame.clustering.tolist() == [*model.labelings_, "consensus"]
    np.testing.assert_allclose(frame.gain, frame.above_chance.iloc[-1] - frame.above_chance)
    np.testing.assert_array_equal(frame.supported, validation.comparison.supported.sum(axis=0))
    np.testing.assert_array_equal(
        frame.supported.iloc[-1] - frame.supported, frame.turned_supported - frame.turned_doubtful
    )


def test_prints_a_table_and_html(overlapping, validated):
    model, _ = validated
    validation = validate_consensus(overlapping, {"a < b": model.labels_}, model.labels_, scorer=SCORER)
    lines = str(validation).splitlines()
    assert lines[4].startswith("a < b")
    assert lines[5].startswith("consensus")
    assert validation.verdict in lines
    assert ">a &lt; b</td>" in validation._repr_html_()
