"""The stability curve: its numbers the long way, its suggestion on data whose clusters are known or absent."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from allegiance.applications._curve import StabilityCurve, _excess_by_chance, _reference_axes, _uniform_in_box
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import Polytope, affinity, stability_curve

FAST = {"eps": 0.1, "n_references": 3, "random_state": 0, "n_jobs": 1}


def blobs(k: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw 40 points around each of k centres: corners of a simplex, 10 standard deviations apart, or of a polygon."""
    if d >= k:
        centers = np.eye(k, d) * 10 / np.sqrt(2)
    else:
        angle = 2 * np.pi * np.arange(k) / k
        centers = np.zeros((k, d))
        centers[:, :2] = 10 / (2 * np.sin(np.pi / k)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.repeat(centers, 40, axis=0) + rng.normal(size=(40 * k, d))


def curve_of(excess, spread=0.02, chance=0.04) -> StabilityCurve:
    excess = np.array(excess)
    zero = np.zeros(excess.size)
    return StabilityCurve(np.arange(2, 2 + excess.size), excess, zero, zero, zero, np.full(excess.size, spread), chance)


class TestSuggestion:
    @pytest.mark.parametrize(("k", "d"), [(3, 2), (4, 2), (5, 2), (8, 2), (3, 10), (5, 3), (4, 10)])
    def test_finds_the_blobs(self, k, d, rng):
        sizes = range(2, k + 3)
        assert stability_curve(blobs(k, d, rng), KMeans(n_init=5), sizes, **FAST).suggested == k

    def test_at_the_blobs_every_point_is_stable_and_beyond_them_not(self, rng):
        curve = stability_curve(blobs(4, 2, rng), KMeans(n_init=5), (4, 8), **FAST)
        assert curve.unstable[0] == 0
        assert curve.confidence[0] > 0.9
        assert curve.unstable[1] > 0
        assert curve.confidence[1] < curve.confidence[0]

    def test_two_clusters_are_stable_in_the_data_and_in_the_reference(self, rng):
        curve = stability_curve(rng.normal(size=(80, 3)), KMeans(n_init=2), [2], **FAST)
        assert curve.unstable[0] == 0
        assert curve.reference_unstable[0] == 0

    def test_one_gaussian_has_no_suggestion(self, rng):
        curve = stability_curve(rng.normal(size=(300, 2)), KMeans(n_init=3), range(2, 7), **FAST)
        assert curve.suggested is None
        assert "No number of clusters" in repr(curve)

    def test_is_the_largest_excess_and_names_those_within_one_spread_of_it(self):
        curve = curve_of([0.01, 0.20, 0.21, 0.05])
        assert curve.suggested == 4
        np.testing.assert_array_equal(curve.contenders, [3, 4])
        assert "Suggested: 4 clusters; within one spread of it: 3." in repr(curve)
        np.testing.assert_array_equal(curve_of([0.01, 0.18, 0.21, 0.05]).contenders, [4])

    def test_is_none_where_chance_gives_as_much(self):
        assert curve_of([0.01, 0.039, 0.02], chance=0.04).suggested is None
        assert curve_of([0.01, 0.041, 0.02], chance=0.04).suggested == 3
        assert curve_of([-0.2, -0.1]).suggested is None

    def test_chance_is_the_most_any_draw_exceeds_the_mean_of_the_others(self, rng):
        draws = rng.normal(size=(5, 4))
        slow = max(draws[i, k] - np.delete(draws[:, k], i).mean() for i in range(5) for k in range(4))
        assert _excess_by_chance(draws) == pytest.approx(slow, rel=1e-12)


class TestAgainstTheLongWay:
    def test_the_datas_own_curve(self, rng):
        # The columns are already principal axes, and the box along them is the smaller one.
        X = rng.uniform(size=(60, 2)) * [1.0, 9.0]
        curve = stability_curve(X, KMeans(n_init=2, random_state=5), (2, 3, 5), **FAST)
        for i, k in enumerate((2, 3, 5)):
            labels = KMeans(k, n_init=2, random_state=5).fit_predict(X)
            alone = affinity(X, labels, random_state=0, eps=0.1)
            assert curve.confidence[i] == pytest.approx(alone.confidence.mean(), abs=1e-12)
            assert curve.unstable[i] == pytest.approx(1 - alone.stable.mean(), abs=1e-12)

    def test_axes_turn_with_the_data(self, rng):
        X = blobs(4, 3, rng) @ np.diag([3.0, 1.0, 0.5])
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        axes, turned_axes = _reference_axes(X @ turn), _reference_axes(X @ turn @ turn)
        # Neither turned version lies along its columns, so both boxes lie along the principal axes.
        np.testing.assert_allclose(np.abs(axes @ turn @ turned_axes.T), np.eye(3), atol=1e-9)

    def test_spread_is_that_of_the_reference(self, rng):
        X = rng.uniform(size=(50, 2))
        runs = [stability_curve(X, KMeans(n_init=1), [3], **{**FAST, "n_references": m}) for m in (2, 3)]
        two, three = (run.reference_confidence[0] for run in runs)
        third = 3 * three - 2 * two
        half_gap = runs[0].spread[0] / np.sqrt(1.5) / np.sqrt(2)
        draws = [two - half_gap, two + half_gap, third]
        assert runs[1].spread[0] == pytest.approx(np.std(draws, ddof=1) * np.sqrt(4 / 3))
        assert runs[1].chance == pytest.approx(max(draws[i] - np.delete(draws, i).mean() for i in range(3)))
        np.testing.assert_array_equal(runs[1].excess, runs[1].confidence - runs[1].reference_confidence)

    def test_same_seed_same_curve(self, rng):
        X = rng.normal(size=(60, 4))
        first, again = (stability_curve(X, KMeans(n_init=1), (2, 4), **FAST) for _ in range(2))
        np.testing.assert_array_equal(first.confidence, again.confidence)
        np.testing.assert_array_equal(first.spread, again.spread)
        other = stability_curve(X, KMeans(n_init=1), (2, 4), **{**FAST, "random_state": 1})
        assert (first.reference_confidence != other.reference_confidence).all()


class TestReference:
    def test_principal_axes_follow_a_subspace(self, rng):
        X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5))
        X = X + 0.01 * rng.normal(size=X.shape)
        drawn = _uniform_in_box(X, _reference_axes(X), rng)
        lengths = np.linalg.svd(drawn - drawn.mean(axis=0), compute_uv=False)
        assert lengths[2] < 0.05 * lengths[1]

    def test_columns_are_kept_where_their_box_is_smaller(self):
        # The grid's variance is equal in all directions: principal axes could be any.
        axis = np.linspace(-1, 1, 15)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        np.testing.assert_array_equal(np.abs(_reference_axes(grid)) > 0.5, np.eye(2) > 0.5)

    @pytest.mark.parametrize("shape", [(40, 3), (6, 20)], ids=["tall", "wide"])
    def test_fills_the_box_and_no_more(self, rng, shape):
        X = rng.normal(size=shape) + 50.0
        axes = _reference_axes(X)
        drawn = _uniform_in_box(X, axes, rng)
        along, own = drawn @ axes.T, X @ axes.T
        assert (along >= own.min(axis=0) - 1e-9).all()
        assert (along <= own.max(axis=0) + 1e-9).all()
        # What X does not vary in stays as it is.
        rest = np.eye(shape[1]) - axes.T @ axes
        np.testing.assert_allclose(drawn @ rest, np.broadcast_to(X.mean(axis=0) @ rest, shape), atol=1e-9)

    def test_constant_columns(self, rng):
        X = np.column_stack([rng.normal(size=(60, 2)), np.full(60, 7.0)])
        curve = stability_curve(X, KMeans(n_init=1), (2, 3), **FAST)
        flat = stability_curve(X[:, :2], KMeans(n_init=1), (2, 3), **FAST)
        np.testing.assert_allclose(curve.confidence, flat.confidence, atol=0.02)

    def test_counts_stay_positive_for_a_divergence_that_needs_it(self, rng):
        X = rng.poisson(5.0, size=(60, 3)) + 1.0
        curve = stability_curve(X, KMeans(n_init=1), (2, 3), divergence="kl", **FAST)
        assert np.isfinite(curve.excess).all()

    def test_a_polytope_in_the_coordinates_of_x(self, rng):
        X = rng.normal(size=(60, 2)) @ np.array([[1.0, 1.0], [-0.1, 0.1]])
        curve = stability_curve(X, KMeans(n_init=1), (2, 3), domain=Polytope.box([-9, -9], [9, 9]), **FAST)
        alone = affinity(
            X,
            KMeans(3, n_init=1, random_state=0).fit_predict(X),
            domain=Polytope.box([-9, -9], [9, 9]),
            random_state=0,
        )
        assert curve.confidence[1] == pytest.approx(alone.confidence.mean(), abs=1e-12)


