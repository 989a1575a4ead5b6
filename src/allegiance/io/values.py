"""Parse values from text: numbers with currencies and either decimal mark, dates, words for missing values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allegiance._core.stored import json_value
from allegiance._core.validation import MISSING_WORDS, AnyArray, BoolArray, FloatArray, join_names, join_texts

from .files import TableError

#: Readings of a text: numbers with a decimal mark, or dates in an order.
MARKS, ORDERS = (".", ","), ("iso", "ymd", "dmy", "mdy")
#: Microseconds per day.
MICROSECONDS = 86_400e6


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: Any) -> bool:
    """Return whether an Arrow type is numeric, Boolean or null."""
    types = pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def is_time(kind: Any) -> bool:
    """Return whether an Arrow type is a date or a timestamp."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def plain_type(kind: Any) -> Any:
    """Return the value type of a dictionary type, and other types as they are."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def without_dictionary(column: Any) -> Any:
    """Return a column without a dictionary."""
    return column.cast(plain_type(column.type)) if pa.types.is_dictionary(column.type) else column


def cast_column(column: Any, kind: Any) -> Any:
    """Cast a column to another type, also from views and run-end encoding."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column if column.type == kind else column.cast(kind)


def plain_schema(schema: Any) -> Any:
    """Replace types of values that pyarrow does not fully support, views and run-end encoding, by plain types."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    kinds = [one.type.value_type if pa.types.is_run_end_encoded(one.type) else one.type for one in schema]
    return pa.schema([one.with_type(plain.get(kind, kind)) for one, kind in zip(schema, kinds, strict=True)])


def column_of(values: Any) -> Any:
    """Return values as an Arrow array of their common type, or as texts if they have none."""
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        gaps = [pa.array([value], from_pandas=True).null_count for value in values]
        return pa.array([None if gap else text_of(value) for gap, value in zip(gaps, values, strict=True)], "string")


def text_of(value: Any) -> str:
    """Return a value as text; 2.0 is written 2."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def json_text(value: Any) -> str | None:
    """Return a nested value of a cell as JSON text."""
    return None if value is None else json.dumps(json_value(value), ensure_ascii=False, default=plain_text)


def plain_text(value: Any) -> str:
    """Return a value that JSON or a workbook cannot store as text, bytes with escapes."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


def as_numbers(column: Any) -> FloatArray:
    """Return a column of numbers or times as floating-point numbers, times in days, missing values as NaN."""
    if is_time(column.type):
        moments = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
        return plain_values(moments.cast(pa.int64())) / MICROSECONDS
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return plain_values(column.cast(pa.float64(), safe=False))


def as_times(days: FloatArray) -> AnyArray:
    """Return days since 1970-01-01 as times."""
    gaps = np.isnan(days)
    moments = np.where(gaps, 0, np.rint(days * MICROSECONDS)).astype(np.int64).astype("datetime64[us]")
    moments[gaps] = np.datetime64("NaT", "us")
    return moments


def as_texts(column: Any) -> Any:
    """Return a column as trimmed texts, missing values as null; 2.0 becomes 2, and Booleans true and false."""
    column = without_dictionary(column)
    if pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        numbers = [None if value is None or value != value else value for value in column.to_pylist()]
        texts = [None if value is None else str(int(value) if value % 1 == 0 else value) for value in numbers]
        return pa.array(texts, pa.string())
    return trim_texts(column.cast(pa.string()))


def trim_texts(texts: Any) -> Any:
    """Return texts without surrounding whitespace, empty ones as null."""
    texts = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(texts, ""), None, texts)


def plain_values(column: Any) -> FloatArray:
    """Return an Arrow column of numbers as floating-point numbers with NaN."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def read_column(column: Any, reading: str, missing: Sequence[Any]) -> tuple[FloatArray, str | None]:
    """Return a column as numbers or days, missing values as NaN, and the first text that cannot be read."""
    column = without_dictionary(column)
    if not is_text(column.type):
        return with_gaps(as_numbers(column), missing), None
    words = lower_words(missing)
    if reading == "." and not words:
        with suppress(pa.ArrowInvalid):
            numbers = plain_values(column.cast(pa.float64()))
            if int(np.isnan(numbers).sum()) == column.null_count:
                return numbers, None
    texts = trim_texts(column)
    values = pc.if_else(missing_words(texts, words), None, texts)
    numbers = read_texts(values, reading)
    odd = None
    if numbers.null_count > values.null_count:
        odd = str(values.filter(pc.and_(pc.is_valid(values), pc.is_null(numbers)))[0])
    return with_gaps(plain_values(numbers), missing), odd


def lower_words(missing: Iterable[Any]) -> set[str]:
    """Return words for missing values in lower case; -999.0 becomes -999."""
    words = (f"{word:.0f}" if isinstance(word, float) and word.is_integer() else str(word) for word in missing)
    return {word.strip().lower() for word in words} - {""}


