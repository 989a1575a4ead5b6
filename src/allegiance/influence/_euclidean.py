"""Squared distances: plain, Mahalanobis and between directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from allegiance._core.arithmetic import row_dots
from allegiance._core.validation import FloatArray, Rows, is_sparse, real_array

from ._base import INFLUENCES, Influence
from ._diagram import Diagram, Located

if TYPE_CHECKING:
    from allegiance.fitting import Training


from ._linear_embedding import LinearEmbedding, replace_entries
from ._power_diagram import PowerDiagram


@INFLUENCES.register("euclidean")
@dataclass(frozen=True, eq=False, repr=False)
class Euclidean(Influence):
    """Squared Euclidean distance to the representatives, in the units of X."""

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the sites."""
        return PowerDiagram(LinearEmbedding.of_sites(training.sites, keep_axes=keep_axes)), None


@INFLUENCES.register("mahalanobis")
@dataclass(frozen=True, eq=False, repr=False)
class Mahalanobis(Influence):
    """Mahalanobis distance with a covariance matrix that you pass.

    Parameters
    ----------
    covariance
        (d, d) symmetric positive definite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> from allegiance.influence import Mahalanobis
    >>> X = [[0.0, 0.0], [1.0, 90.0], [6.0, 50.0], [7.0, 10.0]]
    >>> result = affinity(X, [0, 0, 1, 1], influence=Mahalanobis(np.diag([1.0, 1000.0])))
    >>> result.frame(details=True)["owner"].tolist()
    [0, 0, 1, 1]
    """

    covariance: Any

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the whitened sites."""
        whitening = _inverse_root(self.covariance, training.sites.shape[1])
        return PowerDiagram(LinearEmbedding.of_sites(training.sites, keep_axes=keep_axes, whitening=whitening)), None


#: Rows converted to float64 at a time.
_NORMALIZED_ROWS = 2048


@INFLUENCES.register("cosine")
@dataclass(frozen=True, eq=False, repr=False)
class Cosine(Influence):
    """Euclidean distance after every row is divided by its length, so that only directions count: for embeddings.

    Between rows of length one the squared distance is 2 (1 - cosine). Clusters are represented by the means of such
    rows, as in k-means of normalized rows; ``centers`` are divided by their length as well. A row of zeros
    has no direction: it stays at the origin, where its cosine with everything is 0, as in scikit-learn.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import Cosine
    >>> documents = [[3, 0, 1], [9, 1, 2], [0, 5, 1], [1, 9, 0]]
    >>> result = affinity(documents, ["sports", "sports", "news", "news"], influence=Cosine())
    >>> result.frame(details=True)["owner"].tolist()
    ['sports', 'sports', 'news', 'news']
    """

    flat_sides: ClassVar[bool] = False

    def prepare(self, X: Rows, argument: str = "X") -> Rows:
        """Return the directions of rows (n, d), between which cosine measures; rows of zeros stay."""
        if not is_sparse(X):
            return X / _lengths(X)[:, None].astype(X.dtype)
        X = sp.csr_array(X)
        return replace_entries(X, X.data / np.repeat(_lengths(X), np.diff(X.indptr)).astype(X.dtype))

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the means of the prepared rows."""
        return Euclidean().diagram(training, keep_axes=keep_axes)


def _lengths(X: Rows) -> FloatArray:
    """Return the length (n,) by which cosine divides each row: 1 for rows of zeros."""
    squares = np.empty(X.shape[0])
    for start in range(0, X.shape[0], _NORMALIZED_ROWS):
        part = slice(start, start + _NORMALIZED_ROWS)
        rows = X[part].astype(np.float64)
        squares[part] = rows.multiply(rows).sum(axis=1) if is_sparse(X) else row_dots(rows, rows)
    return np.sqrt(np.where(squares > 0, squares, 1.0))


#: A covariance whose smallest variance is below this share of the largest cannot be inverted reliably.
SINGULAR = 1e-13


def _inverse_root(covariance: Any, n_features: int) -> FloatArray:
    """Return the whitening (d, d) of Mahalanobis distance: the symmetric inverse root, which turns the axes least."""
    matrix = real_array("covariance", covariance, 2)
    if matrix.shape != (n_features, n_features):
        raise ValueError(f"covariance must be of shape ({n_features}, {n_features}), got {matrix.shape}.")
    size = float(np.abs(matrix).max())
    if not np.isfinite(size) or not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10 * size):
        raise ValueError("covariance must be finite and symmetric.")
    variances, axes = np.linalg.eigh(matrix)
    if not variances[0] > SINGULAR * variances[-1]:
        raise ValueError(
            "covariance must be positive definite: some direction has no variance. Drop constant or dependent columns, "
            "or add a small multiple of the identity."
        )
    return (axes / np.sqrt(variances)) @ axes.T
