"""Distance within the clusters: the shrunk covariance of points around their representatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from allegiance._core.arithmetic import MAX_PRODUCT_ROWS, ExactProducts, ExactSums, block_squares
from allegiance._core.parallel import for_row_blocks, on_one_thread
from allegiance._core.validation import AnyArray, BoolArray, FloatArray, Rows, dense, is_sparse

from ._base import INFLUENCES, Influence
from ._diagram import Diagram, Located
from ._euclidean import SINGULAR
from ._linear_embedding import LinearEmbedding
from ._power_diagram import PowerDiagram

if TYPE_CHECKING:
    from allegiance.fitting import Training


@INFLUENCES.register("within")
@dataclass(frozen=True, eq=False, repr=False)
class Within(Influence):
    """Mahalanobis distance with the pooled covariance of the clusters themselves: try it first on real tables.

    Units and correlations of the columns then do not matter. The covariance is shrunk toward independent columns as
    Ledoit and Wolf do.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from allegiance import affinity
    >>> from allegiance.influence import Within
    >>> wine = load_wine()
    >>> raw, within = (affinity(wine.data, wine.target, influence=kind) for kind in ("euclidean", Within()))
    >>> [int((each.frame(details=True)["owner"] != wine.target).sum()) for each in (raw, within)]
    [49, 0]
    """

    needs_labels = True

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the whitened sites."""
        if not training.has_labels:
            raise ValueError("influence='within' needs labels, to measure how points vary around their centers.")
        sites = training.sites
        sums = training.total(partial(scatter_sums, sites, training.largest_residuals(), threads=training.threads))
        if training.user_sites is not None:
            # Sums of n points, such as the centers of k-means, are rounded by up to about the root of n units.
            sums = sums._replace(resolution=sums.resolution * float(np.sqrt(sums.sizes.max())))
        if sums.squares is None and sites.shape[1] <= MOST_CORRELATED:
            scale = np.maximum(sums.scales(sites)[0], _LEAST_SCALE)
            sums = sums._replace(squares=training.total(partial(_fourth_powers, sites, scale)))
        whitening = sums.whitening(sites, symmetric=keep_axes)
        return PowerDiagram(LinearEmbedding.of_sites(sites, keep_axes=keep_axes, whitening=whitening)), None


#: Up to this many columns their correlations are used, above only their variances; docs/dev/geometry.md has the
#: measurements.
MOST_CORRELATED = 1024
#: Rows, and entries, converted to float64 at a time where correlations are used.
_SCATTER_ROWS, _SCATTER_ENTRIES = 8192, 2**18
#: Columns up to which residuals have 40 bits and data is read once. Otherwise they have 20, and data is read twice: the
#: scale of the columns saves a second product. No residual is larger than the root of n times the deviation
#: of its column, so 20 bits change a variance by less than 1e-13 n of it.
_FEW_COLUMNS = 128
#: Numbers converted to float64 at a time where they are not: few enough for the cache.
_BLOCK = 1 << 17
#: A column varies if its deviation is more than this many units in the last place of its values.
_ROUNDING = 4.0


