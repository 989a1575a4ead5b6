"""Rows of a table that are not observations: empty rows, footnotes, repeated headers, units, totals and means."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from allegiance._core.validation import FloatArray

from .values import MARKS, is_text, read_column

if TYPE_CHECKING:
    from .profile import ColumnReadings, Sample

#: Names of totals and of other statistics, as words of a text.
_TOTAL = r"(?:grand |sub[- ]?)?totals?|sum|(?:zwischen)?summe|gesamt(?:summe)?|insgesamt|totale|somme"
_MEAN = r"mean|average|avg|mittelwert|durchschnitt|moyenne|media"
_STATISTIC = rf"{_MEAN}|median|std?\.? ?dev\.?|std|min(?:imum)?|max(?:imum)?|count|\d\d%"
_STATISTIC_NAME = rf"(?i)(?:^|\W)(?:{_TOTAL}|{_STATISTIC})(?:\W|$)"
#: Maximum rows with such a name, and rows with a mean in a longer name.
_MAX_NAMED, _MAX_MEANS = 1_000, 3
#: Smallest number of a total, and minimum rows above an unnamed one.
_MIN_TOTAL, _MIN_SUMMED = 10, 8
#: Rows at the end of a table that may be unnamed means.
_LAST_ROWS = 3


class OddRows:
    """Candidates for rows that are not observations, collected batch by batch."""

    def __init__(self, columns: list[ColumnReadings]) -> None:
        self._columns = columns
        self._sparse: dict[int, tuple[int, str]] = {}  # rows with at most one value: its column and text
        self._named: dict[int, str] = {}  # rows with the name of a statistic
        self._n_rows = 0

    def add(self, batch: Any, first: int) -> None:
        """Collect candidates from the next batch; ``first`` is the number of its first row."""
        n_values = np.zeros(batch.num_rows, dtype=np.int32)
        for values in batch.columns:
            n_values += np.asarray(values.is_valid().to_numpy(zero_copy_only=False)) if values.null_count else 1
        if len(self._columns) > 2:
            for row in np.flatnonzero(n_values <= 1)[: max(0, 10_000 - len(self._sparse))].tolist():
                cells = [(i, str(values[row])) for i, values in enumerate(batch.columns) if values[row].is_valid]
                is_blank = not any(letter.isalnum() for _, text in cells for letter in text)
                self._sparse[first + row] = (-1, "") if is_blank else cells[0]
        self._n_rows = first + batch.num_rows
        for values in batch.columns[:2]:
            if is_text(values.type) and len(self._named) < _MAX_NAMED:
                matches = pc.fill_null(pc.match_substring_regex(values, _STATISTIC_NAME), False)
                rows = np.flatnonzero(matches.to_numpy(zero_copy_only=False))[:_MAX_NAMED].tolist()
                self._named |= {first + row: values[row].as_py() for row in rows}

    def find(self, sample: Sample) -> dict[int, str]:
        """Return the rows that are not observations, each with the reason."""
        odd = {row: "empty" for row, (place, _) in self._sparse.items() if place < 0}
        stats = [column.readings.get(column.best_reading() or "") for column in self._columns]
        numbers = [one for one in stats if one is not None and one.moments.n > 2]
        for row, (place, text) in self._sparse.items() if len(numbers) > 1 else ():
            own, values = stats[place], self._columns[place].values
            is_single = values is None or values[text.strip()] == 1
            if place >= 0 and (is_single if own is None else row in own.strays):
                odd[row] = "without numbers"
        # Rows with text in several columns of numbers.
        broken = [strays for strays in (one.strays for one in numbers if one.n_strays) if strays]
        names = {name for column in self._columns for name in (column.name, column.name.lower())}
        counts = Counter(row for strays in broken for row in strays)
        limit = max(3, min((one.moments.n for one in numbers), default=0) // 100)
        shared = [row for row, n in counts.items() if n >= max(2, len(broken) / 2)]
        for row in shared:
            texts = [strays[row] for strays in broken if row in strays]
            is_header = sum(text in names for text in texts) > len(texts) / 2
            if is_header or len(shared) <= limit:
                odd[row] = "repeated header" if is_header else "text in columns of numbers"
        if sample.share == 1.0:
            odd |= self._statistics(sample) if self._named else self._unnamed_means(sample)
        # A total has the largest value of several columns, which is the sum of all others.
        tall = [one.moments for one in numbers if one.moments.low.value >= 0 > one.moments.high.value]
        tall = [moments for moments in tall if moments.n > 3]
        row, n = Counter(one.high_row for one in tall).most_common(1)[0] if tall else (0, 0)
        tops = [one for one in tall if one.high_row == row]
        sums = sum(abs(one.mean * one.n + 2 * one.high.value) <= -0.01 * one.high.value for one in tops)
        is_most = n >= 0.6 * len(tall) and n > 1 and (sums >= n / 2 or row in self._named)
        if is_most or (sums > 1 and min(one.n for one in tall) >= _MIN_SUMMED):
            odd.setdefault(row, "total")
        return odd

    def _unnamed_means(self, sample: Sample) -> dict[int, str]:
        """Return which of the last rows has the means of at least three columns."""
        rows = range(max(0, self._n_rows - _LAST_ROWS), self._n_rows)
        distances = list[FloatArray]()
        for column in self._columns:
            reading = column.best_reading()
            if reading not in MARKS:
                continue
            moments = column.readings[reading].moments
            if moments.n >= _MIN_SUMMED and moments.squares > 0:
                values = read_column(sample.column(column.name)[-len(rows) :], reading, ())[0]
                values = np.where(values == np.round(values), np.nan, values)  # a mean is rarely whole
                distances.append(np.abs(values - moments.mean) / np.sqrt(moments.squares / moments.n))
        if len(distances) < 3:
            return {}
        known, near = np.isfinite(distances).sum(axis=0), (np.array(distances) < 0.005).sum(axis=0)
        is_mean = (near >= 3) & (near >= 0.8 * known)
        return {row: "means" for row, yes in zip(rows, is_mean, strict=True) if yes}

    def _statistics(self, sample: Sample) -> dict[int, str]:
        """Return the named rows with the sums of other rows, or with the means, in their columns of numbers."""
        columns = list[FloatArray]()
        for column in self._columns:
            reading = column.best_reading()
            if reading in MARKS and column.readings[reading].moments.n > 3:
                columns.append(read_column(sample.column(column.name), reading, ())[0])
        if not columns:
            return {}
        rows, table = sorted(self._named), np.column_stack(columns)
        own = table[rows]
        table[rows] = np.nan
        count = np.isfinite(table).sum(axis=0)
        sums = np.vstack([np.zeros(len(columns)), np.nan_to_num(table).cumsum(axis=0)])
        before, here, after = (sums[places] for places in ([0, *rows[:-1]], rows, [*rows[1:], self._n_rows]))
        is_number = np.isfinite(own) & (np.abs(own) > _MIN_TOTAL)
        hits = np.zeros_like(is_number)
        for total in (here - before, here, after - here, sums[-1:]):
            hits |= is_number & (np.abs(own - total) <= 0.005 * np.abs(own))
        n_numbers, n_hits = is_number.sum(axis=1), hits.sum(axis=1)
        is_total = (n_hits > 0) & (n_hits >= n_numbers / 3) & (n_hits >= np.minimum(2, n_numbers - 1))
        with np.errstate(all="ignore"):
            mean = sums[-1] / count
            spread = np.sqrt(np.nansum((table - mean) ** 2, axis=0) / count)
            distances = np.where(np.isfinite(own), np.abs(own - mean) / spread, np.nan)
        is_mean = [np.nanmedian([*row, np.inf]) < 0.1 for row in distances]

        def named(pattern: str, *, whole: bool = False) -> set[int]:
            """Return the rows with the name of a total or another statistic."""
            text = rf"(?i)\s*(?:{pattern})\s*:?\s*" if whole else rf"(?i).*\b(?:{pattern})\b.*"
            return {row for row in rows if re.fullmatch(text, self._named[row], re.S)}

        # Longer names, such as "Total Gym" and "Social media", need more evidence.
        totals = {row for row, yes in zip(rows, is_total, strict=True) if yes} & named(_TOTAL)
        if len(totals) < len(named(_TOTAL)) / 2:
            totals &= named(_TOTAL, whole=True)
        odd = dict.fromkeys(sorted(totals), "subtotal" if len(totals) > 1 else "total")
        means = {row for row, yes in zip(rows, is_mean, strict=True) if yes} & named(_MEAN)
        if len(named(_MEAN)) > _MAX_MEANS:
            means &= named(_MEAN, whole=True)
        if means:
            others = sorted({*means, *named(_STATISTIC, whole=True)} - totals)
            odd |= dict.fromkeys(others, "mean or other statistic")
        return odd
