"""Comparing clusterings, against blobs whose answer is known and tables made the long way."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture

from allegiance import affinity, compare_clusterings

CORNERS = np.array([[0.0, 0.0], [20.0, 0.0], [10.0, 17.3]])
BETWEEN = CORNERS.mean(axis=0)


@pytest.fixture
def blobs(rng):
    """Three tight blobs at the corners of a triangle, and one point in its middle as the last row."""
    truth = np.append(np.repeat([0, 1, 2], 20), 0)
    X = np.vstack([CORNERS[truth[:-1]] + 0.3 * rng.normal(size=(60, 2)), BETWEEN])
    return X, truth


def candidates(truth):
    moved = truth.copy()
    moved[-1] = 1
    return {"truth": truth, "moved": moved, "k-means": KMeans(3, n_init=5, random_state=0)}


class TestKnownTruth:
    def test_every_candidate_is_sure_of_the_blobs_and_none_of_the_point_between(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(X, candidates(truth), random_state=0)
        np.testing.assert_array_equal(comparison.none_sure, [False] * 60 + [True])
        np.testing.assert_array_equal(comparison.any_sure, [True] * 60 + [False])
        np.testing.assert_array_equal(comparison.n_sure, [3] * 60 + [0])

    def test_a_candidate_that_makes_the_point_between_a_cluster_is_the_one_that_is_sure_of_it(self, blobs):
        X, truth = blobs
        alone = truth.copy()
        alone[-1] = 3
        comparison = compare_clusterings(X, {"three": truth, "four": alone}, random_state=0)
        np.testing.assert_array_equal(comparison.n_sure, [2] * 60 + [1])
        assert not comparison.none_sure.any()
        assert comparison.best[-1] == "four"

    def test_one_cluster_is_certain_and_best_for_nothing(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(X, {"one": np.zeros(61), "three": truth}, random_state=0)
        np.testing.assert_array_equal(comparison.confidence[:, 0], 1.0)
        np.testing.assert_array_equal(comparison.above_floor[:, 0], 0.0)
        assert (comparison.best[:60] == "three").all()


class TestAgainstTheLongWay:
    def test_results_are_those_of_affinity(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(X, candidates(truth), random_state=7)
        labels = {**candidates(truth), "k-means": KMeans(3, n_init=5, random_state=0).fit_predict(X)}
        assert comparison.names == list(labels)
        for j, (name, given) in enumerate(labels.items()):
            alone = affinity(X, given, random_state=7)
            np.testing.assert_array_equal(comparison.results[name].affinity, alone.affinity)
            np.testing.assert_array_equal(comparison.confidence[:, j], alone.confidence)
            np.testing.assert_array_equal(comparison.stable[:, j], alone.stable)

    def test_settings_reach_every_candidate(self, blobs):
        X, truth = blobs
        settings = {"domain": "ball", "weights": "size", "eps": 0.1, "n_jobs": 1}
        comparison = compare_clusterings(X, {"truth": truth}, random_state=3, **settings)
        alone = affinity(X, truth, random_state=3, **settings)
        np.testing.assert_array_equal(comparison.results["truth"].affinity, alone.affinity)

    def test_best_and_floor_row_by_row(self, rng):
        X = rng.normal(size=(40, 3))
        given = {"three": np.arange(40) % 3, "five": np.arange(40) % 5}
        comparison = compare_clusterings(X, given, random_state=0)
        for row in range(40):
            above = {}
            for name, k in (("three", 3), ("five", 5)):
                confidence = comparison.results[name].confidence[row]
                above[name] = (confidence - 1 / k) / (1 - 1 / k)
            assert comparison.best[row] == max(above, key=above.get)
            np.testing.assert_allclose(comparison.above_floor[row], list(above.values()), rtol=1e-12)

    def test_candidate_lines(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(X, candidates(truth), random_state=0)
        lines = comparison.candidates()
        assert [line.name for line in lines] == comparison.names
        assert sum(line.best_for for line in lines) == 61
        for line in lines:
            assert line.n_clusters == 3
            assert line.stable == pytest.approx(60 / 61)
            assert line.confidence == comparison.results[line.name].confidence.mean()
            assert line.best_for == (comparison.best == line.name).sum()

    def test_seed_is_resolved_once(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(X, {"a": truth, "b": truth}, domain="ball", method="shared")
        np.testing.assert_array_equal(comparison.results["a"].affinity, comparison.results["b"].affinity)
        assert comparison.results["a"].how.seed == comparison.results["b"].how.seed


class TestCandidates:
    def test_an_estimator_is_left_as_it_was(self, blobs):
        X, _ = blobs
        estimator = KMeans(3, random_state=0)
        compare_clusterings(X, {"k-means": estimator}, random_state=0)
        assert not hasattr(estimator, "labels_")

    def test_a_frozen_one_keeps_its_clusters(self, blobs):
        X, _ = blobs
        fitted = KMeans(3, n_init=5, random_state=0).fit(X[:60])
        comparison = compare_clusterings(X, {"frozen": FrozenEstimator(fitted)}, random_state=0)
        np.testing.assert_array_equal(comparison.results["frozen"].label, fitted.predict(X))

    def test_one_that_only_predicts(self, blobs):
        X, _ = blobs
        mixture = GaussianMixture(3, random_state=0, n_init=3)
        comparison = compare_clusterings(X, {"mixture": mixture}, random_state=0)
        assert comparison.results["mixture"].n_clusters == 3

    def test_noise_is_scored(self, blobs):
        X, _ = blobs
        comparison = compare_clusterings(X, {"dbscan": DBSCAN(eps=2.0)}, random_state=0)
        assert comparison.results["dbscan"].label[-1] == -1
        assert comparison.none_sure[-1]

    def test_sparse_data(self, blobs):
        X, truth = blobs
        dense = compare_clusterings(X, {"truth": truth}, random_state=0)
        sparse = compare_clusterings(sp.csr_array(X), {"truth": truth}, random_state=0)
        np.testing.assert_allclose(sparse.confidence, dense.confidence, atol=1e-12)


class TestShown:
    def test_frame_has_a_row_per_point_and_three_columns_per_candidate(self, blobs):
        import pandas as pd

        X, truth = blobs
        index = pd.Index([f"p{i}" for i in range(61)])
        names = np.array(["red", "green", "blue"])[truth]
        given = {"numbers": truth, "names": names}
        comparison = compare_clusterings(pd.DataFrame(X, index=index, columns=["x", "y"]), given, random_state=0)
        frame = comparison.to_frame()
        assert list(frame.columns) == [
            *[f"{what}_{name}" for name in given for what in ("label", "confidence", "stable")],
            "best",
            "n_sure",
        ]
        assert frame.index.equals(index)
        assert frame["label_names"].tolist() == names.tolist()
        np.testing.assert_array_equal(frame["confidence_numbers"], comparison.confidence[:, 0])
        np.testing.assert_array_equal(frame["n_sure"], comparison.n_sure)

    def test_polars_in_polars_out(self, blobs):
        X, truth = blobs
        comparison = compare_clusterings(pl.DataFrame(X, schema=["x", "y"]), {"truth": truth}, random_state=0)
        assert isinstance(comparison.to_frame(), pl.DataFrame)
        import pandas as pd

        assert isinstance(comparison.to_frame(like=pd.DataFrame(X)), pd.DataFrame)

    def test_summary_counts_what_any_and_what_none_is_sure_of(self, blobs):
        X, truth = blobs
        text = repr(compare_clusterings(X, candidates(truth), random_state=0))
        assert "3 clusterings of 61 points" in text
        assert "60 stable in every candidate, 0 in some, 1 in none" in text
        for name in ("truth", "moved", "k-means"):
            assert name in text
        assert "Fewer clusters" not in text

    def test_summary_warns_of_different_numbers_of_clusters(self, blobs):
        X, truth = blobs
        assert "Fewer clusters" in repr(compare_clusterings(X, {"two": truth > 0, "three": truth}, random_state=0))
        two = compare_clusterings(X, {"two": truth > 0}, random_state=0)
        assert "Fewer clusters" in repr(two)
        assert "Fewer clusters" in two._repr_html_()

    def test_html_is_escaped(self, blobs):
        X, truth = blobs
        page = compare_clusterings(X, {"<b>mine</b>": truth}, random_state=0)._repr_html_()
        assert "&lt;b&gt;mine&lt;/b&gt;" in page
        assert "<b>mine</b>" not in page


X_BAD = np.random.default_rng(0).normal(size=(12, 3))
LABELS = np.arange(12) % 3


class TestBadInput:
    @pytest.mark.parametrize(
        ("clusterings", "kind"),
        [
            (None, TypeError),
            (LABELS, TypeError),
            ([LABELS, LABELS], TypeError),
            (KMeans(3), TypeError),
            ({}, ValueError),
            ({0: LABELS}, TypeError),
        ],
        ids=["None", "labels alone", "a list", "an estimator alone", "empty", "a number as a name"],
    )
    def test_clusterings(self, clusterings, kind):
        with pytest.raises(kind, match="clusterings"):
            compare_clusterings(X_BAD, clusterings)

    @pytest.mark.parametrize(
        "labels",
        [LABELS[:-1], LABELS[:, None], np.full(12, -1), LABELS + 0.5, None, "k-means", KMeans],
        ids=["too short", "2-D", "only noise", "fractional", "None", "a name", "a class"],
    )
    def test_a_bad_candidate_is_named(self, labels):
        with pytest.raises((TypeError, ValueError), match="labels") as caught:
            compare_clusterings(X_BAD, {"good": LABELS, "bad one": labels})
        assert "clusterings['bad one']" in "".join(caught.value.__notes__)

    @pytest.mark.parametrize(
        "X",
        [np.where(X_BAD > 1, np.nan, X_BAD), X_BAD[:, 0], np.empty((0, 3)), X_BAD + 1j, None],
        ids=["NaN", "1-D", "no rows", "complex", "None"],
    )
    def test_x(self, X):
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            compare_clusterings(X, {"mine": LABELS})

    @pytest.mark.parametrize("setting", [{"estimator": KMeans(3)}, {"centers": X_BAD[:3]}, {"epsilon": 0.1}])
    def test_settings_that_do_not_exist_here(self, setting):
        with pytest.raises(TypeError, match=next(iter(setting))):
            compare_clusterings(X_BAD, {"mine": LABELS}, **setting)

    @pytest.mark.parametrize(("name", "value"), [("eps", 0), ("domain", "cube"), ("random_state", -1), ("n_jobs", 0)])
    def test_settings_with_wrong_values(self, name, value):
        with pytest.raises(ValueError, match=name):
            compare_clusterings(X_BAD, {"mine": LABELS}, **{name: value})
