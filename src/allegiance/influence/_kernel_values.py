"""Values of kernels between rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from allegiance._core import (
    CheckedLater,
    FloatArray,
    Matrix,
    Number,
    OrNone,
    Rows,
    Sizes,
    Text,
    check_parts,
    dense,
    floats,
    is_sparse,
    row_dots,
    stored,
)

KernelFunction: TypeAlias = Callable[..., Any]
#: The kernels with a name, and their parameters.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "rbf": ("gamma",),
    "polynomial": ("gamma", "degree", "coef0"),
    "laplacian": ("gamma",),
    "cosine": (),
    "precomputed": (),
}
KERNELS = tuple(PARAMETERS)
#: Rows handled at a time: always as many, so that BLAS treats each row alike whatever the others.
BLOCK_ROWS = 256


@stored("kernel-rows", rows=Matrix("n", "d"), squares=floats("n", low=0.0, infinite=True))
class KernelRows(NamedTuple):
    """Rows (n, d) as a kernel wants them, dense or CSR in float64, and their squared norms (n,)."""

    rows: Rows
    squares: FloatArray


def _has_parameters(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless the kernel has the parameters it takes, and no others."""
    given, taken = parts["params"], PARAMETERS[parts["name"]]
    if set(given) != set(taken):
        raise ValueError(f"params must be {', '.join(taken) or 'empty'}, not {given!r}.")
    check_parts(given, dict.fromkeys(taken, Number()), "params", sizes, {})


@stored(
    "kernel-function",
    agree=_has_parameters,
    name=Text(KERNELS),
    params=CheckedLater(dict),
    shift=OrNone(floats("d")),
)
@dataclass(frozen=True)
class SettledKernel:
    """A kernel with its parameters settled.

    Attributes
    ----------
    name
        One of ``KERNELS``, or a function k(X, Y) -> (n, m).
    params
        What the kernel takes of gamma, degree and coef0; for a function, its keywords.
    shift
        (d,) subtracted from dense rows. Distances under "linear" and "rbf" do not change, but lose no digits to a
        large common offset.
    """

    name: str | KernelFunction
    params: dict[str, Any]
    shift: FloatArray | None = None

    @classmethod
    def of(
        cls, kernel: str | KernelFunction, params: dict[str, Any] | None, X: Rows, weights: FloatArray | None = None
    ) -> SettledKernel:
        """Choose the parameters that are missing by the data X (n, d), with weights (n,) if any.

        gamma is 1 / Σ_j var_j for "rbf" and "polynomial" and 1 / Σ_j √var_j for "laplacian", over the columns j of X:
        scaling or moving the data then changes nothing under "rbf" and "laplacian", and on standardised data it is
        1 / d, as "scale" in scikit-learn's SVC. degree is 3 and coef0 is 1.
        """
        params = dict(params or {})
        if callable(kernel):
            return cls(kernel, params)
        allowed = PARAMETERS[kernel]
        if kernel in ("precomputed", "cosine"):
            return cls(kernel, {})
        mean, variance = _mean_and_variance(X, weights)
        if allowed:
            params = {name: params.get(name) for name in allowed}
            _settle(params, float((np.sqrt(variance) if kernel == "laplacian" else variance).sum()))
        return cls(kernel, params, mean if kernel in ("linear", "rbf") and not is_sparse(X) else None)

    def prepare(self, X: Rows) -> KernelRows:
        """Return rows (n, d) ready for :meth:`block`."""
        rows = float_rows(X) if self.shift is None else dense(X) - self.shift
        if callable(self.name):
            return KernelRows(rows, np.empty(0))
        squares = _squares(rows)
        if self.name == "cosine":
            factor = 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0))
            rows = sp.diags_array(factor) @ rows if is_sparse(rows) else rows * factor[:, None]
            squares = (squares > 0).astype(np.float64)
        return KernelRows(rows, squares)

    def block(self, A: KernelRows, B: KernelRows, count: int | None = None) -> FloatArray:
        """Return the kernel values (count, m) of the first ``count`` of the rows A (n, d) with all rows B (m, d)."""
        if callable(self.name):
            values = np.asarray(self.name(A.rows, B.rows, **self.params), dtype=np.float64)
            if values.shape != (A.rows.shape[0], B.rows.shape[0]):
                raise ValueError(f"kernel must return one value for each pair of rows, got shape {values.shape}.")
            return values[:count]
        if self.name == "laplacian":
            from sklearn.metrics.pairwise import manhattan_distances

            return np.exp(-self.params["gamma"] * manhattan_distances(_short(A.rows[:count]), _short(B.rows)))
        if is_sparse(A.rows) != is_sparse(B.rows):
            A, B = KernelRows(dense(A.rows), A.squares), KernelRows(dense(B.rows), B.squares)
        values = dense(A.rows @ B.rows.T)[:count]
        if self.name == "rbf":
            values *= -2.0
            values += A.squares[:count, None]
            values += B.squares
            np.maximum(values, 0.0, out=values)
            values *= -self.params["gamma"]
            np.exp(values, out=values)
        return self._polynomial(values) if self.name == "polynomial" else values

    def diagonal(self, A: KernelRows) -> FloatArray:
        """Return the kernel value (n,) of each row with itself."""
        if callable(self.name):
            return np.diagonal(self.block(A, A)).copy()
        if self.name in ("rbf", "laplacian"):
            return np.ones(A.squares.shape[0])
        return self._polynomial(A.squares) if self.name == "polynomial" else A.squares

    def _polynomial(self, values: FloatArray) -> FloatArray:
        values = self.params["gamma"] * values + self.params["coef0"]
        result = values.copy()  # multiplied up, since NumPy's power is ten times as slow
        for _ in range(self.params["degree"] - 1):
            result *= values
        return result


