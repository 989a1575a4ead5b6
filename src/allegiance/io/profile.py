"""Column profiles from one pass over a table: numbers, dates, categories, identifiers.

Each text column tracks several readings: a decimal point, a decimal comma, and four date orders. Each reading counts
the cells that contradict it, so no column is read twice. Medians and uniqueness come from a random sample of rows, or
from all rows if they fit into memory. The same pass collects rows that are not observations (a second header, totals,
footnotes). Only if there are such rows, or numbers that mean "missing", the table is profiled again without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from allegiance._core.validation import BoolArray, FloatArray, IntArray

from .odd_rows import OddRows
from .values import (
    MARKS,
    ORDERS,
    as_numbers,
    as_texts,
    has_leading_zeros,
    is_number,
    is_text,
    is_time,
    lower_words,
    missing_words,
    plain_type,
    plain_values,
    read_column,
    read_texts,
    trim_texts,
    with_gaps,
    without_dictionary,
)

#: Maximum number of distinct values to count, per column and in total.
_MAX_VALUES, _ALL_VALUES = 1_000, 1 << 20
#: Minimum rows of the sample, and its maximum number of cells and bytes.
SAMPLE_ROWS, _SAMPLE_CELLS, _SAMPLE_BYTES = 16_384, 1 << 24, 1 << 27
#: Cells and rows up to which the sample is the whole table during profiling, and its maximum rows afterwards. Rows are
#: dropped by half, so three times the minimum is enough.
_WHOLE_CELLS, _WHOLE_ROWS, _FINAL_ROWS = 1 << 22, 1 << 20, 3 * SAMPLE_ROWS
#: Maximum batches of the sample, and rows that it keeps regardless of their bytes.
_MAX_BATCHES, _MIN_ROWS = 1_000, 256
#: Maximum number and share of cells that may contradict a reading; rows read at a time.
_MAX_STRAYS, _STRAY_SHARE, _BLOCK_ROWS = 1_000, 0.01, 512
#: Maximum cells of short columns that are read together.
_BLOCK_CELLS = 1 << 16
#: Maximum share if all of them are the same text.
_WORD_SHARE = 0.1
#: A reading is dropped if none of the first values of the column fits it.
_LEAD = 256
#: Larger whole numbers are codes: floating-point numbers cannot represent them exactly.
_EXACT = float(1 << 53)
#: Minimum number of other distinct values in a column with a sentinel.
_MIN_DISTINCT = 10
#: Gap between a sentinel and the other numbers, relative to their range: certain, certain for 0, and suspect for 0.
_GAP, _ZERO_GAP, _SUSPECT_GAP = 2.0, 5.0, 0.25
#: The same for 99 among few values, such as answers from 1 to 5.
_CODE_GAP, _MIN_ANSWERS = 5.0, 30
#: Numbers that often mean missing.
_NINES = re.compile(r"-?(9{2,}(\.9+)?|8{3,}|7{3,})")
#: Dates that mean a missing date.
_NO_DATES = ("0001-01-01", "1899-12-30", "1900-01-01", "1901-01-01", "1970-01-01", "2099-12-31", "9999-12-31")
_NO_DAYS = np.array(_NO_DATES, "M8[D]").astype(np.int64).tolist()


@dataclass
class ColumnProfile:
    """The profile of one column. Dates are days since 1970-01-01."""

    name: str
    type: str  # in the file, as Arrow names it
    kind: str = "empty"  # "number", "date", "text", "empty" (no value at all) or "other" (lists, binary data, ...)
    n_rows: int = 0
    n_missing: int = 0  # including words for missing values
    missing_words: dict[str, int] = field(default_factory=dict)  # count of each word that means missing
    missing: tuple[Any, ...] = ()  # additional words and numbers that mean missing
    strays: dict[int, str] = field(default_factory=dict)  # cells that are neither number nor date, by row
    values: dict[str, int] | None = None  # count of each distinct value; None if there are more than 1,000
    unique: bool = False  # in the sample; only texts and whole numbers
    counting: bool = False  # whether each value is the previous one plus 1
    distinct_share: float = 0.0  # in the sample
    integer: bool = False
    mean: float = np.nan
    std: float = np.nan
    min: float = np.nan
    max: float = np.nan
    median: float = np.nan
    median_error: float = 0.0  # of its rank (95%), if it is the median of a sample; 0 if it is exact
    infinite: int = 0
    reading: str = "."  # for text: the decimal mark, or the date order "iso", "ymd", "dmy" or "mdy"
    remark: str = ""  # for the user, such as an ambiguous date
    sentinel: Sentinel | None = None


class Sentinel(NamedTuple):
    """A number that means missing: its count, and whether no other reading of the column is plausible."""

    value: float
    n_rows: int
    is_certain: bool


@dataclass
class Profile:
    """The profile of a table: row count, column profiles, and rows that are not observations, with the reason."""

    n_rows: int
    columns: dict[str, ColumnProfile]
    sample: Sample = field(compare=False, repr=False)
    odd_rows: dict[int, str] = field(default_factory=dict)

    def n_duplicate_rows(self) -> int:
        """Return the number of rows that repeat an earlier one in all columns; 0 if the table is too large to check."""
        rows = self.sample.rows(_WHOLE_ROWS, self.sample.names)
        if rows.num_rows < self.n_rows or rows.num_rows * rows.num_columns > _WHOLE_CELLS or not rows.num_columns:
            return 0
        return int(rows.num_rows - rows.group_by(rows.column_names, use_threads=False).aggregate([]).num_rows)


def profile_of(
    batches: Iterable[Any],
    schema: Any,
    *,
    missing: Mapping[str, Sequence[Any]],
    decimal: str | None = None,
    dayfirst: bool | None = None,
    check_rows: bool = False,
) -> Profile:
    """Return the profile of record batches; ``check_rows`` also finds rows that are not observations."""
    most_values = min(_MAX_VALUES, max(_ALL_VALUES // len(schema), 51))
    columns = [ColumnReadings(one.name, one.type, missing.get(one.name, ()), most_values) for one in schema]
    sample = Sample(schema, [place for place, column in enumerate(columns) if column.usable])
    rows = OddRows(columns)
    n_rows = 0
    for batch in batches:
        sample.add(batch)
        if check_rows:
            rows.add(batch, n_rows)
        _add_batch(columns, batch, n_rows)
        n_rows += batch.num_rows
        del batch  # or it would be held while the next one is read
    odd = rows.find(sample) if check_rows else {}
    # A table has one decimal mark: columns with an unambiguous mark decide for ambiguous columns.
    marks = {column.only_mark for column in columns} - {None}
    usual = decimal or ("," if marks == {","} else ".")
    profiles = [column.finish(sample, usual, bool(marks) or decimal is not None, dayfirst) for column in columns]
    _confirm_sentinels(profiles, columns)
    _set_medians(profiles, sample)
    sample.thin(_FINAL_ROWS)
    return Profile(n_rows, {column.name: column for column in profiles}, sample, odd)


def _add_batch(columns: list[ColumnReadings], batch: Any, first: int) -> None:
    """Add a batch to the column profiles. Short columns of plain numbers are read many at a time, which is faster."""
    arrays = [without_dictionary(values) for values in batch.columns]
    size = max(1, _BLOCK_CELLS // max(batch.num_rows, 1))
    for start in range(0, len(columns), size):
        block = [*zip(columns[start : start + size], arrays[start : start + size], strict=True)]
        plain = _read_plain([values for column, values in block if column.may_be_plain], first)
        for column, values in block:
            column.add(values, first, next(plain) if column.may_be_plain else None)


def _read_plain(columns: Sequence[Any], first: int) -> Iterator[dict[str, _Numbers] | None]:
    """Yield the numbers by reading of each profiled text column, None unless :func:`_plain_numbers` reads all cells."""
    texts = pa.chunked_array(columns).combine_chunks() if len({values.type for values in columns}) == 1 else None
    points = None if texts is None else _plain_numbers(texts)
    if points is None:
        halves = (columns[: len(columns) // 2], columns[len(columns) // 2 :]) if len(columns) > 1 else ()
        yield from (numbers for half in halves for numbers in _read_plain(half, first))
        yield from [None] * (len(columns) == 1)
        return
    # A decimal comma also fits texts without points, or with grouping points.
    commas, pointed = points, _as_mask(pc.match_substring(texts, "."))
    if pointed.any():
        grouped = _as_mask(pc.match_substring_regex(texts, r"^[+-]?[1-9]\d{0,2}\.\d{3}$"))
        commas = np.where(grouped, np.rint(points * 1000), np.where(pointed, np.nan, points))
    shape = (len(columns), -1)
    has_points = np.asarray(pointed.reshape(shape).any(axis=1))
    both = _numbers_of(points.reshape(shape), first), _numbers_of(commas.reshape(shape), first)
    for point, comma, differs in zip(*both, has_points.tolist(), strict=True):
        is_empty = not point.moments.n
        yield dict.fromkeys(MARKS + ORDERS, point) if is_empty else {".": point, ",": comma if differs else point}


def _plain_numbers(texts: Any) -> FloatArray | None:
    """Return the texts of profiled columns as numbers if all are finite and without leading zeros; else None."""
    try:
        values = plain_values(texts.cast(pa.float64()))
    except pa.ArrowInvalid:
        return None
    if not len(texts) or int((~np.isfinite(values)).sum()) != texts.null_count:
        return None
    starts = pc.starts_with(texts, "0")
    return None if pc.any(starts).as_py() and has_leading_zeros(texts.filter(starts)) else values


def _confirm_sentinels(profiles: list[ColumnProfile], columns: list[ColumnReadings]) -> None:
    """Apply the sentinel of one column to other columns in which it is extreme."""
    values = {one.sentinel.value for one in profiles if one.sentinel is not None and one.sentinel.is_certain}
    for one, column in zip(profiles, columns, strict=True):
        if values and one.kind == "number" and not (one.sentinel is not None and one.sentinel.is_certain):
            for end in column.readings[one.reading].moments.repeated_ends(one.values):
                if end.value in values and (end.gap > 0.1 or end.has_odd_sign):
                    one.sentinel = Sentinel(end.value, end.n_rows, True)


def _set_medians(profiles: Sequence[ColumnProfile], sample: Sample) -> None:
    """Set the medians of profiled numbers and dates, which come from the sample."""
    for one in profiles:
        if one.kind in ("number", "date"):
            numbers, _ = read_column(sample.column(one.name), one.reading, one.missing)
            numbers = numbers[np.isfinite(numbers)]
            one.median = float(np.median(numbers)) if numbers.size else np.nan
            one.median_error = 0.0 if sample.share == 1.0 else float(0.98 / np.sqrt(max(numbers.size, 1)))


class Sample:
    """A random sample of unparsed rows in their order: those with a random key below ``share``."""

    def __init__(self, schema: Any, places: list[int]) -> None:
        self._places = places
        # Without dictionaries, which differ between batches.
        self._schema = pa.schema([(schema.field(place).name, plain_type(schema.field(place).type)) for place in places])
        self.names: list[str] = self._schema.names
        width = len(schema)
        self._most = min(max(_WHOLE_CELLS // width, _FINAL_ROWS), _WHOLE_ROWS, max(_SAMPLE_CELLS // width, 1))
        self._random = np.random.default_rng(0)
        self._keys, self._batches = np.empty(0), list[Any]()
        self.share = 1.0

    def add(self, batch: Any) -> None:
        """Add rows of the next batch to the profile's sample, and thin it if it is too large."""
        keys = self._random.random(batch.num_rows)
        if batch.schema != self._schema:
            arrays = [without_dictionary(batch.column(place)) for place in self._places]
            batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if self.share < 1.0:
            batch, keys = batch.filter(pa.array(keys < self.share)), keys[keys < self.share]
        self._batches.append(batch)
        self._keys = np.append(self._keys, keys)
        self.thin(self._most)
        if len(self._batches) > _MAX_BATCHES:
            self._batches = pa.Table.from_batches(self._batches).combine_chunks().to_batches()

    def thin(self, most: int) -> None:
        """Halve the profile's sample until it has at most ``most`` rows and not too many bytes."""
        while self._keys.size > most or (
            self._keys.size > _MIN_ROWS and sum(batch.nbytes for batch in self._batches) > _SAMPLE_BYTES
        ):
            self.share /= 2
            keep = self._keys < self.share
            ends = np.cumsum([batch.num_rows for batch in self._batches])
            for place, mask in enumerate(np.split(keep, ends[:-1])):  # one by one, to avoid a second copy
                self._batches[place] = self._batches[place].filter(pa.array(mask))
            self._keys = self._keys[keep]

    def column(self, name: str) -> Any:
        """Return the sampled values of a profiled column, as an Arrow array."""
        place = self._schema.get_field_index(name)
        return pa.chunked_array([batch.column(place) for batch in self._batches]).combine_chunks()

    def rows(self, most: int, columns: Sequence[str]) -> Any:
        """Return columns of at most ``most`` rows of the profile's sample, those with the smallest keys."""
        table = pa.Table.from_batches(self._batches, schema=self._schema).select(columns)
        if self._keys.size <= most:
            return table
        return table.filter(pa.array(self._keys < np.partition(self._keys, most)[most]))


