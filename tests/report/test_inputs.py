import numpy as np
import pytest

from allegiance import affinity
from allegiance.report._inputs import check_features, point_ids


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
    assert point_ids(result, X) == (["p", "q", "r"], "id")
    assert point_ids(result, X, ids=(7, 8, 9)) == ([7, 8, 9], "id")


def test_ids_of_another_length_are_an_error():
    result = affinity(np.eye(3), [0, 1, 2], random_state=0)
    assert point_ids(result, None) is None
    with pytest.raises(ValueError, match="ids has 2 entries but the result has 3 points"):
        point_ids(result, None, ids=[1, 2])
