"""Rows of X to coordinates in the span of the sites."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray

from ._jit import jit


@jit(fuse=True, reorder=True)
def project_rows(
    X: FloatArray, factor: float, shift: FloatArray, axes: FloatArray, out: FloatArray, norms: FloatArray
) -> None:
    """Write ``(factor * X - shift) @ axes.T`` to ``out`` and the squared norm of each shifted row to ``norms``.

    A matrix product from BLAS would give a row different last bits depending on how many rows surround it; here every
    row is summed in the same way. ``X`` is (n, d), ``axes`` (r, d), ``out`` (n, r), ``norms`` (n,).
    """
    n, d = X.shape
    r = axes.shape[0]
    row = np.empty(d)
    for i in range(n):
        # Sums stand in loops that store nothing: a loop that also stores is vectorised only if a test at run time says
        # that its arrays do not overlap, so its sums could have other bits from one call to the next.
        for j in range(d):
            row[j] = factor * X[i, j] - shift[j]
        norm = 0.0
        for j in range(d):
            norm += row[j] * row[j]
        norms[i] = norm
        for c in range(r):
            total = 0.0
            for j in range(d):
                total += row[j] * axes[c, j]
            out[i, c] = total