class TestClusterers:
    @pytest.mark.parametrize(
        "clusterer",
        [
            AgglomerativeClustering(),
            GaussianMixture(covariance_type="spherical"),
            lambda k: make_pipeline(StandardScaler(), KMeans(k, n_init=5, random_state=0)),
            lambda k: KMeans(k, n_init=5),
        ],
        ids=["n_clusters", "n_components", "function, pipeline", "function"],
    )
    def test_kinds(self, clusterer, rng):
        curve = stability_curve(blobs(3, 2, rng), clusterer, (2, 3, 4), **FAST)
        assert curve.suggested == 3

    def test_is_left_as_it_was(self, rng):
        estimator, returned = KMeans(n_init=1), KMeans(3, n_init=1)
        stability_curve(rng.normal(size=(30, 2)), estimator, [2], **FAST)
        stability_curve(rng.normal(size=(30, 2)), lambda k: returned, [3], **FAST)
        for one in (estimator, returned):
            assert not hasattr(one, "labels_")
            assert one.random_state is None


class TestShown:
    def test_frame_and_order(self, rng):
        curve = stability_curve(rng.normal(size=(40, 2)), KMeans(n_init=1), [4, 2, 4, 3], **FAST)
        frame = curve.to_frame()
        assert frame["n_clusters"].tolist() == [2, 3, 4]
        assert list(frame.columns) == [
            "n_clusters",
            "unstable",
            "confidence",
            "reference_unstable",
            "reference_confidence",
            "excess",
            "spread",
        ]
        assert isinstance(curve.to_frame(like=pl.DataFrame({"a": [1]})), pl.DataFrame)

    def test_summary_marks_the_suggestion_and_gives_the_caveat(self):
        curve = curve_of([0.01, 0.30, 0.05])
        lines = repr(curve).splitlines()
        assert [line for line in lines if "<- suggested" in line] == [lines[4]]
        assert lines[4].split()[0] == "3"
        assert "Suggested: 3 clusters." in lines
        assert curve.caveat in lines
        assert "hint" in curve.caveat


