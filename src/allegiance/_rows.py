"""Rows of data, dense or sparse, behind two questions."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ._typing import FloatArray, Rows


def is_sparse(X: Rows) -> bool:
    """Tell whether X is a SciPy sparse matrix or array."""
    return bool(sp.issparse(X))


def dense(X: Rows) -> FloatArray:
    """Return X as a dense float64 array."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
