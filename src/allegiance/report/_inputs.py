"""What the user passes to the page along with the result: features, columns of a table, ids, coordinates, texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from allegiance._core.validation import (
    AnyArray,
    FloatArray,
    IntArray,
    Rows,
    check_rows,
    dense,
    is_missing,
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


def shorten(text: str, length: int) -> str:
    """Return a text cut to a length in characters."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


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
    describes: bool = True
    """Whether clusters are described in it."""

    def text(self, row: int) -> str | None:
        """Return a value as a person would write it."""
        value = self.values[row]
        if self.kind == "category":
            return None if value < 0 else self.levels[value]
        if value is None or value != value or self.kind == "text":
            return None if value != value else value
        if self.kind == "date":
            moment = np.datetime64(int(value), "ms")
            return str(moment.astype("datetime64[D]") if value % 86_400_000 == 0 else moment.astype("datetime64[s]"))
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


class Inputs(NamedTuple):
    """Everything that was passed, checked."""

    features: Features | None
    columns: list[Column]
    ids: dict[str, list[Any]]
    """What identifies the points for the user: lists of n values by name, none of them in TAKEN."""
    coordinates: tuple[FloatArray, tuple[str, str]] | None
    """(n, 2) where the user wants the points on the map, and the names of both axes."""
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
    describe_by: Any = None,
    row_numbers: Any = None,
) -> Inputs:
    """Check all arguments of the page; see :func:`allegiance.report.render_report`."""
    n = result.n_points
    table, name = _frame(data), "data"
    if data is not None and table is None:
        raise TypeError(f"data must be a frame of pandas, polars or pyarrow, got {type(data).__name__}.")
    if table is None and feature_names is None and _is_mixed(_frame(X)):  # X is the user's own table.
        table, name, X = _frame(X), "X", None
    if table is not None and len(table) != n:
        raise ValueError(f"{name} has {len(table)} rows but the result has {n} points: pass the rows it scored.")
    features = check_features(X, feature_names, n)
    identifiers = _identifiers(result, X if table is None else table.to_native(), _named_ids(ids, table, n))
    columns = list(_features_as_columns(features, result)) if table is None else list(read_columns(table))
    if describe_by is not None:
        if unknown := [name for name in describe_by if name not in {column.name for column in columns}]:
            raise ValueError(f"describe_by names {unknown[0]!r}, which is not a column of {name}.")
        columns = [column._replace(describes=column.name in describe_by) for column in columns]
    return Inputs(
        features,
        [column for column in columns if column.name not in identifiers],
        identifiers,
        check_coordinates(coordinates, features, n),
        check_images(images, n),
        None if texts is None else texts_for_each(texts, n),
        check_row_numbers(row_numbers, n),
        table,
    )