class _End(NamedTuple):
    """The smallest of some numbers, its count, and the next larger number."""

    value: float = np.inf
    n: int = 0
    next: float = np.inf

    def merge(self, other: _End) -> _End:
        """Return the end of both ranges of profiled numbers together."""
        end, inner = sorted((self, other))
        if end.value == inner.value:
            return _End(end.value, end.n + inner.n, min(end.next, inner.next))
        return _End(end.value, end.n, min(end.next, inner.value))


class _RepeatedEnd(NamedTuple):
    """A repeated end of the range of a column."""

    value: float
    n_rows: int
    gap: float  # to the next number, relative to the range of the others
    has_odd_sign: bool  # whether it is the only negative number
    next_count: int  # of the next number; 0 if unknown


class _Moments(NamedTuple):
    """Moments and ends of the finite numbers of a column."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0  # sum of squares about the mean
    low: _End = _End()
    high: _End = _End()  # of the negated numbers
    high_row: int = -1
    is_whole: bool = True
    counting: bool = True  # whether each number is the previous one plus 1
    first: float = np.nan
    last: float = np.nan
    infinite: int = 0

    def merge(self, later: _Moments) -> _Moments:
        """Return the moments of these numbers and of later ones of the profiled column."""
        infinite = self.infinite + later.infinite
        if not self.n or not later.n:
            return (later if later.n else self)._replace(infinite=infinite)
        # Combine sums of squares about two means without cancellation.
        total, shift = self.n + later.n, later.mean - self.mean
        return _Moments(
            total,
            self.mean + shift * (later.n / total),
            self.squares + (later.squares + shift * shift * (self.n * later.n / total)),
            self.low.merge(later.low),
            self.high.merge(later.high),
            later.high_row if later.high.value < self.high.value else self.high_row,
            self.is_whole and later.is_whole,
            self.counting and later.counting and later.first - self.last == 1,
            self.first,
            later.last,
            infinite,
        )

    def repeated_ends(self, values: Mapping[str, int] | None) -> Iterator[_RepeatedEnd]:
        """Yield the smallest and the largest number if they are whole and repeated; ``values`` counts distinct ones."""
        if not self.n or (values is not None and len(values) < 3):
            return
        for end, far, sign in ((self.low, -self.high.value, 1.0), (self.high, self.low.value, -1.0)):
            value, following = sign * end.value, sign * end.next
            width = abs(far - following)
            if end.n > 1 and np.isfinite(width) and (value == int(value) or _NINES.fullmatch(f"{value:g}")):
                gap = abs(following - value) / width if width > 0 else np.inf
                next_count = (values or {}).get(f"{following:g}", 0)
                yield _RepeatedEnd(value, end.n, gap, bool(sign > 0 and value < 0 <= following), next_count)

    def sentinel(self, values: Mapping[str, int] | None) -> Sentinel | None:
        """Return a repeated number that means missing, by its distance from all others, its digits or its sign."""
        varied = values is None or len(values) > _MIN_DISTINCT
        for end in self.repeated_ends(values):
            value, n, gap = end.value, end.n_rows, end.gap
            is_nines = _NINES.fullmatch(f"{value:g}" if abs(value) < 1e5 else f"{value:.0f}") is not None
            is_answer = gap > _CODE_GAP and self.n >= _MIN_ANSWERS
            enough = n >= max(2, 0.001 * self.n) and (varied or value < 0 or is_answer)
            if enough and is_nines and (gap > 1 or (end.has_odd_sign and value <= -99)):
                return Sentinel(value, n, True)
            # Many answers of 99999 where all other incomes are rare.
            if is_nines and value > 0 and varied and n >= max(10, 0.01 * self.n, 10 * end.next_count):
                return Sentinel(value, n, False)
            # Most values of a column do not mean missing: most customers pay no late fees.
            if not varied or n < max(3, 0.005 * self.n) or 2 * n > self.n:
                continue
            if gap > (_ZERO_GAP if value == 0 else _GAP):
                return Sentinel(value, n, True)
            is_code = value == -1 and end.has_odd_sign and n > 1.5 * end.next_count
            if is_code or (value == 0 and gap > _SUSPECT_GAP and self.low.value == 0):
                return Sentinel(value, n, False)
        return None

    def placeholder_date(self, values: Mapping[str, int] | None) -> Sentinel | None:
        """Return a repeated date, such as 1900-01-01, that is far from all others."""
        dates = (end for end in self.repeated_ends(values) if end.value in _NO_DAYS and end.gap > 0.5)
        return next((Sentinel(end.value, end.n_rows, True) for end in dates), None)


class _Numbers(NamedTuple):
    """The numbers of one column in a batch, NaN where one is missing; how many are, and the moments of the others."""

    values: FloatArray
    n_missing: int
    moments: _Moments


def _numbers_of(table: FloatArray, first: int) -> list[_Numbers]:
    """Return the numbers of profiled columns, the rows of ``table``, with moments; ``first`` is their first row."""
    if not table.shape[1]:
        return [_Numbers(values, 0, _Moments()) for values in table]
    finite = np.isfinite(table)
    n, infinite = finite.sum(axis=1), np.isinf(table).sum(axis=1)
    filled, high = np.where(finite, table, 0.0), np.where(finite, -table, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        mean = filled.sum(axis=1) / np.maximum(n, 1)
        squares = (np.where(finite, filled - mean[:, None], 0.0) ** 2).sum(axis=1)
        counting = (np.diff(table, axis=1) == 1).all(axis=1)
    facts = (
        *(n, mean, squares, _ends(np.where(finite, table, np.inf)), _ends(high), first + high.argmin(axis=1)),
        *((filled == np.floor(filled)).all(axis=1), counting, table[:, 0], table[:, -1], infinite),
    )
    rows = zip(*(fact if isinstance(fact, list) else fact.tolist() for fact in facts), strict=True)
    gaps = (table.shape[1] - n - infinite).tolist()
    return [
        _Numbers(values, gap, _Moments(*row) if row[0] else _Moments(infinite=row[-1]))
        for values, gap, row in zip(table, gaps, rows, strict=True)
    ]


def _ends(table: FloatArray) -> list[_End]:
    """Return the low end of each profiled column, a row of a table that is infinite where a number is missing."""
    low = table.min(axis=1)
    is_low = table == low[:, None]
    following = np.where(is_low, np.inf, table).min(axis=1)
    return [*map(_End, low.tolist(), is_low.sum(axis=1).tolist(), following.tolist())]


class _Stats(NamedTuple):
    """The moments of one reading of a column, and the cells that contradict it."""

    moments: _Moments = _Moments()
    n_strays: int = 0  # contradicting cells
    n_gaps: int = 0  # numbers that mean missing
    cells: tuple[tuple[Any, IntArray, int], ...] = ()  # texts, places of contradicting ones, and row of the first text

    @property
    def strays(self) -> dict[int, str]:
        """The cells that contradict the reading, by row."""
        return {first + place: texts[place].as_py() for texts, places, first in self.cells for place in places.tolist()}


class ColumnReadings:
    """The readings of one column, updated batch by batch."""

    def __init__(self, name: str, kind: Any, missing: Sequence[Any], most_values: int) -> None:
        self.name, self._kind, self._missing, self._most_values = name, kind, tuple(missing), most_values
        value_type = plain_type(kind)
        self._is_text, self._words = is_text(value_type), lower_words(missing)
        readings = MARKS + ORDERS if self._is_text else ("iso",) if is_time(value_type) else (".",)
        self.usable = self._is_text or is_time(value_type) or is_number(value_type)
        #: Readings share their statistics until their numbers differ.
        self.readings = dict.fromkeys(readings if self.usable else (), _Stats())
        self._rows = self._absent = 0
        self._word_counts: Counter[str] = Counter()
        #: Counts of distinct values; None if there are too many.
        self.values: Counter[str] | None = Counter()
        self._first = ""
        self._leading_zeros = self._ambiguous = False

    def best_reading(self) -> str | None:
        """Return the reading with the fewest contradictions for the profile; None if most values contradict it."""
        best = min(self.readings, key=lambda reading: self.readings[reading].n_strays, default=None)
        return best if best and self.readings[best].moments.n > self.readings[best].n_strays else None

    @property
    def only_mark(self) -> str | None:
        """The decimal mark of the column, None if it is ambiguous or the column does not contain numbers."""
        marks = [mark for mark in MARKS if mark in self._fitting_readings()] if self._is_text else []
        return marks[0] if len(marks) == 1 and self._rows > self._absent else None

    def _fitting_readings(self) -> list[str]:
        """Return the readings with the fewest contradictions; none if even those have too many."""
        best = min(self.readings.values(), key=lambda stats: stats.n_strays, default=_Stats())
        if fewest := best.n_strays:
            count = max(stats.moments.n for stats in self.readings.values())
            few = fewest <= max(1 if count >= 20 else 0, _STRAY_SHARE * count)
            # One word that is repeated, such as "n/d", means missing.
            if not few and (fewest > _WORD_SHARE * count or len({*best.strays.values()}) > 1):
                return []
        return [reading for reading, stats in self.readings.items() if stats.n_strays == fewest]

    @property
    def may_be_plain(self) -> bool:
        """Whether the column is text that may be plain numbers."""
        return self._is_text and "." in self.readings and not self._words

    def add(self, column: Any, first: int, plain: dict[str, _Numbers] | None) -> None:
        """Add values, with their readings if they are plain numbers; ``first`` is the row of the first one."""
        self._rows += len(column)
        if not self.usable:
            self._absent += column.null_count
        elif self._is_text:
            self._add_text(column, first, plain)
        else:
            self._add_numbers(column, first)

    def _add_numbers(self, column: Any, first: int) -> None:
        """Add typed numbers or times to the profile of a column."""
        raw = as_numbers(column)
        numbers = with_gaps(raw, self._missing)
        gaps = np.isnan(numbers)
        self._word_counts.update(f"{value:g}" for value in raw[gaps & ~np.isnan(raw)])
        self._absent += int(gaps.sum())
        if self.values is not None and np.unique(numbers[:2048]).size > self._most_values // 2:
            self.values = None
        if self.values is not None:
            self._count_values(as_texts(column.filter(pa.array(~gaps))))
        (own,) = _numbers_of(numbers[None], first)
        self.readings = {name: _Stats(stats.moments.merge(own.moments)) for name, stats in self.readings.items()}

    def _count_values(self, texts: Any) -> None:
        """Count distinct values while there are few."""
        if self.values is not None:
            # Python counts few texts faster, and Arrow many.
            pairs = None if len(texts) <= _BLOCK_ROWS else pc.value_counts(texts)
            counts: Any = Counter(texts.to_pylist()) if pairs is None else pairs
            if len(counts) <= self._most_values:
                flat = counts if pairs is None else zip(*(part.to_pylist() for part in pairs.flatten()), strict=True)
                self.values.update(dict(flat))
            if max(len(counts), len(self.values)) > self._most_values:
                self.values = None

    def _add_text(self, column: Any, first: int, plain: dict[str, _Numbers] | None) -> None:
        """Add texts to the profile of a column."""
        texts = trim_texts(column) if plain is None else column
        self._absent += texts.null_count
        self._count_values(texts.drop_null())
        if plain is not None:
            self._add_readings(plain, texts, first)
            return
        # In blocks: most readings of a text column are dropped after the first one.
        start = 0
        while start < len(texts) and self.readings:
            block = texts[start : start + _BLOCK_ROWS] if len(self.readings) > 2 else texts[start:]
            self._parse_texts(block, first + start)
            start += len(block)

    def _parse_texts(self, texts: Any, first: int) -> None:
        """Parse trimmed texts with all remaining readings."""
        words = missing_words(texts, self._words)
        # Up to version 22, pyarrow's if_else corrupts the texts of a sliced array.
        values = pc.replace_with_mask(texts, words, pa.scalar(None, texts.type))
        if values.null_count < len(values):
            self._leading_zeros = self._leading_zeros or has_leading_zeros(values)
            self._first = self._first or values.drop_null()[0].as_py()
        if self._leading_zeros:
            self.readings = {reading: stats for reading, stats in self.readings.items() if reading not in MARKS}
        self._word_counts.update(texts.filter(words).to_pylist())
        tables = {name: plain_values(read_texts(values, name))[None] for name in self.readings}
        self._add_readings({name: _numbers_of(table, first)[0] for name, table in tables.items()}, values, first)

    def _add_readings(self, numbers: dict[str, _Numbers], texts: Any, first: int) -> None:
        """Add the numbers of each reading; drop readings with too many contradictions."""
        for one, other in (MARKS, ("dmy", "mdy")):
            if not self._ambiguous and {one, other} <= self.readings.keys() & numbers.keys():
                pair = numbers[one].values, numbers[other].values
                self._ambiguous = pair[0] is not pair[1] and not np.array_equal(*pair, equal_nan=True)
        added: dict[tuple[int, int], _Stats | None] = {}
        keys = {name: (id(stats), id(numbers.get(name))) for name, stats in self.readings.items()}
        for name, key in keys.items():
            if key not in added:
                added[key] = self._add_reading(self.readings[name], numbers.get(name), texts, first)
        self.readings = {name: stats for name, key in keys.items() if (stats := added[key]) is not None}

    def _add_reading(self, stats: _Stats, numbers: _Numbers | None, texts: Any, first: int) -> _Stats | None:
        """Return the statistics of a reading with the numbers of a batch; None if too many texts contradict it."""
        moments, n_strays, n_gaps, cells = stats
        if numbers is None or numbers.n_missing > texts.null_count:
            present = _as_mask(texts.is_valid()) if texts.null_count else np.ones(len(texts), dtype=bool)
            stray = present if numbers is None else present & np.isnan(numbers.values)
            places = np.flatnonzero(stray)
            if moments.n == n_gaps == 0 and n_strays + places.size >= _LEAD:
                fits = ~stray[present]
                if n_strays + (int(fits.argmax()) if fits.any() else places.size) >= _LEAD:
                    return None
            n_strays, cells = n_strays + places.size, (*cells, (texts, places, first)) if places.size else cells
            if n_strays > _MAX_STRAYS:
                return None
        if numbers is not None:
            gapped = with_gaps(numbers.values, self._missing)
            if gapped is not numbers.values:
                n_gaps += int((np.isnan(gapped) & ~np.isnan(numbers.values)).sum())
                (numbers,) = _numbers_of(gapped[None], first)
            moments = moments.merge(numbers.moments)
        return _Stats(moments, n_strays, n_gaps, cells)

    def finish(self, sample: Sample, usual: str, mark_known: bool, dayfirst: bool | None) -> ColumnProfile:
        """Return the profile after all rows have been added, except for the median."""
        profile = ColumnProfile(self.name, str(self._kind), "other" if not self.usable else "empty", n_rows=self._rows)
        profile.values = None if self.values is None else dict(self.values)
        profile.n_missing, profile.missing = self._absent, self._missing
        if not self.usable or self._rows == self._absent:
            return profile
        reading = self._choose_reading(profile, usual, mark_known, dayfirst)
        if reading is not None:
            self._finish_numbers(profile, reading)
        if profile.values is not None:
            profile.distinct_share = len(profile.values) / max(self._rows - self._absent, 1)
        elif reading is None or profile.integer:
            column = sample.column(self.name)
            profile.distinct_share = pc.count_distinct(column).as_py() / max(len(column) - column.null_count, 1)
        profile.unique = self._rows > 1 and not profile.n_missing and profile.distinct_share == 1.0
        if reading is None:
            profile.kind, profile.remark, values = "text", profile.remark or self._contradiction(), profile.values or {}
            profile.missing_words = {text: values.pop(text) for text in list(values) if text.lower() in self._words}
            profile.n_missing += sum(profile.missing_words.values())
        return profile

    def _contradiction(self) -> str:
        """Return the reason why a column of mostly numbers or dates is text."""
        best = self.best_reading()
        if self._leading_zeros:
            return "it has leading zeros"
        stats = _Stats() if best is None else self.readings[best]
        if not 0 < stats.n_strays <= 0.2 * stats.moments.n:
            return ""
        kind = "number" if best in MARKS else "date"
        return f"{next(iter(stats.strays.values()))[:40]!r} is not a {kind}"

    def _choose_reading(
        self, profile: ColumnProfile, usual: str, mark_known: bool, dayfirst: bool | None
    ) -> str | None:
        """Return the reading to use, and add a remark if another one would give different numbers."""
        alive = self._fitting_readings()
        marks = [mark for mark in alive if mark in MARKS]
        if marks:
            mark = usual if usual in marks else marks[0]
            if len(marks) == 2 and self._ambiguous and not mark_known:
                profile.remark = "with a decimal comma these would be different numbers: pass `decimal=','`"
            moments = self.readings[mark].moments
            if self._is_text and moments.is_whole and max(-moments.high.value, -moments.low.value) >= _EXACT:
                profile.remark = "its whole numbers have more than 15 digits"
                return None
            return mark if moments.n or moments.infinite else None
        if not {"dmy", "mdy"} <= set(alive):
            return alive[0] if alive else None
        day = "." in self._first if dayfirst is None else dayfirst
        if dayfirst is None and self._ambiguous:
            order = "day" if day else "month"
            profile.remark = f"all dates are ambiguous; assuming {order} first (`dayfirst={not day}`)"
        return "dmy" if day else "mdy"

    def _finish_numbers(self, profile: ColumnProfile, reading: str) -> None:
        """Complete the profile of a column of numbers or dates."""
        stats = self.readings[reading]
        moments, strays = stats.moments, stats.strays
        profile.kind, profile.reading = "number" if reading in MARKS else "date", reading
        profile.missing_words, profile.strays = dict(self._word_counts), strays
        profile.n_missing += (sum(self._word_counts.values()) if self._is_text else 0) + len(strays) + stats.n_gaps
        profile.missing = (*profile.missing, *dict.fromkeys(strays.values()))
        if profile.values is not None:
            absent = {*profile.missing_words, *strays.values()}
            profile.values = {text: n for text, n in profile.values.items() if text not in absent}
        profile.infinite = moments.infinite
        if moments.n:
            profile.integer, profile.mean = moments.is_whole, moments.mean
            profile.min, profile.max = moments.low.value, -moments.high.value
            profile.std = float(np.sqrt(moments.squares / moments.n))
            find = moments.sentinel if profile.kind == "number" else moments.placeholder_date
            profile.sentinel = find(profile.values)
        profile.counting = moments.counting and moments.is_whole and not profile.n_missing and self._rows > 2


def _as_mask(column: Any) -> BoolArray:
    """Return Arrow Booleans about the cells of a profiled column as a mask; null is false."""
    return np.asarray((pc.fill_null(column, False) if column.null_count else column).to_numpy(zero_copy_only=False))


def typed_field(profile: ColumnProfile, kind: Any, keep_words: bool) -> Any:
    """Return the type of a text column by its profile; with ``keep_words``, integers mixed with words stay text."""
    words = bool(keep_words and profile.integer and (profile.missing_words or profile.strays))
    if not is_text(kind) or profile.kind not in ("number", "date") or words:
        return kind
    if profile.kind == "date":
        return pa.timestamp("us")
    return pa.int64() if profile.integer and not profile.infinite else pa.float64()