def row_blocks(rows: slice) -> list[slice]:
    """Cut a range of rows into blocks of ``BLOCK_ROWS``."""
    return [slice(start, min(start + BLOCK_ROWS, rows.stop)) for start in range(rows.start, rows.stop, BLOCK_ROWS)]


def float_rows(X: Rows) -> Rows:
    """Return rows in double precision, sparse ones sparse."""
    return X.astype(np.float64) if is_sparse(X) else dense(X)


def _short(rows: Rows) -> Rows:
    """Return rows with the 32-bit indices that scikit-learn's Manhattan distance asks of sparse ones."""
    if not is_sparse(rows):
        return rows
    return sp.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)


def _squares(rows: Rows) -> FloatArray:
    """Return the squared norm (n,) of each row."""
    if is_sparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
    with np.errstate(over="ignore"):
        return row_dots(rows, rows)


def _settle(params: dict[str, Any], spread: float) -> None:
    """Fill in the parameters that are None, and check the others: elsewhere there is no feature space."""
    if not np.isfinite(spread):
        raise ValueError("X is too large for a kernel: scale it down.")
    missing = {"gamma": 1.0 / spread if spread > 0 else 1.0, "degree": 3, "coef0": 1.0}
    params.update({name: missing[name] for name, value in params.items() if value is None})
    for name, value in params.items():
        known = isinstance(value, Integral if name == "degree" else Real) and not isinstance(value, bool)
        if not (known and (value > 0 or (value == 0 and name == "coef0"))):
            kind = {"gamma": "a positive number", "degree": "a positive integer", "coef0": "zero or more"}[name]
            raise ValueError(f"{name} of Kernel must be {kind}, got {value!r}.")


def _mean_and_variance(X: Rows, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return mean (d,) and variance (d,) of the columns of X (n, d), without a second copy of X."""
    share = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
    parts = row_blocks(slice(0, X.shape[0]))
    with np.errstate(over="ignore", invalid="ignore"):
        if is_sparse(X):
            mean = X.T @ share
            return mean, np.maximum(X.multiply(X).T @ share - mean**2, 0.0)
        mean = np.asarray(sum(share[part] @ dense(X[part]) for part in parts))
        return mean, np.asarray(sum(share[part] @ (dense(X[part]) - mean) ** 2 for part in parts))
