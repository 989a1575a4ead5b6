"""Pipelines: influence is measured where the clusterer works, and new points come there the same way."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from allegiance import AffinityScorer, affinity
from allegiance.displays import AffinityFieldDisplay
from allegiance.io.streams import score_stream

WINE = load_wine().data
KMEANS = KMeans(3, n_init=5, random_state=0)


@pytest.fixture(scope="module")
def customers():
    rng = np.random.default_rng(5)
    group = rng.integers(0, 3, 90)
    frame = pd.DataFrame(
        {
            "age": rng.normal(30 + 15 * group, 3),
            "plan": np.array(["basic", "plus", "pro"])[group],
            "spent": rng.normal(100 * group, 20),
        }
    )
    frame.loc[7, "age"] = np.nan
    return frame


def columns(**settings):
    """Return a column transformer that needs frames."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", **settings)
    return make_column_transformer((numbers, ["spent", "age"]), (categories, ["plan"]))


def test_wine_is_judged_in_the_space_its_clusters_are_in():
    scorer = AffinityScorer(make_pipeline(StandardScaler(), KMEANS), influence="euclidean")
    inside = scorer.fit_affinity(WINE)
    outside = affinity(WINE, scorer.labels_, influence="euclidean")
    closer = [result.review(178)["reason"].str.startswith("closer").sum() for result in (inside, outside)]
    assert closer == [2, 50]


ARRAYS = {
    "scaled": make_pipeline(StandardScaler(), KMEANS),
    "reduced": make_pipeline(StandardScaler(), PCA(4), KMEANS),
    "function": make_pipeline(FunctionTransformer(np.log1p), KMEANS),
    "passthrough": Pipeline([("a", "passthrough"), ("b", StandardScaler()), ("c", KMEANS)]),
    "nested": make_pipeline(StandardScaler(), make_pipeline(PCA(4), StandardScaler(), KMEANS)),
    "union": make_pipeline(FeatureUnion([("pca", PCA(2)), ("scale", StandardScaler())]), KMEANS),
    "columns by number": make_pipeline(ColumnTransformer([("a", StandardScaler(), slice(0, 6))]), KMEANS),
    "mixture": make_pipeline(StandardScaler(), GaussianMixture(3, random_state=0)),
    "frozen clusterer": make_pipeline(StandardScaler(), FrozenEstimator(clone(KMEANS).fit(WINE / 100))),
    "frozen": FrozenEstimator(make_pipeline(StandardScaler(), clone(KMEANS)).fit(WINE[::2])),
    "searched": GridSearchCV(
        make_pipeline(StandardScaler(), KMEANS), {"kmeans__n_clusters": [3]}, cv=2, scoring=lambda model, X, y=None: 0.0
    ),
}


