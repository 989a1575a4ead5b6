"""Linear maps after which Mahalanobis distance is Euclidean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, Rows, dense, real_array

SHRINKAGES = ("ledoit-wolf", "oas")
#: Rows converted to float64 at a time.
_CHUNK = 8192
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
    size = np.zeros(X.shape[1])
    for residuals in _residuals(X, codes, centers, np.ones_like(size)):
        size = np.maximum(size, np.abs(residuals).max(axis=0, initial=0.0))
    unit = unit_of(size)
    return scatter_sums(X, codes, centers, unit).covariance(centers, shrinkage, unit)


class ScatterSums(NamedTuple):
    """Sums over points from which the covariance around their representatives follows, shrunk or not."""

    sizes: FloatArray
    """(k,) numbers of points."""
    products: FloatArray
    """(d, d) sums of products of two residuals of a point, in the unit of their columns."""
    squares: FloatArray
    """(d, d) sums of products of two squared residuals."""

    def plus(self, other: ScatterSums) -> ScatterSums:
        """Return the sums over both sets of points."""
        return ScatterSums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def covariance(self, centers: FloatArray, shrinkage: str, unit: FloatArray) -> FloatArray:
        """Return the covariance (d, d); see :func:`within_covariance`."""
        n, d = float(self.sizes.sum()), unit.size
        variances = np.diagonal(self.products) / n
        if not variances.any():
            raise ValueError(
                "divergence='within' needs points that differ from the representative of their cluster: all are equal "
                "to it. Use fewer clusters, or divergence='euclidean'."
            )
        # Without residuals all points lie at their centres, so that these and the sizes give the variance of all.
        scaled = centers / unit
        between = self.sizes @ (scaled - self.sizes @ scaled / n) ** 2 / n
        variances = np.where(variances > 0, variances, between)
        scale = np.sqrt(np.where(variances > 0, variances, 1.0))
        plain = self.products / n / np.outer(scale, scale)
        mu = float(np.trace(plain)) / d
        share = 0.0
        if d > 1 and shrinkage == "oas":
            share = _oas(plain, mu, n)
        elif d > 1:
            share = _ledoit_wolf(plain, mu, n, float((self.squares / np.outer(scale**2, scale**2)).sum()))
        shrunk = (1.0 - share) * plain + share * mu * np.eye(d)
        return shrunk * np.outer(scale * unit, scale * unit)


def unit_of(size: FloatArray) -> FloatArray:
    """Return powers of two (d,) near sizes of columns: in these units fourth powers do not overflow."""
    return np.asarray(np.ldexp(1.0, np.clip(np.frexp(size)[1], -1000, 1000)))


def scatter_sums(X: Rows, codes: AnyArray, centers: FloatArray, unit: FloatArray) -> ScatterSums:
    """Sum over rows X (n, d), in units (d,) of the columns; for parameters see :func:`within_covariance`."""
    d = X.shape[1]
    products, squares = np.zeros((d, d)), np.zeros((d, d))
    for residuals in _residuals(X, codes, centers, unit):
        products += residuals.T @ residuals
        squared = residuals**2
        squares += squared.T @ squared
    sizes = np.bincount(codes[codes >= 0], minlength=centers.shape[0])
    return ScatterSums(sizes.astype(np.float64), products, squares)


def _residuals(X: Rows, codes: AnyArray, centers: FloatArray, unit: FloatArray) -> Iterator[FloatArray]:
    """Yield the residuals of some rows at a time, noise left out."""
    for start in range(0, X.shape[0], _CHUNK):
        part = codes[start : start + _CHUNK]
        members = np.flatnonzero(part >= 0)
        yield (dense(X[start : start + _CHUNK][members]) - centers[part[members]]) / unit


def _oas(covariance: FloatArray, mu: float, n: float) -> float:
    """Return the share of shrinkage that approaches the oracle (Chen and others, as in scikit-learn's OAS)."""
    d = covariance.shape[0]
    alpha = float((covariance**2).mean())
    denominator = (n + 1.0) * (alpha - mu**2 / d)
    return 1.0 if denominator == 0 else min((alpha + mu**2) / denominator, 1.0)


def _ledoit_wolf(covariance: FloatArray, mu: float, n: float, fourth: float) -> float:
    """Return the share of shrinkage of Ledoit and Wolf, where ``fourth`` is the sum of |residual|⁴ over points."""
    d = covariance.shape[0]
    second = float((covariance**2).sum())
    beta = (fourth / n - second) / (d * n)
    delta = (second - d * mu**2) / d
    return 0.0 if min(beta, delta) <= 0 else min(beta / delta, 1.0)
