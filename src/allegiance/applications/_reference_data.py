"""Data without clusters that fills the same box as the data."""

from __future__ import annotations

import numpy as np

from allegiance._core import FloatArray


def reference_axes(X: FloatArray) -> FloatArray:
    """Return the axes (r, d) of the smaller of two boxes around X (n, d): along its principal axes, or its columns.

    Principal axes follow clusters that lie in a subspace; but where no direction stands out they are arbitrary, and the
    box along them may be much larger than the data.
    """
    _, lengths, principal = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    if X.shape[1] > principal.shape[0] or lengths[-1] <= lengths[0] * X.shape[0] * np.finfo(float).eps:
        return principal
    columns = np.eye(X.shape[1])
    volumes = [np.log(np.ptp(X @ axes.T, axis=0)).sum() for axes in (columns, principal)]
    return columns if volumes[0] <= volumes[1] else principal


def uniform_in_box(X: FloatArray, axes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Draw as many points as X (n, d) has, uniformly in the box around it along ``axes`` (r, d)."""
    along = X @ axes.T
    mean = X.mean(axis=0)
    outside = mean - (mean @ axes.T) @ axes
    return outside + rng.uniform(along.min(axis=0), along.max(axis=0), along.shape) @ axes
