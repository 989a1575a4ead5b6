"""The covariance of points around the representatives of their clusters, from sums over rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from allegiance._core import AnyArray, FloatArray, Rows, dense, is_sparse

from ._whitening import ScaledCovariance

SHRINKAGES = ("ledoit-wolf", "oas")
#: Up to this many columns their correlations are used, above only their variances; docs/decisions/0008 has the
#: measurements.
MOST_CORRELATED = 1024
#: Rows converted to float64 at a time where correlations are used.
_CHUNK = 8192
#: Numbers converted to float64 at a time where they are not.
_BLOCK = 1 << 21
#: A column varies if its deviation is more than this many units in the last place of its values.
_ROUNDING = 4.0


class WithinSums(Protocol):
    """Sums over points from which a covariance follows, and which can be merged with those of other points."""

    def plus(self, other: Any) -> WithinSums:
        """Return the sums over both sets of points."""

    def covariance(self, centers: FloatArray, shrinkage: str, unit: FloatArray) -> ScaledCovariance:
        """Return the covariance; see :func:`scatter_sums`."""


class ScatterSums(NamedTuple):
    """Sums over points from which the covariance around their representatives follows, shrunk or not."""

    sizes: FloatArray
    """(k,) numbers of points."""
    products: FloatArray
    """(d, d) sums of products of two residuals of a point, in the unit of their columns."""
    squares: FloatArray
    """(d, d) sums of products of two squared residuals."""
    resolution: float
    """The relative deviation below which a column varies by rounding only."""

    def plus(self, other: ScatterSums) -> ScatterSums:
        """Return the sums over both sets of points."""
        return ScatterSums(
            self.sizes + other.sizes,
            self.products + other.products,
            self.squares + other.squares,
            max(self.resolution, other.resolution),
        )

    def covariance(self, centers: FloatArray, shrinkage: str, unit: FloatArray) -> ScaledCovariance:
        """Return the covariance, shrunk by "ledoit-wolf" or "oas"; see :func:`scatter_sums`."""
        n, d = float(self.sizes.sum()), unit.size
        columns = _scales(np.diagonal(self.products) / n, self.sizes, centers, unit, self.resolution)
        scale = np.where(columns.varies, columns.scale / unit, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            plain, squares = self.products / n / np.outer(scale, scale), self.squares / np.outer(scale**2, scale**2)
        for matrix in (plain, squares):
            matrix[~columns.varies] = 0.0
            matrix[:, ~columns.varies] = 0.0
        mu = float(np.trace(plain)) / d
        share = 0.0
        if d > 1 and shrinkage == "oas":
            share = _oas(plain, mu, n)
        elif d > 1:
            share = _ledoit_wolf(plain, mu, n, float(squares.sum()))
        shrunk = (1.0 - share) * plain + share * mu * np.eye(d)
        shrunk[columns.differs, columns.differs] = 1.0
        return ScaledCovariance(columns.scale, shrunk)


class ColumnSums(NamedTuple):
    """Sums over points from which the variances of the columns around their representatives follow."""

    sizes: FloatArray
    """(k,) numbers of points."""
    squares: FloatArray
    """(d,) sums of squared residuals, in the unit of their columns."""
    resolution: float
    """The relative deviation below which a column varies by rounding only."""

    def plus(self, other: ColumnSums) -> ColumnSums:
        """Return the sums over both sets of points."""
        resolution = max(self.resolution, other.resolution)
        return ColumnSums(self.sizes + other.sizes, self.squares + other.squares, resolution)

    def covariance(self, centers: FloatArray, shrinkage: str, unit: FloatArray) -> ScaledCovariance:
        """Return the covariance without correlations; whatever ``shrinkage``, it is complete."""
        variances = self.squares / self.sizes.sum()
        return ScaledCovariance(_scales(variances, self.sizes, centers, unit, self.resolution).scale, None)


def unit_of(size: FloatArray) -> FloatArray:
    """Return powers of two (d,) near sizes of columns: in these units fourth powers do not overflow."""
    return np.asarray(np.ldexp(1.0, np.clip(np.frexp(size)[1], -1000, 1000)))


def scatter_sums(X: Rows, codes: AnyArray, centers: FloatArray, unit: FloatArray) -> WithinSums:
    """Sum over rows what the covariance of points around the representatives of their clusters needs.

    Sums over other rows with the same centres and units are of the same kind, so that they can be merged. Columns are
    brought to equal variance before they are shrunk: shrinking towards a multiple of the identity would otherwise
    depend on the units of the columns. A column that does not vary inside any cluster, or only by rounding, counts with
    its variance over all points. Above ``MOST_CORRELATED`` columns the shrinkage is complete: columns keep their
    variances and no correlations, which costs as much as reading X.

    Parameters
    ----------
    X
        (n, d) dense or CSR; CSR is never converted as a whole.
    codes
        (n,) cluster of each point; noise (-1) is left out.
    centers
        (k, d)
    unit
        (d,) powers of two near the size of residuals, in which sums are taken.
    """
    d = X.shape[1]
    sizes = np.bincount(codes[codes >= 0], minlength=centers.shape[0]).astype(np.float64)
    resolution = _ROUNDING * float(np.finfo(X.dtype if X.dtype.kind == "f" else np.float64).eps)
    if d > MOST_CORRELATED:
        return ColumnSums(sizes, _squared_residuals(X, codes, centers, unit), resolution)
    products, squares = np.zeros((d, d)), np.zeros((d, d))
    for residuals in _residuals(X, codes, centers, unit, _CHUNK):
        products += residuals.T @ residuals
        squared = residuals**2
        squares += squared.T @ squared
    return ScatterSums(sizes, products, squares, resolution)


def _members(X: Rows, codes: AnyArray, chunk: int) -> Iterator[tuple[AnyArray, Rows]]:
    """Yield the clusters (m,) and rows (m, d) of some points at a time, noise left out."""
    for start in range(0, X.shape[0], chunk):
        part = codes[start : start + chunk]
        members = np.flatnonzero(part >= 0)
        if members.size:
            yield part[members], X[start : start + chunk][members]


def _residuals(X: Rows, codes: AnyArray, centers: FloatArray, unit: FloatArray, chunk: int) -> Iterator[FloatArray]:
    for part, rows in _members(X, codes, chunk):
        yield (dense(rows) - centers[part]) / unit


def _squared_residuals(X: Rows, codes: AnyArray, centers: FloatArray, unit: FloatArray) -> FloatArray:
    """Return the sum (d,) of the squared residuals of each column."""
    total = np.zeros(X.shape[1])
    if not is_sparse(X):
        for residuals in _residuals(X, codes, centers, unit, max(1, _BLOCK // total.size)):
            total += (residuals**2).sum(axis=0)
        return total
    absent = np.zeros(centers.shape)
    for part, rows in _members(X, codes, _CHUNK):
        entries = sp.csr_array(rows, dtype=np.float64)
        entries.sum_duplicates()
        column, cluster = entries.indices, np.repeat(part, np.diff(entries.indptr))
        residuals = (entries.data - centers[cluster, column]) / unit[column]
        total += np.bincount(column, residuals**2, total.size)
        absent += np.bincount(part, minlength=centers.shape[0])[:, None]
        absent -= np.bincount(cluster * total.size + column, minlength=absent.size).reshape(absent.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return total + np.where(absent > 0, absent * (centers / unit) ** 2, 0.0).sum(axis=0)


class _Columns(NamedTuple):
    scale: FloatArray
    """(d,) positive, in the user's units."""
    varies: AnyArray
    """(d,) whether points of one cluster differ, by more than rounding."""
    differs: AnyArray
    """(d,) whether, if they do not, clusters differ."""


def _scales(
    variances: FloatArray, sizes: FloatArray, centers: FloatArray, unit: FloatArray, resolution: float
) -> _Columns:
    """Return the scale of each column, given its variance (d,) inside clusters in its unit.

    Columns are compared with their own values and never with each other, so that units do not matter. A column that
    does not vary inside clusters counts with its deviation over all points; where there is none either, with its size:
    rounding then stays rounding.
    """
    deviation, magnitude = np.sqrt(variances) * unit, np.abs(centers).max(axis=0)
    varies = deviation > resolution * magnitude
    if not varies.any():
        raise ValueError(
            "influence='within' needs points that differ from the representative of their cluster: all are equal "
            "to it. Use fewer clusters, or influence='euclidean'."
        )
    magnitude = np.where(magnitude > 0, magnitude, 1.0)
    # Without residuals all points lie at their centres, so that these and the sizes give the variance of all.
    relative = (centers - centers[0]) / magnitude
    between = np.sqrt(sizes @ (relative - sizes @ relative / sizes.sum()) ** 2 / sizes.sum())
    differs = ~varies & (between > resolution)
    scale = np.where(varies, deviation, magnitude * np.where(differs, between, 1.0))
    return _Columns(scale, varies, differs)


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
