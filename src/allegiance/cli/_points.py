"""From the options to the points in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from ._options import DataOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance._core import AnyArray, FloatArray, IntArray
    from allegiance.io.tables import Features, Source


@dataclass(frozen=True)
class Opened:
    """A table and which of its columns are features."""

    source: Source
    features: Features
    ids: tuple[str, ...]
    apart: tuple[str, ...]
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
    from allegiance.io.tables import labels_of_column

    return labels_of_column(values, column, "the data")


def open_data(
    options: DataOptions, apart: Iterable[str] = (), notes: Any = None, *, written: Iterable[str] = ()
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
    """
    from allegiance.io.tables import open_source, plan_features

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
        standardize=options.standardize,
    )
    for note in _notes(features):
        (notes or _echo)(note)
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

    from allegiance.io.tables import TableError, open_source

    source = open_source(path)
    if source.has_names:
        return features.prepare(source.read(list(features.columns))).matrix
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


def _notes(features: Features) -> Iterable[str]:
    if features.left_out:
        listed = ", ".join(repr(name) for name in features.left_out)
        yield f"column {listed} looks like the index of a frame and is left out; --features would include it."
    for name in features.counting:
        yield f"column {name!r} counts the rows and is used as a feature; --id {name} would keep it apart."
    if features.n_dropped:
        yield f"{features.n_dropped:,} of {features.n_rows:,} rows have missing values and are left out."
    if features.n_filled:
        # Each category has a column of its own.
        encoded = features.names != features.columns
        category = ", or with the most frequent category of it" if encoded else ""
        yield f"{features.n_filled:,} missing values are filled in with the median of their column{category}."


def _echo(note: str) -> None:
    click.echo(f"Note: {note}", err=True)
