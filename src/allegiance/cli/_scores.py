"""Tables that ``allegiance score`` wrote, read again and joined with the data they are about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ._console import note
from ._options import DataOptions, RunOptions
from ._page import PageOptions, check_page
from ._points import Opened, Points, load_points, open_data

if TYPE_CHECKING:
    import pyarrow as pa

    from allegiance._core import IntArray

#: Columns without which a table is not one of scores.
_NEEDED = ("label", "verdict", "rival", "own_affinity")
_KNOWN = (*_NEEDED, "trust", "typicality")


@dataclass(frozen=True)
class Scores:
    """Scores of rows, and the rows themselves if there is data."""

    columns: dict[str, Any]
    """Scores (n,) by name."""
    ids: pa.Table
    """What identifies the rows."""
    has_ids: bool
    """Whether there is more than a column ``row`` that counts them."""
    rows: IntArray
    """(n,) rows of the user's data, ascending."""
    opened: Opened | None
    """The table of the data; None if there is none."""
    points: Points | None
    """Its rows, in the order of the scores."""


def is_scores(data: DataOptions) -> bool:
    """Tell whether DATA is a table that ``allegiance score`` wrote."""
    from allegiance.io._old_tables import open_source

    return "-" not in data.data and set(_NEEDED) <= set(open_source(data.data, format=data.input_format).names)


def load_scores(data: DataOptions, about: tuple[str, ...], page: PageOptions, run: RunOptions) -> Scores:
    """Read scores, and the data they are about.

    Parameters
    ----------
    data
        The table of scores, and how to read the data.
    about
        The files of the data; empty if there is none.
    page
        What is shown of the data.
    run
        What to say.
    """
    import numpy as np

    from allegiance.io._old_tables import labels_of_column, open_source

    source = open_source(data.data, format=data.input_format, codes=["label", "rival"])
    table = source.read()
    names = table.column_names[: table.column_names.index("label")]
    counted = names == ["row"] or not names
    columns: dict[str, Any] = {
        name: labels_of_column(table.column(name), name, str(data.data[0])) for name in ("label", "rival")
    }
    for name in _KNOWN:
        if name in table.column_names and name not in columns:
            columns[name] = np.asarray(table.column(name))
    numbers = np.asarray(table.column("row")) if names == ["row"] else np.arange(table.num_rows)
    ids, opened, points = table.select(names), None, None
    if about:
        options = replace(data, data=about, id=data.id or (() if counted else tuple(names)), input_format=None)
        opened = open_data(options, page.numbers, partial(note, run), written=page.written, scale_matters=False)
        check_page(page, opened)
        points = load_points(opened, opened.apart)
        places = _places(numbers, points) if counted else _places_by_id(ids, points)
        numbers = points.rows[places]
        points = replace(points, X=points.X[places], rows=numbers, others=points.others.take(places))
    order = np.argsort(numbers, kind="stable")
    if points is not None:
        points = replace(points, X=points.X[order], rows=points.rows[order], others=points.others.take(order))
    taken = {name: values[order] for name, values in columns.items()}
    return Scores(taken, ids.take(order), not counted, numbers[order], opened, points)


def _places(numbers: IntArray, points: Points) -> IntArray:
    """Return where in the data the rows with these numbers are."""
    import numpy as np

    places = np.searchsorted(points.rows, numbers)
    found = (places < points.rows.size) & (points.rows[np.minimum(places, points.rows.size - 1)] == numbers)
    if not found.all():
        raise click.ClickException(
            f"row {numbers[~found][0]} of the scores is not among the {points.rows.size:,} usable rows of --data: name "
            "the data that was scored, with the same options."
        )
    return places


def _places_by_id(ids: pa.Table, points: Points) -> IntArray:
    """Return where in the data the rows with these identifiers are."""
    import numpy as np

    known: dict[tuple[str, ...], int] = {}
    for place, row in enumerate(points.ids.to_pylist()):
        key = tuple(map(str, row.values()))
        if key in known:
            raise click.ClickException(f"--data has {' / '.join(key)} twice: identifiers must tell rows apart.")
        known[key] = place
    places = []
    for row in ids.to_pylist():
        key = tuple(map(str, row.values()))
        if key not in known:
            raise click.ClickException(f"{' / '.join(key)} of the scores is not in --data: name the data scored.")
        places.append(known[key])
    return np.array(places, dtype=np.int64)
