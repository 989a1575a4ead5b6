"""The one door for user input: rows, centres, and parameters that are numbers or choices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._arrays import real_array
from ._typing import FloatArray, Rows

#: Coordinates beyond this could overflow when they are added.
_LARGEST = 1e307
#: Largest count: it is exact as a float, and some of its multiples still fit into 64 bits.
_MOST = 2**53


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Return X through scikit-learn's door: two-dimensional, finite, float64 or float32, dense or CSR.

    Its messages are kept, with the name of the argument where they leave it out.
    """
    from sklearn.utils.validation import validate_data

    _refuse_containers(X)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return validate_data(estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset)
    except (TypeError, ValueError) as error:
        message = str(error)
        if re.search(r"\bX\b", message):
            raise
        raise type(error)(f"X cannot be used. {message}") from error


def check_table(estimator: Any, X: Any) -> None:
    """Let ``estimator`` take note of the columns of X, which may hold anything."""
    from sklearn.utils.validation import validate_data

    _refuse_containers(X)
    validate_data(estimator, X, reset=True, skip_check_array=True)


def _refuse_containers(X: Any) -> None:
    """Raise for objects that hold tables but are not one, where NumPy would say something cryptic."""
    if hasattr(X, "obsm") and hasattr(X, "obs"):
        raise TypeError(
            f"X is an {type(X).__name__}: call allegiance.anndata.trust(adata, groupby='leiden'), or pass the matrix "
            "that was clustered, such as adata.obsm['X_pca'], with labels such as adata.obs['leiden']."
        )
    if isinstance(X, Mapping | set | str | bytes):
        raise TypeError(f"X must be an array, a sparse matrix or a dataframe, got {type(X).__name__}.")
    if np.ma.isMaskedArray(X) and np.ma.getmaskarray(X).any():
        raise ValueError("X has masked entries: fill them in, or leave these rows out.")


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
    """Return a positive integer that arithmetic on it can bear."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}.")
    count = int(value)
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}.")
    if count > _MOST:
        raise ValueError(f"{name} must be at most {_MOST:,}, got {count}.")
    return count


def check_jobs(n_jobs: Any) -> int | None:
    """Return ``n_jobs`` if it is None or an integer other than zero."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be None or an integer, got {type(n_jobs).__name__}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: use None or -1 for all cores.")
    return int(n_jobs)
