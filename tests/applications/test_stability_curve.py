"""The stability curve: its numbers the long way, its suggestion on data whose clusters are known or absent."""

import numpy as np
import polars as pl
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import stability_curve
from allegiance.applications import StabilityCurve, split_and_merged
from allegiance.calibration import Calibration, replicate
from allegiance.clusterers import BregmanKMeans

FAST = {"n_references": 4, "n_resamples": 6, "n_jobs": 1}
QUICK = {"n_references": 2, "n_resamples": 2, "n_jobs": 1}


def blobs(k: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Draw 40 points around each corner of a simplex or polygon, 10 standard deviations apart."""
    if d >= k:
        centers = np.eye(k, d) * 10 / np.sqrt(2)
    else:
        angle = 2 * np.pi * np.arange(k) / k
        centers = np.zeros((k, d))
        centers[:, :2] = 10 / (2 * np.sin(np.pi / k)) * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.repeat(centers, 40, axis=0) + rng.normal(size=(40 * k, d))


def curve_of(above, reference=(0.4, 0.5, 0.6), **settings) -> StabilityCurve:
    above, draws = np.array(above), np.array(reference)
    by_resample, repeated = np.repeat(above[:, None], 3, axis=1), np.repeat(draws[:, None], above.size, axis=1)
    sizes = np.arange(2, 2 + above.size)
    return StabilityCurve(
        **{"values": sizes, "n_clusters": sizes} | settings, by_resample=by_resample, reference=repeated
    )


class TestSuggestion:
    @pytest.mark.parametrize(("k", "d"), [(3, 2), (5, 2), (4, 10)])
    def test_finds_the_blobs(self, k, d, rng):
        assert stability_curve(blobs(k, d, rng), KMeans(n_init=3), range(k - 1, k + 2), **FAST).suggestion == k

    def test_null_data_do_not_fill_the_corners_of_the_range(self):
        X, _ = make_blobs(300, centers=[[0, 0], [8, 0], [4, 7]], random_state=0)
        curve = stability_curve(X, KMeans(n_init=3, random_state=0), range(2, 6), n_resamples=10, n_jobs=1)
        assert curve.suggestion == 3

    def test_two_groups_of_two_are_four(self, rng):
        X = np.repeat([[0, 0], [8, 0], [100, 0], [108, 0]], 40, axis=0) + rng.normal(size=(160, 2))
        curve = stability_curve(X, KMeans(n_init=3), (2, 3, 4, 5), n_references=4, n_resamples=10, n_jobs=1)
        assert {2, 4} <= set(curve.contenders)
        assert curve.suggestion == 4

    # By chance a uniform draw is suggested once in n_references + 1 times; the seed is fixed.
    @pytest.mark.parametrize("kind", ["normal", pytest.param("uniform", marks=pytest.mark.slow)])
    def test_one_cloud_has_no_suggestion(self, kind, rng):
        X = getattr(rng, kind)(size=(200, 2))
        curve = stability_curve(X, KMeans(n_init=2), (2, 3, 5), **FAST | {"n_references": 8})
        assert curve.suggestion is None
        assert curve.recommendation.startswith("No k ")

    def test_is_the_finest_that_ties_with_the_best(self):
        assert curve_of([0.99, 0.70, 0.98, 0.96]).suggestion == 4
        assert curve_of([0.99, 0.70, 0.96, 0.80]).suggestion == 2
        np.testing.assert_array_equal(curve_of([0.99, 0.70, 0.98, 0.96]).contenders, [2, 4])
        assert "As stable: 2" in repr(curve_of([0.99, 0.70, 0.98, 0.96]))
        fewer = curve_of([0.99, 0.98, 0.99], values=np.array([0.1, 0.2, 0.3]), n_clusters=np.array([7, 7, 3]))
        assert fewer.suggestion == 0.1
        as_by_chance = (0.8, 0.85, 0.9)
        assert curve_of([0.4, 0.9, 0.6], as_by_chance).suggestion is None
        assert curve_of([0.4, 0.95, 0.6], as_by_chance).suggestion == 3

    def test_nine_of_ten_subsamples_must_come_back_better_than_any_draw(self):
        sizes, reference = np.array([2, 3]), np.array([[0.3, 0.5], [0.9, 0.4], [0.2, 0.3]])
        lucky, unlucky = np.full(20, 0.97), np.where(np.arange(20) < 3, 0.5, 0.97)
        curves = [StabilityCurve(sizes, sizes, np.array([two, lucky - 0.5]), reference) for two in (lucky, unlucky)]
        assert [curve.contrast > curve.contrast_by_chance for curve in curves] == [True, True]
        assert [curve.suggestion for curve in curves] == [2, None]
        assert "stands out:" not in curves[1].recommendation
        # Of two contenders the finer one has bad luck too often: the other is suggested.
        coarser = StabilityCurve(
            sizes, sizes, np.array([lucky, unlucky]), np.array([[0.3, 0.6], [0.9, 0.5], [0.2, 0.4]])
        )
        assert coarser.suggestion == 2

    def test_contrast_compares_doubt_for_the_same_value(self):
        sizes, reference = np.array([2, 3]), np.array([[0.9, 0.5], [0.8, 0.4], [0.95, 0.3]])
        curve = StabilityCurve(sizes, sizes, np.array([[0.7, 0.7], [0.9, 0.9]]), reference)
        assert curve.contrast == pytest.approx((1 - 0.4 + 0.02) / (1 - 0.9 + 0.02))
        # Each draw is most stable with 2 clusters, and is compared with the median of the two others.
        by_hand = [(1 - others + 0.02) / (1 - own + 0.02) for own, others in ((0.9, 0.875), (0.8, 0.925), (0.95, 0.85))]
        assert curve.contrast_by_chance == pytest.approx(max(by_hand))
        assert curve.suggestion == 3


class TestAnyParameter:
    def test_a_radius(self, rng):
        curve = stability_curve(blobs(3, 2, rng), DBSCAN(), [0.01, 1.5, 2.0, 50.0], param="eps", **FAST)
        assert curve.param == "eps"
        assert curve.n_clusters.tolist() == [0, 3, 3, 1]
        assert curve.above_chance[[0, 3]].tolist() == [0.0, 0.0]
        assert curve.suggestion in (1.5, 2.0)
        assert f"eps = {curve.suggestion:g} (3 clusters) stands out" in repr(curve)
        assert curve.frame().columns[0] == "eps"
        assert "eps" in curve._repr_html_()

    def test_a_step_of_a_pipeline(self, rng):
        pipeline = make_pipeline(StandardScaler(), KMeans(n_init=3))
        X = blobs(3, 2, rng)
        curve, again = (stability_curve(X, pipeline, (2, 3, 4), param="kmeans__n_clusters", **FAST) for _ in range(2))
        assert curve.contenders[-1] == 3
        np.testing.assert_array_equal(curve.reference, again.reference)
        assert pipeline[-1].random_state is None
        assert not hasattr(pipeline[-1], "labels_")

    @pytest.mark.parametrize(
        "clusterer",
        [
            AgglomerativeClustering(),
            GaussianMixture(covariance_type="spherical"),
            lambda k: make_pipeline(StandardScaler(), KMeans(k, n_init=5, random_state=0)),
            lambda X, k: KMeans(k, n_init=5, random_state=0).fit_predict(X),
        ],
        ids=["n_clusters", "n_components", "function, pipeline", "function of X"],
    )
    def test_kinds_of_clusterers(self, clusterer, rng):
        assert stability_curve(blobs(3, 2, rng), clusterer, (2, 3, 4), **FAST).suggestion == 3

    def test_the_clusterer_itself_is_repeated(self, rng):
        angle = rng.uniform(0, 2 * np.pi, 200)
        rings = np.repeat([1.0, 4.0], 100)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        curve = stability_curve(rings, AgglomerativeClustering(linkage="single"), [2], **FAST)
        assert curve.above_chance[0] == pytest.approx(1.0)


class TestAgainstTheLongWay:
    def test_the_datas_own_curve(self, rng):
        X = rng.normal(size=(60, 2))
        curve = stability_curve(X, KMeans(n_init=2, random_state=5), (2, 3), **FAST)
        for i, k in enumerate((2, 3)):
            clusterer = KMeans(k, n_init=2, random_state=5)
            actual = replicate(X, clusterer.fit_predict(X), clusterer, calibration=Calibration(6), seed=0, share=1 / 3)
            np.testing.assert_array_equal(curve.by_resample[i], actual.above_chance)
            assert curve.above_chance[i] == pytest.approx(np.median(actual.above_chance))

    def test_many_rows_are_sampled(self, rng):
        sizes = set()

        class Counting(KMeans):
            def fit(self, X, y=None, sample_weight=None):
                sizes.add(len(X))
                return super().fit(X)

        stability_curve(rng.normal(size=(2500, 2)), Counting(n_init=1), [2], **QUICK)
        assert max(sizes) == 2000


def test_the_reference_stays_positive_for_a_divergence_that_needs_it(rng):
    X = rng.poisson(5.0, size=(60, 3)) + 1.0
    curve = stability_curve(X, BregmanKMeans(influence="kl", n_init=1), (2, 3), **QUICK)
    assert np.isfinite(curve.reference).all()
    assert curve.reference.any()


class TestShown:
    def test_frame_and_order(self, rng):
        curve = stability_curve(rng.normal(size=(40, 2)), KMeans(n_init=1), [4, 2, 4, 3], **FAST)
        frame = curve.frame()
        assert frame["n_clusters"].tolist() == frame["n_clusters_found"].tolist() == [2, 3, 4]
        assert (frame["low"] <= frame["above_chance"]).all()
        assert (frame["above_chance"] <= frame["high"]).all()
        assert frame["reference_high"].max() == curve.reference.max()
        assert isinstance(curve.frame(like=pl.DataFrame({"a": [1]})), pl.DataFrame)
        assert curve_of([0.5, 0.9]).frame()["suggested"].tolist() == [False, True]

    def test_summary_marks_the_suggestion_and_gives_the_caveat(self):
        curve = curve_of([0.51, 0.90, 0.55])
        lines = repr(curve).splitlines()
        assert [line for line in lines if "<- suggested" in line] == [lines[5]]
        assert lines[5].split()[:2] == ["3", "0.900"]
        assert curve.caveat in lines


def blobs_with_known_faults(seed):
    """Four groups: the first is cut in two, the last two are taken for one."""
    X, y = make_blobs(400, n_features=5, centers=4, center_box=(-8, 8), random_state=seed)
    half = (y == 0) & (X[:, 0] > np.median(X[y == 0, 0]))
    return X, np.select([half, y == 0, y == 1], ["a", "b", "c"], "d")


class TestSplitAndMerged:
    @pytest.mark.parametrize("seed", range(3))
    def test_known_faults_are_named(self, seed):
        X, labels = blobs_with_known_faults(seed)
        kmeans = KMeans(4, n_init=3, random_state=0)
        actual = split_and_merged(X, labels, kmeans)
        assert actual["problem"].tolist() == ["over-split", "over-split", "", "merged"]
        assert actual["partner"].tolist() == ["b", "a", "", ""]
        assert actual["points"].tolist() == [50, 50, 100, 200]
        assert (actual["jaccard"] > 0.75).tolist() == [False, False, True, False]
        assert actual["jaccard_together"].dropna().min() > 0.75
        noisy = np.where(np.arange(400) % 10 == 0, -1, np.unique(labels, return_inverse=True)[1])
        without = split_and_merged(X, noisy, kmeans)
        assert without["cluster"].tolist() == [0, 1, 2, 3]
        assert without["points"].sum() == 360
        assert without["problem"].tolist() == actual["problem"].tolist()

    @pytest.mark.parametrize(("centers", "k"), [(5, 5), (1, 5)])
    def test_no_false_alarms(self, centers, k):
        for seed in range(5):
            X, _ = make_blobs(400, n_features=5, centers=centers, center_box=(-8, 8), random_state=seed)
            kmeans = KMeans(k, n_init=3, random_state=seed)
            assert set(split_and_merged(X, kmeans.fit_predict(X), kmeans)["problem"]) == {""}
