"""What the columns of a table hold, found in one pass: numbers and dates as people write them, categories, identifiers.

Every column of text keeps all readings alive that fit every value so far: a decimal point, a decimal comma, and four
orders of a date. A reading that a value contradicts is dropped, so no column is ever read a second time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from allegiance._core.validation import BoolArray, FloatArray, require

from .values import (
    MARKS,
    MICROSECONDS,
    ORDERS,
    as_numbers,
    as_texts,
    has_leading_zeros,
    is_number,
    is_text,
    is_time,
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
#: What a point cannot be in if it separates groups of three digits.
_NOT_GROUPED = re.compile(r"\.(?!\d{3}(?:\.|[eE]|$))|^\D*(?:\d{4,}\.|0\d*\.|\.)")
#: Whole numbers from here on are codes: floating-point numbers cannot distinguish them.
_EXACT = float(1 << 53)


@dataclass
class ColumnProfile:
    """What one column holds.

    Attributes
    ----------
    name, type
        Its name, and its Arrow type in the file.
    kind
        "number", "date", "text", "empty" (no value at all) or "other" (lists, binary data, ...).
    n_rows, n_missing
        Rows, and how many of them have no value, words for missing values included.
    missing_words
        How often each word was counted as missing; numbers such as -999 are in ``missing`` too.
    missing
        Words and numbers that mean a missing value, beyond :data:`allegiance.io.values.MISSING_WORDS`.
    values
        How often each distinct value occurs; None if there are more than 1,000.
    unique, counting
        Whether no value occurs twice, and whether each is one more than the one before.
    distinct_share
        Distinct values among the first rows, as a share.
    integer, mean, std, min, max, median, infinite
        Of numbers, and of dates in days since 1970-01-01.
    median_error
        0 if the median is exact; else it is the median of a sample, and this is the error of its rank (95 %).
    decimal, date_format
        How text is read: "." or ","; "iso", "ymd", "dmy" or "mdy".
    remark
        What a reader should know, such as a date that could be read in two ways.
    """

    name: str
    type: str
    kind: str = "empty"
    n_rows: int = 0
    n_missing: int = 0
    missing_words: dict[str, int] = field(default_factory=dict)
    missing: tuple[Any, ...] = ()
    values: dict[str, int] | None = None
    unique: bool = False
    counting: bool = False
    distinct_share: float = 0.0
    integer: bool = False
    mean: float = float("nan")
    std: float = float("nan")
    min: float = float("nan")
    max: float = float("nan")
    median: float = float("nan")
    median_error: float = 0.0
    infinite: int = 0
    decimal: str = "."
    date_format: str = ""
    remark: str = ""

    @property
    def n_distinct(self) -> int | None:
        """The number of distinct values, None if there are more than 1,000."""
        return None if self.values is None else len(self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; at most ten of the distinct values, the most frequent ones."""
        found = {key: value for key, value in asdict(self).items() if not (isinstance(value, float) and value != value)}
        if self.values is not None:
            found["values"] = dict(Counter(self.values).most_common(10))
        return {**found, "n_distinct": self.n_distinct, "missing": list(self.missing)}


