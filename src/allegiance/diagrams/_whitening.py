"""Linear maps after which Mahalanobis distance is Euclidean."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._arrays import real_array
from allegiance._rows import dense
from allegiance._typing import AnyArray, FloatArray, Rows

SHRINKAGES = ("ledoit-wolf", "oas")
#: A covariance whose smallest variance is below this share of the largest cannot be inverted reliably.
_SINGULAR = 1e-13


def whitening_of(covariance: Any, n_features: int) -> FloatArray:
    """Return the symmetric inverse root (d, d) of a covariance: of all whitenings it turns the axes least.

    Raises
    ------
    ValueError
        If ``covariance`` is not a symmetric positive definite (d, d) matrix.
    """
    matrix = real_array("covariance", covariance, 2)
    if matrix.shape != (n_features, n_features):
        raise ValueError(f"covariance must be of shape ({n_features}, {n_features}), got {matrix.shape}.")
    size = float(np.abs(matrix).max())
    if not np.isfinite(size) or not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * size):
        raise ValueError("covariance must be finite and symmetric.")
    variances, axes = np.linalg.eigh(matrix)
    if not variances[0] > _SINGULAR * variances[-1]:
        raise ValueError(
            "covariance must be positive definite: some direction has no variance. Drop constant or dependent columns, "
            "or add a small multiple of the identity."
        )
    return (axes / np.sqrt(variances)) @ axes.T


def within_covariance(X: Rows, codes: AnyArray, centers: FloatArray, shrinkage: str) -> FloatArray:
    """Return the covariance (d, d) of the points around the representatives of their clusters, shrunk.

    Columns are brought to equal variance first and the shrunk result is scaled back: shrinking towards a multiple of
    the identity would otherwise depend on the units of the columns. A column that does not vary inside any cluster
    counts with its variance over all points.

    Parameters
    ----------
    X
        (n, d)
    codes
        (n,) cluster of each point; noise (-1) is left out.
    centers
        (k, d)
    shrinkage
        "ledoit-wolf" or "oas", both scikit-learn's.
    """
    from sklearn.covariance import OAS, LedoitWolf

    members = np.flatnonzero(codes >= 0)
    residuals = dense(X[members]) - centers[codes[members]]
    if not residuals.any():
        raise ValueError(
            "divergence='within' needs points that differ from the representative of their cluster: all are equal to "
            "it. Use fewer clusters, or divergence='euclidean'."
        )
    scale = np.sqrt((residuals**2).mean(axis=0))
    scale = np.where(scale > 0, scale, dense(X[members]).std(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    estimator = LedoitWolf if shrinkage == "ledoit-wolf" else OAS
    shrunk: FloatArray = estimator(assume_centered=True).fit(residuals / scale).covariance_
    return shrunk * np.outer(scale, scale)
