"""AffinityScorer among its neighbours: scikit-learn, frames, pickles, threads, processes."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from allegiance import AffinityResult, AffinityScorer
from allegiance.influence import KL, Weights
from scenes import euclidean

Scorer = partial(AffinityScorer, influence="euclidean")

IRIS = load_iris().data


def blobs(n: int, d: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points and labels of k overlapping clusters."""
    X, labels = make_blobs(n, n_features=d, centers=k, cluster_std=4.0, center_box=(-6, 6), random_state=seed)
    return X, labels


def kmeans(k: int = 3) -> KMeans:
    return KMeans(k, n_init=1, random_state=0)


def assert_same(one: AffinityResult, other: AffinityResult) -> None:
    """Check that two results are the same to the last bit."""
    for name in ("affinity", "standard_error", "label", "classes", "typicality"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


class Recorder(ClusterMixin, BaseEstimator):
    """A clusterer that remembers the rows it was given."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def fit(self, X: Any, y: Any = None) -> Self:
        self.seen_ = X
        self.inner_ = clone(self.inner).fit(X)
        self.labels_ = self.inner_.labels_
        return self

    def predict(self, X: Any) -> np.ndarray:
        self.asked_ = X
        return self.inner_.predict(X)


class HasArray:
    """Nothing but ``__array__``, as some other array library might offer."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._values, dtype=dtype)


class TestAmongEstimators:
    def test_scores_after_a_scaler(self):
        pipeline = make_pipeline(StandardScaler(), Scorer(kmeans(), random_state=0))
        direct = Scorer(kmeans(), random_state=0)
        expected = direct.fit_transform(StandardScaler().fit_transform(IRIS))
        np.testing.assert_array_equal(pipeline.fit_transform(IRIS), expected)
        np.testing.assert_array_equal(pipeline.transform(IRIS), expected)
        np.testing.assert_array_equal(pipeline.predict(IRIS), direct.labels_)
        np.testing.assert_array_equal(pipeline.score_samples(IRIS), expected[np.arange(150), direct.labels_])

    def test_estimator_in_a_pipeline_does_not_cluster_by_the_classifiers_target(self):
        species = load_iris().target
        scorer = Scorer(kmeans(), random_state=0).fit(IRIS, species)
        np.testing.assert_array_equal(scorer.labels_, kmeans().fit(IRIS).labels_)

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_frozen_estimator_sees_the_names_of_its_columns(self, library):
        """It was fitted with them, and scikit-learn warns where they are missing; warnings are errors here."""
        frame = library.DataFrame({name: IRIS[:, i] for i, name in enumerate("abcd")})
        inner = kmeans().fit(frame)
        scorer = Scorer(FrozenEstimator(inner), calibration=2).fit(frame)
        results = [scorer.affinity(frame), scorer.affinity(frame, top=1), scorer.fit_affinity(frame)]
        for labels in (scorer.predict(frame), *(result.label for result in results)):
            np.testing.assert_array_equal(labels, inner.labels_)
        assert scorer.score(frame) > 0.5
        assert scorer.score_samples(frame).shape == (150,)

    def test_names_that_are_missing_are_said_to_be_the_scorers(self):
        scorer = Scorer().fit(pd.DataFrame(IRIS, columns=list("abcd")), load_iris().target)
        with pytest.warns(UserWarning, match="AffinityScorer was fitted with feature names"):
            scorer.affinity(IRIS[:3])

    def test_what_the_influence_adds_is_kept_from_the_clusterer(self):
        """Smoothed rows for the divergence, the frame as it came for the clusterer."""
        counts = pd.DataFrame(np.random.default_rng(0).poisson(2.0, (40, 3)).astype(float), columns=list("abc"))
        scorer = Scorer(Recorder(kmeans()), influence=KL(smoothing=0.5)).fit(counts)
        assert scorer.estimator_.seen_ is counts
        members = [counts[scorer.labels_ == i].mean(axis=0) for i in range(3)]
        np.testing.assert_allclose(scorer.cluster_centers_, members, rtol=1e-12)
        new = counts[:5] + 1.0
        for method in ("affinity", "predict", "score_samples", "score"):
            getattr(scorer, method)(new)
            pd.testing.assert_frame_equal(scorer.estimator_.asked_, new)
            scorer.estimator_.asked_ = None

    @pytest.mark.parametrize(
        "weights",
        [None, Weights("size", scale="auto"), Weights([4.0, 0.0, 0.0], scale="auto")],
        ids=["none", "size", "given"],
    )
    def test_labels_of_given_centers_are_those_of_predict(self, weights):
        centers = kmeans().fit(IRIS).cluster_centers_
        scorer = Scorer(centers=centers, weights=weights, random_state=0).fit(IRIS)
        np.testing.assert_array_equal(scorer.labels_, scorer.predict(IRIS))
        np.testing.assert_array_equal(scorer.fit_affinity(IRIS).label, scorer.affinity(IRIS).label)

    def test_refit_forgets_the_fit_before(self):
        labels = (IRIS[:, 2] > 2.5).astype(int) + 10
        scorer = Scorer(kmeans(), random_state=0).fit(IRIS)
        scorer.set_params(estimator=None).fit(IRIS, labels)
        fresh = Scorer(random_state=0).fit(IRIS, labels)
        assert not hasattr(scorer, "estimator_")
        assert_same(scorer.affinity(IRIS), fresh.affinity(IRIS))

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_set_output(self, library):
        kind = library.__name__
        X = library.DataFrame({f"x{i}": IRIS[:, i] for i in range(4)})
        scorer = Scorer(kmeans(), random_state=0).set_output(transform=kind)
        names = ["affinity_0", "affinity_1", "affinity_2"]
        for table in (scorer.fit_transform(X), scorer.transform(X)):
            assert isinstance(table, library.DataFrame)
            assert list(table.columns) == names
            np.testing.assert_array_equal(table.to_numpy(), scorer.affinity(X).affinity)
        assert list(scorer.get_feature_names_out()) == names
        assert list(scorer.feature_names_in_) == ["x0", "x1", "x2", "x3"]


class TestMetadataRouting:
    WEIGHT = np.where(np.arange(150) < 75, 1.0, 0.0)

    def test_sample_weight_reaches_the_estimator(self):
        expected = kmeans().fit(IRIS, sample_weight=self.WEIGHT)
        with sklearn.config_context(enable_metadata_routing=True):
            inner = kmeans().set_fit_request(sample_weight=True)
            for method in ("fit", "fit_affinity", "fit_transform", "fit_predict"):
                scorer = Scorer(inner)
                getattr(scorer, method)(IRIS, sample_weight=self.WEIGHT)
                np.testing.assert_array_equal(scorer.labels_, expected.labels_, err_msg=method)
        assert (expected.labels_ != kmeans().fit(IRIS).labels_).any()

    def test_sample_weight_passes_through_a_pipeline(self):
        expected = kmeans().fit(IRIS, sample_weight=self.WEIGHT)
        with sklearn.config_context(enable_metadata_routing=True):
            scaler = StandardScaler(with_mean=False, with_std=False).set_fit_request(sample_weight=False)
            scorer = Scorer(kmeans().set_fit_request(sample_weight=True))
            classifier = LogisticRegression().set_fit_request(sample_weight=False)
            pipeline = make_pipeline(scaler, scorer, classifier)
            pipeline.fit(IRIS, load_iris().target, sample_weight=self.WEIGHT)
        np.testing.assert_array_equal(pipeline[1].labels_, expected.labels_)

    @pytest.mark.parametrize("routing", [False, True])
    @pytest.mark.parametrize("inner", [None, kmeans()], ids=["labels", "estimator"])
    def test_metadata_not_requested_is_an_error(self, inner, routing):
        expected = (TypeError, ValueError, UnsetMetadataPassedError)
        with sklearn.config_context(enable_metadata_routing=routing), pytest.raises(expected, match="sample_weight"):
            Scorer(inner).fit(IRIS, load_iris().target, sample_weight=self.WEIGHT)


class TestLabels:
    @pytest.mark.parametrize(
        ("names", "kind"),
        [
            (["ant", "bee", "cat"], np.asarray),
            (["ant", "bee", "cat"], lambda values: np.asarray(values, dtype=object)),
            (["ant", "bee", "cat"], pd.Categorical),
            (["ant", "bee", "cat"], lambda values: pd.Series(values, index=np.arange(len(values)) + 7)),
            (["ant", "bee", "cat"], pl.Series),
            ([-7, 3, 40], np.asarray),
            ([-7, 3, 40], list),
            ([5, 6, 7], lambda values: np.asarray(values, dtype=np.uint8)),
            ([5, 6, 7], lambda values: np.asarray(values, dtype=np.float64)),
            ([5, 6, 7], lambda values: pd.Series(values, dtype="Int64")),
            ([2**62, 2**62 + 1, 2**62 + 2], np.asarray),
        ],
    )
    def test_labels_of_any_kind_name_the_columns(self, names, kind):
        X, codes = blobs(90, 2, 3)
        plain = euclidean(X, codes)
        result = euclidean(X, kind([names[code] for code in codes]))
        np.testing.assert_array_equal(result.affinity, plain.affinity)
        assert result.classes.tolist() == names
        assert result.label.tolist() == [names[code] for code in codes]
        assert result.frame(details=True)["owner"].tolist() == [
            names[code] for code in plain.frame(details=True)["owner"]
        ]
        assert result.rival.tolist() == [names[code] for code in plain.rival]

    def test_noise_is_scored_but_is_no_cluster(self):
        X, codes = blobs(90, 2, 3)
        noisy = np.where(np.arange(90) % 5 == 0, -1, codes)
        result = euclidean(X, noisy)
        assert result.affinity.shape == (90, 3)
        assert result.classes.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(result.label, noisy)
        centers = np.array([X[noisy == i].mean(axis=0) for i in range(3)])
        np.testing.assert_allclose(result.affinity, euclidean(X, centers=centers).affinity, atol=1e-12)

    @pytest.mark.parametrize(
        ("names", "k"), [([0, 1, 2, 3], 4), (["ant", "bee", "cat"], 3)], ids=["a centre more", "names in sorted order"]
    )
    def test_labels_and_centers_together(self, names, k):
        X, codes = blobs(90, 2, 3)
        labels = np.array(names)[codes]
        centers = np.array([[-4.0, 0.0], [0.0, 5.0], [3.0, -3.0], [9.0, 9.0]])[:k]
        both, alone = euclidean(X, labels, centers=centers), euclidean(X, centers=centers)
        np.testing.assert_array_equal(both.affinity, alone.affinity)
        np.testing.assert_array_equal(both.label, labels)
        nearest = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(alone.label, nearest)
        assert both.classes.tolist() == names
        assert alone.classes.tolist() == list(range(k))

    @pytest.mark.parametrize("representative", ["mean", "median", "medoid"])
    def test_representatives(self, representative):
        X, codes = blobs(61, 3, 3)
        scorer = Scorer(representative=representative).fit(X, codes)
        for i in range(3):
            members = X[codes == i]
            between = np.sqrt(((members[:, None] - members) ** 2).sum(axis=2))
            expected = {
                "mean": members.mean(axis=0),
                "median": np.median(members, axis=0),
                "medoid": members[between.sum(axis=1).argmin()],
            }
            np.testing.assert_allclose(scorer.cluster_centers_[i], expected[representative], rtol=1e-12)


@pytest.mark.parametrize(
    "scorer",
    [
        Scorer(kmeans(), random_state=0),
        Scorer(GaussianMixture(3, random_state=0), domain="ball", random_state=0),
        Scorer(AgglomerativeClustering(3), random_state=0),
        Scorer(centers=IRIS[[0, 75, 140]], engine="shared", random_state=0),
    ],
    ids=["KMeans", "mixture", "linkage", "centers"],
)
def test_methods_agree_on_points_of_the_fit_and_new_ones(scorer):
    fitted = scorer.fit_affinity(IRIS)
    np.testing.assert_array_equal(fitted.label, scorer.labels_)
    np.testing.assert_array_equal(fitted.affinity, scorer.affinity(IRIS).affinity)
    for points in (IRIS, IRIS[:20] + 0.1):
        result = scorer.affinity(points)
        np.testing.assert_array_equal(scorer.transform(points), result.affinity)
        np.testing.assert_array_equal(scorer.score_samples(points), result.own_affinity)
        np.testing.assert_array_equal(scorer.predict(points), result.label)
        assert len(result) == len(points)
    if isinstance(scorer.estimator, AgglomerativeClustering):
        np.testing.assert_array_equal(scorer.labels_, clone(scorer.estimator).fit(IRIS).labels_)
    else:
        np.testing.assert_array_equal(scorer.predict(IRIS), scorer.labels_)


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": np.ndarray.tolist,
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "objects": lambda X: X.astype(object),
    "__array__": HasArray,
    "pandas": lambda X: pd.DataFrame(X).add_prefix("x"),
    "pandas, nullable": lambda X: pd.DataFrame(X).add_prefix("x").astype("Float64"),
    "polars": pl.DataFrame,
    "pyarrow": lambda X: pa.table({f"x{i}": column for i, column in enumerate(X.T)}),
}


