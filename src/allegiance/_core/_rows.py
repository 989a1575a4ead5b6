"""Rows of data, dense or sparse, and sums along them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ._typing import FloatArray, Rows

#: Columns up to which summing column by column is faster.
_FEW = 16


def is_sparse(X: Rows) -> bool:
    """Tell whether X is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def is_lazy(X: object) -> bool:
    """Tell whether X is a Dask collection, without importing Dask."""
    return hasattr(type(X), "__dask_graph__")


def dense(X: Rows) -> FloatArray:
    """Return X as a dense float64 array."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def row_sums(A: FloatArray) -> FloatArray:
    """Return the sum (n,) of each row of A (n, m).

    Column by column where there are few: NumPy's own reduction along a short axis is several times slower. Either way
    the order of the additions depends on m only.
    """
    if not 0 < A.shape[1] <= _FEW:
        return A.sum(axis=1)
    total = A[:, 0].copy()
    for c in range(1, A.shape[1]):
        total += A[:, c]
    return total


def row_dots(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return the product (n,) of each row of A (n, m) with the same row of B, or with the vector B (m,)."""
    if not 0 < A.shape[1] <= _FEW:
        return (A * B).sum(axis=1)
    total = A[:, 0] * B[..., 0]
    for c in range(1, A.shape[1]):
        total += A[:, c] * B[..., c]
    return total
