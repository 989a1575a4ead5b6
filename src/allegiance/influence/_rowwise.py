"""Linear algebra on many rows, each computed in the same way whatever the others."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray, kernel_ready


def product_by_rows(X: FloatArray, shift: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (X - shift) @ axes.T (n, r) and the squared norms (n,) of X - shift, for X (n, d) and axes (r, d)."""
    from allegiance._kernels._projection import project_rows

    rows, shift, axes = kernel_ready(X, shift, axes)
    out, squares = np.empty((X.shape[0], axes.shape[0])), np.empty(X.shape[0])
    project_rows(rows, 1.0, shift, axes, out, squares)
    return out, squares


def norms(A: FloatArray) -> FloatArray:
    """Return the length (n,) of each row of A (n, m)."""
    with np.errstate(over="ignore"):
        lengths: FloatArray = np.sqrt((A * A).sum(axis=1))
    large = np.flatnonzero(np.isinf(lengths) & np.isfinite(A).all(axis=1))
    if large.size:
        size = np.abs(A[large]).max(axis=1)
        lengths[large] = size * norms(A[large] / size[:, None])
    return lengths


def solve_rows(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return matrix⁻¹ right (n, r) for positive matrices (n, r, r); NaN for rows whose matrix is not.

    A trace of a ridge keeps one singular matrix from stopping the others.
    """
    trace = np.trace(matrices, axis1=1, axis2=2)
    usable = np.isfinite(matrices).all(axis=(1, 2)) & (trace > 0)
    ridge = np.where(usable, 1e-15 * trace, 1.0)[:, None, None] * np.eye(right.shape[1])
    solutions: AnyArray = np.linalg.solve(
        np.where(usable[:, None, None], matrices, 0.0) + ridge, np.where(usable[:, None], right, 0.0)[:, :, None]
    )[:, :, 0]
    solutions[~usable] = np.nan
    return solutions
