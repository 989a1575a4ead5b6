"""What the columns of a table hold, found in one pass: numbers and dates as people write them, categories, identifiers.

Every column of text keeps all readings alive that fit every value so far: a decimal point, a decimal comma, and four
orders of a date. A reading that a value contradicts is dropped, so no column is ever read a second time. What cannot be
summed up as rows go by (medians, whether values are unique) comes from a random sample of rows, all rows if they fit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allegiance._core.validation import FloatArray

from .values import (
    MARKS,
    ORDERS,
    as_numbers,
    as_texts,
    as_times,
    decoded,
    first_unread,
    has_leading_zeros,
    is_number,
    is_text,
    is_time,
    lower_words,
    missing_words,
    plain_type,
    plain_values,
    read_column,
    read_numbers,
    read_texts,
    trimmed,
    with_gaps,
)

#: Distinct values that are counted, of a column and of all columns.
_MOST_VALUES, _ALL_VALUES = 1_000, 1 << 20
#: Rows that the sample of a longer table has at least, and the most cells and bytes it may have.
SAMPLE_ROWS, _SAMPLE_CELLS, _SAMPLE_BYTES = 16_384, 1 << 24, 1 << 27
#: Cells and rows up to which the sample is the whole table while it is profiled, and rows that it keeps afterwards: as
#: halves are dropped, three times as many leave enough.
_WHOLE_CELLS, _WHOLE_ROWS, _KEPT_ROWS = 1 << 22, 1 << 20, 3 * SAMPLE_ROWS
#: Batches that the sample consists of at most, and rows that it keeps whatever they take.
_MOST_BATCHES, _LEAST_ROWS = 1_000, 256
#: Numbers that people write for a missing value; the first four count as missing where all other values are far away.
_SENTINELS = np.array([-99.0, -999.0, -9999.0, -99999.0, -9.0, 99.0, 999.0, 9999.0, 99999.0])
_CERTAIN = 4
#: A sentinel counts if this share of the values, and more than one, are equal to it.
_NOTABLE = 0.001
#: Whole numbers from here on are codes: floating-point numbers cannot distinguish them.
_EXACT = float(1 << 53)
_ID_NAME = re.compile(
    r"(?:^|[^A-Za-z])(?:id|uuid|guid|key|index|row_?(?:id|no|nr|number|name))$|[a-z](?-i:ID|Id)$", re.I
)


@dataclass
class ColumnProfile:
    """What one column holds. Of dates, numbers are days since 1970-01-01."""

    name: str
    type: str  # in the file, as Arrow names it
    kind: str = "empty"  # "number", "date", "text", "empty" (no value at all) or "other" (lists, binary data, ...)
    n_rows: int = 0
    n_missing: int = 0  # with words for missing values
    missing_words: dict[str, int] = field(default_factory=dict)  # how often each counted as missing
    missing: tuple[Any, ...] = ()  # words and numbers that mean a missing value, beyond the usual words
    values: dict[str, int] | None = None  # how often each distinct one occurs; None if there are more than 1,000
    unique: bool = False  # in the sample; of texts and whole numbers
    counting: bool = False  # whether each value is one more than the one before
    distinct_share: float = 0.0  # in the sample
    integer: bool = False
    mean: float = np.nan
    std: float = np.nan
    min: float = np.nan
    max: float = np.nan
    median: float = np.nan
    median_error: float = 0.0  # 0 if it is exact; else it is that of a sample, and this is the error of its rank (95 %)
    infinite: int = 0
    reading: str = "."  # of text: the decimal mark, or the order of a date, "iso", "ymd", "dmy" or "mdy"
    remark: str = ""  # what a reader should know, such as a date that could be read in two ways


@dataclass
class Profile:
    """The number of rows of a table, its columns by name, in their order, and the first value of its last row."""

    n_rows: int
    columns: dict[str, ColumnProfile]
    last: str
    sample: Sample = field(compare=False, repr=False)


def profile_of(
    batches: Iterable[Any],
    schema: Any,
    *,
    missing: Mapping[str, Sequence[Any]],
    decimal: str | None,
    dayfirst: bool | None,
) -> Profile:
    """Return the profile of record batches with this schema, whose text is as written.

    The result does not depend on where batches end.
    """
    most_values = min(_MOST_VALUES, max(_ALL_VALUES // len(schema), 51))
    columns = [_Column(one.name, one.type, missing.get(one.name, ()), most_values) for one in schema]
    sample = Sample(schema, [place for place, column in enumerate(columns) if column.usable])
    n_rows, last = 0, ""
    for batch in batches:
        sample.add(batch)
        for column, values in zip(columns, batch.columns, strict=True):
            column.add(values)
        n_rows += batch.num_rows
        row = (str(values[-1].as_py() or "").strip() for values in batch.columns)
        last = next(filter(None, row), "")
        del batch, values, row  # or they would be held while the next one is read
    # One table has one decimal mark: a column that shows it decides for those that could have either.
    shown = {column.only_mark for column in columns} - {None}
    usual = decimal or ("," if shown == {","} else ".")
    found = [column.finish(sample, usual, bool(shown) or decimal is not None, dayfirst) for column in columns]
    sample.thin(_KEPT_ROWS)
    return Profile(n_rows, {column.name: column for column in found}, last, sample)


class Sample:
    """Random rows as written, in their order: those whose random key is below the share that fits into memory."""

    def __init__(self, schema: Any, places: list[int]) -> None:
        self._places = places
        # Without dictionaries, which every batch would count as its own.
        self._schema = pa.schema([(schema.field(place).name, plain_type(schema.field(place).type)) for place in places])
        width = len(schema)
        self._most = min(max(_WHOLE_CELLS // width, _KEPT_ROWS), _WHOLE_ROWS, max(_SAMPLE_CELLS // width, 1))
        self._random = np.random.default_rng(0)
        self._keys, self._batches = np.empty(0), list[Any]()
        self.share = 1.0

    def add(self, batch: Any) -> None:
        """Keep some rows of the next batch, and fewer of all if they are too many."""
        keys = self._random.random(batch.num_rows)
        if batch.schema != self._schema:
            arrays = [decoded(batch.column(place)) for place in self._places]
            batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if self.share < 1.0:
            batch, keys = batch.filter(pa.array(keys < self.share)), keys[keys < self.share]
        self._batches.append(batch)
        self._keys = np.append(self._keys, keys)
        self.thin(self._most)
        if len(self._batches) > _MOST_BATCHES:
            self._batches = self._table().combine_chunks().to_batches()

    def thin(self, most: int) -> None:
        """Drop half of the rows while there are more than so many, or too many bytes."""
        while self._keys.size > most or (self._keys.size > _LEAST_ROWS and self._n_bytes() > _SAMPLE_BYTES):
            self.share /= 2
            keep = self._keys < self.share
            ends = np.cumsum([held.num_rows for held in self._batches])
            for place, chosen in enumerate(np.split(keep, ends[:-1])):  # one by one, so that no two copies are held
                self._batches[place] = self._batches[place].filter(pa.array(chosen))
            self._keys = self._keys[keep]

    def _n_bytes(self) -> int:
        return sum(held.nbytes for held in self._batches)

    def _table(self) -> Any:
        return pa.Table.from_batches(self._batches, schema=self._schema)

    def column(self, name: str) -> Any:
        """Return the values of one column, as an Arrow array."""
        place = self._schema.get_field_index(name)
        return pa.chunked_array([batch.column(place) for batch in self._batches]).combine_chunks()

    def rows(self, most: int, columns: Sequence[str]) -> Any:
        """Return columns of at most so many rows, those with the smallest keys, as an Arrow table."""
        held = self._table().select(columns)
        if self._keys.size <= most:
            return held
        return held.filter(pa.array(self._keys < np.partition(self._keys, most)[most]))


class _Stats:
    """Moments and extremes of the numbers of one reading of a column."""

    def __init__(self) -> None:
        self.seen = self.infinite = 0
        self.mean = self.squares = 0.0
        self.low, self.high = np.inf, -np.inf
        self.whole = self.counting = True
        self._last = np.nan
        self._sentinels = np.zeros(_SENTINELS.size, dtype=np.int64)

    def add(self, values: FloatArray) -> None:
        """Add values, NaN where one is missing."""
        finite = np.isfinite(values)
        if not finite.all():
            self.infinite += int(np.isinf(values).sum())
            self.counting = False
            values = values[finite]
        if not values.size:
            return
        if self.counting:
            steps = np.diff(values, prepend=values[0] - 1 if np.isnan(self._last) else self._last)
            self.counting = bool((steps == 1).all())
        self._last = float(values[-1])
        self.whole = self.whole and bool((values == np.floor(values)).all())
        odd = np.isin(values, _SENTINELS)
        if odd.any():
            self._sentinels += (values[odd, None] == _SENTINELS).sum(axis=0)
            values = values[~odd]
        if values.size:
            with np.errstate(over="ignore", invalid="ignore"):
                self._merge(values)

    def _merge(self, values: FloatArray) -> None:
        """Combine sums of squares about two means, without cancellation."""
        mean, total = float(values.mean()), self.seen + values.size
        shift = mean - self.mean
        self.squares += float(((values - mean) ** 2).sum()) + shift * shift * (self.seen * values.size / total)
        self.mean += shift * (values.size / total)
        self.seen = total
        self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))

    def sentinel(self) -> tuple[float, int, bool] | None:
        """Return a number far from all others that means missing, its count, and whether that is certain."""
        width = self.high - self.low
        if not np.isfinite(width) or (self._sentinels > 0).sum() != 1:
            return None
        place = int(self._sentinels.argmax())
        value, count = float(_SENTINELS[place]), int(self._sentinels[place])
        below, above = self.low - value, value - self.high
        far = (below > 0 and (below > width or self.low >= 0)) or above > width
        if not far or count < 2 or count < _NOTABLE * (self.seen + count):
            return None
        return value, count, place < _CERTAIN

    def finish(self, found: ColumnProfile, missing: float | None) -> None:
        """Write these numbers into a profile; a sentinel that does not mean missing is a number."""
        for value, count in zip(_SENTINELS, self._sentinels, strict=True):
            if count and value != missing:
                self._merge(np.full(count, value))
        found.infinite = self.infinite
        if self.seen:
            found.integer, found.mean, found.min, found.max = self.whole, self.mean, self.low, self.high
            found.std = float(np.sqrt(self.squares / self.seen))


class _Column:
    """One column of a table as its batches go by."""

    def __init__(self, name: str, kind: Any, missing: Sequence[Any], most_values: int) -> None:
        self._name, self._kind, self._missing, self._most_values = name, kind, tuple(missing), most_values
        value_type = plain_type(kind)
        self._is_text, self._words = is_text(value_type), lower_words(missing)
        readings: Sequence[str] = ("iso",) if is_time(value_type) else (".",) if is_number(value_type) else ()
        self._readings = {reading: _Stats() for reading in ((*MARKS, *ORDERS) if self._is_text else readings)}
        self.usable = bool(self._readings)
        self._rows = self._absent = self._read_before = 0
        self._words_seen: Counter[str] = Counter()
        self._values: Counter[str] | None = Counter()
        self._contradiction = self._first = ""
        self._ambiguous = False

    @property
    def only_mark(self) -> str | None:
        """The decimal mark that the column shows, None if it could have either or is not a column of numbers."""
        marks = [mark for mark in MARKS if mark in self._readings]
        return marks[0] if self._is_text and len(marks) == 1 and self._rows > self._absent else None

    def add(self, column: Any) -> None:
        """Look at some more values."""
        self._rows += len(column)
        if not self.usable:
            self._absent += column.null_count
        elif self._is_text:
            self._add_text(decoded(column))
        else:
            self._add_numbers(decoded(column))

    def _add_numbers(self, column: Any) -> None:
        given = as_numbers(column)
        numbers = with_gaps(given, self._missing)
        gaps = np.isnan(numbers)
        self._words_seen.update(f"{value:g}" for value in given[gaps & ~np.isnan(given)])
        self._absent += int(gaps.sum())
        if self._values is not None and np.unique(numbers[:2048]).size > self._most_values // 2:
            self._values = None
        if self._values is not None:
            self._count(as_texts(column.filter(pa.array(~gaps))))
        for stats in self._readings.values():
            stats.add(numbers)

    def _count(self, texts: Any) -> None:
        """Count distinct values while there are few."""
        if self._values is not None:
            counts = pc.value_counts(texts)
            for pair in counts.to_pylist() if len(counts) <= self._most_values else ():
                self._values[pair["values"]] += pair["counts"]
            if max(len(counts), len(self._values)) > self._most_values:
                self._values = None

    def _add_text(self, column: Any) -> None:
        plain = self._plain_numbers(column) if "." in self._readings else None
        texts = trimmed(column) if plain is None else column
        self._absent += texts.null_count
        self._count(texts.drop_null())
        if not self._readings:
            return
        found = self._read(texts) if plain is None else self._read_plain(column, plain)
        for one, other in (MARKS, ("dmy", "mdy")):
            if one in found and other in found and found[one] is not found[other]:
                same = np.array_equal(found[one], found[other], equal_nan=True)
                self._ambiguous = self._ambiguous or not same
        self._readings = {reading: stats for reading, stats in self._readings.items() if reading in found}
        for reading, stats in self._readings.items():
            stats.add(found[reading])

    def _plain_numbers(self, column: Any) -> FloatArray | None:
        """Return texts as numbers if all are finite ones with a decimal point and without odd zeros."""
        try:
            values = plain_values(column.cast(pa.float64()))
        except pa.ArrowInvalid:
            return None
        if self._words or int((~np.isfinite(values)).sum()) != column.null_count:
            return None
        starts = pc.fill_null(pc.starts_with(column, "0"), False)
        if pc.any(starts).as_py() and has_leading_zeros(column.filter(starts)):
            return None
        return values

    def _read_plain(self, column: Any, values: FloatArray) -> dict[str, FloatArray]:
        """Return the numbers of each reading; a decimal comma reads them too if no point is in them, or groups only."""
        if column.null_count == len(column):
            return dict.fromkeys(self._readings, values)
        found = {".": values}
        if "," in self._readings:
            if not pc.any(pc.match_substring(column, ".")).as_py():
                found[","] = values
            elif all(read_numbers(some, ",").null_count == some.null_count for some in (column[:16], column)):
                found[","] = plain_values(read_numbers(column, ","))
        return found

    def _read(self, texts: Any) -> dict[str, FloatArray]:
        """Return the numbers or days of each reading that all of these trimmed texts fit."""
        words = missing_words(texts, self._words)
        values = pc.if_else(words, None, texts)
        n_values = len(values) - values.null_count
        readings = list(self._readings)
        if n_values and any(mark in readings for mark in MARKS) and has_leading_zeros(values):
            self._contradiction = self._contradiction or "it has leading zeros"
            readings = [reading for reading in readings if reading not in MARKS]
        if n_values and not self._first:
            self._first = values.drop_null()[0].as_py()
        found: dict[str, FloatArray] = {}
        head = values[:256].drop_null()
        for reading in readings:
            if read_texts(head, reading).null_count > len(head) / 2:
                continue
            read = read_texts(values, reading)
            fits = len(read) - read.null_count
            if fits == n_values:
                found[reading] = plain_values(read)
            elif self._read_before + fits > 0.8 * (self._read_before + n_values) and not self._contradiction:
                # Nearly all values fit: the one that does not may be a mistake in the file.
                odd = str(first_unread(values, read))[:40]
                self._contradiction = f"{odd!r} is not a {'number' if reading in MARKS else 'date'}"
        if found:
            self._words_seen.update(texts.filter(words).to_pylist())
            self._absent += int(pc.sum(words).as_py() or 0)
            self._read_before += n_values
        else:
            # Words for a missing value are words again.
            self._absent -= sum(self._words_seen.values())
            self._words_seen.clear()
        return found

    def finish(self, sample: Sample, usual: str, mark_known: bool, dayfirst: bool | None) -> ColumnProfile:
        """Return what the column holds, now that all of it was seen."""
        found = ColumnProfile(self._name, str(self._kind), "other" if not self.usable else "empty", n_rows=self._rows)
        found.n_missing, found.missing, found.missing_words = self._absent, self._missing, dict(self._words_seen)
        found.values = None if self._values is None else dict(self._values)
        if not self.usable or self._rows == self._absent:
            return found
        column = sample.column(self._name)
        reading = self._reading(found, usual, mark_known, dayfirst)
        if reading is not None:
            self._finish_numbers(found, reading, column, sample.share)
        if found.values is None and (reading is None or found.integer):
            found.distinct_share = pc.count_distinct(column).as_py() / max(len(column) - column.null_count, 1)
        elif found.values is not None:
            found.distinct_share = len(found.values) / (self._rows - self._absent)
        found.unique = self._rows > 1 and not found.n_missing and found.distinct_share == 1.0
        if reading is not None:
            return found
        found.kind, found.remark, values = "text", self._contradiction, found.values or {}
        found.missing_words = {text: values.pop(text) for text in list(values) if text.lower() in self._words}
        found.n_missing += sum(found.missing_words.values())
        return found

    def _reading(self, found: ColumnProfile, usual: str, mark_known: bool, dayfirst: bool | None) -> str | None:
        """Return which of the readings left is taken, with a remark if another one would give other numbers."""
        alive = list(self._readings)
        marks = [mark for mark in alive if mark in MARKS]
        if marks:
            mark = usual if usual in marks else marks[0]
            if len(marks) == 2 and self._ambiguous and not mark_known:
                found.remark = "with a decimal comma its numbers would be others: pass decimal=',' (--decimal ,)"
            stats = self._readings[mark]
            if self._is_text and stats.whole and max(stats.high, -stats.low) >= _EXACT:
                self._contradiction = "its whole numbers have more than 15 digits"
                return None
            return mark
        if not {"dmy", "mdy"} <= set(alive):
            return alive[0] if alive else None
        day = "." in self._first if dayfirst is None else dayfirst
        if dayfirst is None and self._ambiguous:
            first, other = ("day", "monthfirst") if day else ("month", "dayfirst")
            found.remark = (
                f"no date tells day from month; the {first} is taken to be first: pass dayfirst={not day} "
                f"(--dates {other}) if not"
            )
        return "dmy" if day else "mdy"

    def _finish_numbers(self, found: ColumnProfile, reading: str, column: Any, share: float) -> None:
        stats = self._readings[reading]
        found.kind, found.reading = "number" if reading in MARKS else "date", reading
        sentinel = stats.sentinel() if found.kind == "number" else None
        missing = None
        if sentinel is not None:
            value, count, certain = sentinel
            word = f"{value:.0f}"
            if certain:
                missing = value
                found.missing, found.n_missing = (*found.missing, value), found.n_missing + count
                found.missing_words[word] = found.missing_words.get(word, 0) + count
            else:
                declare = f"missing={{{self._name!r}: [{word}]}} (--missing {self._name}={word})"
                found.remark = f"{count:,} values are {word}; if that means missing, pass {declare}"
        if found.values is not None:
            found.values = {text: n for text, n in found.values.items() if text not in found.missing_words}
        stats.finish(found, missing)
        numbers = read_column(column, reading, found.missing)[0]
        numbers = numbers[np.isfinite(numbers)]
        if numbers.size:
            found.median = float(np.median(numbers))
            found.median_error = 0.0 if share == 1.0 else float(0.98 / np.sqrt(numbers.size))
        found.counting = stats.counting and stats.whole and not found.n_missing and self._rows > 2


def named_like_id(name: str) -> bool:
    """Tell whether a column is named as identifiers are: id, customerID, order_key."""
    return name in ("__index_level_0__", "unnamed_1") or _ID_NAME.search(name) is not None


def typed_field(found: ColumnProfile, kind: Any) -> Any:
    """Return the type that a column of text gets.

    Whole numbers with words among them stay text: they may be labels, of which "unknown" is one.
    """
    if not is_text(kind) or found.kind not in ("number", "date") or (found.integer and found.missing_words):
        return kind
    if found.kind == "date":
        return pa.timestamp("us")
    return pa.int64() if found.integer and not found.infinite else pa.float64()


def typed_column(column: Any, found: ColumnProfile, kind: Any) -> Any:
    """Return a column of text as numbers or times of the type that :func:`typed_field` gave."""
    numbers, _ = read_column(column, found.reading, found.missing)
    if found.kind == "date":
        return pa.array(as_times(numbers))
    return pa.array(numbers, from_pandas=True).cast(kind)
