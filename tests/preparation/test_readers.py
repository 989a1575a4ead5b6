"""Numbers, Texts and Dates: transformers for columns of frames and arrays."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from allegiance.preparation import Dates, Numbers, Texts

FRAMES = [pd.DataFrame, pl.DataFrame]


@pytest.mark.parametrize("kind", FRAMES)
def test_numbers_of_every_kind(kind):
    frame = kind(
        {
            "money": ["$1,200.50", None, "-999"],
            "whole": [1, -999, 3],
            "gaps": [1.5, None, -999.0],
            "flag": [True, False, True],
        }
    )
    numbers = Numbers(missing=(-999.0,)).fit(frame)
    nan = np.nan
    expected = [[1200.5, 1, 1.5, 1], [nan, nan, nan, 0], [nan, 3, nan, 1]]
    np.testing.assert_array_equal(numbers.transform(frame), expected)
    assert numbers.get_feature_names_out().tolist() == ["money", "whole", "gaps", "flag"]
    assert clone(numbers).get_params() == numbers.get_params()


def test_nullable_columns_have_nan_where_nothing_is():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": pd.array([True, None], dtype="boolean")})
    np.testing.assert_array_equal(Numbers().fit_transform(frame), [[1, 1], [np.nan, np.nan]])


def test_single_precision_stays():
    assert Numbers().fit_transform(np.ones((2, 2), dtype=np.float32)).dtype == np.float32
    assert Numbers().fit_transform(pd.DataFrame({"a": np.ones(2, np.float32), "b": [1, 2]})).dtype == np.float64


def test_a_text_that_is_not_a_number_is_named():
    numbers = Numbers().fit(pd.DataFrame({"price": ["1"]}))
    with pytest.raises(ValueError, match="column 'price' holds 'cheap', which is not a number"):
        numbers.transform(pd.DataFrame({"price": ["cheap"]}))
    with pytest.raises(ValueError, match="X has 2 columns, but Numbers was fitted to 1"):
        numbers.transform(pd.DataFrame({"price": ["1"], "more": ["2"]}))


@pytest.mark.parametrize("kind", FRAMES)
def test_texts_of_every_kind(kind):
    frame = kind({"word": ["a", None, "?"], "code": [1, 2, 3], "number": [1.0, 2.5, None], "flag": [True, False, True]})
    texts = Texts(missing=("?",)).fit(frame).transform(frame)
    assert texts.tolist() == [["a", "1", "1", "1"], ["", "2", "2.5", "0"], ["", "3", "", "1"]]


@pytest.mark.parametrize("kind", FRAMES)
def test_dates_of_every_kind(kind):
    frame = kind(
        {
            "text": ["1970-01-02", "1970-01-01T12:00:00", None],
            "time": [datetime(1970, 1, 3), datetime(1969, 12, 31), None],
            "zone": ["1970-01-02T00:00:00+01:00", "1970-01-02T00:00:00Z", ""],
        }
    )
    nan = np.nan
    expected = [[1, 2, 23 / 24], [0.5, -1, 1], [nan, nan, nan]]
    np.testing.assert_allclose(Dates().fit_transform(frame), expected, rtol=1e-15)


def test_dates_as_objects_and_days():
    objects = np.array([[date(1970, 1, 11), datetime(1970, 1, 2, tzinfo=UTC), 3.5]], dtype=object)
    columns = [Dates().fit_transform(objects[:, [i]].astype(object)) for i in range(2)]
    assert [column.item() for column in columns] == [10.0, 1.0]
    np.testing.assert_array_equal(Dates().fit_transform(np.array([[3.5]])), [[3.5]])


def test_cycles_close():
    dates = Dates(cycles=("week", "day")).fit(pd.DataFrame({"d": ["2024-01-01"]}))
    assert dates.get_feature_names_out().tolist() == ["d", "d:week:sin", "d:week:cos", "d:day:sin", "d:day:cos"]
    monday, next_monday, noon = dates.transform(pd.DataFrame({"d": ["2024-01-01", "2024-01-08", "2024-01-01T12:00"]}))
    np.testing.assert_allclose(monday[1:], [0, 1, 0, 1], atol=1e-9)
    np.testing.assert_allclose(next_monday[1:], monday[1:], atol=1e-9)
    np.testing.assert_allclose(noon[3:], [0, -1], atol=1e-9)


def test_what_is_not_a_date_is_named():
    with pytest.raises(ValueError, match="column 'd' holds '31/05/2024', which is not a date such as 2024-05-31"):
        Dates().fit_transform(pd.DataFrame({"d": ["31/05/2024"]}))
    with pytest.raises(ValueError, match="cycles must be one of 'year', 'week', 'day', got 'month'"):
        Dates(cycles=("month",)).fit_transform(pd.DataFrame({"d": ["2024-05-31"]}))