def missing_words(texts: Any, more: Iterable[str] = ()) -> Any:
    """Return a mask of the trimmed texts that mean missing; null is false."""
    words = pa.array(sorted({*MISSING_WORDS, *more}), texts.type)
    return pc.fill_null(pc.is_in(pc.utf8_lower(texts), value_set=words), False)


def first_row(column: Any, text: str) -> int:
    """Return the number of the first row of an Arrow column with a trimmed text."""
    return int(pc.index(trim_texts(without_dictionary(column)), text).as_py())


def with_gaps(numbers: FloatArray, missing: Sequence[Any]) -> FloatArray:
    """Replace values that mean missing by NaN."""
    gaps = []
    for value in missing:
        with suppress(TypeError, ValueError):
            gaps.append(float(value))
    return np.where(np.isin(numbers, gaps), np.nan, numbers) if gaps else numbers


def has_leading_zeros(texts: Any) -> bool:
    """Return whether any text is a code such as 007."""
    return bool(pc.any(pc.match_substring_regex(texts, r"^0\d+$")).as_py())


def read_texts(texts: Any, reading: str) -> Any:
    """Return texts as numbers or days, others as null."""
    return read_numbers(texts, reading) if reading in MARKS else read_days(texts, reading)


_SPACES = " \u00a0\u202f'\u2019"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|SGD|HKD"
#: Currency symbols: dollar, cent, pound and yen, and the Unicode block of all others.
_CURRENCY = rf"(?:[$\x{{a2}}-\x{{a5}}\x{{20a0}}-\x{{20cf}}]|{_CODES})?"

_SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "Mio": 1e6, "mn": 1e6, "B": 1e9, "bn": 1e9, "Mrd": 1e9}


@cache
def _number_pattern(decimal: str) -> str:
    """Return a regular expression with named groups for a number with this decimal mark."""
    marks = [re.escape("," if decimal == "." else "."), *_SPACES]
    # Groups of three digits; in India of two, except for the last one. One separator throughout.
    groups = "|".join(rf"[1-9]\d{{0,2}}(?:{mark}\d{{2,3}})*{mark}\d{{3}}" for mark in marks)
    number = rf"(?P<whole>{groups}|\d+)?(?:{re.escape(decimal)}(?P<fraction>\d*))?(?P<power>[eE][+-]?\d+)?"
    sign, space = r"[+\-\x{2212}]?", "[ \u00a0\u202f]*"
    amount = rf"(?P<sign>{sign}){space}{_CURRENCY}{space}(?P<inner>{sign}){number}{space}"
    scale = rf"(?:(?P<scale>%|{'|'.join(_SCALES)})\.?)?"
    return rf"^(?P<open>\(?){space}{amount}{scale}{space}{_CURRENCY}{space}(?P<close>\)?)$"


def read_numbers(texts: Any, decimal: str = ".") -> Any:
    """Return texts such as "$1,452.74", "1.452,74 €", "26 %" (0.26), "1.2M" and "(120)" (-120) as numbers, or null."""
    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    parts = pc.extract_regex(texts, _number_pattern(decimal)).flatten()
    opened, sign, inner, whole, fraction, power, scale, close = parts
    signs = pc.binary_join_element_wise(sign, inner, opened, "")
    valid = pc.or_(pc.not_equal(whole, ""), pc.not_equal(fraction, ""))
    valid = pc.and_(valid, pc.equal(pc.binary_length(opened), pc.binary_length(close)))
    valid = pc.and_(valid, pc.less_equal(pc.utf8_length(signs), 1))
    # Zeros for absent parts do not change the number.
    digits = pc.binary_join_element_wise("0", pc.replace_substring_regex(whole, r"\D", ""), "")
    fraction = pc.binary_join_element_wise(fraction, "0", "")
    text = pc.binary_join_element_wise(pc.binary_join_element_wise(digits, fraction, "."), power, "")
    values = pc.if_else(valid, text, None).cast(pa.float64())
    values = pc.if_else(pc.equal(scale, "%"), pc.divide(values, 100.0), values)
    if pc.any(pc.is_in(scale, value_set=pa.array([*_SCALES]))).as_py():
        for word, factor in _SCALES.items():
            values = pc.if_else(pc.equal(scale, word), pc.multiply(values, factor), values)
    negative = pc.is_in(signs, value_set=pa.array(["-", "\u2212", "("]))
    values = pc.if_else(negative, pc.negate(values), values)
    infinite = pc.match_substring_regex(texts, r"^[+-]?inf(inity)?$", ignore_case=True)
    if pc.any(infinite).as_py():
        values = pc.coalesce(values, pc.if_else(infinite, texts, None).cast(pa.float64()))
    return values


