"""The stability curve: its numbers the long way, its suggestion on data whose clusters are known or absent."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityScorer, Calibration, stability_curve
from allegiance.applications import StabilityCurve, reference_axes, uniform_in_box
from allegiance.calibration import above_chance

SCORER = AffinityScorer(calibration=8, n_jobs=1)
FAST = {"n_references": 3, "scorer": SCORER}


def blobs(k: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw 40 points around each of k centres: corners of a simplex, 10 standard deviations apart, or of a polygon."""
    if d >= k:
        centers = np.eye(k, d) * 10 / np.sqrt(2)
    else:
        angle = 2 * np.pi * np.arange(k) / k
        centers = np.zeros((k, d))
        centers[:, :2] = 10 / (2 * np.sin(np.pi / k)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.repeat(centers, 40, axis=0) + rng.normal(size=(40 * k, d))


def curve_of(trust, reference=(0.4, 0.5, 0.6)) -> StabilityCurve:
    trust, draws = np.array(trust), np.array(reference)
    by_half, repeated = np.repeat(trust[:, None], 3, axis=1), np.repeat(draws[:, None], trust.size, axis=1)
    return StabilityCurve(np.arange(2, 2 + trust.size), by_half, repeated)


class TestSuggestion:
    @pytest.mark.parametrize(("k", "d"), [(3, 2), (4, 2), (5, 2), (8, 2), (3, 10), (5, 3), (4, 10)])
    def test_finds_the_blobs(self, k, d, rng):
        sizes = range(2, k + 3)
        assert stability_curve(blobs(k, d, rng), KMeans(n_init=5), sizes, **FAST).suggestion == k

    def test_two_groups_of_two_are_four(self, rng):
        X = np.repeat([[0, 0], [8, 0], [100, 0], [108, 0]], 40, axis=0) + rng.normal(size=(160, 2))
        curve = stability_curve(X, KMeans(n_init=5), range(2, 7), **FAST)
        assert {2, 4} <= set(curve.contenders)
        assert curve.suggestion == 4

    def test_beyond_the_blobs_trust_falls(self, rng):
        curve = stability_curve(blobs(4, 2, rng), KMeans(n_init=5), (4, 8), **FAST)
        assert curve.above_chance[0] > 0.95 > 0.9 > curve.above_chance[1]

    # By chance a uniform draw is suggested once in n_references + 1 times; the seed is fixed.
    @pytest.mark.parametrize("kind", ["normal", "uniform"])
    def test_one_cloud_has_no_suggestion(self, kind, rng):
        X = getattr(rng, kind)(size=(300, 2))
        curve = stability_curve(X, KMeans(n_init=3), range(2, 7), scorer=SCORER, n_references=10)
        assert curve.suggestion is None
        assert "No number of clusters" in repr(curve)

    def test_is_the_largest_number_that_ties_with_the_best(self):
        assert curve_of([0.99, 0.70, 0.98, 0.96]).suggestion == 4
        assert curve_of([0.99, 0.70, 0.96, 0.80]).suggestion == 2
        np.testing.assert_array_equal(curve_of([0.99, 0.70, 0.98, 0.96]).contenders, [2, 4])
        assert "Suggested: 4 clusters; as stable: 2;" in repr(curve_of([0.99, 0.70, 0.98, 0.96]))

    def test_contrast_compares_doubt_for_the_same_number_of_clusters(self):
        curve = StabilityCurve(
            np.array([2, 3]), np.array([[0.7, 0.7], [0.9, 0.9]]), np.array([[0.9, 0.5], [0.8, 0.4], [0.95, 0.3]])
        )
        assert curve.contrast == pytest.approx((1 - 0.4 + 0.02) / (1 - 0.9 + 0.02))
        # Each draw is most stable with 2 clusters, and is compared with the median of the two others.
        by_hand = [(1 - others + 0.02) / (1 - own + 0.02) for own, others in ((0.9, 0.875), (0.8, 0.925), (0.95, 0.85))]
        assert curve.contrast_by_chance == pytest.approx(max(by_hand))
        assert curve.suggestion == 3

    def test_is_none_where_chance_gives_as_much(self):
        reference = (0.8, 0.85, 0.9)
        assert curve_of([0.4, 0.9, 0.6], reference).suggestion is None
        assert curve_of([0.4, 0.95, 0.6], reference).suggestion == 3


class TestAgainstTheLongWay:
    def test_the_datas_own_curve(self, rng):
        X = rng.normal(size=(60, 2))
        curve = stability_curve(X, KMeans(n_init=2, random_state=5), (2, 3, 5), **FAST)
        for i, k in enumerate((2, 3, 5)):
            labels = KMeans(k, n_init=2, random_state=5).fit_predict(X)
            company = AffinityScorer(n_jobs=1).fit(X, labels).fitted_.company(X, labels, Calibration(8))
            by_half = [
                above_chance(kept[seen].mean(), company.chance)
                for kept, seen in zip(company.kept, company.seen, strict=True)
            ]
            np.testing.assert_allclose(curve.by_half[i], by_half, rtol=1e-12)
            assert curve.above_chance[i] == pytest.approx(np.median(by_half))

    def test_same_seed_same_curve_whatever_the_threads(self, rng):
        X = rng.normal(size=(80, 4))
        first, again, threads = (
            stability_curve(
                X, KMeans(n_init=1), (2, 4), n_references=2, scorer=AffinityScorer(calibration=4, n_jobs=jobs)
            )
            for jobs in (1, 1, 2)
        )
        for other in (again, threads):
            np.testing.assert_array_equal(first.by_half, other.by_half)
            np.testing.assert_array_equal(first.reference, other.reference)
        scorer = AffinityScorer(calibration=4, random_state=1)
        other = stability_curve(X, KMeans(n_init=1), (2, 4), n_references=2, scorer=scorer)
        assert (first.reference != other.reference).all()

    def test_many_rows_are_sampled(self, rng):
        X = np.repeat(blobs(3, 2, rng), 3, axis=0)
        scorer = AffinityScorer(calibration=Calibration(4, max_rows=60))
        curve = stability_curve(X, Counting(), (2, 3), scorer=scorer, n_references=2)
        assert Counting.rows == {120}
        assert curve.suggestion == 3

    def test_a_search_over_the_number_of_clusters_finds_the_blobs(self, rng):
        search = GridSearchCV(
            AffinityScorer(KMeans(n_init=3, random_state=0)), {"estimator__n_clusters": range(2, 8)}, cv=2
        ).fit(rng.permutation(blobs(4, 2, rng)))
        assert search.best_params_ == {"estimator__n_clusters": 4}


class Counting(KMeans):
    """k-means that remembers how many rows it was fitted to."""

    rows: ClassVar = set()

    def __init__(self, n_clusters=8):
        super().__init__(n_clusters, n_init=3, random_state=0)

    def fit(self, X, y=None, sample_weight=None):
        self.rows.add(len(X))
        return super().fit(X)


class TestReference:
    def test_principal_axes_follow_a_subspace(self, rng):
        X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 5))
        X = X + 0.01 * rng.normal(size=X.shape)
        drawn = uniform_in_box(X, reference_axes(X), rng)
        lengths = np.linalg.svd(drawn - drawn.mean(axis=0), compute_uv=False)
        assert lengths[2] < 0.05 * lengths[1]

    def test_columns_are_kept_where_their_box_is_smaller(self):
        # The grid's variance is equal in all directions: principal axes could be any.
        axis = np.linspace(-1, 1, 15)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        np.testing.assert_array_equal(np.abs(reference_axes(grid)) > 0.5, np.eye(2) > 0.5)

    @pytest.mark.parametrize("shape", [(40, 3), (6, 20)], ids=["tall", "wide"])
    def test_fills_the_box_and_no_more(self, rng, shape):
        X = rng.normal(size=shape) + 50.0
        axes = reference_axes(X)
        drawn = uniform_in_box(X, axes, rng)
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
        np.testing.assert_allclose(curve.above_chance, flat.above_chance, atol=1e-9)

    def test_counts_stay_positive_for_a_divergence_that_needs_it(self, rng):
        X = rng.poisson(5.0, size=(60, 3)) + 1.0
        scorer = AffinityScorer(influence="kl", calibration=3)
        curve = stability_curve(X, KMeans(n_init=1), (2, 3), n_references=2, scorer=scorer)
        assert np.isfinite(curve.reference).all()


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
        assert curve.suggestion == 3

    def test_is_left_as_it_was(self, rng):
        estimator, returned = KMeans(n_init=1), KMeans(3, n_init=1)
        stability_curve(rng.normal(size=(30, 2)), estimator, [2], **FAST)
        stability_curve(rng.normal(size=(30, 2)), lambda k: returned, [3], **FAST)
        for one in (estimator, returned):
            assert not hasattr(one, "labels_")
            assert one.random_state is None

    def test_halves_can_be_clustered_by_the_clusterer_itself(self, rng):
        angle = rng.uniform(0, 2 * np.pi, 200)
        X = np.repeat([1.0, 4.0], 100)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        single = AgglomerativeClustering(linkage="single")
        plain = stability_curve(X, single, [2], **FAST)
        refitted = stability_curve(X, single, [2], refit=True, **FAST)
        assert plain.above_chance[0] < 0.5
        assert refitted.above_chance[0] == pytest.approx(1.0)


