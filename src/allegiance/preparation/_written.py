"""Numbers as people write them: "$1,452.74", "26%", "1.452,74 €", "(120)"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

#: What separates the digits of large numbers, besides the mark that is not the decimal one.
_SPACES = " \u00a0\u202f'\u2019"
_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|SGD|HKD"
#: Symbols of currencies: the dollar, cent, pound and yen, and the block of Unicode for all others.
_CURRENCY = rf"(?:[$\u00a2-\u00a5\u20a0-\u20cf]|{_CODES})?"


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    """Return what matches a number with this decimal mark, its parts named."""
    point = re.escape(decimal)
    groups = re.escape("," if decimal == "." else ".") + _SPACES
    # Groups of three; of two, but for the last one, in India. One separator throughout.
    whole = rf"\d{{1,3}}(?P<mark>[{groups}])(?:\d{{2,3}}(?P=mark))*\d{{3}}|\d+"
    number = rf"(?P<whole>{whole})?(?:{point}(?P<fraction>\d*))?(?P<power>[eE][+-]?\d+)?"
    sign, space = r"(?P<sign>[+\-\u2212])?", "[ \u00a0\u202f]*"
    amount = rf"{sign}{space}{_CURRENCY}{space}(?P<inner>[+\-\u2212])?{number}{space}{_CURRENCY}{space}(?P<percent>%)?"
    return re.compile(rf"(?P<open>\()?{space}{amount}{space}(?P<close>\))?")


def parse_number(text: str, decimal: str = ".") -> float | None:
    """Return the number that a text stands for, None if it is not one; a percentage is a hundredth of its figure.

    Parameters
    ----------
    text
        With or without a currency, separators between groups of digits, and brackets around what is negative.
    decimal
        The decimal mark, "." or ",".

    Examples
    --------
    >>> from allegiance.preparation import parse_number
    >>> parse_number("$1,452.74"), parse_number("26%"), parse_number("1.452,74 €", decimal=",")
    (1452.74, 0.26, 1452.74)
    """
    found = _pattern(decimal).fullmatch(text.strip())
    if found is None or not (found["whole"] or found["fraction"]) or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [mark for mark in (found["sign"], found["inner"], found["open"]) if mark]
    if len(signs) > 1:
        return None
    digits = re.sub(r"\D", "", found["whole"] or "0")
    value = float(f"{digits}.{found['fraction'] or 0}{found['power'] or ''}")
    value = value / 100 if found["percent"] else value
    return -value if signs and signs[0] != "+" else value


def decimals_of(texts: Iterable[str]) -> set[str]:
    """Return the decimal marks with which all texts are numbers: none, one, or both if they cannot be told apart.

    Parameters
    ----------
    texts
        None of them empty.
    """
    possible = {".", ","}
    for text in texts:
        possible = {decimal for decimal in possible if parse_number(text, decimal) is not None}
        if not possible:
            break
    return possible