_TIME = r"(?:[ T,]+(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}(?:\.\d{1,6})?))?(?: ?(?P<p>[AaPp])\.?[Mm]\.?)?)?"
_PART = r"(?:[./\-]| |, |\. )"
#: English and German names of months.
_MONTHS = re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec")
_OTHER_MONTHS = {"mär": 3, "mrz": 3, "mai": 5, "okt": 10, "dez": 12}
_PATTERNS = {
    "ymd": rf"^(?P<y>\d{{4}}){_PART}(?P<mo>\d{{1,2}}){_PART}(?P<d>\d{{1,2}}){_TIME}$",
    "dmy": rf"^(?P<d>\d{{1,2}}){_PART}(?P<mo>\d{{1,2}}|[A-Za-zÄä]{{3,9}}){_PART}(?P<y>\d{{4}}|\d{{2}}){_TIME}$",
    "mdy": rf"^(?P<mo>\d{{1,2}}|[A-Za-zÄä]{{3,9}}){_PART}(?P<d>\d{{1,2}}){_PART}(?P<y>\d{{4}}|\d{{2}}){_TIME}$",
}


def read_days(texts: Any, order: str) -> Any:
    """Return dates as days since 1970-01-01, in UTC if they have a time zone, and other texts as null."""
    if order == "iso":
        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            with suppress(pa.ArrowInvalid):
                return pa.array(as_numbers(texts.cast(kind)), from_pandas=True)
        return pa.nulls(len(texts), pa.float64())
    parts = pc.extract_regex(texts, _PATTERNS[order])
    part = {field.name: values for field, values in zip(parts.type, parts.flatten(), strict=True)}
    names = pc.utf8_slice_codeunits(pc.utf8_lower(part["mo"]), 0, 3)
    numbers = pa.array([str(number) for number in [*range(1, 13), *_OTHER_MONTHS.values()]])
    named = numbers.take(pc.index_in(names, value_set=pa.array([*_MONTHS, *_OTHER_MONTHS])))
    year, month, day = _parse_digits(part["y"]), _parse_digits(pc.coalesce(named, part["mo"])), _parse_digits(part["d"])
    hour, minute, second = (np.nan_to_num(_parse_digits(part[name])) for name in "hms")
    year = np.where(year < 69, year + 2000, np.where(year < 100, year + 1900, year))
    half = pc.fill_null(pc.utf8_lower(part["p"]), "").to_numpy(zero_copy_only=False)
    hour = np.where(half == "p", hour % 12 + 12, np.where(half == "a", hour % 12, hour))
    valid = (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 61)
    months = np.where(valid, (year - 1970) * 12 + month - 1, 0).astype(np.int64).astype("datetime64[M]")
    both = months, months + np.timedelta64(1, "M")
    first, following = (start.astype("datetime64[D]").astype(np.int64) for start in both)
    valid &= day <= following - first
    days = first + day - 1 + (hour * 3600 + minute * 60 + second) / 86_400
    return pa.array(np.where(valid, days, np.nan), from_pandas=True)


def _parse_digits(texts: Any) -> FloatArray:
    """Return texts of digits in dates as numbers, others as NaN."""
    return plain_values(pc.if_else(pc.match_substring_regex(texts, r"^\d"), texts, None).cast("double"))


def read_labels(column: Any, name: str, where: str) -> tuple[AnyArray, BoolArray]:
    """Return the values of a label column (n,) as numbers or texts, and a mask of rows with a label.

    Numbers and Booleans keep their type, decimals without a fraction become whole numbers, and everything else, such as
    dates, becomes text. Only blanks are missing labels. ``name`` and ``where`` are for messages.
    """
    types = pa.types
    column = without_dictionary(column)
    if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
        column = _whole_or_text(column, name, where)
    missing = pc.is_null(column, nan_is_null=True)
    gap: Any = "" if is_text(column.type) else False if types.is_boolean(column.type) else 0
    if is_text(column.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), False))
    labels = pc.fill_null(column, gap).to_numpy(zero_copy_only=False)
    return np.asarray(labels), ~np.asarray(missing.to_numpy(zero_copy_only=False))


def _whole_or_text(column: Any, name: str, where: str) -> Any:
    """Return values as whole numbers if they are decimals without a fraction, otherwise as text."""
    kind = column.type
    try:
        if pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= 18:
            return column.cast(pa.int64())
        texts = column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"column {name!r} of {where} cannot be labels: its type is {kind}. Use numbers or names. {error}"
        ) from error
    if pa.types.is_decimal(kind) and kind.scale > 0:
        texts = pc.replace_substring_regex(texts, r"\.?0+$", "")
    if pc.any(pc.ends_with(texts, pattern="\0")).as_py():
        # NumPy drops trailing NUL characters, which could merge two labels.
        raise TableError(f"column {name!r} of {where} has a label that ends in a NUL character: remove it first.")
    return texts


def join_counts(counts: Mapping[str, int]) -> str:
    """Return values with their counts as text, largest first."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return join_texts(f"{join_names([name])} ({count:,})" for name, count in ranked)
