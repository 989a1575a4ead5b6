"""What the columns of a table hold, found in one pass: numbers and dates as people write them, categories, identifiers.

Every column of text keeps all readings alive that fit every value so far: a decimal point, a decimal comma, and four
orders of a date. A reading that a value contradicts is dropped, so no column is ever read a second time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from allegiance._core.validation import BoolArray, FloatArray, require

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
    plain_values,
    read_column,
    read_numbers,
    read_texts,
    trimmed,
    with_gaps,
)

arrow: Any = require("pyarrow", "io", "reading tables")
compute: Any = require("pyarrow.compute", "io", "reading tables")

#: Distinct values of a column that are counted.
MOST_VALUES = 1_000
#: Numbers that people write for a missing value; the first four count as missing where all other values are far away.
_SENTINELS = np.array([-99.0, -999.0, -9999.0, -99999.0, -9.0, 99.0, 999.0, 9999.0, 99999.0])
_CERTAIN = 4
#: A sentinel counts if this share of the values, and more than one, are equal to it.
_NOTABLE = 0.001
#: Numbers kept for medians, over all columns, and rows of them at most and at least.
_KEPT_NUMBERS, _MOST_KEPT, _LEAST_KEPT = 1 << 22, 1 << 20, 1 << 10
#: Bytes of texts kept, over all columns, to tell whether they are unique.
_KEPT_BYTES = 1 << 27
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
    unique: bool = False
    counting: bool = False  # whether each value is one more than the one before
    distinct_share: float = 0.0  # of the first rows
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
    last: str = ""


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
    sample = _RowSample(len(schema))
    most_bytes = max(_KEPT_BYTES // len(schema), 1 << 20)
    columns = [_Column(one.name, one.type, missing.get(one.name, ()), sample, most_bytes) for one in schema]
    n_rows, end = 0, None
    for batch in batches:
        picked = sample.pick(batch.num_rows)
        for column, values in zip(columns, batch.columns, strict=True):
            column.add(values, picked)
        n_rows += batch.num_rows
        end = batch.slice(batch.num_rows - 1)
        sample.thin(columns)
    # One table has one decimal mark: a column that shows it decides for those that could have either.
    shown = {column.only_mark for column in columns} - {None}
    usual = decimal or ("," if shown == {","} else ".")
    found = [column.finish(usual, bool(shown) or decimal is not None, dayfirst) for column in columns]
    row = [] if end is None else [str(column[0].as_py() or "").strip() for column in end.columns]
    return Profile(n_rows, {column.name: column for column in found}, next(filter(None, row), ""))


class _RowSample:
    """Rows whose values are kept for medians: all of them, or a random part of even density."""

    def __init__(self, n_columns: int) -> None:
        self.most = int(np.clip(_KEPT_NUMBERS // max(n_columns, 1), _LEAST_KEPT, _MOST_KEPT))
        self._random = np.random.default_rng(0)
        self.ranks = np.zeros(0)
        self.share = 1.0

    def pick(self, n_rows: int) -> BoolArray | None:
        """Return which of the next rows are kept, None for all."""
        ranks = self._random.random(n_rows)
        picked = None if self.share == 1.0 else ranks < self.share
        self.ranks = np.concatenate([self.ranks, ranks if picked is None else ranks[picked]])
        return picked

    def thin(self, columns: list[_Column]) -> None:
        """Halve the sample while it is too large."""
        while self.ranks.size > self.most:
            self.share /= 2
            keep = self.ranks < self.share
            self.ranks = self.ranks[keep]
            for column in columns:
                for stats in {id(stats): stats for stats in column.readings.values()}.values():
                    stats.sample = [np.concatenate(stats.sample)[keep]]


class _Stats:
    """Moments, extremes and a sample of the numbers of one reading of a column."""

    def __init__(self, sample: _RowSample) -> None:
        self.seen = self.infinite = 0
        self.mean = self.squares = 0.0
        self.low, self.high = np.inf, -np.inf
        self.whole = self.rising = self.counting = True
        self.last = np.nan
        self.sentinels = np.zeros(_SENTINELS.size, dtype=np.int64)
        self.sample: list[FloatArray] = [np.full(sample.ranks.size, np.nan)]

    def add(self, values: FloatArray, picked: BoolArray | None) -> None:
        """Add values, NaN where one is missing."""
        self.sample.append(values if picked is None else values[picked])
        finite = np.isfinite(values)
        if not finite.all():
            infinite = int(np.isinf(values).sum())
            self.infinite += infinite
            self.counting = self.counting and infinite == values.size - int(finite.sum())
            values = values[finite]
        if not values.size:
            return
        if self.rising:
            steps = np.diff(values, prepend=self.last)
            steps = steps[1:] if np.isnan(self.last) else steps
            self.rising = bool((steps > 0).all())
            self.counting = self.counting and self.rising and bool((steps == 1).all())
        self.last = float(values[-1])
        self.whole = self.whole and bool((values == np.floor(values)).all())
        odd = np.isin(values, _SENTINELS)
        if odd.any():
            self.sentinels += (values[odd, None] == _SENTINELS).sum(axis=0)
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
        if not np.isfinite(width) or (self.sentinels > 0).sum() != 1:
            return None
        place = int(self.sentinels.argmax())
        value, count = float(_SENTINELS[place]), int(self.sentinels[place])
        below, above = self.low - value, value - self.high
        far = (below > 0 and (below > width or self.low >= 0)) or above > width
        if not far or count < 2 or count < _NOTABLE * (self.seen + count):
            return None
        return value, count, place < _CERTAIN

    def finish(self, missing: float | None, share: float) -> dict[str, Any]:
        """Return what a profile says of these numbers; a sentinel that does not mean missing is a number."""
        for value, count in zip(_SENTINELS, self.sentinels, strict=True):
            if count and value != missing:
                self._merge(np.full(count, value))
        sample = np.concatenate(self.sample)
        sample = sample[np.isfinite(sample) & (sample != (np.nan if missing is None else missing))]
        found: dict[str, Any] = {"infinite": self.infinite}
        if self.seen:
            found |= {
                "integer": self.whole,
                "mean": self.mean,
                "std": float(np.sqrt(self.squares / self.seen)),
                "min": self.low,
                "max": self.high,
                "median": float(np.median(sample)) if sample.size else np.nan,
                "median_error": 0.0 if share == 1.0 else float(0.98 / np.sqrt(max(sample.size, 1))),
            }
        return found


class _Column:
    """One column of a table as its batches go by."""

    def __init__(self, name: str, kind: Any, missing: Sequence[Any], sample: _RowSample, most_bytes: int) -> None:
        self.name, self.kind, self.missing = name, kind, tuple(missing)
        self._sample, self._most_bytes = sample, most_bytes
        value_type = kind.value_type if arrow.types.is_dictionary(kind) else kind
        self.is_text = is_text(value_type)
        self._words = lower_words(missing)
        self.rows = self.absent = 0
        self.words: Counter[str] = Counter()
        self.values: Counter[str] | None = Counter()
        readings: Sequence[str] = ()
        if self.is_text:
            readings = (*MARKS, *ORDERS)
        elif is_number(value_type) or is_time(value_type):
            readings = ("iso",) if is_time(value_type) else (".",)
        self._usable = bool(readings)
        #: Readings that have agreed so far share their statistics.
        self.readings: dict[str, _Stats] = dict.fromkeys(readings, _Stats(sample))
        self.contradiction = ""
        self._read_before = 0
        self._first = ""
        self._kept: list[Any] | None = []
        self._kept_rows = self._bytes = 0
        self._distinct: tuple[int, int] = (0, 0)

    @property
    def only_mark(self) -> str | None:
        """The decimal mark that the column shows, None if it could have either or is not a column of numbers."""
        marks = [mark for mark in MARKS if mark in self.readings]
        return marks[0] if self.is_text and len(marks) == 1 and self.rows > self.absent else None

    def add(self, column: Any, picked: BoolArray | None) -> None:
        """Look at some more values."""
        self.rows += len(column)
        column = decoded(column)
        if not self._usable:
            self.absent += column.null_count
        elif self.is_text:
            self._add_text(column, picked)
            self._watch_uniqueness(column)
        else:
            if named_like_id(self.name) and not is_time(column.type):
                self._watch_uniqueness(column)
            given = as_numbers(column)
            numbers = with_gaps(given, self.missing)
            gaps = np.isnan(numbers)
            self.words.update(f"{value:g}" for value in given[gaps & ~np.isnan(given)])
            self.absent += int(gaps.sum())
            if self.values is not None and np.unique(numbers[:2048]).size > MOST_VALUES // 2:
                self.values = None
            if self.values is not None:
                self._count(as_texts(column.filter(arrow.array(~gaps))))
            for stats in self.readings.values():
                stats.add(numbers, picked)

    def _count(self, texts: Any) -> None:
        """Count distinct values while there are few."""
        if self.values is not None:
            for pair in compute.value_counts(texts).to_pylist():
                self.values[pair["values"]] += pair["counts"]
            if len(self.values) > MOST_VALUES:
                self.values = None

    def _add_text(self, column: Any, picked: BoolArray | None) -> None:
        plain = self._plain_numbers(column) if "." in self.readings else None
        texts = trimmed(column) if plain is None else column
        self.absent += texts.null_count
        self._count(texts.drop_null())
        if self.readings:
            self._share_or_split(self._read(texts) if plain is None else self._read_plain(column, plain), picked)

    def _plain_numbers(self, column: Any) -> FloatArray | None:
        """Return texts as numbers if all are finite ones with a decimal point and without odd zeros."""
        try:
            values = plain_values(column.cast(arrow.float64()))
        except arrow.ArrowInvalid:
            return None
        if self._words or int((~np.isfinite(values)).sum()) != column.null_count:
            return None
        starts = compute.fill_null(compute.starts_with(column, "0"), False)
        if compute.any(starts).as_py() and has_leading_zeros(column.filter(starts)):
            return None
        return values

    def _read_plain(self, column: Any, values: FloatArray) -> dict[str, FloatArray]:
        """Return the numbers of each reading; a decimal comma reads them too if no point is in them, or groups only."""
        if column.null_count == len(column):
            return dict.fromkeys(self.readings, values)
        found = {".": values}
        if "," in self.readings:
            if not compute.any(compute.match_substring(column, ".")).as_py():
                found[","] = values
            elif (read := read_numbers(column, ",")).null_count == column.null_count:
                found[","] = plain_values(read)
        return found

    def _read(self, texts: Any) -> dict[str, FloatArray]:
        """Return the numbers or days of each reading that all of these trimmed texts fit."""
        words = missing_words(texts, self._words)
        values = compute.if_else(words, None, texts)
        n_values = len(values) - values.null_count
        readings = list(self.readings)
        if n_values and any(mark in readings for mark in MARKS) and has_leading_zeros(values):
            self.contradiction = self.contradiction or "it has leading zeros"
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
            elif self._read_before + fits > 0.8 * (self._read_before + n_values) and not self.contradiction:
                # Nearly all values fit: the one that does not may be a mistake in the file.
                what = "number" if reading in MARKS else "date"
                self.contradiction = f"{first_unread(values, read)[:40]!r} is not a {what}"
        if found:
            self.words.update(texts.filter(words).to_pylist())
            self.absent += int(compute.sum(words).as_py() or 0)
            self._read_before += n_values
        else:
            # Words for a missing value are words again.
            self.absent -= sum(self.words.values())
            self.words.clear()
        return found

    def _share_or_split(self, found: dict[str, FloatArray], picked: BoolArray | None) -> None:
        """Give each reading its numbers and end those without; readings that agree share their statistics."""
        groups: list[tuple[_Stats, FloatArray, list[str]]] = []
        for reading, values in found.items():
            for stats, same, members in groups:
                if stats is self.readings[reading] and np.array_equal(values, same, equal_nan=True):
                    members.append(reading)
                    break
            else:
                groups.append((self.readings[reading], values, [reading]))
        owned: list[tuple[_Stats, FloatArray]] = []
        self.readings = {}
        for stats, values, members in groups:
            own = deepcopy(stats) if any(stats is other for other, _ in owned) else stats
            owned.append((own, values))
            self.readings.update(dict.fromkeys(members, own))
        for own, values in owned:
            own.add(values, picked)

    def _watch_uniqueness(self, column: Any) -> None:
        """Keep values while none of them occurs twice, up to some bytes of them."""
        if self._kept is None or (self._distinct[0] and self.readings and not named_like_id(self.name)):
            return
        count = compute.count_distinct(column).as_py()
        if not self._distinct[0]:
            self._distinct = (len(column) - column.null_count, count)
        if count < len(column):
            self._kept = None
        elif self._bytes < self._most_bytes:
            self._kept.append(column)
            self._kept_rows += len(column)
            self._bytes += column.nbytes

    def _is_unique(self) -> bool:
        """Tell whether all values kept are different, and none was left out before there were too many to keep."""
        if not self._kept or self.absent or (self._kept_rows < self.rows and self._bytes < self._most_bytes):
            return False
        return bool(compute.count_distinct(arrow.chunked_array(self._kept)).as_py() == self._kept_rows)

    def finish(self, usual: str, mark_known: bool, dayfirst: bool | None) -> ColumnProfile:
        """Return what the column holds, now that all of it was seen."""
        found = ColumnProfile(self.name, str(self.kind), n_rows=self.rows, n_missing=self.absent, missing=self.missing)
        found.values = None if self.values is None else dict(self.values)
        found.missing_words = dict(self.words)
        seen, distinct = self._distinct
        found.distinct_share = distinct / seen if seen else 0.0
        if not self._usable:
            found.kind = "other"
        elif self.rows > self.absent:
            reading = self._reading(found, usual, mark_known, dayfirst)
            if reading is None:
                self._finish_text(found)
            else:
                self._finish_numbers(found, reading)
        return found

    def _reading(self, found: ColumnProfile, usual: str, mark_known: bool, dayfirst: bool | None) -> str | None:
        """Return which of the readings left is taken, with a remark if another one would give other numbers."""
        alive = list(self.readings)
        marks = [mark for mark in alive if mark in MARKS]
        if marks:
            mark = usual if usual in marks else marks[0]
            if len(marks) == 2 and self.readings["."] is not self.readings[","] and not mark_known:
                found.remark = "with a decimal comma its numbers would be others: pass decimal=',' (--decimal ,)"
            stats = self.readings[mark]
            if self.is_text and stats.whole and max(stats.high, -stats.low) >= _EXACT:
                self.contradiction = "its whole numbers have more than 15 digits"
                return None
            return mark
        if not {"dmy", "mdy"} <= set(alive):
            return alive[0] if alive else None
        day = "." in self._first if dayfirst is None else dayfirst
        if dayfirst is None and self.readings["dmy"] is not self.readings["mdy"]:
            first, other = ("day", "monthfirst") if day else ("month", "dayfirst")
            found.remark = (
                f"no date tells day from month; the {first} is taken to be first: pass dayfirst={not day} "
                f"(--dates {other}) if not"
            )
        return "dmy" if day else "mdy"

    def _finish_text(self, found: ColumnProfile) -> None:
        found.kind, found.remark, found.unique = "text", self.contradiction, self._is_unique()
        values = found.values or {}
        found.missing_words = {text: values.pop(text) for text in list(values) if text.lower() in self._words}
        found.n_missing += sum(found.missing_words.values())

    def _finish_numbers(self, found: ColumnProfile, reading: str) -> None:
        stats = self.readings[reading]
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
                declare = f"missing={{{self.name!r}: [{word}]}} (--missing {self.name}={word})"
                found.remark = f"{count:,} values are {word}; if that means missing, pass {declare}"
        if found.values is not None:
            found.values = {text: n for text, n in found.values.items() if text not in found.missing_words}
        vars(found).update(stats.finish(missing, self._sample.share))
        found.unique = bool(stats.rising and not found.n_missing and stats.seen > 1) or self._is_unique()
        found.counting = bool(stats.counting and stats.whole and not found.n_missing and self.rows > 2)


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
        return arrow.timestamp("us")
    return arrow.int64() if found.integer and not found.infinite else arrow.float64()


def typed_column(column: Any, found: ColumnProfile) -> Any:
    """Return a column of text as numbers or times, if that is what the profile says; else as it is."""
    kind = typed_field(found, column.type)
    if kind == column.type:
        return column
    numbers, _ = read_column(column, found.reading, found.missing)
    if found.kind == "date":
        return arrow.array(as_times(numbers))
    return arrow.array(numbers, from_pandas=True).cast(kind)
