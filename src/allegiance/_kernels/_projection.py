"""Rows of X to coordinates in the span of the sites."""

from __future__ import annotations

from allegiance._typing import FloatArray

from ._jit import jit


@jit()
def project_rows(
    X: FloatArray, factor: float, shift: FloatArray, basis: FloatArray, out: FloatArray, norms: FloatArray
) -> None:
    """Write ``(factor * X - shift) @ basis`` to ``out`` and the squared norm of each shifted row to ``norms``.

    A matrix product from BLAS would give a row different last bits depending on how many rows surround it; this loop
    adds in one fixed order. ``X`` is (n, d), ``basis`` (d, r), ``out`` (n, r), ``norms`` (n,).
    """
    n, d = X.shape
    r = basis.shape[1]
    for i in range(n):
        norm = 0.0
        for c in range(r):
            out[i, c] = 0.0
        for j in range(d):
            value = factor * X[i, j] - shift[j]
            norm += value * value
            for c in range(r):
                out[i, c] += value * basis[j, c]
        norms[i] = norm
