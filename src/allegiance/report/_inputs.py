"""What the user passes to a report beside the result."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator

from allegiance._core import AnyArray, FloatArray, IntArray, Rows, check_rows, one_for_each
from allegiance.results import AffinityResult

#: Columns of exported decisions and lists, which an identifier must not be called.
TAKEN = (
    "row",
    "label",
    "trust",
    "verdict",
    "rival",
    "own_affinity",
    "typicality",
    "decision",
    "new_label",
    "decided_at",
)


class Features(NamedTuple):
    """The data behind the points."""

    rows: Rows
    """(n, d) dense or CSR, finite."""
    names: list[str]
    """(d,) one for each column."""


class Coordinates(NamedTuple):
    """Where the user wants the points on the map."""

    values: FloatArray
    """(n, 2)"""
    names: tuple[str, str]


class Identifiers(NamedTuple):
    """What identifies the points beside their row numbers."""

    names: list[str]
    """(c,) none of them in TAKEN."""
    columns: list[list[Any]]
    """(c,) lists of n values."""


def check_features(X: Any, feature_names: Any, n_points: int) -> Features | None:
    """Return X with a name for each of its columns, or None if there is no X."""
    if X is None:
        if feature_names is not None:
            raise ValueError("feature_names names the columns of X: pass X too, or leave feature_names out.")
        return None
    rows = check_rows(BaseEstimator(), X, reset=True)
    if rows.shape[0] != n_points:
        raise ValueError(f"X has {rows.shape[0]} rows but the result has {n_points} points: pass the rows it scored.")
    return Features(rows, _names(X, feature_names, rows.shape[1]))


def _names(X: Any, feature_names: Any, n_features: int) -> list[str]:
    if feature_names is None:
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        feature_names = frame.columns if isinstance(frame, nw.DataFrame) else range(n_features)
        return [name if isinstance(name, str) else f"x{name}" for name in feature_names]
    if isinstance(feature_names, str):
        raise TypeError("feature_names must be one name for each column of X, got a single string.")
    names = [str(name) for name in feature_names]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} entries but X has {n_features} columns: they must be equal.")
    return names


def check_coordinates(coordinates: Any, features: Features | None, n_points: int) -> Coordinates | None:
    """Return two coordinates for each point, or None if the user gave none.

    Parameters
    ----------
    coordinates
        (n, 2) numbers, or the names of two columns of X.
    features
        X and the names of its columns.
    n_points
        How many points there are.
    """
    if coordinates is None:
        return None
    if (
        isinstance(coordinates, (list, tuple))
        and len(coordinates) == 2
        and all(isinstance(c, str) for c in coordinates)
    ):
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
            raise ValueError(f"coordinates names {name!r}, which is not a column of X: {_some(features.names)}.")
    places = [features.names.index(name) for name in names]
    columns = [features.rows[:, [place]] for place in places]
    values = np.hstack([column if isinstance(column, np.ndarray) else column.toarray() for column in columns])
    return Coordinates(values.astype(np.float64), (names[0], names[1]))


def _some(names: list[str]) -> str:
    return "it has " + ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")


def check_row_numbers(rows: Any, n_points: int) -> IntArray:
    """Return the number (n,) of each point's row in the user's data; by default they are counted from 0."""
    if rows is None:
        return np.arange(n_points)
    numbers: AnyArray = np.asarray(one_for_each(rows, "row_numbers", n_points))
    if numbers.dtype.kind not in "iu" or numbers.min(initial=0) < 0:
        raise ValueError(f"row_numbers must be whole numbers from 0 on, got dtype {numbers.dtype}.")
    return numbers.astype(np.int64)


def point_ids(result: AffinityResult, X: Any, ids: Any = None) -> Identifiers | None:
    """Return what identifies the points; None if rows have only their numbers.

    That is ``ids``, one value for each point or a frame with several columns, or else the index of the frame that was
    scored, or of X.
    """
    if ids is not None:
        frame = nw.from_native(ids, pass_through=True, eager_only=True)
        if not isinstance(frame, nw.DataFrame):
            return Identifiers(["id"], [one_for_each(ids, "ids", result.n_points)])
        columns = [one_for_each(frame[name], "ids", result.n_points) for name in frame.columns]
        return Identifiers(_free_names(frame.columns), columns) if columns else None
    index = result.frame_like.index
    if index is None:
        frame = nw.from_native(X, pass_through=True, eager_only=True)
        index = nw.maybe_get_index(frame) if isinstance(frame, nw.DataFrame) else None
    if index is None:
        return None
    found = list(index)
    if found == list(range(len(found))):
        return None
    name = getattr(index, "name", None)
    return Identifiers(_free_names(["id" if name is None else str(name)]), [found])


def _free_names(names: list[str]) -> list[str]:
    """Return names that no column of an export has."""
    return [f"{name} (id)" if name in TAKEN else name for name in names]
