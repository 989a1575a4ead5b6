"""The one door for user input: labels, centres, parameters. every array and parameter is checked here."""

from __future__ import annotations

import re
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import validate_data

from ._arrays import real_array
from ._typing import AnyArray, BoolArray, FloatArray, Rows

#: The label that clusterers give to points of no cluster.
NOISE = -1
#: Coordinates beyond this could overflow when they are added.
_LARGEST = 1e307


class Membership(NamedTuple):
    """Labels as cluster numbers."""

    classes: AnyArray
    """(k,) the label of each cluster."""
    codes: AnyArray
    """(n,) int64 cluster number of each row, -1 for noise."""


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Return X through scikit-learn's door: two-dimensional, finite, float64 or float32, dense or CSR.

    Its messages are kept, with the name of the argument where they leave it out.
    """
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
    except (TypeError, ValueError) as error:
        message = str(error)
        if re.search(r"\bX\b", message):
            raise
        raise type(error)(f"X cannot be used. {message}") from error


def check_labels(labels: Any, n_rows: int, n_centers: int | None = None) -> Membership:
    """Turn labels of any kind into cluster numbers.

    Parameters
    ----------
    labels
        One label per row: integers, strings, booleans; -1 means noise.
    n_rows
        The number of rows of X.
    n_centers
        The number of centres, if they were given. Integer labels in ``range(n_centers)`` then name rows of the
        centres; other labels must be as many as the centres and are matched in sorted order.
    """
    values, noise = discrete_labels(labels, n_rows)
    try:
        classes, member = np.unique(values[~noise], return_inverse=True)
    except TypeError as error:
        raise TypeError("labels must be of one kind: they mix types that cannot be compared.") from error
    named = check_classes(classes, n_centers)
    if named is not classes:
        member = values[~noise].astype(np.int64)
    codes = np.full(n_rows, NOISE, dtype=np.int64)
    codes[~noise] = member
    return Membership(named, codes)


def discrete_labels(labels: Any, n_rows: int) -> tuple[AnyArray, BoolArray]:
    """Return labels (n,) as integers or strings, and which of them are noise."""
    if isinstance(labels, (list, tuple)) and len({isinstance(label, str) for label in labels}) == 2:
        raise TypeError("labels mixes names and numbers: use names only, or numbers with -1 for noise.")
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, one label per row of X, got shape {values.shape}.")
    if values.shape[0] != n_rows:
        raise ValueError(f"labels has {values.shape[0]} entries but X has {n_rows} rows: they must be equal.")
    values = _as_discrete(values)
    return values, values == NOISE if values.dtype.kind in "iu" else np.zeros(n_rows, dtype=bool)


def check_classes(classes: AnyArray, n_centers: int | None) -> AnyArray:
    """Return the label (k,) of each cluster: the distinct labels found, or all numbers of centres if they name these.

    ``n_centers`` is the number of centres, if they were given; see :func:`check_labels`.
    """
    if classes.size == 0:
        raise ValueError("labels contains no cluster: every point is noise (-1), so there is nothing to belong to.")
    if n_centers is None:
        return classes
    if classes.dtype.kind in "iu" and classes[0] >= 0 and classes[-1] < n_centers:
        return np.arange(n_centers)
    if classes.size != n_centers:
        raise ValueError(
            f"labels names {classes.size} clusters but centers has {n_centers} rows: use labels 0 to "
            f"{n_centers - 1}, or as many distinct labels as centers."
        )
    return classes


def _as_discrete(values: AnyArray) -> AnyArray:
    """Return labels as integers or strings; floats must be whole numbers."""
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise ValueError("labels contains NaN or infinity: use -1 for points of no cluster.")
        if (values != np.floor(values)).any():
            raise ValueError("labels must be discrete: it contains fractional numbers. Is it a target of regression?")
        return values.astype(np.int64)
    if values.dtype.kind == "O":
        if any(value is None or value != value for value in values):
            raise ValueError("labels contains missing values: use -1 for points of no cluster.")
        return np.array(values.tolist()) if len({type(value) for value in values}) == 1 else values
    if values.dtype.kind not in "iubUS":
        raise TypeError(f"labels must be integers or strings, got dtype {values.dtype}.")
    return values


def check_centers(centers: Any, n_features: int) -> FloatArray:
    """Return centres as a float64 array (k, n_features)."""
    values = real_array("centers", centers.toarray() if hasattr(centers, "toarray") else centers, 2)
    if values.shape[0] == 0:
        raise ValueError("centers is empty: it needs one row per cluster.")
    if values.shape[1] != n_features:
        raise ValueError(f"centers has {values.shape[1]} columns but X has {n_features}: they must be equal.")
    if not np.isfinite(values).all():
        raise ValueError("centers contains infinity.")
    return values


def check_sites(sites: FloatArray) -> FloatArray:
    """Return representatives (k, d) if their differences can be computed."""
    if not np.abs(sites).max() < _LARGEST:
        raise ValueError(f"X, or centers, are too large: scale them down until no coordinate exceeds {_LARGEST:g}.")
    return sites


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}.")


def check_number(value: Any, name: str, *, low: float, high: float = np.inf, closed: bool = False) -> float:
    """Return a real number in (low, high), or [low, high) if ``closed``."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}.")
    number = float(value)
    if not (low <= number if closed else low < number) or not number < high:
        bracket = "[" if closed else "("
        raise ValueError(f"{name} must be in {bracket}{low:g}, {high:g}), got {value!r}.")
    return number


def check_count(value: Any, name: str) -> int:
    """Return a positive integer."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")
    return int(value)


def check_jobs(n_jobs: Any) -> int | None:
    """Return ``n_jobs`` if it is None or an integer other than zero."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be None or an integer, got {type(n_jobs).__name__}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: use None or -1 for all cores.")
    return int(n_jobs)
