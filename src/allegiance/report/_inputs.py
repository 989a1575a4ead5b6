"""What the user passes to the page along with the result: features, columns of a table, ids, coordinates, texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator

from allegiance._core.validation import (
    AnyArray,
    FloatArray,
    IntArray,
    Rows,
    check_rows,
    dense,
    one_for_each,
    texts_for_each,
)
from allegiance.results import AffinityResult

from ._images import Images, check_images

#: Columns of exported files, which an identifier must not be called.
TAKEN = (
    "row", "label", "cluster_name", "label_before", "trust", "verdict", "rival", "own_affinity", "typicality",
    "decision", "new_label", "decided_at",
)  # fmt: skip
#: Different values up to which a column of text is a category, and their largest share of all rows.
_MAX_LEVELS, _LEVEL_SHARE = 40, 0.5
#: Columns of X that become columns of the page if there is no table: those that separate the clusters best.
MAX_FEATURES = 200
#: Characters kept of a text that is shown to a person.
EXCERPT = 1_000


class Features(NamedTuple):
    """The data that was clustered, as numbers."""

    rows: Rows
    """(n, d) dense or CSR, finite."""
    names: list[str]
    """(d,) one for each column."""
    are_named: bool
    """Whether the names are the user's; otherwise they are x0, x1, ..."""


class Column(NamedTuple):
    """A column of the user's table."""

    name: str
    kind: str
    """``number``, ``date``, ``category`` or ``text``."""
    values: Any
    """(n,) floats, NaN where missing, for dates milliseconds since 1970; codes of ``levels``, -1 where missing; or
    texts, None where missing."""
    levels: tuple[str, ...] = ()
    is_named: bool = True
    """Whether the name is the user's."""

    def text(self, row: int) -> str | None:
        """Return a value as a person would write it."""
        value = self.values[row]
        if self.kind == "category":
            return None if value < 0 else self.levels[value]
        if self.kind == "text" or value != value:
            return None if value is None or value != value else str(value)
        if self.kind == "date":
            moment = np.datetime64(int(value), "ms")
            return str(moment.astype("datetime64[D]") if value % 86_400_000 == 0 else moment.astype("datetime64[s]"))
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


class Identifiers(NamedTuple):
    """What identifies the points for the user."""

    names: list[str]
    """(c,) none of them in TAKEN."""
    columns: list[list[Any]]
    """(c,) lists of n values."""


class Coordinates(NamedTuple):
    """Where the user wants the points on the map."""

    values: FloatArray
    """(n, 2)"""
    names: tuple[str, str]


class Inputs(NamedTuple):
    """Everything that was passed, checked."""

    features: Features | None
    columns: list[Column]
    ids: Identifiers
    coordinates: Coordinates | None
    images: Images | None
    texts: list[str] | None
    row_numbers: IntArray
    table: Any
    """The user's own table, a narwhals frame, or None."""


def check_inputs(
    result: AffinityResult,
    X: Any = None,
    *,
    data: Any = None,
    ids: Any = None,
    texts: Any = None,
    images: Any = None,
    coordinates: Any = None,
    feature_names: Any = None,
    row_numbers: Any = None,
) -> Inputs:
    """Check all arguments of the page; see :func:`allegiance.report.render_report`."""
    n = result.n_points
    table = _table(data, "data", n)
    if table is None and feature_names is None and _is_mixed(X):  # Categories or dates: X is the user's own table.
        table, X = _table(X, "X", n), None
    features = check_features(X, feature_names, n)
    if isinstance(ids, str) or (isinstance(ids, list) and ids and all(isinstance(name, str) for name in ids)):
        ids = _named_ids(ids, table, n)
    identifiers = point_ids(result, X if table is None else table.to_native(), ids)
    columns = list(_features_as_columns(features, result)) if table is None else list(read_columns(table))
    return Inputs(
        features,
        [column for column in columns if column.name not in identifiers.names],
        identifiers,
        check_coordinates(coordinates, features, n),
        check_images(images, n),
        None if texts is None else texts_for_each(texts, n),
        check_row_numbers(row_numbers, n),
        table,
    )


