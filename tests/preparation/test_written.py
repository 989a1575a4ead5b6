"""Numbers as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allegiance.preparation import decimals_of, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12.0),
        (" -3.5 ", -3.5),
        ("+7", 7.0),
        ("1e-3", 1e-3),
        (".5", 0.5),
        ("5.", 5.0),
        ("$1,452.74", 1452.74),
        ("-$1,452.74", -1452.74),
        ("$ -20", -20.0),
        ("($120.00)", -120.0),
        ("1 452.74", 1452.74),
        ("1\u202f452", 1452.0),
        ("1'452'000", 1452000.0),
        ("€12.50", 12.5),
        ("12.50 EUR", 12.5),
        ("CHF 12", 12.0),
        ("₹1,45,200", 145200.0),
        ("26%", 0.26),
        ("26 %", 0.26),
        ("\u22125", -5.0),
    ],
)
def test_numbers_with_a_decimal_point(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1.452,74 €", 1452.74), ("3,5", 3.5), ("-1.000", -1000.0), ("12,5 %", 0.125), ("1 452,7", 1452.7)],
)
def test_numbers_with_a_decimal_comma(text, number):
    assert parse_number(text, ",") == pytest.approx(number, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", ".", "$", "%", "abc", "12a", "1,2,3", "1,45", "12,34.5", "1.2.3", "(5", "5)", "(-5)", "--5"),
        *("nan", "inf", "1_000", "2024-01-01", "1,452 apples", "0x10", "1e", "1.452,74"),
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


def test_the_decimal_mark_is_the_one_that_fits_all():
    assert decimals_of(["1,452.74", "3"]) == {"."}
    assert decimals_of(["1,452", "3,5"]) == {","}
    assert decimals_of(["1,452", "2,000"]) == {".", ","}
    assert decimals_of(["1,452", "x"]) == set()