class TestKindsOfInput:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize(("d", "k"), [(2, 5), (7, 4), (20, 8)])
    def test_same_numbers_from_any_container(self, d, k, kind):
        X, labels = blobs(100, d, k)
        X = X.astype(np.float32).astype(np.float64)  # numbers that single precision holds too
        settings = {"eps": 0.1, "random_state": 0}
        assert_same(euclidean(KINDS[kind](X), labels, **settings), euclidean(X, labels, **settings))

    @pytest.mark.parametrize("matrix", [sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array])
    @pytest.mark.parametrize(("d", "k", "tolerance"), [(2, 5, 1e-11), (7, 4, 1e-11), (20, 8, 0.01)])
    def test_same_numbers_from_sparse_matrices(self, d, k, tolerance, matrix):
        X, labels = blobs(100, d, k)
        X[np.abs(X) < 3] = 0.0
        dense = euclidean(X, labels, eps=0.1, random_state=0)
        sparse = euclidean(matrix(X), labels, eps=0.1, random_state=0)
        np.testing.assert_allclose(sparse.affinity, dense.affinity, atol=tolerance)
        np.testing.assert_allclose(
            sparse.frame(details=True)["residual"], dense.frame(details=True)["residual"], atol=1e-6
        )
        np.testing.assert_array_equal(sparse.frame(details=True)["engine"], dense.frame(details=True)["engine"])

    @pytest.mark.parametrize(
        "dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
    )
    def test_integers_near_the_limits_of_their_type(self, dtype):
        limits = np.iinfo(dtype)
        rng = np.random.default_rng(0)
        at_top = (int(limits.max) - rng.integers(0, 50, (30, 2)).astype(object)).astype(dtype)
        at_bottom = (int(limits.min) + rng.integers(0, 50, (30, 2)).astype(object)).astype(dtype)
        X = np.concatenate([at_top, at_bottom])
        labels = np.repeat([0, 1], 30)
        result = euclidean(X, labels)
        assert_same(result, euclidean(X.astype(np.float64), labels))
        np.testing.assert_allclose(result.affinity.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(result.frame(details=True)["owner"], labels)


SAMPLED: dict[str, Any] = {"engine": "shared", "eps": 0.1}
BLOBS = blobs(50, 3, 4)


class TestRandomState:
    @pytest.mark.parametrize(
        "make",
        [lambda: 7, lambda: np.int64(7), lambda: np.random.default_rng(7), lambda: np.random.RandomState(7)],
        ids=["int", "np.int64", "Generator", "RandomState"],
    )
    def test_same_state_same_numbers(self, make):
        one = euclidean(*BLOBS, random_state=make(), **SAMPLED)
        assert_same(one, euclidean(*BLOBS, random_state=make(), **SAMPLED))

    @pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
    def test_generator_moves_on(self, make):
        generator = make(7)
        seeds = {euclidean(*BLOBS, random_state=generator, **SAMPLED).summary().measurement.seed for _ in range(3)}
        assert len(seeds) == 3

    @pytest.mark.parametrize("state", [None, np.random.default_rng(1)], ids=["None", "Generator"])
    def test_seed_on_record_replays_the_result(self, state):
        one = euclidean(*BLOBS, random_state=state, **SAMPLED)
        assert_same(one, euclidean(*BLOBS, random_state=one.summary().measurement.seed, **SAMPLED))

    def test_none_is_a_new_seed_at_each_fit_but_not_at_each_call(self):
        scorer = Scorer(random_state=None, **SAMPLED).fit(*BLOBS)
        first = scorer.affinity(BLOBS[0])
        assert_same(first, scorer.affinity(BLOBS[0]))
        second = scorer.fit(*BLOBS).affinity(BLOBS[0])
        assert first.summary().measurement.seed != second.summary().measurement.seed
        assert (first.affinity != second.affinity).any()

    def test_no_global_state_is_touched(self):
        before = np.random.get_state()  # noqa: NPY002, the very state that must not be touched
        euclidean(*BLOBS, **SAMPLED)
        after = np.random.get_state()  # noqa: NPY002
        np.testing.assert_array_equal(after[1], before[1])
        assert after[2] == before[2]


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
def test_new_points_may_have_another_precision_than_those_of_the_fit(fitted):
    X = make_blobs(90, 3, centers=3, random_state=0)[0]
    scorer = AffinityScorer(KMeans(3, n_init=1, random_state=0)).fit(X.astype(fitted))
    np.testing.assert_array_equal(scorer.predict(X.astype(np.float32)), scorer.predict(X))