def _table(data: Any, name: str, n_points: int) -> Any:
    """Return a table as a narwhals frame; None if there is none."""
    if data is None:
        return None
    frame = nw.from_native(data, pass_through=True, eager_only=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(f"{name} must be a frame of pandas, polars or pyarrow, got {type(data).__name__}.")
    if len(frame) != n_points:
        raise ValueError(f"{name} has {len(frame)} rows but the result has {n_points} points: pass the rows it scored.")
    return frame


def _is_mixed(X: Any) -> bool:
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    return isinstance(frame, nw.DataFrame) and not all(
        dtype.is_numeric() or dtype == nw.Boolean for dtype in frame.schema.dtypes()
    )


def read_columns(table: Any) -> Iterator[Column]:
    """Return the columns of a narwhals frame by their kind."""
    for name in table.columns:
        series = table[name]
        kind = series.dtype
        if kind.is_numeric():
            values = series.cast(nw.Float64).to_numpy().astype(np.float64)
            known = np.unique(values[np.isfinite(values)][:1_000])
            if known.size <= 2 and np.isin(values[np.isfinite(values)], [0.0, 1.0]).all():
                # A flag: its shares say more than a mean.
                yield _text_column(str(name), [str(int(v)) if np.isfinite(v) else None for v in values.tolist()])
            else:
                yield Column(str(name), "number", np.where(np.isfinite(values), values, np.nan))
        elif kind in (nw.Datetime, nw.Date):
            moments = series.cast(nw.Datetime("ms")).to_numpy().astype("datetime64[ms]")
            values = moments.astype(np.int64).astype(np.float64)
            yield Column(str(name), "date", np.where(np.isnat(moments), np.nan, values))
        else:
            yield _text_column(str(name), series.to_list())


def _text_column(name: str, entries: list[Any]) -> Column:
    """Return a category if there are few different values, else texts."""
    texts = [None if entry is None or entry != entry else str(entry) for entry in entries]
    texts = [None if text == "<NA>" else text for text in texts]
    levels = sorted({text for text in texts if text is not None})
    if len(levels) > max(2, min(_MAX_LEVELS, _LEVEL_SHARE * len(texts))):
        return Column(name, "text", texts)
    code = {level: number for number, level in enumerate(levels)} | {None: -1}
    return Column(name, "category", np.array([code[text] for text in texts], dtype=np.int64), tuple(levels))


def _features_as_columns(features: Features | None, result: AffinityResult) -> Iterator[Column]:
    """Return the features as columns: all, or of many those whose means differ most between clusters."""
    if features is None:
        return
    d = len(features.names)
    chosen = np.arange(d) if d <= MAX_FEATURES else _most_separating(features.rows, result)
    for place in np.sort(chosen).tolist():
        values = np.ravel(dense(features.rows[:, [place]])).astype(np.float64)
        yield Column(features.names[place], "number", values, is_named=features.are_named)


def _most_separating(rows: Rows, result: AffinityResult) -> IntArray:
    """Return MAX_FEATURES columns with the largest variance between clusters, as a share of their variance."""
    means = np.stack([np.ravel(rows[result.codes == code].mean(axis=0)) for code in np.unique(result.codes)])
    overall = np.ravel(rows.mean(axis=0))
    squares = np.ravel(rows.multiply(rows).mean(axis=0) if hasattr(rows, "multiply") else (rows**2).mean(axis=0))
    ratio = means.var(axis=0) / np.maximum(squares - overall**2, 1e-300)
    return np.argsort(-ratio, kind="stable")[:MAX_FEATURES]


def check_features(X: Any, feature_names: Any, n_points: int) -> Features | None:
    """Return X with a name for each of its columns, or None if there is no X."""
    if X is None:
        if feature_names is not None:
            raise ValueError("feature_names names the columns of X: pass X too, or leave feature_names out.")
        return None
    rows = check_rows(BaseEstimator(), X, reset=True)
    if rows.shape[0] != n_points:
        raise ValueError(f"X has {rows.shape[0]} rows but the result has {n_points} points: pass the rows it scored.")
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    is_frame = isinstance(frame, nw.DataFrame)
    if feature_names is None:
        names = [
            name if isinstance(name, str) else f"x{name}"
            for name in (frame.columns if is_frame else range(rows.shape[1]))
        ]
        return Features(rows, names, is_frame)
    if isinstance(feature_names, str):
        raise TypeError("feature_names must be one name for each column of X, got a single string.")
    names = [str(name) for name in feature_names]
    if len(names) != rows.shape[1]:
        raise ValueError(f"feature_names has {len(names)} entries but X has {rows.shape[1]} columns: name each column.")
    return Features(rows, names, True)


def check_coordinates(coordinates: Any, features: Features | None, n_points: int) -> Coordinates | None:
    """Return two coordinates for each point: (n, 2) numbers, or the names of two columns of X; None if not given."""
    if coordinates is None:
        return None
    if isinstance(coordinates, list | tuple) and len(coordinates) == 2 and all(isinstance(c, str) for c in coordinates):
        return _named_coordinates(coordinates, features)
    frame = nw.from_native(coordinates, pass_through=True, eager_only=True)
    names = [str(name) for name in frame.columns] if isinstance(frame, nw.DataFrame) else ["x", "y"]
    try:
        values = np.asarray(frame.to_numpy() if isinstance(frame, nw.DataFrame) else coordinates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"coordinates must be (n, 2) numbers or the names of two columns of X: {error}.") from error
    if values.shape != (n_points, 2):
        raise ValueError(
            f"coordinates must have shape ({n_points}, 2), two numbers for each point, got {values.shape}; "
            "or name two columns of X."
        )
    if not np.isfinite(values).all():
        raise ValueError("coordinates contains NaN or infinity: every point needs two finite numbers.")
    return Coordinates(values, (names[0], names[1]))


def _named_coordinates(names: Any, features: Features | None) -> Coordinates:
    if features is None:
        raise ValueError(f"coordinates names the columns {names[0]!r} and {names[1]!r} of X: pass X too.")
    for name in names:
        if name not in features.names:
            known = ", ".join(map(repr, features.names[:8])) + (", ..." if len(features.names) > 8 else "")
            raise ValueError(f"coordinates names {name!r}, which is not a column of X: it has {known}.")
    places = [features.names.index(name) for name in names]
    return Coordinates(dense(features.rows[:, places]).astype(np.float64), (names[0], names[1]))


def check_row_numbers(rows: Any, n_points: int) -> IntArray:
    """Return the number (n,) of each point's row in the user's data; by default they are counted from 0."""
    if rows is None:
        return np.arange(n_points)
    numbers: AnyArray = np.asarray(one_for_each(rows, "row_numbers", n_points))
    if numbers.dtype.kind not in "iu" or numbers.min(initial=0) < 0:
        raise ValueError(f"row_numbers must be whole numbers from 0 on, got dtype {numbers.dtype}.")
    if np.unique(numbers).size < numbers.size:
        raise ValueError("row_numbers has the same number twice: each point needs its own.")
    return numbers.astype(np.int64)


def _named_ids(names: str | list[str], table: Any, n_points: int) -> Any:
    """Return columns of the table that ``ids`` names; a list of n texts may also be the ids themselves."""
    wanted = [names] if isinstance(names, str) else names
    if table is not None and all(name in table.columns for name in wanted):
        return table.select(wanted).to_native()
    if isinstance(names, str) or len(names) != n_points:
        raise ValueError(
            f"ids names the column {wanted[0]!r}, which data does not have: pass data=, or one id per point."
        )
    return names


def point_ids(result: AffinityResult, X: Any, ids: Any = None) -> Identifiers:
    """Return what identifies the points: ``ids``, or the index of the frame that was scored or of X; maybe nothing."""
    if ids is not None:
        frame = nw.from_native(ids, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            return Identifiers(["id"], [one_for_each(ids, "ids", result.n_points)])
        columns = [one_for_each(frame[name], "ids", result.n_points) for name in frame.columns]
        return Identifiers(_free_names(frame.columns), columns)
    index = result.frame_like.index
    if index is None:
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    found = [] if index is None else list(index)
    if found == list(range(len(found))):
        return Identifiers([], [])
    name = getattr(index, "name", None)
    return Identifiers(_free_names(["id" if name is None else str(name)]), [found])


def _free_names(names: list[str]) -> list[str]:
    """Return names that no column of an export has."""
    return [f"{name} (id)" if name in TAKEN else str(name) for name in names]
