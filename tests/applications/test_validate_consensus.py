"""Validation of a consensus by trust in its labels and in those it was made of."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from allegiance import AffinityScorer, ConsensusClustering, trust, validate_consensus
from allegiance.applications import ConsensusValidation

SCORER = AffinityScorer(influence="within", calibration=8, random_state=3)


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(200, centers=5, cluster_std=2.5, random_state=4)[0]


@pytest.fixture(scope="module")
def validated(overlapping):
    model = ConsensusClustering(n_clusters=5, random_state=0).fit(overlapping)
    return model, validate_consensus(overlapping, model.labelings_, model.labels_, scorer=SCORER)


def made(supported, consensus, **changes):
    """Return a validation of three clusters each, from strings of + for supported and - for doubtful labels.

    Trust above chance is the share of supported labels.
    """
    table = np.array([[mark == "+" for mark in row] for row in supported])
    agreed = np.array([mark == "+" for mark in consensus])
    return ConsensusValidation(
        **{
            "names": [f"c{i}" for i in range(len(supported))],
            "above_chance": table.mean(axis=1),
            "consensus_above_chance": float(agreed.mean()),
            "supported": table,
            "consensus_supported": agreed,
            "stable_share": np.full(len(supported), 0.75),
            "consensus_stable_share": 0.875,
            "n_clusters": np.full(len(supported), 3),
            "consensus_n_clusters": 3,
            "rand_distance": np.full(len(supported), 0.25),
            "considerable": 0.05,
            **changes,
        }
    )


def test_figures_are_those_of_trust(overlapping, validated):
    model, validation = validated
    assert validation.names == model.base_names_
    everyone = [*model.labelings_.values(), model.labels_]
    for i, labels in enumerate(everyone):
        alone = trust(overlapping, labels, n_resamples=8, random_state=3)
        last = i == len(everyone) - 1
        above = validation.consensus_above_chance if last else validation.above_chance[i]
        supported = validation.consensus_supported if last else validation.supported[i]
        stable = validation.consensus_stable_share if last else validation.stable_share[i]
        assert above == alone.above_chance()
        assert stable == alone.stable.mean()
        np.testing.assert_array_equal(supported, alone.verdict == "supported")


def test_the_same_labels_change_nothing(overlapping, validated):
    model, _ = validated
    scorer = AffinityScorer(domain="ball", eps=0.02, calibration=4)
    validation = validate_consensus(overlapping, [model.labels_], model.labels_, scorer=scorer)
    assert validation.names == ["labels 1"]
    assert validation.rand_distance.tolist() == [0.0]
    assert validation.gain.tolist() == [0.0]
    assert not validation.turned_supported.any()
    assert not validation.turned_doubtful.any()


def test_separate_blobs_are_supported_before_and_after():
    X, truth = make_blobs(90, centers=[[0, 0], [20, 0], [0, 20]], cluster_std=0.5, random_state=0)
    validation = validate_consensus(X, {"one": truth, "two": 2 - truth}, truth)
    assert (validation.above_chance > 0.9).all()
    assert validation.verdicts == ["little changed", "little changed"]
    assert "nothing to gain" in validation.verdict


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
    assert abs(validation.consensus_above_chance) < 0.1


def test_counts_whose_labels_turned():
    validation = made(["++--", "++++", "----"], "+-+-")
    assert validation.gain.tolist() == [0.0, -0.5, 0.5]
    assert validation.turned_supported.astype(int).tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]]
    assert validation.turned_doubtful.astype(int).tolist() == [[0, 1, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]
    assert validation.verdicts == ["little changed", "lost", "improved"]


@pytest.mark.parametrize(
    ("before", "after", "considerable", "begins"),
    [
        (0.82, 0.90, 0.05, "Improved"),
        (0.83, 0.85, 0.05, "Little changed"),
        (0.92, 0.92, 0.05, "Little changed"),
        (0.83, 0.85, 0.02, "Improved"),
        (0.90, 0.82, 0.05, "Lost"),
    ],
)
def test_the_verdict_follows_the_gain(before, after, considerable, begins):
    validation = made(
        ["+-"], "+-", above_chance=np.array([before]), consensus_above_chance=after, considerable=considerable
    )
    assert validation.verdict.startswith(begins)


def test_little_change_says_how_far_the_clusterings_are_and_which_points_stay_doubtful():
    validation = made(["+" * 90 + "-" * 10, "+" * 88 + "-" * 12], "+" * 90 + "-" * 10)
    assert "0.250" in validation.verdict
    assert "10 of the 10 in the consensus" in validation.verdict


def test_frame_has_a_row_for_each_clustering_and_the_consensus():
    validation = made(["++--", "++++"], "+-+-")
    frame = validation.frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.clustering.tolist() == ["c0", "c1", "consensus"]
    assert frame.above_chance.tolist() == [0.5, 1.0, 0.5]
    assert frame.supported.tolist() == [2, 4, 2]
    assert frame.turned_supported.tolist() == [1, 0, 0]
    assert frame.turned_doubtful.tolist() == [1, 2, 0]
    assert frame.gain.tolist() == [0.0, -0.5, 0.0]
    assert frame.stable_share.tolist() == [0.75, 0.75, 0.875]
    assert frame.verdict.tolist() == ["little changed", "lost", ""]
    indexed = pd.DataFrame({"x": [1, 2]}, index=["p", "q"])
    assert len(validation.frame(like=indexed)) == 3
    assert isinstance(validation.frame(like=pl.DataFrame({"x": [1]})), pl.DataFrame)


def test_prints_a_table_and_html():
    validation = made(["++--", "++++"], "+-+-", names=["a < b", "long name"])
    lines = str(validation).splitlines()
    assert lines[0] == "Consensus of 2 clusterings of 4 points"
    assert lines[2].split()[:4] == ["clustering", "clusters", "above", "chance"]
    numbers = ["3", "0.50", "+0.00", "2", "1", "1", "75.0%", "0.250"]
    assert lines[3].split() == ["a", "<", "b", *numbers, "little", "changed"]
    assert lines[-1] == validation.verdict
    html = validation._repr_html_()
    assert ">a &lt; b</td>" in html
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
        ({"labelings": [0, 1, 0, 1]}, (TypeError, ValueError), "labels"),
        ({"consensus": [0, 1]}, ValueError, "labels has 2 entries"),
        ({"considerable": 0.0}, ValueError, "considerable must be in"),
        ({"considerable": "much"}, TypeError, "considerable must be a number"),
        ({"scorer": AffinityScorer(centers=[[0.0]], calibration=3)}, ValueError, "centers"),
        ({"scorer": AffinityScorer()}, ValueError, "calibration"),
        ({"scorer": "within"}, TypeError, "scorer must be an AffinityScorer"),
        ({"X": [[np.nan]] * 4}, ValueError, "X contains NaN"),
    ],
)
def test_bad_input_is_named(change, error, message):
    arguments = {"X": [[0.0], [1.0], [5.0], [6.0]], "labelings": [[0, 0, 1, 1]], "consensus": [0, 0, 1, 1]} | change
    with pytest.raises(error, match=message):
        validate_consensus(**arguments)
