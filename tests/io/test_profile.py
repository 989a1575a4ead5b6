"""Numbers and dates as people write them, and what stands for a missing one."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allegiance.io.tables import open_table
from allegiance.io.values import read_days, read_numbers

NUMBERS = {
    "12": 12.0, " -3.5 ": -3.5, "+7": 7.0, "1e-3": 1e-3, ".5": 0.5, "5.": 5.0, "-inf": -np.inf, "\u22125": -5.0,
    "$1,452.74": 1452.74, "-$1,452.74": -1452.74, "$ -20": -20.0, "($120.00)": -120.0, "€12.50": 12.5,
    "12.50 EUR": 12.5, "CHF 12": 12.0, "₹1,45,200": 145200.0, "26%": 0.26, "26 %": 0.26,
    "1.2k": 1200.0, "$3 M": 3e6, "(1.5bn)": -1.5e9, "4 Mio. €": 4e6, "2B": 2e9,
    "1 452.74": 1452.74, "1\u202f452": 1452.0, "1'452'000": 1452000.0,
}  # fmt: skip
WITH_COMMA = {
    "1.452,74 €": 1452.74, "3,5": 3.5, "-1.000": -1000.0, "0,123": 0.123, "12,5 %": 0.125, "1 452,7": 1452.7
}  # fmt: skip


def parse_number(text: str, mark: str = ".") -> float | None:
    return read_numbers(pa.array([text], pa.string()), mark)[0].as_py()


@pytest.mark.parametrize(
    ("text", "mark", "number"),
    [(text, mark, table[text]) for table, mark in ((NUMBERS, "."), (WITH_COMMA, ",")) for text in table],
)
def test_numbers_as_people_write_them(text, mark, number):
    assert parse_number(text, mark) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", ".", "$", "%", "abc", "12a", "1,2,3", "1,45", "12,34.5", "1.2.3", "(5", "5)", "(-5)", "--5"),
        *("12 k%", "k", "5 kg", "5m", "nan", "1_000", "2024-01-01", "1,452 apples", "0x10", "1e", "1.452,74"),
    ],
)
def test_other_texts_are_not_numbers(text):
    assert parse_number(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_that_python_writes_is_read_back(number):
    assert parse_number(repr(number)) == number


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=2))
def test_thousands_are_read_back_with_either_mark(number):
    english = f"{number:,.2f}"
    swapped = english.translate(str.maketrans(",.", ".,"))
    assert parse_number(f"${english}") == parse_number(f"{swapped} €", ",") == float(number)


ORDERS = {"iso": "%Y-%m-%d %H:%M:%S", "ymd": "%Y/%m/%d %H:%M", "dmy": "%d.%m.%Y %H:%M:%S", "mdy": "%m/%d/%Y %I:%M %p"}


@given(
    st.datetimes(min_value=datetime.datetime(1971, 1, 1), max_value=datetime.datetime(2068, 1, 1)),
    st.sampled_from([*ORDERS]),
)
def test_dates_are_read_back(moment, order):
    moment = moment.replace(microsecond=0, second=moment.second if order in ("iso", "dmy") else 0)
    days = read_days(pa.array([moment.strftime(ORDERS[order])]), order)[0].as_py()
    assert days == pytest.approx((moment - datetime.datetime(1970, 1, 1)).total_seconds() / 86_400, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("31 Jan 2024", "dmy", "2024-01-31"),
        ("31-Jan-24", "dmy", "2024-01-31"),
        ("1. Mai 2024", "dmy", "2024-05-01"),
        ("January 31, 2024", "mdy", "2024-01-31"),
        ("2024-01-31T10:00:00+02:00", "iso", "2024-01-31T08:00"),
        ("29/02/2023", "dmy", None),
        ("13/13/2024", "dmy", None),
        ("0/1/2024", "mdy", None),
        ("31 Foo 2024", "dmy", None),
        ("31/01/024", "dmy", None),
        ("12:30", "dmy", None),
    ],
)
def test_single_dates(text, order, expected):
    days = read_days(pa.array([text]), order)[0].as_py()
    assert days == (None if expected is None else np.datetime64(expected, "m").astype(float) / 1440)


def column(values, **options):
    table = pa.table({"v": pa.array(values), "one": pa.array([1.0] * len(values))})
    return open_table(table, **options).profile().columns["v"]


def test_words_are_missing_among_numbers_and_values_among_words():
    numbers = column(["1.5", "NA", "2.5", "unknown", " ", None, "-"])
    assert (numbers.kind, numbers.n_missing) == ("number", 5)
    assert numbers.missing_words == {"NA": 1, "unknown": 1, "-": 1}
    words = column(["red", "NA", "unknown", " ", None, "red"])
    assert (words.kind, words.n_missing) == ("text", 2)
    assert words.values == {"red": 2, "NA": 1, "unknown": 1}
    assert column(["1", "2", "kA", "4"], missing=["kA"]).missing_words == {"kA": 1}


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ([-999, 5, 7, -999], 2),
        ([-999.0, 5.5, 7.25, -999.0, None], 3),
        ([-999, 5, -3, 4], 0),
        ([-99, -98, -97, -99], 0),
        ([-999, 5] * 4, 0),
        ([-999, 990, 1000, -999, -99, -99], 0),
        ([-9, 1, 2, -9], 0),
        ([0, 1] * 40, 0),
        ([*range(30), 500], 0),
    ],
)
def test_only_a_number_far_from_all_others_means_missing(values, missing):
    for cells in (values, [None if value is None else str(value) for value in values]):
        profile = column(cells)
        assert profile.n_missing == missing
        kept = [value for value in values if value is not None and not (missing and value == -999)]
        np.testing.assert_allclose(
            [profile.mean, profile.std, profile.min, profile.max, profile.median],
            [np.mean(kept), np.std(kept), min(kept), max(kept), np.median(kept)],
        )


def test_ambiguous_columns_have_a_remark():
    either = ["1.200", "3.400", "2"]
    assert column(either).max == 3.4
    assert "decimal=','" in column(either).remark
    assert column(either, decimal=",").max == 3400
    assert (column(["1.200.300", "2"]).max, column(["1.200,5", "2"]).max) == (1_200_300, 1200.5)
    assert column([9999, 5, 7, 9999, 8]).n_missing == 0
    assert column([9999, 5, 7, 9999, 8], missing=[9999]).n_missing == 2
    nearly = column([*map(str, range(1000, 1060)), "ca. 5", "ca. 6"])
    assert (nearly.kind, "'ca. 5'" in nearly.remark) == ("text", True)


def test_single_stray_texts_in_a_column_of_numbers_are_missing():
    profile = column([*map(str, range(1000, 1100)), "oops"])
    assert (profile.kind, profile.integer, profile.n_missing, profile.strays) == ("number", True, 1, {100: "oops"})
    profile = column([*["1.5", "2,000.25"] * 600, "x", *["7"] * 600, "y"])
    assert (profile.n_missing, profile.max, profile.strays) == (2, 2000.25, {1200: "x", 1801: "y"})


@pytest.mark.parametrize(
    ("values", "unique", "counting"),
    [
        ([5, 6, 7, 8], True, True),
        ([5, 6, 8, 9], True, False),
        (["a", "b", "c"], True, False),
        (["a", "b", "a"], False, False),
        (["a", "b", None], False, False),
        ([1.5, 2.5, 3.5], True, False),
        ([3, 1, 2, 2], False, False),
    ],
)
def test_unique_and_counting_columns(values, unique, counting):
    profile = column(values)
    assert (profile.unique, profile.counting) == (unique, counting)


def test_identifiers_in_any_order_are_unique(rng):
    ids = rng.permutation(150_000)
    for unique in (True, False):
        columns = open_table(pa.table({"order_id": ids, "key": [f"k{i}" for i in ids], "x": ids % 7})).profile().columns
        assert [columns[name].unique for name in ("order_id", "key", "x")] == [unique, unique, False]
        ids[-1] = ids[0]


def test_the_order_of_rows_does_not_decide_the_decimal_mark():
    groups = ["1.200", "2.300"] * 40
    for values in ([*groups, "0.200"], ["0.200", *groups], [*groups, "1.25"], [*groups, "1234.567"]):
        profile = column(values)
        assert (profile.max < 3 or profile.max == 1234.567, profile.remark) == (True, "")


@pytest.mark.parametrize("sentinel", [-200, 9999, 99999, 0])
def test_repeated_extremes_far_from_all_values_mean_missing(sentinel, rng):
    near = rng.integers(1950, 2020, 300).tolist()
    wide = rng.integers(5, 12_000, 300).tolist()
    year, other = [sentinel] * 6 + near, [sentinel] * 9 + wide[3:]
    table = open_table(pa.table({"year": year, "other": other}))
    profile = table.profile().columns
    assert (profile["year"].n_missing, profile["year"].min) == (6, min(near))
    # A value that means missing in one column does so in others where it is extreme, too.
    assert profile["other"].n_missing == (9 if sentinel in (-200, 99999) else 0)
    assert [finding.kind for finding in table.findings] == ["sentinel"]
    assert open_table(pa.table({"year": year}), keep_sentinels=True).profile().columns["year"].n_missing == 0