class ScatterSums(NamedTuple):
    """Sums over points from which the covariance around their representatives follows.

    Columns are brought to equal variance before they are shrunk: shrinking toward a multiple of the identity would
    otherwise depend on their units. A column that does not vary inside any cluster, or only by rounding, counts with
    its variance over all points. Above ``MOST_CORRELATED`` columns the shrinkage is complete: columns keep their
    variances and no correlations, which costs as much as reading X.
    """

    sizes: FloatArray
    """(k,) numbers of points."""
    products: ExactProducts | ExactSums
    """(d, d) sums of products of two residuals of a point; (1, d) of squared residuals if columns are many."""
    squares: ExactProducts | ExactSums | None
    """(d, d) sums of products of two squared residuals, or (1, 1) :func:`_fourth_powers`; None before these are
    computed, or if columns are many."""
    resolution: float
    """The relative deviation below which a column varies by rounding only."""

    def merge(self, other: ScatterSums) -> ScatterSums:
        """Return the scatter within clusters over both sets of points."""
        products: Any = self.products.merge(cast("Any", other.products))
        squares: Any = None if self.squares is None else self.squares.merge(cast("Any", other.squares))
        return ScatterSums(self.sizes + other.sizes, products, squares, max(self.resolution, other.resolution))

    def whitening(self, centers: FloatArray, *, symmetric: bool) -> FloatArray:
        """Return the map after which Mahalanobis distance is Euclidean: (d, d), or (d,) factors of the columns.

        There is always one. If the covariance inverts well, the map is its symmetric inverse root, or for many columns
        and not ``symmetric`` the triangular one, which is faster; otherwise columns are divided by their scale first,
        and directions without variance get a small one.
        """
        scale, correlation = self.covariance(centers)
        scale = np.maximum(scale, _LEAST_SCALE)
        if correlation is None:
            return 1.0 / scale
        covariance = correlation * np.outer(scale, scale)
        with on_one_thread():
            if len(scale) > _FEW_COLUMNS and not symmetric:
                root = _triangular_inverse_root(covariance)
                if root is not None:
                    return root
            variances, axes = np.linalg.eigh(covariance)
            if variances[0] > SINGULAR * variances[-1]:
                return (axes / np.sqrt(variances)) @ axes.T
            variances, axes = np.linalg.eigh(correlation)
            variances = np.maximum(variances, _LEAST_VARIANCE * variances.mean())
            return ((axes / np.sqrt(variances)) @ axes.T) / scale[:, None]

    def scales(self, centers: FloatArray) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Return each column's scale, whether its points vary within clusters, and if not, whether clusters differ.

        Columns are compared with their own values and never with each other, so that units do not matter. A column that
        does not vary inside clusters counts with its deviation over all points; where there is none either, with its
        size: rounding then stays rounding.
        """
        squares = self.products.squares if isinstance(self.products, ExactProducts) else self.products.values[0]
        n = float(self.sizes.sum())
        deviation, magnitude = np.sqrt(squares / n), np.abs(centers).max(axis=0)
        varies = deviation > self.resolution * magnitude
        if not varies.any():
            raise ValueError(
                "influence='within' needs points that differ from the representative of their cluster: all are equal "
                "to it. Use fewer clusters, or influence='euclidean'."
            )
        magnitude = np.where(magnitude > 0, magnitude, 1.0)
        # Without residuals all points lie at their centers, so that these and the sizes give the variance of all.
        relative = (centers - centers[0]) / magnitude
        between = np.sqrt(self.sizes @ (relative - self.sizes @ relative / n) ** 2 / n)
        differs = ~varies & (between > self.resolution)
        return np.where(varies, deviation, magnitude * np.where(differs, between, 1.0)), varies, differs

    def covariance(self, centers: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return the columns' scale (d,), and their shrunk covariance (d, d) within clusters; None for the identity."""
        n, d = float(self.sizes.sum()), centers.shape[1]
        deviations, varies, differs = self.scales(centers)
        if self.squares is None:
            return deviations, None
        products = self.products.values
        scale = np.where(varies, deviations, 1.0)
        plain = products / n / np.outer(scale, scale)
        plain[~varies] = plain[:, ~varies] = 0.0
        fourth = self.squares.values
        if fourth.size > 1:
            fourth /= np.outer(scale**2, scale**2)
            fourth[~varies] = fourth[:, ~varies] = 0.0
        mu = float(np.trace(plain)) / d
        share = _ledoit_wolf(plain, mu, n, float(fourth.sum())) if d > 1 else 0.0
        shrunk = (1.0 - share) * plain + share * mu * np.eye(d)
        shrunk[differs, differs] = 1.0
        return deviations, shrunk


