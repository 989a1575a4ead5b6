"""The columns of the user's table on the page: their kinds, and their values as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from allegiance._core.validation import MISSING_WORDS, is_missing

#: Most distinct values of a text column that is a category, absolute and as a share of all rows.
_MAX_LEVELS, _LEVEL_SHARE = 40, 0.5
#: Smallest share of numbers in a text column that counts as numeric.
_NUMBER_SHARE = 0.99
#: Characters shown of a text.
EXCERPT = 1_000


def shorten(text: str, length: int) -> str:
    """Return a text from the inputs of the page cut to a length in characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


class Column(NamedTuple):
    """A column of the input table of the page."""

    name: str
    kind: str
    """``number``, ``date``, ``category`` or ``text``."""
    values: Any
    """(n,) floats, NaN where missing, for dates milliseconds since 1970; codes of ``levels``, -1 where missing; or
    texts, None where missing."""
    levels: tuple[str, ...] = ()
    is_named: bool = True
    """Whether the name is the user's."""
    describes: bool = True
    """Whether clusters are described in it."""

    @property
    def is_year(self) -> bool:
        """Whether the values of the user's column are years, which are written without separators."""
        if self.kind != "number":
            return False
        if self.values is None:
            return "year" in self.name.lower()
        known = self.values[~np.isnan(self.values)]
        return bool(known.size and ((known == np.round(known)) & (known >= 1700) & (known <= 2100)).all())

    def text(self, row: int) -> str | None:
        """Return a value of the user's column as text for readers; None if missing."""
        value = self.values[row]
        if self.kind == "category":
            return None if value < 0 else self.levels[value]
        if value is None or value != value or self.kind == "text":
            return None if value != value else value
        if self.kind == "date":
            moment = np.datetime64(int(value), "ms")
            return str(moment.astype("datetime64[D]") if value % 86_400_000 == 0 else moment.astype("datetime64[s]"))
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def read_columns(table: Any) -> Iterator[Column]:
    """Return the columns of the user's table, a narwhals frame, by their kind."""
    for name in table.columns:
        series = table[name]
        if series.dtype.is_numeric():
            values = series.cast(nw.Float64).to_numpy().astype(np.float64)
            values = np.where(np.isfinite(values), values, np.nan)
            codes = np.unique(values[~np.isnan(values)])
            if codes.size <= 2 and (codes == codes.round()).all():  # For two codes, shares are clearer than a mean.
                yield _text_column(str(name), [str(int(v)) if v == v else None for v in values.tolist()])
            else:
                yield Column(str(name), "number", values)
        elif series.dtype in (nw.Datetime, nw.Date):
            moments = series.cast(nw.Datetime("us")) if series.dtype == nw.Date else series
            yield Column(str(name), "date", moments.dt.timestamp("ms").cast(nw.Float64).to_numpy().astype(np.float64))
        else:
            yield _text_column(str(name), series.to_list())


def _text_column(name: str, entries: list[Any]) -> Column:
    """Return a column of texts as numbers if nearly all are, as a category if levels are few, else as texts."""
    texts = [None if is_missing(entry) or str(entry) == "<NA>" else str(entry) for entry in entries]
    levels = sorted({text for text in texts if text is not None})
    numbers = {level: _parse_number(level) for level in levels}
    words = {level for level in levels if level.strip().lower() in MISSING_WORDS}
    n_values = sum(text is not None and text not in words for text in texts)
    n_numbers = sum(text is not None and numbers[text] is not None for text in texts)
    # A few distinct numbers without any text are codes.
    is_numeric = n_numbers >= max(_NUMBER_SHARE * n_values, 1)
    if is_numeric and (n_numbers < len(texts) - texts.count(None) or len(levels) > _MAX_LEVELS):
        return Column(name, "number", np.array([numbers.get(text or "", np.nan) for text in texts], dtype=np.float64))
    if len(levels) > max(2, min(_MAX_LEVELS, _LEVEL_SHARE * len(texts))):
        return Column(name, "text", texts)
    code = {level: number for number, level in enumerate(levels)} | {None: -1}
    return Column(name, "category", np.array([code[text] for text in texts], dtype=np.int64), tuple(levels))


def _parse_number(text: str) -> float | None:
    """Return a text in a column of the table as a number; None for words, and for codes such as 007."""
    text = text.strip()
    try:
        value = None if text[:1] == "0" and text[1:2].isdigit() else float(text)
    except ValueError:
        return None
    return value if value is not None and np.isfinite(value) else None