def _frame(data: Any) -> Any:
    """Return data as a narwhals frame; None if it is not a frame."""
    frame = nw.from_native(data, pass_through=True, eager_only=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_mixed(frame: Any) -> bool:
    """Tell whether a frame has categories, texts or dates."""
    return frame is not None and not all(t.is_numeric() or t == nw.Boolean for t in frame.schema.dtypes())


def read_columns(table: Any) -> Iterator[Column]:
    """Return the columns of a narwhals frame by their kind."""
    for name in table.columns:
        series = table[name]
        if series.dtype.is_numeric():
            values = series.cast(nw.Float64).to_numpy().astype(np.float64)
            values = np.where(np.isfinite(values), values, np.nan)
            if np.isin(values[~np.isnan(values)], [0.0, 1.0]).all():  # A flag: its shares say more than a mean.
                yield _text_column(str(name), [str(int(v)) if v == v else None for v in values.tolist()])
            else:
                yield Column(str(name), "number", values)
        elif series.dtype in (nw.Datetime, nw.Date):
            moments = series.cast(nw.Datetime("ms")).to_numpy().astype("datetime64[ms]")
            values = moments.astype(np.int64).astype(np.float64)
            yield Column(str(name), "date", np.where(np.isnat(moments), np.nan, values))
        else:
            yield _text_column(str(name), series.to_list())


def _text_column(name: str, entries: list[Any]) -> Column:
    """Return a category if there are few different values, else texts."""
    texts = [None if is_missing(entry) or str(entry) == "<NA>" else str(entry) for entry in entries]
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
    variance = StandardScaler(with_mean=False).fit(rows).var_
    return np.argsort(-means.var(axis=0) / np.maximum(variance, 1e-300), kind="stable")[:MAX_FEATURES]


def check_features(X: Any, feature_names: Any, n_points: int) -> Features | None:
    """Return X with a name for each of its columns, or None if there is no X."""
    if X is None:
        if feature_names is not None:
            raise ValueError("feature_names names the columns of X: pass X too, or leave feature_names out.")
        return None
    rows = check_rows(BaseEstimator(), X, reset=True)
    if rows.shape[0] != n_points:
        raise ValueError(f"X has {rows.shape[0]} rows but the result has {n_points} points: pass the rows it scored.")
    if isinstance(feature_names, str):
        raise TypeError("feature_names must be one name for each column of X, got a single string.")
    frame = _frame(X)
    if feature_names is None:
        given = range(rows.shape[1]) if frame is None else frame.columns
        names = [name if isinstance(name, str) else f"x{name}" for name in given]
    else:
        names = [str(name) for name in feature_names]
    if len(names) != rows.shape[1]:
        raise ValueError(f"feature_names has {len(names)} entries but X has {rows.shape[1]} columns: name each column.")
    return Features(rows, names, frame is not None or feature_names is not None)


def check_coordinates(
    coordinates: Any, features: Features | None, n_points: int
) -> tuple[FloatArray, tuple[str, str]] | None:
    """Return two coordinates for each point and their names, given (n, 2) numbers or two columns of X; or None."""
    if coordinates is None:
        return None
    if isinstance(coordinates, list | tuple) and len(coordinates) == 2 and all(isinstance(c, str) for c in coordinates):
        if features is None:
            raise ValueError(f"coordinates names the columns {' and '.join(map(repr, coordinates))} of X: pass X too.")
        for name in coordinates:
            if name not in features.names:
                listed = ", ".join(map(repr, features.names[:8]))
                raise ValueError(f"coordinates names {name!r}, which is not a column of X: it has {listed}.")
        places = [features.names.index(name) for name in coordinates]
        return dense(features.rows[:, places]).astype(np.float64), (coordinates[0], coordinates[1])
    frame = _frame(coordinates)
    try:
        values = np.asarray(coordinates if frame is None else frame.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"coordinates must be (n, 2) numbers or the names of two columns of X: {error}.") from error
    if values.shape != (n_points, 2):
        raise ValueError(
            f"coordinates must have shape ({n_points}, 2), two numbers for each point, got {values.shape}; "
            "or name two columns of X."
        )
    if not np.isfinite(values).all():
        raise ValueError("coordinates contains NaN or infinity: every point needs two finite numbers.")
    return values, ("x", "y") if frame is None else (str(frame.columns[0]), str(frame.columns[1]))


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


def _named_ids(ids: Any, table: Any, n_points: int) -> Any:
    """Return the columns of the table that ``ids`` names; a list of n texts may also be the ids themselves."""
    wanted = [ids] if isinstance(ids, str) else ids
    if not isinstance(wanted, list) or not wanted or not all(isinstance(name, str) for name in wanted):
        return ids
    if table is not None and all(name in table.columns for name in wanted):
        return table.select(wanted).to_native()
    if isinstance(ids, str) or len(ids) != n_points:
        raise ValueError(
            f"ids names the column {wanted[0]!r}, which data does not have: pass data=, or one id per point."
        )
    return ids


def _identifiers(result: AffinityResult, X: Any, ids: Any) -> dict[str, list[Any]]:
    """Return what identifies the points: ``ids``, or the index of the frame that was scored or of X; maybe nothing."""
    frame = _frame(X if ids is None else ids)
    if ids is not None:
        columns = {"id": ids} if frame is None else {name: frame[name] for name in frame.columns}
    else:
        index = result.frame_like.index
        if index is None and frame is not None:
            index = nw.maybe_get_index(frame)
        if index is None or list(index) == list(range(len(index))):
            return {}
        name = getattr(index, "name", None)
        columns = {"id" if name is None else str(name): list(index)}
    n = result.n_points
    return {
        f"{name} (id)" if name in TAKEN else str(name): one_for_each(column, "ids", n)
        for name, column in columns.items()
    }