X = np.random.default_rng(0).normal(size=(12, 3))


class TestBadInput:
    @pytest.mark.parametrize(
        "data",
        [np.where(X > 1, np.nan, X), X[:, 0], np.empty((0, 3)), X + 1j, None, np.sign(X) * 1e308],
        ids=["NaN", "1-D", "no rows", "complex", "None", "too large"],
    )
    def test_x(self, data):
        with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
            stability_curve(data, KMeans(n_init=1), (2, 3))

    def test_sparse_x(self):
        with pytest.raises(TypeError, match="X is sparse"):
            stability_curve(sp.csr_array(X), KMeans(n_init=1), (2, 3))

    @pytest.mark.parametrize(
        "clusterer",
        [None, KMeans, "k-means", DBSCAN(), lambda k: None, make_pipeline(StandardScaler(), KMeans())],
        ids=["None", "a class", "a name", "no number of clusters", "function of nothing", "pipeline"],
    )
    def test_clusterer(self, clusterer):
        with pytest.raises(TypeError, match="clusterer"):
            stability_curve(X, clusterer, (2, 3))

    @pytest.mark.parametrize(
        ("sizes", "kind"),
        [
            (3, TypeError),
            ("23", TypeError),
            (None, TypeError),
            ([2.5], TypeError),
            ([True], TypeError),
            ([], ValueError),
            ([1, 2], ValueError),
            ([0], ValueError),
            ([2, 13], ValueError),
        ],
    )
    def test_n_clusters(self, sizes, kind):
        with pytest.raises(kind, match="n_clusters"):
            stability_curve(X, KMeans(n_init=1), sizes)

    @pytest.mark.parametrize(
        ("name", "value", "kind"),
        [
            ("n_references", 0, ValueError),
            ("n_references", 1, ValueError),
            ("n_references", 2.0, TypeError),
            ("random_state", -1, ValueError),
            ("random_state", "seed", TypeError),
            ("eps", 0, ValueError),
            ("domain", "cube", ValueError),
            ("kernel", "precomputed", ValueError),
            ("estimator", KMeans(3), TypeError),
            ("centers", X[:3], TypeError),
            ("epsilon", 0.1, TypeError),
        ],
    )
    def test_settings(self, name, value, kind):
        with pytest.raises(kind, match=name):
            stability_curve(X, KMeans(n_init=1), (2, 3), **{name: value})
