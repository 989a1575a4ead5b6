"""What is passed along with a result: features, a table, ids, coordinates, texts."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from allegiance import affinity
from allegiance.report._inputs import check_coordinates, check_features, check_inputs


@pytest.fixture(scope="module")
def result():
    return affinity(np.eye(4), [0, 1, 2, 0], random_state=0)


@pytest.mark.parametrize(
    ("X", "names", "message"),
    [
        (np.ones((3, 2)), None, "X has 3 rows but the result has 4 points"),
        (np.full((4, 2), np.nan), None, "X"),
        ([["a"]] * 4, None, "X holds text in column 0"),
        (np.ones(4), None, "X|2D"),
        (np.ones((4, 2)), ["a"], "feature_names has 1 entries but X has 2 columns"),
        (None, ["a"], "feature_names names the columns of X"),
    ],
    ids=["rows", "nan", "text", "flat", "names", "no data"],
)
def test_bad_features_are_named(X, names, message):
    with pytest.raises(ValueError, match=message):
        check_features(X, names, 4)


def test_names_of_features():
    assert check_features(np.ones((2, 3)), None, 2).names == ["x0", "x1", "x2"]
    assert not check_features(np.ones((2, 3)), None, 2).are_named
    assert check_features(pd.DataFrame(np.ones((2, 1)), columns=["a"]), None, 2).are_named
    with pytest.raises(TypeError, match="feature_names must be one name for each column"):
        check_features(np.ones((4, 2)), "ab", 4)


COLUMNS = {
    "age": [3, 40, None, 7],
    "price": [1.5, 2.5, float("nan"), 1e9],
    "plan": ["basic", "pro", None, "basic"],
    "since": [datetime.date(2024, 1, 2), None, datetime.date(2024, 1, 3), datetime.date(2025, 12, 31)],
    "note": ["a", "b", "c", "d"],
    "member": [True, False, True, None],
}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_table_is_read_by_its_kinds(make, result):
    table = make(COLUMNS)
    if isinstance(table, pd.DataFrame):
        table["since"] = pd.to_datetime(table["since"])
        table["plan"] = table["plan"].astype("category")
    columns = check_inputs(result, data=table).columns
    assert {column.name: (column.kind, [column.text(row) for row in range(4)]) for column in columns} == {
        "age": ("number", ["3", "40", None, "7"]),
        "price": ("number", ["1.5", "2.5", None, "1000000000"]),
        "plan": ("category", ["basic", "pro", None, "basic"]),
        "since": ("date", ["2024-01-02", None, "2024-01-03", "2025-12-31"]),
        "note": ("text", ["a", "b", "c", "d"]),
        "member": ("category", ["True", "False", "True", None]),
    }


def test_X_may_be_a_mixed_frame_or_have_many_features(result, rng):
    mixed = check_inputs(result, pd.DataFrame(COLUMNS))
    assert (mixed.features, len(mixed.columns)) == (None, len(COLUMNS))
    labels = np.arange(60) % 3
    X = rng.normal(size=(60, 250))
    X[:, [7, 200]] += 50 * labels[:, None]
    columns = check_inputs(affinity(X[:, :5], labels, random_state=0), X).columns
    assert len(columns) == 200
    assert {"x7", "x200"} <= {column.name for column in columns}  # Those that separate clusters are kept.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": pd.DataFrame({"a": [1]})}, "data has 1 rows but the result has 4 points"),
        ({"data": [1, 2, 3, 4]}, "data must be a frame"),
        ({"ids": [1, 2]}, "ids has 2 entries but the result has 4 points"),
        ({"ids": "customer", "data": pd.DataFrame(COLUMNS)}, "'customer', which data does not have"),
        ({"texts": ["a", "b", "c", 5]}, r"texts\[3\] is 5 \(int\)"),
        ({"row_numbers": [0.5, 1, 2, 3]}, "row_numbers must be whole numbers"),
        ({"row_numbers": [1, 1, 2, 3]}, "same number twice"),
        ({"data": pd.DataFrame(COLUMNS), "describe_by": ["age", "height"]}, "describe_by names 'height'"),
    ],
)
def test_what_does_not_fit_is_named(settings, message, result):
    with pytest.raises((ValueError, TypeError), match=message):
        check_inputs(result, **settings)


def test_ids_are_values_columns_of_the_table_or_an_index(result):
    frame = pd.DataFrame(COLUMNS)
    assert check_inputs(result, ids=(7, 8, 9, 1)).ids == {"id": [7, 8, 9, 1]}
    assert check_inputs(result, ids=["p", "q", "r", "s"]).ids == {"id": ["p", "q", "r", "s"]}
    named = check_inputs(result, data=frame, ids="note")
    assert named.ids == {"note": ["a", "b", "c", "d"]}
    assert "note" not in [column.name for column in named.columns]
    two = check_inputs(result, ids=pa.table({"shop": [1, 2, 3, 4], "label": [5, 6, 7, 8]}))
    assert list(two.ids) == ["shop", "label (id)"]
    X = pd.DataFrame(np.eye(4), index=list("wxyz"))
    assert check_inputs(affinity(X, [0, 1, 2, 0], random_state=0), X).ids == {"id": ["w", "x", "y", "z"]}
    assert check_inputs(result, pl.DataFrame(np.eye(4))).ids == {}


def test_coordinates_are_named_by_their_frame():
    frame = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["umap 1", "umap 2"])
    values, names = check_coordinates(frame, 4)
    assert values.tolist() == frame.to_numpy().tolist()
    assert names == ("umap 1", "umap 2")


@pytest.mark.parametrize(
    ("coordinates", "message"),
    [
        (np.ones((4, 3)), r"coordinates must have shape \(4, 2\)"),
        (np.full((4, 2), np.nan), "coordinates contains NaN"),
        ([["p", "q"]] * 4, "coordinates must be"),
    ],
    ids=["shape", "nan", "text"],
)
def test_bad_coordinates_are_named(coordinates, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check_coordinates(coordinates, 4)
