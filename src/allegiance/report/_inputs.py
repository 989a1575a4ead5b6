"""What the user passes to a report beside the result."""

from __future__ import annotations

from typing import Any, NamedTuple

import narwhals as nw
from sklearn.base import BaseEstimator

from allegiance._core import Rows, check_rows
from allegiance.results import Result


class Features(NamedTuple):
    """The data behind the points."""

    rows: Rows
    """(n, d) dense or CSR, finite."""
    names: list[str]
    """(d,) one for each column."""


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


def point_ids(result: Result, X: Any, ids: Any = None) -> tuple[list[Any], str] | None:
    """Return what identifies the points, and its name; None if rows have only their numbers.

    That is ``ids`` if given, else the index of the frame that was scored, or of X.
    """
    if ids is not None:
        given = list(ids)
        if len(given) != result.n_points:
            raise ValueError(
                f"ids has {len(given)} entries but the result has {result.n_points} points: pass one for each."
            )
        return given, "id"
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
    return found, "id" if name is None else str(name)
