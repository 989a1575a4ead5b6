import numpy as np
import pytest

from allegiance import affinity
from allegiance.report._inputs import Identifiers, check_coordinates, check_features, check_row_numbers, point_ids


@pytest.mark.parametrize(
    ("X", "names", "message"),
    [
        (np.ones((3, 2)), None, "X has 3 rows but the result has 4 points"),
        (np.full((4, 2), np.nan), None, "X"),
        ([["a"]] * 4, None, "X cannot be used"),
        (np.ones(4), None, "X|2D"),
        (np.ones((4, 2)), ["a"], "feature_names has 1 entries but X has 2 columns"),
        (None, ["a"], "feature_names names the columns of X"),
    ],
    ids=["rows", "nan", "text", "flat", "names", "no data"],
)
def test_bad_features_are_named(X, names, message):
    with pytest.raises(ValueError, match=message):
        check_features(X, names, 4)


def test_one_string_is_not_a_list_of_names():
    with pytest.raises(TypeError, match="feature_names must be one name for each column"):
        check_features(np.ones((4, 2)), "ab", 4)


def test_columns_without_names_are_numbered():
    assert check_features(np.ones((2, 3)), None, 2).names == ["x0", "x1", "x2"]


def test_ids_come_before_the_index_of_a_frame():
    import pandas as pd

    X = pd.DataFrame(np.eye(3), index=["p", "q", "r"])
    result = affinity(X, [0, 1, 2], random_state=0)
    assert point_ids(result, X) == Identifiers(["id"], [["p", "q", "r"]])
    assert point_ids(result, X, ids=(7, 8, 9)) == Identifiers(["id"], [[7, 8, 9]])


def test_ids_of_another_length_are_an_error():
    result = affinity(np.eye(3), [0, 1, 2], random_state=0)
    assert point_ids(result, None) is None
    with pytest.raises(ValueError, match="ids has 2 entries but the result has 3 points"):
        point_ids(result, None, ids=[1, 2])


def test_several_columns_identify_points_and_clashing_names_give_way():
    import pyarrow as pa

    result = affinity(np.eye(3), [0, 1, 2], random_state=0)
    ids = pa.table({"shop": ["a", "b", "c"], "label": [1, 2, 3]})
    assert point_ids(result, None, ids=ids) == Identifiers(["shop", "label (id)"], [["a", "b", "c"], [1, 2, 3]])


def test_coordinates_are_numbers_or_columns_of_the_data():
    import pandas as pd

    features = check_features(pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=list("abc")), None, 4)
    named = check_coordinates(("c", "a"), features, 4)
    assert named.values.tolist() == features.rows[:, [2, 0]].tolist()
    assert named.names == ("c", "a")
    assert check_coordinates(np.ones((4, 2)), None, 4).names == ("x", "y")
    frame = pd.DataFrame(np.ones((4, 2)), columns=["umap 1", "umap 2"])
    assert check_coordinates(frame, None, 4).names == ("umap 1", "umap 2")


@pytest.mark.parametrize(
    ("coordinates", "error", "message"),
    [
        (np.ones((4, 3)), ValueError, r"coordinates must have shape \(4, 2\)"),
        (np.full((4, 2), np.nan), ValueError, "coordinates contains NaN"),
        (("a", "z"), ValueError, "coordinates names 'z', which is not a column of X: it has 'a', 'b'"),
        ([["p", "q"]] * 4, TypeError, "coordinates must be"),
    ],
    ids=["shape", "nan", "name", "text"],
)
def test_bad_coordinates_are_named(coordinates, error, message):
    features = check_features(np.ones((4, 2)), ["a", "b"], 4)
    with pytest.raises(error, match=message):
        check_coordinates(coordinates, features, 4)


def test_columns_need_data():
    with pytest.raises(ValueError, match="coordinates names the columns 'a' and 'b' of X: pass X too"):
        check_coordinates(("a", "b"), None, 4)


def test_row_numbers():
    assert check_row_numbers(None, 3).tolist() == [0, 1, 2]
    assert check_row_numbers([5, 7, 9], 3).tolist() == [5, 7, 9]
    with pytest.raises(ValueError, match="row_numbers must be whole numbers"):
        check_row_numbers([0.5, 1, 2], 3)