@dataclass
class Profile:
    """All columns of a table.

    Attributes
    ----------
    n_rows
        The rows of the table.
    columns
        By name, in the order of the table.
    """

    n_rows: int
    columns: dict[str, ColumnProfile]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"n_rows": self.n_rows, "columns": [column.to_dict() for column in self.columns.values()]}


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
    names = list(schema.names)
    sample = _RowSample(len(names))
    columns = [
        _Column(field.name, field.type, missing.get(field.name, ()), sample, max(_KEPT_BYTES // len(names), 1 << 20))
        for field in schema
    ]
    n_rows = 0
    for batch in batches:
        picked = sample.pick(batch.num_rows)
        for column, values in zip(columns, batch.columns, strict=True):
            column.add(values, picked)
        n_rows += batch.num_rows
        sample.thin(columns)
    # One table has one decimal mark: a column that shows it decides for those that could have either.
    shown = {column.only_mark for column in columns} - {None}
    usual = decimal or ("," if shown == {","} else ".")
    found = [column.finish(usual, bool(shown) or decimal is not None, dayfirst) for column in columns]
    return Profile(n_rows, {column.name: column for column in found})


class _RowSample:
    """Rows whose values are kept for medians: all of them, or a random part of even density."""

    def __init__(self, n_columns: int) -> None:
        self.most = int(np.clip(_KEPT_NUMBERS // max(n_columns, 1), _LEAST_KEPT, _MOST_KEPT))
        self._random = np.random.default_rng(0)
        self._ranks = np.zeros(0)
        self.share = 1.0

    def pick(self, n_rows: int) -> BoolArray | None:
        """Return which of the next rows are kept, None for all."""
        ranks = self._random.random(n_rows)
        if self.share == 1.0:
            self._ranks = np.concatenate([self._ranks, ranks])
            return None
        picked = ranks < self.share
        self._ranks = np.concatenate([self._ranks, ranks[picked]])
        return picked

    def thin(self, columns: list[_Column]) -> None:
        """Halve the sample while it is too large."""
        while self._ranks.size > self.most:
            self.share /= 2
            keep = self._ranks < self.share
            self._ranks = self._ranks[keep]
            for column in columns:
                for stats in column.distinct_stats():
                    stats.sample = [np.concatenate(stats.sample)[keep]]


class _Stats:
    """Moments, extremes and a sample of the numbers of one reading of a column."""

    def __init__(self, sample: _RowSample) -> None:
        self.seen = self.infinite = 0
        self.mean = self.squares = 0.0
        self.low, self.high = np.inf, -np.inf
        self.whole = True
        self.rising = self.counting = True
        self.last = np.nan
        self.sentinels = np.zeros(_SENTINELS.size, dtype=np.int64)
        self.sample: list[FloatArray] = [np.full(sample._ranks.size, np.nan)]

    def add(self, values: FloatArray, picked: BoolArray | None) -> None:
        """Add values, NaN where one is missing."""
        self.sample.append(values if picked is None else values[picked])
        gaps = np.isnan(values)
        if gaps.any():
            self.counting = False
            values = values[~gaps]
        infinite = np.isinf(values)
        if infinite.any():
            self.infinite += int(infinite.sum())
            values = values[~infinite]
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
                self._merge(values.size, float(values.mean()), values)
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))

    def _merge(self, count: int, mean: float, values: FloatArray | None) -> None:
        """Combine sums of squares about two means, without cancellation."""
        own = 0.0 if values is None else float(((values - mean) ** 2).sum())
        total, shift = self.seen + count, mean - self.mean
        self.squares += own + shift * shift * (self.seen * count / total)
        self.mean += shift * (count / total)
        self.seen = total

    def _return_sentinels(self, but: float | None = None) -> None:
        """Count numbers that look like sentinels as values."""
        for value, count in zip(_SENTINELS.tolist(), self.sentinels.tolist(), strict=True):
            if count and value != but:
                self._merge(count, value, None)
                self.low, self.high = min(self.low, value), max(self.high, value)
        self.sentinels[:] = 0

    def sentinel(self) -> tuple[float, int, bool] | None:
        """Return a number far from all others that means missing, its count, and whether that is certain."""
        width = self.high - self.low
        if not np.isfinite(width) or (self.sentinels > 0).sum() != 1:
            return None
        place = int(np.flatnonzero(self.sentinels)[0])
        value, count = float(_SENTINELS[place]), int(self.sentinels[place])
        below, above = self.low - value, value - self.high
        far = (below > 0 and (below > width or self.low >= 0)) or above > max(width, 0.0)
        if not far or count < 2 or count < _NOTABLE * (self.seen + count):
            return None
        return value, count, place < _CERTAIN

    def finish(self, but: float | None, share: float) -> dict[str, Any]:
        """Return what a profile says of these numbers, with ``but`` for a missing value."""
        self._return_sentinels(but)
        sample = np.concatenate(self.sample)
        sample = sample[np.isfinite(sample) & (sample != (np.nan if but is None else but))]
        return {
            "integer": self.whole and self.seen > 0,
            "mean": self.mean if self.seen else np.nan,
            "std": float(np.sqrt(self.squares / self.seen)) if self.seen else np.nan,
            "min": self.low if self.seen else np.nan,
            "max": self.high if self.seen else np.nan,
            "median": float(np.median(sample)) if sample.size else np.nan,
            "median_error": 0.0 if share == 1.0 else float(0.98 / np.sqrt(max(sample.size, 1))),
            "infinite": self.infinite,
        }


class _Column:
    """One column of a table as its batches go by."""

    def __init__(self, name: str, kind: Any, missing: Sequence[Any], sample: _RowSample, most_bytes: int) -> None:
        self._sample, self._most_bytes = sample, most_bytes
        self.name, self.kind = name, kind
        value_type = kind.value_type if arrow.types.is_dictionary(kind) else kind
        self.is_text = is_text(value_type)
        self._usable = self.is_text or is_number(value_type) or is_time(value_type)
        self.missing = tuple(missing)
        self._words = {str(word).strip().lower() for word in missing} - {""}
        self.rows = self.absent = 0
        self.words: Counter[str] = Counter()
        self.values: Counter[str] | None = Counter()
        readings = (*MARKS, *ORDERS) if self.is_text else ("iso",) if is_time(value_type) else (".",)
        shared = _Stats(sample)
        self.readings: dict[str, _Stats] = dict.fromkeys(readings, shared) if self._usable else {}
        self.contradiction = ""
        self._read_before = 0
        self._first = ""
        self._kept: list[Any] | None = []
        self._kept_rows = self._bytes = 0
        self._distinct: tuple[int, int] = (0, 0)

    def distinct_stats(self) -> list[_Stats]:
        """Return the statistics of the readings that are alive, each once."""
        return list({id(stats): stats for stats in self.readings.values()}.values())

    @property
    def only_mark(self) -> str | None:
        """The decimal mark that the column shows, None if it could have either or is not a column of numbers."""
        marks = [mark for mark in MARKS if mark in self.readings]
        return marks[0] if self.is_text and len(marks) == 1 and self.rows > self.absent else None

    def add(self, column: Any, picked: BoolArray | None) -> None:
        """Look at some more values."""
        self.rows += len(column)
        if arrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
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
            self.words.update(f"{value:g}" for value in given[np.isnan(numbers) & ~np.isnan(given)])
            if self.values is not None:
                self._count_numbers(column, numbers)
            self.absent += int(np.isnan(numbers).sum())
            for stats in self.distinct_stats():
                stats.add(numbers, picked)

    def _count_numbers(self, column: Any, numbers: FloatArray) -> None:
        """Count distinct values while there are few."""
        assert self.values is not None
        head = numbers[:2048]
        if np.unique(head).size > MOST_VALUES // 2 and head.size > MOST_VALUES // 2:
            self.values = None
            return
        present = column.filter(arrow.array(~np.isnan(numbers)))
        self._count(as_texts(present))

    def _count(self, texts: Any) -> None:
        assert self.values is not None
        for pair in compute.value_counts(texts).to_pylist():
            self.values[pair["values"]] += pair["counts"]
        if len(self.values) > MOST_VALUES:
            self.values = None

    def _add_text(self, column: Any, picked: BoolArray | None) -> None:
        plain = self._plain_numbers(column) if "." in self.readings else None
        if plain is not None:
            self.absent += column.null_count
            self._add_plain(column, plain, picked)
            if self.values is not None:
                self._count(column.drop_null())
            return
        texts = trimmed(column)
        self.absent += texts.null_count
        if self.values is not None:
            self._count(texts.drop_null())
        if self.readings:
            self._add_written(texts, picked)

    def _plain_numbers(self, column: Any) -> FloatArray | None:
        """Return texts as numbers if all are finite ones with a decimal point and without odd zeros."""
        try:
            numbers = column.cast(arrow.float64())
        except arrow.ArrowInvalid:
            return None
        values = np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        finite = np.isfinite(values)
        if not finite.all() and int((~finite).sum()) != column.null_count:
            return None
        if self._words:
            return None
        starts = compute.fill_null(compute.starts_with(column, "0"), False)
        if compute.any(starts).as_py() and has_leading_zeros(column.filter(starts)):
            return None
        return values

    def _add_plain(self, column: Any, values: FloatArray, picked: BoolArray | None) -> None:
        """Add numbers that a decimal point reads; a comma reads them too if no point is in them, or groups only."""
        if column.null_count == len(column):
            for stats in self.distinct_stats():
                stats.add(values, picked)
            return
        for order in ORDERS:
            self.readings.pop(order, None)
        if "," in self.readings and any(_NOT_GROUPED.search(text or "") for text in column[:50].to_pylist()):
            del self.readings[","]
        comma = self.readings.get(",")
        grouped = comma is not None and comma is not self.readings["."]
        if comma is not None and (grouped or compute.any(compute.match_substring(column, ".")).as_py()):
            read = read_numbers(column, ",")
            if read.null_count > column.null_count:
                del self.readings[","]
            else:
                if not grouped:
                    self.readings[","] = comma = deepcopy(comma)
                comma.add(plain_values(read), picked)
        self.readings["."].add(values, picked)

    def _add_written(self, texts: Any, picked: BoolArray | None) -> None:
        """Add trimmed texts to each reading that all of them fit; the others end here."""
        words = missing_words(texts, self._words)
        values = compute.if_else(words, None, texts)
        n_values = len(values) - values.null_count
        if n_values and any(mark in self.readings for mark in MARKS) and has_leading_zeros(values):
            self.contradiction = self.contradiction or "it has leading zeros"
            for mark in MARKS:
                self.readings.pop(mark, None)
        if n_values and not self._first:
            self._first = values.drop_null()[0].as_py()
        found: dict[str, FloatArray] = {}
        head = values[:256].drop_null()
        for reading in list(self.readings):
            if read_texts(head, reading).null_count > len(head) / 2:
                del self.readings[reading]
                continue
            read = read_texts(values, reading)
            if len(read) - read.null_count == n_values:
                found[reading] = plain_values(read)
                continue
            self._contradict(reading, values, read, n_values)
        if not self.readings:
            # Words for a missing value are words again.
            self.absent -= sum(self.words.values())
            self.words.clear()
            return
        self.words.update(texts.filter(words).to_pylist())
        self.absent += int(compute.sum(words).as_py() or 0)
        self._share_or_split(found, picked)
        self._read_before += n_values

    def _contradict(self, reading: str, values: Any, read: Any, n_values: int) -> None:
        """End a reading, and remember a value that it does not fit if nearly all others do."""
        del self.readings[reading]
        fits = self._read_before + len(read) - read.null_count
        if fits > 0.8 * (self._read_before + n_values) and not self.contradiction:
            odd = values.filter(compute.and_(compute.is_valid(values), compute.is_null(read)))
            what = "number" if reading in MARKS else "date"
            self.contradiction = f"{odd[0].as_py()[:40]!r} is not a {what}"

    def _share_or_split(self, found: dict[str, FloatArray], picked: BoolArray | None) -> None:
        """Give each reading its numbers; readings that agree so far share their statistics."""
        groups: list[tuple[_Stats, FloatArray, list[str]]] = []
        for reading, values in found.items():
            for stats, same, members in groups:
                if stats is self.readings[reading] and np.array_equal(values, same, equal_nan=True):
                    members.append(reading)
                    break
            else:
                groups.append((self.readings[reading], values, [reading]))
        taken: set[int] = set()
        for stats, _, members in groups:
            own = deepcopy(stats) if id(stats) in taken else stats
            taken.add(id(stats))
            self.readings.update(dict.fromkeys(members, own))
        for _, values, members in groups:
            self.readings[members[0]].add(values, picked)

    def _watch_uniqueness(self, column: Any) -> None:
        """Keep values while none of them occurs twice, up to some bytes of them."""
        if self._kept is None or (self._distinct[0] and self.readings and not named_like_id(self.name)):
            return
        count = compute.count_distinct(column).as_py()
        present = len(column) - column.null_count
        if not self._distinct[0]:
            self._distinct = (present, count)
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
        whole = arrow.chunked_array(self._kept)
        return bool(compute.count_distinct(whole).as_py() == len(whole))

    def finish(self, usual: str, mark_known: bool, dayfirst: bool | None) -> ColumnProfile:
        """Return what the column holds, now that all of it was seen."""
        found = ColumnProfile(self.name, str(self.kind), n_rows=self.rows, n_missing=self.absent)
        found.values = None if self.values is None else dict(self.values)
        found.missing_words = dict(self.words)
        found.missing = self.missing
        seen, distinct = self._distinct
        found.distinct_share = distinct / seen if seen else 0.0
        if not self._usable:
            found.kind = "other"
        elif self.rows > self.absent:
            reading = self._reading(found, usual, mark_known, dayfirst)
            if reading is None:
                found.kind, found.remark = "text", self.contradiction
                found.unique = self._is_unique()
                values = found.values or {}
                declared = {text: values.pop(text) for text in list(values) if text.lower() in self._words}
                found.missing_words, found.n_missing = declared, found.n_missing + sum(declared.values())
            else:
                self._finish_numbers(found, reading)
        return found

    def _reading(self, found: ColumnProfile, usual: str, mark_known: bool, dayfirst: bool | None) -> str | None:
        """Return which of the readings left is taken, with a remark if another one would give other numbers."""
        marks = [mark for mark in MARKS if mark in self.readings]
        if marks:
            mark = usual if usual in marks else marks[0]
            differ = len(marks) == 2 and self.readings["."] is not self.readings[","]
            if differ and not mark_known:
                found.remark = "with a decimal comma its numbers would be others: pass decimal=',' (--decimal ,)"
            stats = self.readings[mark]
            if self.is_text and stats.whole and max(stats.high, -stats.low) >= _EXACT:
                self.contradiction = "its whole numbers have more than 15 digits"
                return None
            return mark
        orders = [order for order in ORDERS if order in self.readings]
        if not orders:
            return None
        if {"dmy", "mdy"} <= set(orders):
            order = "mdy" if dayfirst is False or (dayfirst is None and "." not in self._first) else "dmy"
            if dayfirst is None and self.readings["dmy"] is not self.readings["mdy"]:
                first = "day" if order == "dmy" else "month"
                other = "--dates " + ("monthfirst" if order == "dmy" else "dayfirst")
                spelled = f"dayfirst={order != 'dmy'}"
                found.remark = (
                    f"no date tells day from month; the {first} is taken to be first: pass {spelled} ({other}) if not"
                )
            return order
        return orders[0]

    def _finish_numbers(self, found: ColumnProfile, reading: str) -> None:
        stats = self.readings[reading]
        found.kind = "number" if reading in MARKS else "date"
        found.decimal = reading if reading in MARKS else "."
        found.date_format = "" if reading in MARKS else reading
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


_ID_NAME = re.compile(
    r"(?:^|[^A-Za-z])(?:id|uuid|guid|key|index|row_?(?:id|no|nr|number|name))$|[a-z](?-i:ID|Id)$", re.I
)


def named_like_id(name: str) -> bool:
    """Tell whether a column is named as identifiers are: id, customerID, order_key."""
    return name in ("__index_level_0__", "unnamed_1") or _ID_NAME.search(name) is not None


def typed_column(column: Any, found: ColumnProfile) -> Any:
    """Return a column of text as numbers or times, if that is what the profile says; else as it is."""
    kind = typed_field(found, column.type)
    if kind == column.type:
        return column
    numbers, _ = read_column(column, found.date_format or found.decimal, found.missing)
    gaps = np.isnan(numbers)
    if found.kind == "date":
        moments = np.where(gaps, 0, np.rint(numbers * MICROSECONDS)).astype(np.int64)
        return arrow.array(moments, arrow.timestamp("us"), mask=gaps)
    return arrow.array(np.where(gaps, 0, numbers), mask=gaps).cast(kind)


def typed_field(found: ColumnProfile, kind: Any) -> Any:
    """Return the type that a column of text gets.

    Whole numbers with words among them stay text: they may be labels, of which "unknown" is one.
    """
    if not is_text(kind) or found.kind not in ("number", "date") or (found.integer and found.missing_words):
        return kind
    if found.kind == "date":
        return arrow.timestamp("us")
    return arrow.int64() if found.integer and not found.infinite else arrow.float64()
