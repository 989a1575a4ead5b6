"""Transformers that read columns of a table: numbers as people write them, dates, and categories."""

from ._dates import CYCLES, Dates, days_in
from ._numbers import Numbers, numbers_in
from ._texts import Texts, category_name, texts_in
from ._written import decimals_of, parse_number

__all__ = [
    "CYCLES",
    "Dates",
    "Numbers",
    "Texts",
    "category_name",
    "days_in",
    "decimals_of",
    "numbers_in",
    "parse_number",
    "texts_in",
]
