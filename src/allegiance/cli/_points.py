"""From the options to the points in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ._notes import notes_on
from ._options import DataOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance._core import AnyArray, FloatArray, IntArray
    from allegiance.io._old_tables import Features, Source


@dataclass(frozen=True)
class Opened:
    """A table and which of its columns are features."""

    source: Source
    features: Features
    ids: tuple[str, ...]
    apart: tuple[str, ...] = ()
    """Columns that were asked for besides, such as labels and texts."""


@dataclass(frozen=True)
class Points:
    """The rows of a table as numbers, with what identifies them."""

    X: FloatArray
    """(n, d)"""
    names: tuple[str, ...]
    """(d,) names of the features."""
    ids: pa.Table
    """What identifies the rows: the id columns, or a column ``row`` that counts from 0."""
    others: pa.Table
    """Columns that were asked for besides, such as labels."""
    has_ids: bool
    """Whether ``ids`` were named by the user."""
    rows: IntArray
    """(n,) the rows of the table, counted from 0: some may have been left out."""

    def labels(self, column: str) -> AnyArray:
        """Return the column of labels."""
        return labels_of(self.others.column(column), column)


def labels_of(values: Any, column: str) -> AnyArray:
    """Return a column of labels as an array.

    Parameters
    ----------
    values
        The column.
    column
        Its name.
    """
    from allegiance.io._old_tables import labels_of_column

    return labels_of_column(values, column, "the data")


def open_data(
    options: DataOptions,
    apart: Iterable[str],
    notes: Callable[[str], Any],
    *,
    written: Iterable[str] = (),
    scale_matters: bool = True,
) -> Opened:
    """Open the table and decide on its features.

    Parameters
    ----------
    options
        What the user said.
    apart
        Columns that are not features, besides the identifiers.
    notes
        Takes a text the user should know about.
    written
        Columns that are not features either, and stay as they are written.
    scale_matters
        Whether columns in large units count for more.
    """
    from allegiance.io._old_tables import open_source, plan_features

    apart, written = list(apart), list(written)
    # Identifiers stay as they are written; a column that is more than that keeps its type.
    names_of_rows = [name for name in options.id if name not in apart]
    source = open_source(options.data, format=options.input_format, text=[*names_of_rows, *written], codes=apart)
    apart += written
    names = source.names
    features = plan_features(
        source,
        features=_expand(options.features, names),
        drop=_expand(options.drop, names),
        apart=list(dict.fromkeys([*options.id, *apart])),
        one_hot=_expand(options.one_hot, names),
        categorical=options.categorical,
        impute=options.impute,
        missing=_missing(options.missing, names),
        decimal=options.decimal,
        cycles=[cycle.strip() for value in options.cycles for cycle in value.split(",")],
        standardize=options.standardize,
    )
    for note in notes_on(features, scale_matters=scale_matters):
        notes(note)
    return Opened(source, features, options.id, tuple(apart))


def load_points(opened: Opened, others: Iterable[str] = ()) -> Points:
    """Read the points into memory.

    Parameters
    ----------
    opened
        The table.
    others
        Columns to read besides features and identifiers.
    """
    import numpy as np
    import pyarrow as pa

    features = opened.features
    others = list(dict.fromkeys(others))
    table = opened.source.read(list(dict.fromkeys([*features.columns, *opened.ids, *others])))
    X, kept = features.prepare(table)
    rows = np.flatnonzero(kept)
    ids = table.select(list(opened.ids)).take(rows) if opened.ids else pa.table({"row": rows})
    return Points(
        X=X,
        names=features.names,
        ids=ids,
        others=table.select(others).take(rows),
        has_ids=bool(opened.ids),
        rows=rows,
    )


def load_matrix(path: str, features: Features, option: str) -> FloatArray:
    """Return a small table with the same features, such as centres, in the scale of the points.

    Columns are found by their names; an array, which has none, is taken as it is.
    """
    import numpy as np

    from allegiance.io._old_tables import TableError, check_categories, open_source

    source = open_source(path)
    if source.has_names:
        source.read_as_written(features.categories)
        table = source.read(list(features.columns))
        check_categories(features, table, f"{path} ({option})")
        return features.prepare(table).matrix
    if len(source.names) != len(features.names):
        raise TableError(
            f"{path} ({option}) has {len(source.names)} columns, but the data has {len(features.names)} features: "
            "give the columns the names of the features."
        )
    table = source.read()
    return features.scaled(np.column_stack([np.asarray(table.column(name), dtype=float) for name in source.names]))


def _expand(values: tuple[str, ...], names: list[str]) -> list[str]:
    """Return columns by name, by several names with commas between them, or by pattern."""
    columns: list[str] = []
    for value in values:
        for part in [value] if value in names else [piece.strip() for piece in value.split(",") if piece.strip()]:
            matched = [] if part in names else [name for name in names if fnmatchcase(name, part)]
            columns.extend(matched or [part])
    return list(dict.fromkeys(columns))


def _missing(values: tuple[str, ...], names: list[str]) -> dict[str, list[str]]:
    """Return the values that mean a missing one by column, from VALUE and COLUMN=VALUE."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for value in values:
        column, equals, rest = value.partition("=")
        for name in [column] if equals and column in names else names:
            found[name].append(rest if equals and column in names else value)
    return found
