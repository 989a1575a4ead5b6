"""Linear maps after which Mahalanobis distance is Euclidean."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import FloatArray, real_array

#: A covariance whose smallest variance is below this share of the largest cannot be inverted reliably.
_SINGULAR = 1e-13
#: Directions count with at least this share of the mean variance, once columns are of equal variance. Rounding in X
#: is then magnified by at most 10⁴, and the share of shrinkage that Ledoit and Wolf find is larger below 10⁷ points.
_LEAST_VARIANCE = 1e-8
#: Inverses of smaller scales would overflow when multiplied by other numbers.
_LEAST_SCALE = 2.0**-1000


class ScaledCovariance(NamedTuple):
    """A covariance as the scale of each column and what is left when all columns are in their scale.

    The two parts keep what the (d, d) matrix loses: squares of columns of size 1e-200 are zero.
    """

    scale: FloatArray
    """(d,) positive, in the user's units."""
    correlation: FloatArray | None
    """(d, d) covariance of the columns divided by their scale; None for the identity."""

    @property
    def matrix(self) -> FloatArray:
        """The covariance (d, d) itself."""
        squared = np.outer(self.scale, self.scale)
        return squared * np.eye(self.scale.size) if self.correlation is None else self.correlation * squared

    @property
    def whitening(self) -> FloatArray:
        """The map after which Mahalanobis distance is Euclidean: (d, d), or (d,) factors of the columns.

        There is always one. If the matrix itself inverts well, the map is its symmetric inverse root; otherwise
        columns are divided by their scale first, and directions without variance get a small one.
        """
        scale = np.maximum(self.scale, _LEAST_SCALE)
        if self.correlation is None:
            return 1.0 / scale
        # In a unit common to all columns, a power of two, so that squares of numbers near 1e200 or 1e-200 exist.
        common = np.ldexp(1.0, int(np.frexp(scale.max())[1]))
        variances, axes = np.linalg.eigh(self.correlation * np.outer(scale / common, scale / common))
        if variances[0] > _SINGULAR * variances[-1]:
            return ((axes / np.sqrt(variances)) @ axes.T) / common
        variances, axes = np.linalg.eigh(self.correlation)
        variances = np.maximum(variances, _LEAST_VARIANCE * variances.mean())
        return ((axes / np.sqrt(variances)) @ axes.T) / scale[:, None]


def whitening_of(covariance: Any, n_features: int) -> FloatArray:
    """Return the symmetric inverse root (d, d) of a covariance: of all whitenings it turns the axes least.

    A :class:`ScaledCovariance` gives its own whitening, which may also be factors (d,) of the columns.

    Raises
    ------
    ValueError
        If ``covariance`` is a matrix, but not a symmetric positive definite (d, d) matrix.
    """
    if isinstance(covariance, ScaledCovariance):
        return covariance.whitening
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
