"""Validation of a consensus against the stability of its parts."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from allegiance import ConsensusClustering, affinity, validate_consensus
from allegiance.applications._validate_consensus import ConsensusValidation


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(200, centers=5, cluster_std=2.5, random_state=4)[0]


@pytest.fixture(scope="module")
def validated(overlapping):
    model = ConsensusClustering(n_clusters=5, random_state=0).fit(overlapping)
    return model, validate_consensus(overlapping, model.labelings_, model.labels_, random_state=3)


def made(stable, consensus, **changes):
    """Return a validation of three clusters each, from strings of + for stable and - for unstable points."""
    table = np.array([[mark == "+" for mark in row] for row in stable])
    return ConsensusValidation(
        **{
            "names": [f"c{i}" for i in range(len(stable))],
            "stable": table,
            "consensus_stable": np.array([mark == "+" for mark in consensus]),
            "n_clusters": np.full(len(stable), 3),
            "consensus_n_clusters": 3,
            "rand_distance": np.full(len(stable), 0.25),
            "considerable": 0.05,
            **changes,
        }
    )


def test_stable_points_are_those_of_affinity(overlapping, validated):
    model, validation = validated
    assert validation.names == model.base_names_
    for i, labels in enumerate(model.labelings_.values()):
        np.testing.assert_array_equal(validation.stable[i], affinity(overlapping, labels, random_state=3).stable)
    consensus = affinity(overlapping, model.labels_, random_state=3).stable
    np.testing.assert_array_equal(validation.consensus_stable, consensus)
    assert 0 < validation.consensus_stable_share < 1


def test_settings_reach_affinity(overlapping, validated):
    model, _ = validated
    settings = {"divergence": "within", "domain": "ball", "eps": 0.02}
    validation = validate_consensus(overlapping, [model.labels_], model.labels_, random_state=1, **settings)
    expected = affinity(overlapping, model.labels_, random_state=1, **settings)
    np.testing.assert_array_equal(validation.stable[0], expected.stable)
    assert validation.names == ["labels 1"]
    assert validation.rand_distance.tolist() == [0.0]
    assert not validation.turned_stable.any()
    assert not validation.turned_unstable.any()


def test_separate_blobs_are_stable_before_and_after():
    X, truth = make_blobs(90, centers=[[0, 0], [20, 0], [0, 20]], cluster_std=0.5, random_state=0)
    validation = validate_consensus(X, {"one": truth, "two": 2 - truth}, truth, random_state=0)
    assert validation.stable_share.tolist() == [1.0, 1.0]
    assert validation.verdicts == ["little changed", "little changed"]
    assert "nothing to gain" in validation.verdict


def test_a_consensus_of_unlucky_runs_of_k_means_improves():
    corners = [[8 * i, 8 * j] for i in range(4) for j in range(4)]
    X, truth = make_blobs(1600, centers=corners, cluster_std=1.3, random_state=0)
    runs = [KMeans(16, init="random", n_init=1, random_state=i).fit_predict(X) for i in range(5)]
    assert max(adjusted_rand_score(truth, labels) for labels in runs) < 0.92
    model = ConsensusClustering(runs, 16, random_state=0).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.97
    validation = validate_consensus(X, model.labelings_, model.labels_, random_state=0)
    assert validation.verdict.startswith("Improved")
    assert (validation.turned_stable.sum(axis=1) > 3 * validation.turned_unstable.sum(axis=1)).all()


def test_a_consensus_that_has_nothing_to_do_with_the_clusterings_is_found_out(rng):
    X, truth = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], cluster_std=1.2, random_state=0)
    validation = validate_consensus(X, [truth, truth], rng.integers(0, 4, 300), random_state=0)
    assert validation.verdict.startswith("Lost")
    assert "little to do with them" in validation.verdict


def test_counts_who_turned():
    validation = made(["++--", "++++", "----"], "+-+-")
    assert validation.stable_share.tolist() == [0.5, 1.0, 0.0]
    assert validation.consensus_stable_share == 0.5
    assert validation.gain.tolist() == [0.0, -0.5, 0.5]
    assert validation.turned_stable.astype(int).tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]]
    assert validation.turned_unstable.astype(int).tolist() == [[0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]
    assert validation.verdicts == ["little changed", "lost", "improved"]


@pytest.mark.parametrize(
    ("before", "after", "considerable", "begins"),
    [
        ("+" * 82 + "-" * 18, "+" * 90 + "-" * 10, 0.05, "Improved"),  # the paper's 2D5C-500
        ("+" * 83 + "-" * 17, "+" * 85 + "-" * 15, 0.05, "Little changed"),  # its MNIST
        ("+" * 92 + "-" * 8, "+" * 92 + "-" * 8, 0.05, "Little changed"),  # its Iris
        ("+" * 83 + "-" * 17, "+" * 85 + "-" * 15, 0.02, "Improved"),
        ("+" * 90 + "-" * 10, "+" * 82 + "-" * 18, 0.05, "Lost"),
    ],
    ids=["2d5c", "mnist", "iris", "mnist-lower-bar", "loss"],
)
def test_the_verdict_follows_the_paper(before, after, considerable, begins):
    assert made([before], after, considerable=considerable).verdict.startswith(begins)


def test_little_change_says_how_far_the_clusterings_are_and_which_points_stay_ambiguous():
    validation = made(["+" * 90 + "-" * 10, "+" * 88 + "-" * 12], "+" * 90 + "-" * 10)
    assert "0.250" in validation.verdict
    assert "10 of the 10 unstable points" in validation.verdict


def test_the_number_of_clusters_is_mentioned_where_it_may_explain_the_change():
    assert "every point is stable by definition" in made(["+-"], "++", consensus_n_clusters=2).verdict
    assert "with fewer clusters more points are stable" in made(["+-"], "++", consensus_n_clusters=4).verdict
    assert "But" not in made(["+-"], "++").verdict


def test_frame_has_a_row_for_each_clustering_and_the_consensus():
    validation = made(["++--", "++++"], "+-+-")
    frame = validation.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.clustering.tolist() == ["c0", "c1", "consensus"]
    assert frame.stable_share.tolist() == [0.5, 1.0, 0.5]
    assert frame.turned_stable.tolist() == [1, 0, 0]
    assert frame.turned_unstable.tolist() == [1, 2, 0]
    assert frame.gain.tolist() == [0.0, -0.5, 0.0]
    assert frame.verdict.tolist() == ["little changed", "lost", ""]
    indexed = pd.DataFrame({"x": [1, 2]}, index=["p", "q"])
    assert len(validation.to_frame(like=indexed)) == 3
    assert isinstance(validation.to_frame(like=pl.DataFrame({"x": [1]})), pl.DataFrame)


def test_prints_a_table_and_html():
    validation = made(["++--", "++++"], "+-+-", names=["a < b", "long name"])
    lines = str(validation).splitlines()
    assert lines[0] == "Consensus of 2 clusterings of 4 points"
    assert lines[2].split()[:3] == ["clustering", "clusters", "stable"]
    assert lines[3].split() == ["a", "<", "b", "3", "50.0%", "1", "1", "+0.0%", "0.250", "little", "changed"]
    assert lines[-1] == validation.verdict
    html = validation._repr_html_()
    assert "<td>a &lt; b</td>" in html
    assert html.count("<tr>") == 4


def test_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        made(["+"], "+").considerable = 0.5


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"labelings": []}, ValueError, "labelings is empty"),
        ({"labelings": "kmeans"}, TypeError, "labelings must be"),
        ({"labelings": [[0, 1]]}, ValueError, "labels has 2 entries"),
        ({"labelings": [0, 1, 0, 1]}, ValueError, "one-dimensional"),
        ({"consensus": [0, 1]}, ValueError, "labels has 2 entries"),
        ({"considerable": 0.0}, ValueError, "considerable must be in"),
        ({"considerable": "much"}, TypeError, "considerable must be a number"),
        ({"centers": [[0.0]]}, TypeError, "centers"),
        ({"colour": "red"}, TypeError, "colour"),
        ({"X": [[np.nan]] * 4}, ValueError, "X contains NaN"),
    ],
)
def test_bad_input_is_named(change, error, message):
    arguments = {"X": [[0.0], [1.0], [5.0], [6.0]], "labelings": [[0, 0, 1, 1]], "consensus": [0, 0, 1, 1]} | change
    with pytest.raises(error, match=message):
        validate_consensus(**arguments)
