"""Messages about data that cannot be used: they name the column, and what to do."""

from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from allegiance import ActiveKMeans, AffinityScorer, affinity, trust

LABELS = [0, 0, 1, 1]
NUMBERS = [1.0, 2.0, 8.0, 9.0]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("city", ["Bonn", "Ulm", "Kiel", "Hof"], "text in column 'city': encode"),
        ("day", [date(2024, 1, i) for i in (1, 2, 3, 4)], "dates in column 'day': turn them into numbers"),
        ("age", [1.0, None, 3.0, 4.0], r"missing values \(NaN\) in column 'age': impute"),
        ("age", [1.0, np.inf, 3.0, 4.0], "infinite numbers in column 'age': replace"),
    ],
)
@pytest.mark.parametrize("call", [affinity, trust, lambda X, _: ActiveKMeans(2).fit(X)])
def test_the_column_is_named_with_what_to_do(kind, column, values, says, call):
    with pytest.raises((TypeError, ValueError), match=f"X (contains|has) {says}"):
        call(kind({"n": NUMBERS, column: values}), LABELS)


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0], [7.0, 8.0]]), "NaN.* in column 1"),
        ([["1", "a"], ["2", "b"], ["3", "c"], ["4", "d"]], "text in column 1|text in columns 0, 1"),
        (np.array([["2024-01-01"], ["2024-01-02"], ["2024-01-03"], ["2024-01-04"]], "datetime64[D]"), "dates"),
        (np.arange(4.0), r"X must have rows and columns, got shape \(4,\)"),
        (pd.DataFrame({name: list("wxyz") for name in "abcde"}), "columns 'a', 'b', 'c' and 2 more"),
    ],
    ids=["NaN", "text", "dates", "1-D", "several"],
)
def test_columns_of_arrays_are_named_by_number_and_many_are_listed(X, says):
    with pytest.raises((TypeError, ValueError), match=says):
        affinity(X, LABELS)


def test_new_points_too():
    scorer = AffinityScorer().fit(pd.DataFrame({"a": NUMBERS}), LABELS)
    with pytest.raises(ValueError, match=r"missing values .* in column 'a'"):
        scorer.affinity(pd.DataFrame({"a": [np.nan]}))


def test_numbers_in_quotes_are_numbers():
    X = pd.DataFrame({"a": ["1", "2", "8", "9"]}, dtype=object)
    np.testing.assert_array_equal(affinity(X, LABELS).affinity, affinity(np.array(NUMBERS)[:, None], LABELS).affinity)


def test_an_array_where_columns_are_found_by_name_names_the_columns(tmp_path):
    """scikit-learn says "Specifying the columns using strings is only supported for dataframes"."""
    frame = pd.DataFrame({"age": np.arange(12.0), "plan": ["basic", "pro"] * 6})
    prepare = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["plan"]))
    scorer = AffinityScorer(make_pipeline(prepare, KMeans(2, n_init=1, random_state=0))).fit(frame)
    with pytest.raises(TypeError, match=r"pass a frame with the columns age, plan"):
        scorer.affinity(frame.to_numpy())
    np.testing.assert_array_equal(scorer.affinity(frame).label, scorer.labels_)
