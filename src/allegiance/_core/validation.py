"""Array types, and checks of user input whose errors name the argument."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
AnyArray: TypeAlias = NDArray[Any]
#: Rows of data: a dense array, or a SciPy sparse matrix with the same indexing.
Rows: TypeAlias = Any
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


#: Whether rows are a SciPy sparse matrix or array.
is_sparse: Callable[[Any], bool] = sp.issparse


def is_lazy(X: object) -> bool:
    """Return whether the argument X is a lazy collection, such as those of Dask."""
    return hasattr(type(X), "__dask_graph__")


def dense(X: Rows) -> FloatArray:
    """Return X as a dense float64 array."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def standardize(rows: Rows) -> Rows:
    """Divide an array of rows (n, d) by the columns' standard deviations; sparse rows stay unchanged."""
    if is_sparse(rows):
        return rows
    spread = rows.std(axis=0, dtype=np.float64)
    return rows / np.where(spread > 0, spread, 1.0)


def float_rows(X: Rows) -> Rows:
    """Return rows in double precision, sparse ones sparse."""
    return X.astype(np.float64) if is_sparse(X) else dense(X)


def real_array(name: str, values: ArrayLike, ndim: int) -> FloatArray:
    """Return a contiguous float64 array of ``ndim`` dimensions without NaN; errors name the argument ``name``."""
    try:
        array = np.asarray(values)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        shape, array = array.shape, np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be an array of real numbers: {error}.") from error
    if len(shape) != ndim:
        raise ValueError(f"{name} must be {ndim}-D, got an array of shape {shape}.")
    if np.isnan(array).any():
        raise ValueError(f"{name} contains NaN: its numbers must be finite.")
    return array


_WORDS = (
    "na n/a #n/a n.a. n.a <na> nan null none nil nat - -- --- \u2013 \u2014 ? . .. ... unknown missing n.v. k.a. tbd "
    "#null! #div/0! #value! #ref! #num! #name? (null) (blank) void undefined"
)
#: Words that mean a missing value where a number or a date is expected, in lower case.
MISSING_WORDS = frozenset([*_WORDS.split(), "not available", "not applicable", "no data", "keine angabe"])


def is_missing(value: Any) -> bool:
    """Return whether an entry of user input is None, NaN or a frame's missing value."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def require(module: str, extra: str, caller: str) -> Any:
    """Import an optional module, or raise an error that names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{caller} needs {module}: pip install 'allegiance[{extra}]'.") from error


#: Range in which sums of fourth powers neither overflow nor underflow.
_SMALLEST, _LARGEST = 1e-70, 1e70
#: Messages about columns without numbers.
_UNUSABLE = {
    "text": "X contains text in {}: encode it as numbers, as with OneHotEncoder, or drop it.",
    "dates": "X contains dates in {}: turn them into numbers, such as days since the first one, or drop them.",
    "missing": "X has missing values (NaN) in {}: impute them before clustering, as with SimpleImputer, or drop these "
    "rows.",
    "infinite": "X contains infinite numbers in {}: replace them, or drop these rows.",
}
#: Largest count: exact as a float, and small multiples of it still fit into 64 bits.
_MAX_COUNT = 2**53


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Return X as scikit-learn validates it: two-dimensional, finite, float64 or float32, dense or CSR.

    Errors name the unusable columns and the fix, or at least the argument. Extremely large and small numbers are
    refused.
    """
    from sklearn.utils.validation import validate_data

    _refuse_containers(X)
    try:
        if _has_dates(X):  # scikit-learn would read them as nanoseconds
            raise TypeError("X contains dates: turn them into numbers.")
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise ValueError(
                "Complex data not supported: X contains complex numbers. Use their real and imaginary parts as columns."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            take = partial(
                validate_data, estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset
            )
            # If the largest number is finite, all are. A second pass of scikit-learn only raises the error.
            rows: Rows = take(ensure_all_finite=False)
            largest = _largest(rows)
            if not np.isfinite(largest):
                take()
    except (TypeError, ValueError) as error:
        reason = _unusable_columns(X)
        if reason is None and re.search(r"\bX\b", str(error)):
            raise
        raise type(error)(reason or f"X cannot be used. {error}") from error
    _check_size("X", largest, smallest=_SMALLEST if reset else 0.0)
    return rows


def _has_dates(X: Any) -> bool:
    """Return whether the argument X holds dates, which cannot be validated as numbers."""
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "mM"
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    return isinstance(frame, nw.DataFrame) and any(kind.is_temporal() for kind in frame.schema.values())


def _unusable_columns(X: Any) -> str | None:
    """Return a message about the columns of X that are not numeric, or about its shape; None if neither is invalid."""
    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        columns = {repr(name): frame[name].to_numpy() for name in frame.columns}
    else:
        try:
            array = np.asarray(X)
        except (TypeError, ValueError):
            return None
        if array.ndim == 1:
            return (
                f"X must have rows and columns, got shape {array.shape}. Reshape your data: X.reshape(1, -1) is one "
                "row, X.reshape(-1, 1) is one column."
            )
        if array.ndim != 2:
            return None
        columns = {str(number): values for number, values in enumerate(array.T)}
    by_kind: dict[str | None, list[str]] = {}
    for name, values in columns.items():
        by_kind.setdefault(_kind_of(values), []).append(name)
    for kind, text in _UNUSABLE.items():
        if names := by_kind.get(kind):
            return text.format(f"column{'' if len(names) == 1 else 's'} {join_names(names, 3)}")
    return None


def _kind_of(values: AnyArray) -> str | None:
    """Return why a column of the argument X is unusable, as a key of ``_UNUSABLE``; None if it is numeric."""
    if values.dtype.kind in "USmM":
        return "text" if values.dtype.kind in "US" else "dates"
    if values.dtype.kind == "f" and np.isinf(values).any() and not np.isnan(values).any():
        return "infinite"
    if values.dtype.kind not in ("f", "O"):
        return None
    known = [value for value in values.tolist() if not is_missing(value)]
    if any(isinstance(value, str | bytes) for value in known):
        # Numbers in quotes are numbers to scikit-learn.
        return None if all(_is_number(value) for value in known) else "text"
    if any(hasattr(value, "isoformat") for value in known):
        return "dates"
    return "missing" if len(known) < len(values) else None


def _is_number(value: Any) -> bool:
    """Return whether a value of X can be read as a number."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def join_names(names: Iterable[Any], most: int = 5) -> str:
    """Join the first ``most`` names for an error message, without the middle of long ones, and count the others."""
    return join_texts((name if len(name) <= 60 else f"{name[:36]}...{name[-20:]}" for name in map(str, names)), most)


