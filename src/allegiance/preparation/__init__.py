"""Transformers that read columns of a table: numbers as people write them, dates, and categories."""

from ._dates import CYCLES, Dates
from ._numbers import Numbers
from ._texts import Texts, category_name
from ._written import decimals_of, parse_number

__all__ = ["CYCLES", "Dates", "Numbers", "Texts", "category_name", "decimals_of", "parse_number"]
