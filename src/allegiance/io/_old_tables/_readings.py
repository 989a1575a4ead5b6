"""What the columns of a table hold, and how they are read as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from allegiance._core import AnyArray, require
from allegiance.io import TableError
from allegiance.preparation import (
    CYCLES,
    Dates,
    Numbers,
    Texts,
    days_in,
    decimals_of,
    numbers_in,
    parse_number,
    texts_in,
)

from ._source import Source

CATEGORICAL = ("one-hot", "drop")


@dataclass(frozen=True)
class Reading:
    """How a column is read.

    Attributes
    ----------
    holds
        "numbers"; "written", texts that stand for numbers; "dates"; or "categories".
    decimal
        The decimal mark of numbers that are written as text.
    missing
        Values that mean a missing one.
    cycles
        Of dates: the cycles to add.
    """

    holds: str
    decimal: str = "."
    missing: tuple[Any, ...] = ()
    cycles: tuple[str, ...] = ()

    def transformer(self) -> Any:
        """Return the transformer that reads such columns, not fitted."""
        if self.holds == "dates":
            return Dates(cycles=self.cycles)
        if self.holds == "categories":
            return Texts(missing=self.missing)
        return Numbers(decimal=self.decimal, missing=self.missing)

    def read(self, values: AnyArray, name: str) -> AnyArray:
        """Return what the transformer makes of one column (n,): numbers, days without cycles, or texts."""
        if self.holds == "dates":
            return days_in(values, name)
        if self.holds == "categories":
            return texts_in(values, self.missing)
        return numbers_in(values, name, self.decimal, self.missing)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Reading:
        """Return what :meth:`to_json` described."""
        lists = {name: tuple(values[name]) for name in ("missing", "cycles")}
        return cls(holds=str(values["holds"]), decimal=str(values["decimal"]), **lists)


class Readings(dict[str, Reading]):
    """How each column that is used is read; and texts that could be read in two ways, one of each column."""

    def __init__(self, readings: Mapping[str, Reading], ambiguous: Mapping[str, str] | None = None) -> None:
        super().__init__(readings)
        self.ambiguous = dict(ambiguous or {})


def choose_readings(
    source: Source,
    columns: Sequence[str],
    *,
    one_hot: Sequence[str],
    categorical: str | None,
    missing: Mapping[str, Sequence[Any]],
    decimal: str | None,
    cycles: Sequence[str],
) -> Readings:
    """Decide how columns are read, by their types and, for those of text, by their first rows.

    Parameters
    ----------
    source
        The table.
    columns
        Those that should be features.
    one_hot, categorical, decimal, cycles
        As in :func:`plan_features`.
    missing
        The values that mean a missing one, by column.

    Raises
    ------
    TableError
        If columns cannot be read as numbers, all of them named.
    """
    types = require("pyarrow", "io", "reading tables").types
    kinds = {name: source.schema.field(name).type for name in columns}
    texts = [name for name in columns if name not in one_hot and _is_text(types, kinds[name])]
    written, ambiguous = _written_numbers(source, texts, missing, decimal)
    if decimal == "," or set(written.values()) == {","}:
        fractions = [name for name in columns if name not in one_hot and types.is_floating(kinds[name])]
        written |= _written_fractions(source, fractions)
    found: dict[str, Reading] = {}
    unusable: list[str] = []
    for name, kind in kinds.items():
        if name in one_hot or (name in texts and name not in written and categorical == "one-hot"):
            found[name] = Reading("categories", missing=tuple(str(value) for value in missing.get(name, ())))
        elif name in written:
            found[name] = Reading("written", written[name], _as_numbers(missing.get(name, ())))
        elif types.is_date(kind) or types.is_timestamp(kind):
            found[name] = Reading("dates", cycles=tuple(cycles))
        elif _is_number(types, kind):
            found[name] = Reading("numbers", missing=_as_numbers(missing.get(name, ())))
        else:
            unusable.append(name)
    if unusable and categorical != "drop":
        listed = ", ".join(f"{name!r} ({kinds[name]})" for name in unusable)
        plural = "columns are not numbers" if len(unusable) > 1 else "column is not a number"
        raise TableError(f"{source.where}: {len(unusable)} {plural}: {listed}.", "not-numbers")
    if not found:
        raise TableError(f"{source.where} has no column of numbers.")
    return Readings(found, ambiguous)


def check_cycles(cycles: Sequence[str]) -> None:
    """Raise unless all cycles are known."""
    for cycle in cycles:
        if cycle not in CYCLES:
            raise TableError(f"cycles must be among {', '.join(CYCLES)}, got {cycle!r}.")


def _written_numbers(
    source: Source, columns: Sequence[str], missing: Mapping[str, Sequence[Any]], decimal: str | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the decimal marks of columns whose first texts all stand for numbers, and texts that leave it open."""
    first = next(iter(source.batches(columns=columns)), None) if columns else None
    if first is None:
        return {}, {}
    marks: dict[str, set[str]] = {}
    examples: dict[str, str] = {}
    for name in columns:
        absent = {str(value) for value in missing.get(name, ())}
        texts = set(text_values(first.column(name))) - {""}
        values = texts - absent
        # Plain digits in a column of text are codes, unless what means a missing value is among them.
        plain = all(_is_plain(text) for text in values) and not texts & absent
        possible = decimals_of(values) if values and not plain else set()
        if possible:
            marks[name] = possible & {decimal} if decimal else possible
            examples[name] = min((text for text in values if not _is_plain(text)), default="")
    # One table has one decimal mark: a column that shows it decides for those that could have either.
    shown = {mark for possible in marks.values() if len(possible) == 1 for mark in possible}
    usual = "," if shown == {","} else "."
    chosen = {name: min(possible) if len(possible) == 1 else usual for name, possible in marks.items() if possible}
    two_ways = {name for name, possible in marks.items() if len(possible) == 2 and not shown}
    differ = {name for name in two_ways if parse_number(examples[name]) != parse_number(examples[name], ",")}
    return chosen, {name: examples[name] for name in differ}