def join_texts(texts: Iterable[str], most: int = 5) -> str:
    """Join the first ``most`` texts for an error message, and state the number of others."""
    texts = list(texts)
    n_listed = most if len(texts) > most + 1 else len(texts)
    more = f" and {len(texts) - n_listed:,} more" if len(texts) > n_listed else ""
    return ", ".join(texts[:n_listed]) + more


def check_table(estimator: Any, X: Any) -> None:
    """Store the column names of X, of any content, in ``estimator``."""
    from sklearn.utils.validation import validate_data

    _refuse_containers(X)
    validate_data(estimator, X, reset=True, skip_check_array=True)


def _refuse_containers(X: Any) -> None:
    """Raise a clear error for containers of tables, where NumPy's would be cryptic."""
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
    """Return centers as a float64 array (k, n_features)."""
    values = real_array("centers", centers.toarray() if hasattr(centers, "toarray") else centers, 2)
    if values.shape[0] == 0:
        raise ValueError("centers is empty: it needs one row per cluster.")
    if values.shape[1] != n_features:
        raise ValueError(f"centers has {values.shape[1]} columns but X has {n_features}: they must be equal.")
    if not np.isfinite(values).all():
        raise ValueError("centers contains infinity.")
    _check_size("centers", _largest(values))
    return values


def _largest(values: Rows) -> float:
    """Return the largest absolute value of an argument, X or centers; not finite if any number is not."""
    numbers = values.data if is_sparse(values) else values
    return max(float(numbers.max(initial=0.0)), -float(numbers.min(initial=0.0)))


def _check_size(name: str, size: float, smallest: float = 0.0) -> None:
    """Raise ValueError if the largest number is above 1e70, or nonzero and below ``smallest``."""
    if size > _LARGEST or 0.0 < size < smallest:
        kind = "large" if size > _LARGEST else "small"
        raise ValueError(
            f"{name} is too {kind}: its largest number is {size:.2g}. Rescale it, so that the largest lies between "
            f"{_SMALLEST:g} and {_LARGEST:g}."
        )


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
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
    """Return a positive integer of at most ``_MAX_COUNT``."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}.")
    count = int(value)
    if count < 1:
        raise ValueError(f"{name} must be at least 1, got {count}.")
    if count > _MAX_COUNT:
        raise ValueError(f"{name} must be at most {_MAX_COUNT:,}, got {count}.")
    return count


def check_jobs(n_jobs: Any) -> int | None:
    """Return the argument ``n_jobs``, or raise unless it is None or an integer other than zero."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be None or an integer, got {type(n_jobs).__name__}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: use None or -1 for all cores.")
    return int(n_jobs)
