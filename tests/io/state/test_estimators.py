"""Saved transformers and clusterers: the same numbers to the last bit, or a refusal that names what it is."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from allegiance import AffinityScorer
from allegiance.io.state import read_state, write_state
from allegiance.io.state._containers import decode_transformer, encode_transformer
from allegiance.io.state._estimators import codecs, decode_estimator, encode_estimator
from allegiance.preparation import Dates, Numbers, Texts

WINE = load_wine().data
GAPS = np.where(np.random.default_rng(0).random(WINE.shape) < 0.05, np.nan, WINE)
WORDS = np.array([["a", "x"], ["b", "y"], ["a", "z"], ["c", "x"]], dtype=object)
TABLE = pd.DataFrame({"n": [1.5, np.nan, 3.0, 8.0], "w": ["u", "v", "u", "w"], "m": [1.0, 2.0, 4.0, 9.0]})
DAYS = np.array([["2024-01-01"], ["2024-05-31T12:00"], [None]], dtype=object)
MONEY = np.array([["$1,452.74"], ["26%"], [""]], dtype=object)


def kept(transformer, tmp_path):
    """Return a transformer as it comes back from a file."""
    state = {"format": "allegiance scorer", "version": 2, "transformer": encode_transformer(transformer, "it")}
    write_state(state, tmp_path / "it.scorer")
    return decode_transformer(read_state(tmp_path / "it.scorer")["transformer"])


TRANSFORMERS = {
    "numbers": (Numbers(missing=(-999.0, "?")), MONEY),
    "dates": (Dates(cycles=("year", "day")), DAYS),
    "texts": (Texts(missing=("?",)), WORDS),
    "standard": (StandardScaler(), WINE),
    "standard in single precision": (StandardScaler(), WINE.astype(np.float32)),
    "only centred": (StandardScaler(with_std=False), WINE),
    "standard with gaps": (StandardScaler(), GAPS),
    "min max": (MinMaxScaler((-1, 2)), WINE),
    "min max in single precision": (MinMaxScaler(), WINE.astype(np.float32)),
    "max abs": (MaxAbsScaler(), WINE),
    "robust": (RobustScaler(quantile_range=(10.0, 90.0)), WINE),
    "normalizer": (Normalizer("l1"), WINE),
    "binarizer": (Binarizer(threshold=2.0), WINE),
    "log": (FunctionTransformer(np.log1p, inverse_func=np.expm1), WINE),
    "identity": (FunctionTransformer(), WINE),
    "quantiles": (QuantileTransformer(n_quantiles=50, output_distribution="normal"), WINE),
    "one hot": (OneHotEncoder(), WORDS),
    "one hot of numbers": (OneHotEncoder(handle_unknown="ignore", sparse_output=False), np.array([[1], [3], [2]])),
    "one hot without the first": (OneHotEncoder(drop="first", dtype=np.float32), WORDS),
    "one hot with NaN": (OneHotEncoder(sparse_output=False), np.array([["a"], [np.nan], ["b"]], dtype=object)),
    "ordinal": (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS),
    "mean": (SimpleImputer(), GAPS),
    "median in single precision": (SimpleImputer(strategy="median"), GAPS.astype(np.float32)),
    "mode": (SimpleImputer(strategy="most_frequent", missing_values="x"), WORDS),
    "constant": (SimpleImputer(strategy="constant", fill_value=7.0), GAPS),
    "pca": (PCA(3, whiten=True), WINE),
    "svd": (TruncatedSVD(3, random_state=0), sp.csr_array(WINE)),
    "variance": (VarianceThreshold(0.5), WINE),
    "tf-idf": (TfidfTransformer(), sp.csr_array(np.round(WINE))),
    "pipeline": (make_pipeline(SimpleImputer(), StandardScaler(), PCA(2)), GAPS),
    "with a passthrough": (Pipeline([("a", "passthrough"), ("b", StandardScaler())]), WINE),
    "columns": (make_column_transformer((StandardScaler(), ["m", "n"]), (OneHotEncoder(), ["w"])), TABLE),
    "columns by kind": (
        make_column_transformer((SimpleImputer(), make_column_selector(dtype_include=float)), remainder="drop"),
        TABLE,
    ),
    "columns, the rest as it is": (
        ColumnTransformer([("words", OrdinalEncoder(), ["w"]), ("gone", "drop", ["m"])], remainder="passthrough"),
        TABLE,
    ),
    "columns, the rest transformed": (
        ColumnTransformer([("words", OneHotEncoder(), ["w"])], remainder=SimpleImputer(), sparse_threshold=0.0),
        TABLE,
    ),
    "columns by number": (ColumnTransformer([("a", PCA(2), slice(0, 4)), ("b", "passthrough", [7])]), WINE),
    "columns by mask": (ColumnTransformer([("a", MinMaxScaler(), np.arange(13) % 2 == 0)]), WINE),
    "columns inside a pipeline": (
        make_pipeline(make_column_transformer((make_pipeline(SimpleImputer(), PCA(1)), ["n", "m"])), StandardScaler()),
        TABLE,
    ),
    "frozen": (make_pipeline(FrozenEstimator(StandardScaler().fit(WINE)), PCA(2)), WINE),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_comes_back_from_a_file_and_makes_the_same(name, tmp_path):
    transformer, X = TRANSFORMERS[name]
    fitted = copy.deepcopy(transformer).fit(X)
    found = kept(fitted, tmp_path)
    expected, made = fitted.transform(X), found.transform(X)
    assert type(made) is type(expected)
    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(
        made.toarray() if sp.issparse(made) else made, expected.toarray() if sp.issparse(expected) else expected
    )
    assert found.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()
    if hasattr(fitted, "get_feature_names_out") and name != "frozen":
        assert found.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    # And once more, as a model that was loaded is saved again.
    again = kept(found, tmp_path).transform(X)
    np.testing.assert_array_equal(
        again.toarray() if sp.issparse(again) else again, made.toarray() if sp.issparse(made) else made
    )


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_the_kind_of_frame_that_was_asked_for_is_kept(output, tmp_path):
    columns = make_column_transformer((StandardScaler(), ["m", "n"]), (OneHotEncoder(sparse_output=False), ["w"]))
    fitted = make_pipeline(columns, VarianceThreshold()).set_output(transform=output).fit(TABLE.fillna(0.0))
    made = kept(fitted, tmp_path).transform(TABLE.fillna(0.0))
    expected = fitted.transform(TABLE.fillna(0.0))
    assert type(made) is type(expected)
    assert made.equals(expected)


@pytest.mark.parametrize(
    "clusterer",
    [
        KMeans(4, n_init=2, random_state=0),
        MiniBatchKMeans(4, n_init=1, random_state=0),
        GaussianMixture(4, random_state=0),
    ],
)
def test_a_clusterer_labels_new_points_as_before(clusterer):
    fitted = clusterer.fit(WINE[::2])
    found = decode_estimator(encode_estimator(fitted, "clusterer"))
    np.testing.assert_array_equal(found.predict(WINE), fitted.predict(WINE))
    assert repr(found) == repr(fitted)


def test_a_loaded_scorer_labels_points_as_its_clusterer_did(tmp_path):
    # Nearest by Euclidean distance, though influence is measured otherwise.
    scorer = AffinityScorer(KMeans(3, n_init=2, random_state=0), influence="within").fit(WINE)
    scorer.save(tmp_path / "wine.scorer")
    loaded = AffinityScorer.load(tmp_path / "wine.scorer")
    np.testing.assert_array_equal(loaded.predict(WINE), scorer.labels_)


class _Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


@pytest.mark.parametrize(
    ("transformer", "named"),
    [
        (_Own(), r"preparation\._own is _Own\(\), which cannot be saved: .*Known are Pipeline.*StandardScaler"),
        (PolynomialFeatures(), "PolynomialFeatures"),
        (KNNImputer(), "KNNImputer"),
        (FunctionTransformer(lambda X: X), "functiontransformer.func is <function"),
        (SimpleImputer(add_indicator=True), "add_indicator=True is not supported"),
        (OneHotEncoder(max_categories=2, sparse_output=False), "min_frequency and max_categories"),
    ],
)
def test_what_is_not_known_is_refused_by_name_and_leaves_no_file(transformer, named, tmp_path):
    scorer = AffinityScorer(make_pipeline(transformer, KMeans(2, n_init=1, random_state=0))).fit(WINE[:30, :2])
    with pytest.raises(TypeError, match=named):
        scorer.save(tmp_path / "own.scorer")
    assert list(tmp_path.iterdir()) == []


def _scaled():
    return encode_estimator(StandardScaler().fit(WINE), "it")


def test_files_cannot_name_other_classes_attributes_or_functions():
    with pytest.raises(ValueError, match="'Popen', which this allegiance does not know"):
        decode_estimator(_scaled() | {"class": "Popen"})
    state = _scaled()
    with pytest.raises(ValueError, match="'transform' of StandardScaler, which is not one of its attributes"):
        decode_estimator(state | {"fitted": state["fitted"] | {"transform": 1}})
    with pytest.raises(ValueError, match=r"'os\.system'"):
        decode_estimator(
            encode_estimator(FunctionTransformer().fit(WINE), "it")
            | {"params": {"func": {"kind": "function", "name": "os.system"}}}
        )


@pytest.mark.parametrize(
    ("part", "value", "reason"),
    [
        ("mean_", np.zeros(4), "scale_ has a side of 13|mean_ has a side of 4"),
        ("scale_", np.full(13, np.inf), "scale_ must be an array of finite numbers"),
        ("var_", np.zeros((13, 1)), "var_ must have 1 dimensions"),
        ("n_features_in_", "13", "n_features_in_ must be a whole number"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(part, value, reason):
    state = _scaled()
    with pytest.raises(ValueError, match=reason):
        decode_estimator(state | {"fitted": state["fitted"] | {part: value}})


def test_a_state_that_lacks_parts_is_refused():
    state = AffinityScorer(make_pipeline(StandardScaler(), KMeans(3, n_init=1, random_state=0))).fit(WINE).to_dict()
    for broken in ({}, {"n_features": 13}, {"n_features": 13, "feature_names": None, "transformer": {"class": "PCA"}}):
        with pytest.raises(ValueError, match="the state is incomplete"):
            AffinityScorer.from_dict(state | {"preparation": broken})


def test_every_known_estimator_is_tested_here():
    tested = {type(transformer).__name__ for transformer, _ in TRANSFORMERS.values()}
    assert set(codecs()) <= tested | {"KMeans", "MiniBatchKMeans", "GaussianMixture"}