def scatter_sums(
    centers: FloatArray, largest: FloatArray, X: Rows, codes: AnyArray, *, threads: int = 1
) -> ScatterSums:
    """Sum the scatter of rows X (n, d), dense or CSR, within clusters (n,) of ``centers`` (k, d), -1 for noise.

    ``largest`` (d,) bounds the residuals of all rows, these and others. Sums over other rows with the same centers and
    bounds can be added, in any order, with the same bits.
    """
    d = X.shape[1]
    sizes = np.bincount(codes[codes >= 0], minlength=centers.shape[0]).astype(np.float64)
    resolution = _ROUNDING * float(np.finfo(X.dtype if X.dtype.kind == "f" else np.float64).eps)
    if d > MOST_CORRELATED:
        return ScatterSums(sizes, _squared_residuals(X, codes, centers, largest), None, resolution)
    few = d <= _FEW_COLUMNS
    parts: dict[int, tuple[ExactProducts, ...]] = {}

    def sum_scatter(rows: slice) -> None:
        products, squares = ExactProducts.empty(largest), ExactProducts.empty(largest**2)
        chunk = min(MAX_PRODUCT_ROWS, max(_SCATTER_ENTRIES // d, 1))
        residuals = (dense(some) - centers[part] for part, some in _members(X[rows], codes[rows], chunk))
        if few:
            for some in residuals:
                products.add_blocks([some])
                squares.add_blocks([np.square(some)])
        else:
            products.add_blocks(residuals, coarse=True)
        parts[rows.start] = products, squares

    with on_one_thread():
        for_row_blocks(sum_scatter, X.shape[0], threads, products=X.shape[0] * d * d, blocks_per_thread=1)
    products, squares = (reduce(ExactProducts.merge, sums) for sums in zip(*parts.values(), strict=True))
    return ScatterSums(sizes, products, squares if few else None, resolution)


def _fourth_powers(centers: FloatArray, scale: FloatArray, X: Rows, codes: AnyArray) -> ExactSums:
    """Return the sum (1, 1) of fourth powers of residuals within clusters, in units of the columns' scale (d,)."""
    fourths = [np.empty((0, 1))]
    for part, rows in _members(X, codes, _BLOCK // X.shape[1] + 1):
        residuals = (dense(rows) - centers[part]) / scale
        fourths.append(np.square(np.square(residuals, out=residuals).sum(axis=1, keepdims=True)))
    return _exact_sum(np.concatenate(fourths))


def _members(X: Rows, codes: AnyArray, chunk: int) -> Iterator[tuple[AnyArray, Rows]]:
    """Yield codes (m,) and rows (m, d) of some points within clusters at a time, noise left out."""
    for start in range(0, X.shape[0], chunk):
        part = codes[start : start + chunk]
        members = np.flatnonzero(part >= 0)
        if members.size == part.size:
            yield part, X[start : start + chunk]
        elif members.size:
            yield part[members], X[start : start + chunk][members]


def _squared_residuals(X: Rows, codes: AnyArray, centers: FloatArray, largest: FloatArray) -> ExactSums:
    """Return the sums (1, d) of squared residuals within clusters, bounded by ``largest`` (d,)."""
    if is_sparse(X):
        return _sparse_squared_residuals(X, codes, centers)
    sums = [np.empty((0, X.shape[1]))]
    for part, rows in _members(X, codes, min(_BLOCK // X.shape[1] + 1, MAX_PRODUCT_ROWS)):
        sums.append(block_squares(dense(rows) - centers[part], largest))
    return _exact_sum(np.concatenate(sums))


def _exact_sum(terms: Rows) -> ExactSums:
    """Sum terms (n, d) of the scatter within clusters."""
    return ExactSums.of(terms, np.zeros(terms.shape[0], np.int64), 1)


def _sparse_squared_residuals(X: Rows, codes: AnyArray, centers: FloatArray) -> ExactSums:
    """Return the same squared residuals for sparse rows within clusters, in time that grows with their entries."""
    d = X.shape[1]
    sums = [ExactSums.empty(1, d)]
    absent = np.zeros(centers.shape, np.int64)
    for part, rows in _members(X, codes, _SCATTER_ROWS):
        entries = sp.csr_array(rows, dtype=np.float64)
        entries.sum_duplicates()
        cluster = np.repeat(part, np.diff(entries.indptr))
        absent += np.bincount(part, minlength=centers.shape[0])[:, None]
        absent -= np.bincount(cluster * d + entries.indices, minlength=absent.size).reshape(absent.shape)
        entries.data = (entries.data - centers[cluster, entries.indices]) ** 2
        sums.append(_exact_sum(entries))
    # Entries of zero are not listed: their squared residuals are those of the centers, as often as they are absent.
    top, digits = ExactSums.of(centers**2, np.arange(len(centers)), len(centers))
    return reduce(ExactSums.merge, [*sums, ExactSums(top, (digits * absent).sum(axis=1, keepdims=True))])


def _ledoit_wolf(covariance: FloatArray, mu: float, n: float, fourth: float) -> float:
    """Return the share of shrinkage of Ledoit and Wolf, where ``fourth`` is the sum of |residual|⁴ over points."""
    d = covariance.shape[0]
    second = float((covariance**2).sum())
    beta = (fourth / n - second) / (d * n)
    delta = (second - d * mu**2) / d
    return 0.0 if min(beta, delta) <= 0 else min(beta / delta, 1.0)


#: Directions count with at least this share of the mean variance, once columns are of equal variance. Rounding in X
#: is then magnified by at most 10⁴, and the share of shrinkage that Ledoit and Wolf find is larger below 10⁷ points.
_LEAST_VARIANCE = 1e-8
#: Columns of smaller numbers count as if theirs were of this size.
_LEAST_SCALE = 1e-100


def _triangular_inverse_root(covariance: FloatArray) -> FloatArray | None:
    """Return the inverse of the Cholesky factor (d, d), transposed; None if the covariance does not invert well."""
    from scipy.linalg.lapack import dpocon as pocon
    from scipy.linalg.lapack import dpotrf as potrf
    from scipy.linalg.lapack import dtrtri as trtri

    factor, failed = potrf(covariance, lower=True)
    if failed or not pocon(factor, np.abs(covariance).sum(axis=0).max(), uplo="L")[0] > SINGULAR:
        return None
    inverse, _ = trtri(factor, lower=True)
    return np.ascontiguousarray(inverse.T)