def _written_fractions(source: Source, columns: list[str]) -> dict[str, str]:
    """Return the decimal marks of columns that were read with a point, in a file whose decimal mark is the comma.

    There 1.200 means 1200; only a column such as 0.5, in which it cannot, keeps the point.
    """
    types = require("pyarrow", "io", "reading tables").types
    source.read_as_written(columns)
    columns = [name for name in columns if _is_text(types, source.schema.field(name).type)]
    first = next(iter(source.batches(columns=columns)), None) if columns else None
    if first is None:
        return {}
    texts = {name: set(text_values(first.column(name))) - {""} for name in columns}
    return {name: "," if "," in decimals_of(values) else "." for name, values in texts.items()}


def _is_plain(text: str) -> bool:
    """Tell whether a text would be a number in any file."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_numbers(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return values that mean a missing one as numbers, where they are."""
    return tuple(float(value) if _is_plain(str(value)) else value for value in values)


def column_values(column: Any, reading: Reading, name: str) -> AnyArray:
    """Return an Arrow column as an array for :meth:`Reading.read`: numbers, times or texts, as its type has them.

    Raises
    ------
    TableError
        If its type cannot be read like this.
    """
    arrow = require("pyarrow", "io", "reading tables")
    kind = column.type
    if reading.holds == "categories":
        return text_values(column)
    if _is_text(arrow.types, kind):
        return text_values(column)
    if reading.holds == "dates":
        if not (arrow.types.is_date(kind) or arrow.types.is_timestamp(kind) or arrow.types.is_null(kind)):
            raise TableError(f"column {name!r} holds dates in the model, but here {kind}.")
        return np.asarray(column.cast(arrow.timestamp("us"), safe=False).to_numpy(zero_copy_only=False))
    if not _is_number(arrow.types, kind):
        raise TableError(f"column {name!r} holds numbers in the model, but here {kind}.")
    return number_values(column)


def number_values(column: Any) -> AnyArray:
    """Return an Arrow column as floating-point numbers, NaN where one is missing."""
    arrow = require("pyarrow", "io", "reading tables")
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.int8())
    single = arrow.types.is_float32(column.type)
    values = column.cast(arrow.float32() if single else arrow.float64(), safe=False)
    return np.asarray(values.to_numpy(zero_copy_only=False))


def text_values(column: Any) -> AnyArray:
    """Return an Arrow column as texts, empty where one is missing."""
    arrow = require("pyarrow", "io", "reading tables")
    if arrow.types.is_floating(column.type):
        # As Python writes them: 2.0 is the category 2, from whatever kind of file it comes.
        return texts_in(np.array(column.to_pylist(), dtype=object))
    return np.asarray(column.cast(arrow.string()).fill_null("").to_numpy(zero_copy_only=False), dtype=object)


def _is_text(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_number(types: Any, kind: Any) -> bool:
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)