def transformers_of(estimator):
    """Return what a user would write to get the transformers of a fitted pipeline."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    last = estimator[-1]
    return [*estimator[:-1], *(transformers_of(last) if isinstance(last, Pipeline) else [])]


@pytest.mark.parametrize("name", ARRAYS)
def test_scores_are_those_of_the_transformed_points_to_the_last_bit(name):
    influence = "euclidean" if name == "scaled" else "within"
    scorer = AffinityScorer(ARRAYS[name], influence=influence)
    result = scorer.fit_affinity(WINE)
    by_hand = WINE
    for step in transformers_of(scorer.estimator_):
        by_hand = by_hand if isinstance(step, str) else step.transform(by_hand)
    expected = AffinityScorer(influence=influence).fit(by_hand, scorer.labels_)
    np.testing.assert_array_equal(result.affinity, expected.transform(by_hand))
    np.testing.assert_array_equal(scorer.transform(WINE), result.affinity)
    np.testing.assert_array_equal(scorer.affinity(WINE, top=2).affinity, expected.affinity(by_hand, top=2).affinity)
    np.testing.assert_array_equal(scorer.predict(WINE), scorer.estimator_.predict(WINE))
    np.testing.assert_array_equal(scorer.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(scorer.preparation_.transform(WINE), by_hand)
    assert scorer.n_features_in_ == 13


def test_a_pipeline_without_transformers_is_its_clusterer():
    plain = AffinityScorer(KMEANS, influence="euclidean").fit(WINE)
    for estimator in (make_pipeline(KMEANS), Pipeline([("nothing", "passthrough"), ("kmeans", KMEANS)])):
        scorer = AffinityScorer(estimator, influence="euclidean").fit(WINE)
        assert scorer.preparation_ is None
        np.testing.assert_array_equal(scorer.transform(WINE), plain.transform(WINE))


@pytest.mark.parametrize("output", [None, "pandas", "polars"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_with_categories_and_missing_values_go_through(customers, output, kind, tmp_path):
    pipeline = make_pipeline(columns(sparse_output=False), PCA(3), KMEANS)
    if output is not None:
        pipeline.set_output(transform=output)
    frame = customers if kind is pd.DataFrame else pl.from_pandas(customers)
    scorer = AffinityScorer(pipeline, influence="within", calibration=3)
    result = scorer.fit_affinity(frame)
    by_hand = np.asarray(scorer.estimator_[:-1].transform(frame))
    np.testing.assert_array_equal(result.affinity, affinity(by_hand, scorer.labels_, influence="within").affinity)
    assert scorer.feature_names_in_.tolist() == ["age", "plan", "spent"]
    assert scorer.preparation_.get_feature_names_out().tolist() == ["pca0", "pca1", "pca2"]
    assert isinstance(result.frame(), kind)
    # Columns are found by name, in any order; others do not matter.
    other = customers[["spent", "plan", "age"]].assign(new=1)
    np.testing.assert_array_equal(scorer.affinity(other).trust, result.trust)
    with pytest.raises(ValueError, match=r"columns are missing.*age"):
        scorer.affinity(customers[["plan", "spent"]])


def test_sparse_steps_stay_sparse(customers):
    scorer = AffinityScorer(make_pipeline(OneHotEncoder(), KMEANS), influence="euclidean").fit(customers[["plan"]])
    assert sp.issparse(scorer.preparation_.transform(customers[["plan"]]))
    dense = OneHotEncoder(sparse_output=False).fit_transform(customers[["plan"]])
    np.testing.assert_allclose(
        scorer.transform(customers[["plan"]]), affinity(dense, scorer.labels_, influence="euclidean").affinity
    )
    reduced = make_pipeline(columns(), TruncatedSVD(2, random_state=0), KMEANS)
    assert AffinityScorer(reduced, influence="euclidean").fit(customers).cluster_centers_.shape == (3, 2)


def test_a_clusterer_that_cannot_predict_gives_the_labels_of_its_fit():
    scorer = AffinityScorer(make_pipeline(StandardScaler(), PCA(2), DBSCAN(0.5)), influence="euclidean").fit(WINE)
    np.testing.assert_array_equal(scorer.labels_, scorer.estimator_[-1].labels_)
    assert scorer.predict(WINE[:5]).shape == (5,)


class _Halving(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X[::2]


class _Resampling(_Halving):
    def fit_resample(self, X, y):
        return X, y


@pytest.mark.parametrize(
    ("estimator", "error", "reason"),
    [
        (make_pipeline(_Resampling(), KMEANS), TypeError, "adds or removes rows"),
        (make_pipeline(_Halving(), KMEANS), ValueError, "one row of numbers for each"),
        (make_pipeline(StandardScaler(), "passthrough"), TypeError, "must end in a clusterer"),
        (make_pipeline(StandardScaler(), PCA(2)), TypeError, "neither labels_ nor predict"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_a_reason(estimator, error, reason):
    with pytest.raises(error, match=reason):
        AffinityScorer(estimator, influence="euclidean").fit(WINE)


def test_new_points_that_the_transformers_cannot_fill_in_are_refused():
    scorer = AffinityScorer(make_pipeline(StandardScaler(), KMEANS), influence="euclidean").fit(WINE)
    broken = WINE[:3].copy()
    broken[1, 1] = np.nan
    with pytest.raises(ValueError, match=r"after the transformers before the clusterer.*NaN"):
        scorer.affinity(broken)


def test_dask_partitions_go_through_the_transformers(customers):
    dask = pytest.importorskip("dask.dataframe")
    array = pytest.importorskip("dask.array")
    scorer = AffinityScorer(make_pipeline(columns(), KMEANS), calibration=3, influence="euclidean").fit(customers)
    lazy = scorer.affinity(dask.from_pandas(customers.assign(new=0), npartitions=3))
    np.testing.assert_array_equal(lazy.compute(scheduler="threads").trust, scorer.affinity(customers).trust)
    plain = AffinityScorer(make_pipeline(StandardScaler(), KMEANS), influence="euclidean").fit(WINE)
    actual = plain.transform(array.from_array(WINE, chunks=(50, 13)))
    np.testing.assert_array_equal(actual.compute(scheduler="threads"), plain.transform(WINE))


def test_streams_go_through_the_transformers(customers, tmp_path):
    scorer = AffinityScorer(make_pipeline(columns(), KMEANS), calibration=3, influence="euclidean").fit(customers)
    customers.assign(name=range(90)).to_parquet(tmp_path / "customers.parquet")
    summary = score_stream(
        tmp_path / "customers.parquet", scorer, tmp_path / "scores.parquet", keep=["name"], batch_rows=20
    )
    assert summary.rows == 90
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    np.testing.assert_array_equal(scores["trust"], scorer.affinity(customers).trust)


def test_a_stream_does_not_ask_whether_transformers_can_be_saved(tmp_path):
    pipeline = make_pipeline(FunctionTransformer(lambda X: X / 2), KMEANS)
    scorer = AffinityScorer(pipeline, influence="euclidean").fit(WINE)
    np.save(tmp_path / "wine.npy", WINE)
    score_stream(tmp_path / "wine.npy", scorer, tmp_path / "scores.parquet", details=True, batch_rows=100)
    scores = pd.read_parquet(tmp_path / "scores.parquet").filter(like="affinity_")
    np.testing.assert_array_equal(scores.iloc[:, :3], scorer.transform(WINE))


def test_pictures_show_the_space_behind_the_transformers():
    pytest.importorskip("matplotlib").use("Agg")
    names = load_wine().feature_names
    frame = pd.DataFrame(WINE, columns=names)
    scorer = AffinityScorer(make_pipeline(StandardScaler(), KMEANS), influence="euclidean").fit(frame)
    bare = AffinityScorer(influence="euclidean").fit(StandardScaler().fit_transform(WINE), scorer.labels_)
    actual = AffinityFieldDisplay(scorer, frame, resolution=8).plot()
    expected = AffinityFieldDisplay(bare, StandardScaler().fit_transform(WINE), resolution=8).plot()
    # Columns of a frame lie in memory the other way round, which changes the rounding of principal axes.
    np.testing.assert_allclose(actual.position, expected.position, atol=1e-12)
    np.testing.assert_allclose(actual.field, expected.field, atol=1e-9)
    sliced = AffinityFieldDisplay(scorer, frame, features=("alcohol", "hue"), resolution=8).plot()
    assert (sliced.ax_.get_xlabel(), sliced.ax_.get_ylabel()) == ("alcohol", "hue")