class TestShown:
    def test_frame_and_order(self, rng):
        curve = stability_curve(rng.normal(size=(40, 2)), KMeans(n_init=1), [4, 2, 4, 3], **FAST)
        frame = curve.frame()
        assert frame["n_clusters"].tolist() == [2, 3, 4]
        columns = ["n_clusters", "above_chance", "low", "high", "reference", "reference_high", "suggested"]
        assert list(frame.columns) == columns
        assert (frame["low"] <= frame["above_chance"]).all()
        assert (frame["above_chance"] <= frame["high"]).all()
        assert frame["reference_high"].max() == curve.reference.max()
        assert isinstance(curve.frame(like=pl.DataFrame({"a": [1]})), pl.DataFrame)
        assert curve_of([0.5, 0.9]).frame()["suggested"].tolist() == [False, True]

    def test_summary_marks_the_suggestion_and_gives_the_caveat(self):
        curve = curve_of([0.51, 0.90, 0.55])
        lines = repr(curve).splitlines()
        assert [line for line in lines if "<- suggested" in line] == [lines[4]]
        assert lines[4].split()[:2] == ["3", "0.900"]
        assert any(line.startswith("Suggested: 3 clusters; ") for line in lines)
        assert curve.caveat in lines
        assert "hint" in curve.caveat

    def test_progress_ends_with_a_line_in_a_pipe(self, rng, capsys):
        scorer = AffinityScorer(calibration=2, verbose=True)
        stability_curve(rng.normal(size=(30, 2)), KMeans(n_init=1), (2, 3), n_references=2, scorer=scorer)
        shown = capsys.readouterr().err
        assert shown.startswith("stability curve")
        assert shown.count("\n") == 1


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
        ("settings", "kind", "message"),
        [
            ({"n_references": 0}, ValueError, "n_references"),
            ({"n_references": 1}, ValueError, "n_references"),
            ({"n_references": 2.0}, TypeError, "n_references"),
            ({"scorer": AffinityScorer(calibration=4, random_state=-1)}, ValueError, "random_state"),
            ({"scorer": AffinityScorer(calibration=4, domain="cube")}, ValueError, "domain"),
            ({"scorer": AffinityScorer(influence="precomputed", calibration=4)}, ValueError, "precomputed"),
            ({"scorer": AffinityScorer(KMeans(3), calibration=4)}, ValueError, "estimator"),
            ({"scorer": AffinityScorer(centers=X[:3], calibration=4)}, ValueError, "centers"),
            ({"scorer": AffinityScorer()}, ValueError, "calibration"),
            ({"scorer": 20}, TypeError, "scorer"),
        ],
    )
    def test_settings(self, settings, kind, message):
        with pytest.raises(kind, match=message):
            stability_curve(X, KMeans(n_init=1), (2, 3), **settings)
