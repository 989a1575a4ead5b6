"""Squared distances: plain, Mahalanobis and between directions, and power diagrams in the span of the sites."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from allegiance._core.arithmetic import power_of_two, row_dots
from allegiance._core.parallel import for_row_blocks, kernel_ready, on_one_thread, slices
from allegiance._core.parameters import Lazy
from allegiance._core.stored import POSITIVE, Number, OrNone, Part, Sizes, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, dense, float_rows, is_sparse, real_array
from allegiance.geometry import span_axes

from ._base import INFLUENCES, Influence
from ._diagram import AffineFunctions, Diagram, Located

if TYPE_CHECKING:
    from allegiance.fitting import Training

    from ._kernel import KernelEmbedding


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
        """Return rows (n, d) of length one; those of zeros stay."""
        if not is_sparse(X):
            return X / _lengths(X)[:, None].astype(X.dtype)
        X = sp.csr_array(X)
        return _replace_entries(X, X.data / np.repeat(_lengths(X), np.diff(X.indptr)).astype(X.dtype))

    def diagram(self, training: Training, *, keep_axes: bool) -> tuple[Diagram, Located | None]:
        """Return the Voronoi diagram of the means of the prepared rows."""
        return Euclidean().diagram(training, keep_axes=keep_axes)


def _lengths(X: Rows) -> FloatArray:
    """Return the length (n,) of each row, 1 for rows of zeros."""
    squares = np.empty(X.shape[0])
    for start in range(0, X.shape[0], _NORMALIZED_ROWS):
        part = slice(start, start + _NORMALIZED_ROWS)
        rows = X[part].astype(np.float64)
        squares[part] = rows.multiply(rows).sum(axis=1) if is_sparse(X) else row_dots(rows, rows)
    return np.sqrt(np.where(squares > 0, squares, 1.0))


#: A covariance whose smallest variance is below this share of the largest cannot be inverted reliably.
SINGULAR = 1e-13


def _inverse_root(covariance: Any, n_features: int) -> FloatArray:
    """Return the symmetric inverse root (d, d) of a covariance: of all whitenings it turns the axes least."""
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


#: Clearances, and rows, handled at a time: small enough for the cache.
_CLEARANCES, _ROWS = 2**15, 2**12
#: Rows, and numbers, converted to float64 at a time at most.
_CHUNK, _BLOCK = 2048, 1 << 21
#: Columns up to which rows are whitened one by one.
_FEW_COLUMNS = 64
#: Rows multiplied by BLAS at a time: a fixed number, so that the bits of a row do not depend on other rows.
BLOCK_ROWS = 256
#: A sparse row is converted whole if its absent entries hold less than this share of the squared shift: their part of
#: a sum over all columns would otherwise be lost to rounding.
_FILLED = 1e-6
#: Positions are kept within this many site radii: beyond it a cell inside any domain no longer changes, and rounding
#: would show.
_MAX_RADIUS = 1e8
#: Distances from the mean of the sites whose fourth powers do not vanish.
_SMALLEST_SPREAD = 1e-75


@stored(
    "power",
    embedding=Part("linear", "kernel", k="k", d="d", r="r"),
    weights=OrNone(floats("k")),
    query_weight=Number(),
)
@dataclass(frozen=True)
class PowerDiagram:
    """The power diagram of the sites: |y - c_i|² - w_i is |y|² plus the affine function |c_i|² - w_i - 2 <c_i, y>.

    ``weights`` (k,) of the sites and ``query_weight`` are in squared units of the user's distance.
    """

    embedding: LinearEmbedding | KernelEmbedding
    weights: FloatArray | None = None
    query_weight: float = 0.0

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites of the power diagram."""
        return self.embedding.positions

    @cached_property
    def functions(self) -> AffineFunctions:
        """The k functions of the sites of the power diagram."""
        return AffineFunctions(2.0 * self.positions, row_dots(self.positions, self.positions) - self._site_weights)

    @cached_property
    def _site_weights(self) -> FloatArray:
        """(k,) weights in squared units of the coordinates."""
        if self.weights is None:
            return np.zeros(self.positions.shape[0])
        return self.weights * self.embedding.unit**2

    @cached_property
    def _query_weight(self) -> float:
        """The weight of a query in squared units of the coordinates."""
        return self.query_weight * self.embedding.unit**2

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Infinite limits: a power diagram is defined everywhere."""
        r = self.positions.shape[1]
        return np.full(r, -np.inf), np.full(r, np.inf)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X to the coordinates of the power diagram."""
        return self.embedding.locate(X, threads)

    def query_functions(self, position: FloatArray) -> AffineFunctions:
        """Return the function of each position (n, r): its squared distances, without |y|²."""
        return AffineFunctions(2.0 * position, row_dots(position, position) - self._query_weight)

    def clearance(self, queries: AffineFunctions, position: FloatArray) -> FloatArray:
        """Return the squared distance (n, k) of each position from each site, less the site's lead in weight."""
        lead = self._query_weight - self._site_weights
        ahead = np.empty((position.shape[0], lead.size))
        for rows in slices(position.shape[0], max(1, _CLEARANCES // lead.size)):
            squares = np.zeros(ahead[rows].shape)
            for here, there in zip(position[rows].T, self.positions.T, strict=True):
                away = here[:, None] - there
                squares += np.square(away, out=away)
            np.add(squares, lead, out=ahead[rows])
        return ahead

    @property
    def clearance_scale(self) -> float:
        """The largest lead in weight in the power diagram."""
        return float(np.abs(self._query_weight - self._site_weights).max())

    def bisectors(self, site: int) -> tuple[FloatArray, FloatArray]:
        """Return the half-spaces {y: <c_j - c_i, y> <= <c_j - c_i, midpoint> + (w_i - w_j) / 2} of one site's cell."""
        # From positions, like those of queries: sites that nearly coincide need planes that fit to rounded positions.
        normals = self.positions - self.positions[site]
        midpoints = (self.positions + self.positions[site]) / 2.0
        lead = self._site_weights[site] - self._site_weights
        return normals, row_dots(normals, midpoints) + lead / 2.0

    def divergences(self, located: Located, codes: AnyArray) -> FloatArray:
        """Return the squared distance (n,) of each row from the site with its code, in the user's units."""
        # In the unit of the coordinates squares are of size one.
        squares = (located.residual * self.embedding.unit) ** 2
        for rows in slices(codes.shape[0], _ROWS):
            away = located.position[rows] - self.positions[codes[rows]]
            squares[rows] += row_dots(away, away)
        return squares / self.embedding.unit**2

    def own_and_other(self, located: Located, codes: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return the distance (n,) of each row from its own site, and from the nearest other one."""
        from allegiance._kernels.counting import own_and_other_squares

        position, columns, codes = kernel_ready(located.position, self.positions.T, codes.astype(np.int64, copy=False))
        own, other = np.empty((2, codes.shape[0]))
        own_and_other_squares(position, columns, codes, own, other)
        residual = (located.residual * self.embedding.unit) ** 2
        return np.sqrt(own + residual) / self.embedding.unit, np.sqrt(other + residual) / self.embedding.unit

    def weighted(self, weights: FloatArray, query_weight: float) -> PowerDiagram:
        """Return this power diagram with weights (k,) of the sites and of a query."""
        return replace(self, weights=weights, query_weight=query_weight)


def _factors_or_matrix(value: Any, name: str, sizes: Sizes) -> None:
    """Raise unless a stored whitening consists of factors (m,) or a matrix (m, m)."""
    shape = ("m",) if np.ndim(value) == 1 else ("m", "m")
    floats(*shape)(value, name, sizes)


def _without_basis(parts: dict[str, Any], sizes: Sizes) -> None:
    """Check a stored linear embedding: no basis loses no coordinate, no transformer keeps the columns of X."""
    if parts["basis"] is None:
        sizes.agree("r", sizes["m"], "shift")
    if parts["transformer"] is None:
        sizes.agree("d", sizes["m"], "shift")


@stored(
    "linear",
    agree=_without_basis,
    sites=floats("k", "m"),
    shift=floats("m"),
    basis=OrNone(floats("m", "r")),
    unit=Number(low=POSITIVE),
    whitening=OrNone(_factors_or_matrix),
    transformer=OrNone(Part("fourier", "count-sketch", "nystroem", d="d", m="m")),
)
@dataclass(frozen=True)
class LinearEmbedding:
    """The affine map y = (x @ whitening - shift) @ basis * unit from rows of X to the span of the sites (k, d).

    The cells of the sites depend on y only through the r-dimensional span of their differences, and volume is measured
    there. A point is projected on it: exact for points in the span, a choice for the others, whose own cell depends on
    their distance from the span too. If the sites span the whole space (``basis`` is None), or all columns in which
    they differ, the user's own axes are kept.

    ``shift`` (d,) is the mean of the sites, ``basis`` (d, r) has orthonormal columns, ``unit`` is a power of two, which
    rounds nothing, and brings the differences of the sites to size one, ``whitening`` is a matrix (d, d) or factors
    (d,) of the columns. A fitted ``transformer`` turns rows into features first, of which there are d then.
    """

    sites: FloatArray
    shift: FloatArray
    basis: FloatArray | None
    unit: float
    whitening: FloatArray | None = None
    transformer: Any = None

    @classmethod
    def of_sites(
        cls,
        sites: FloatArray,
        *,
        keep_axes: bool = False,
        whitening: FloatArray | None = None,
        transformer: Any = None,
    ) -> LinearEmbedding:
        """Find the span of ``sites`` (k, d) by an SVD of the centered sites.

        With ``keep_axes`` the space is not reduced, whatever the span: for domains given in the user's axes.
        """
        white = sites
        if whitening is not None:
            white = sites * whitening if whitening.ndim == 1 else sites @ whitening
        # In a fixed order of the rows, so that renumbering the clusters cannot turn the axes of the box.
        ordered = white[np.lexsort(white.T[::-1])]
        shift = ordered.mean(axis=0)
        centered = ordered - shift
        size = float(np.abs(ordered).max())
        spread = float(np.abs(centered).max())
        if 0.0 < spread < _SMALLEST_SPREAD:
            raise ValueError(f"the clusters of X are at most {2 * spread:.1g} apart, too close to measure. Rescale X.")
        unit = power_of_two(spread or size)
        axes = span_axes(centered * unit, size * unit)
        rank, d = axes.shape
        if keep_axes or rank == d:
            return cls(sites, shift, None, unit, whitening, transformer)
        varying = np.flatnonzero(np.ptp(ordered, axis=0) > 0)
        if rank == varying.size:
            axes = np.zeros((rank, d))
            axes[np.arange(rank), varying] = 1.0
        return cls(sites, shift, np.ascontiguousarray(axes.T), unit, whitening, transformer)

    @cached_property
    def positions(self) -> FloatArray:
        """(k, r) coordinates of the sites in the linear embedding."""
        features = self if self.transformer is None else replace(self, transformer=None)
        return features.locate(self.sites).position

    @cached_property
    def _origin(self) -> FloatArray:
        """(d,) the mean of the sites in the columns of X; their order does not matter."""
        return self.sites[np.lexsort(self.sites.T[::-1])].mean(axis=0)

    @cached_property
    def _whitened_axes(self) -> FloatArray:
        """(r, d) axes on which rows of X, less the origin, are projected."""
        assert self.whitening is not None
        return np.ascontiguousarray((self.whitening if self.basis is None else self.whitening @ self.basis).T)

    @cached_property
    def _residual_map(self) -> tuple[FloatArray, AnyArray]:
        """Lower triangles (d, d), float64 and float32, that map a row of X, less the origin, to its residual's length.

        The length of the mapped row is the distance of the whitened row from the span of the sites.
        """
        assert self.whitening is not None
        assert self.basis is not None
        across = self.whitening - self._whitened_axes.T @ self.basis.T
        triangle = np.asarray(np.linalg.qr(across.T, mode="r")).T.copy()
        return triangle, triangle.astype(np.float32)

    @cached_property
    def dim(self) -> int:
        """The number of coordinates of the linear embedding."""
        return self.shift.shape[0] if self.basis is None else self.basis.shape[1]

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or CSR, to positions (n, r); never holds a second copy of X."""
        position, residual = np.empty((X.shape[0], self.dim)), np.zeros(X.shape[0])
        self._for_chunks(lambda rows, part: self._locate_chunk(rows, position[part], residual[part]), X, threads)
        if np.abs(position).max(initial=0.0) > _MAX_RADIUS:
            position /= np.maximum(np.abs(position).max(axis=1, initial=0.0) / _MAX_RADIUS, 1.0)[:, None]
        if self._uses_blas and self.basis is not None:
            return Located(position, Lazy(partial(self._residuals, X, threads)))
        return Located(position, Lazy.known(residual))

    def _residuals(self, X: Rows, threads: int) -> FloatArray:
        """Return the distance (n,) of rows from the span of the sites, where it takes longer than their positions."""
        residual = np.empty(X.shape[0])

        def measure_residuals(rows: Rows, part: slice) -> None:
            residual[part] = _lengths_after(dense(rows) - self._origin, *self._residual_map)

        self._for_chunks(measure_residuals, X, threads)
        return residual

    def _for_chunks(self, work: Callable[[Rows, slice], None], X: Rows, threads: int) -> None:
        """Call ``work(rows, part)`` for the rows to embed, or their features, some at a time."""
        n, mapped = X.shape[0], self.transformer is not None
        chunk = BLOCK_ROWS if mapped else min(_CHUNK, max(1, _BLOCK // X.shape[1]))

        def locate_rows(rows: slice) -> None:
            for part in slices(rows, chunk):
                work(block_features(self.transformer, X, part)[: part.stop - part.start] if mapped else X[part], part)

        products = np.inf if mapped else n * X.shape[1] * self.dim
        with on_one_thread() if self._uses_blas else nullcontext():
            for_row_blocks(locate_rows, n, threads, multiple=BLOCK_ROWS if mapped else 1, products=products)

    @cached_property
    def _uses_blas(self) -> bool:
        """Whether rows are whitened by BLAS, where that is most of the work."""
        return self.whitening is not None and self.whitening.ndim == 2 and self.whitening.shape[0] > _FEW_COLUMNS

    def _locate_chunk(self, X: Rows, position: FloatArray, residual: FloatArray) -> None:
        """Write positions and residuals of some rows in the span of the sites."""
        if self._uses_blas:
            axes = self._whitened_axes.T
            position[:] = _by_blocks(dense(X) - self._origin, lambda block: block @ axes, position.shape[1])
            position *= self.unit
            return
        if self.whitening is not None and self.whitening.ndim == 2:
            X = product_by_rows(dense(X), np.zeros(X.shape[1]), self.whitening.T)[0]
        elif self.whitening is not None:
            if is_sparse(X):
                X = sp.csr_array(X)
                X = _replace_entries(X, X.data * self.whitening[X.indices])
            else:
                X = dense(X) * self.whitening
        if self.basis is None:
            np.subtract(dense(X), self.shift, out=position)
        else:
            project = self._project_sparse if is_sparse(X) else product_by_rows
            position[:], squares = project(dense(X) if project is product_by_rows else X, self.shift, self.basis.T)
            squares -= row_dots(position, position)
            residual[:] = np.sqrt(np.maximum(squares, 0.0))
        position *= self.unit

    def _project_sparse(self, X: Rows, shift: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Project sparse rows on the span of the sites as :func:`product_by_rows` does, in time for their entries."""
        X = sp.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        position = X @ axes.T - shift @ axes.T
        there, one = shift[X.indices], np.ones(X.shape[1])
        total, filled = shift @ shift, _replace_entries(X, there**2) @ one
        squares = _replace_entries(X, (X.data - there) ** 2) @ one + (total - filled)
        full = np.flatnonzero(total - filled < _FILLED * total)
        if full.size:
            position[full], squares[full] = product_by_rows(dense(X[full]), shift, axes)
        return position, squares


#: Column blocks of a triangular matrix: an eighth more work than its half.
_TRIANGLE_BLOCKS = 8
#: Lengths from products in single precision are kept if their largest possible rounding is below this share of them.
_MAX_ROUNDING = 1e-4


def _lengths_after(rows: FloatArray, triangle: FloatArray, single: AnyArray) -> FloatArray:
    """Return the lengths (n,) of ``rows @ triangle``, in single precision except where rounding would show."""
    squares = row_dots(np.square(rows), row_dots(triangle, triangle))
    rounding = np.finfo(np.float32).eps * np.sqrt(squares)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = _by_blocks(rows, lambda block: _triangle_lengths(block.astype(np.float32), single), 1)[:, 0]
    coarse = np.flatnonzero(~(rounding <= _MAX_ROUNDING * lengths))
    if coarse.size:
        lengths[coarse] = _by_blocks(rows[coarse], lambda block: _triangle_lengths(block, triangle), 1)[:, 0]
    return lengths


def _triangle_lengths(rows: AnyArray, triangle: AnyArray) -> AnyArray:
    """Return the lengths (n, 1) of ``rows @ triangle``, a lower triangle."""
    d = triangle.shape[0]
    squares = np.zeros((rows.shape[0], 1))
    for part in slices(d, -(-d // _TRIANGLE_BLOCKS)):
        across = rows[:, part.start :] @ triangle[part.start :, part]
        squares[:, 0] += np.square(across, out=across).sum(axis=1)
    return np.sqrt(squares)


def _by_blocks(rows: FloatArray, work: Callable[[FloatArray], AnyArray], n_columns: int) -> FloatArray:
    """Return ``work`` (n, n_columns) of whitened rows, ``BLOCK_ROWS`` at a time, so that BLAS treats each row alike."""
    out = np.empty((rows.shape[0], n_columns))
    for part in slices(rows.shape[0], BLOCK_ROWS):
        block = rows[part] if part.stop - part.start == BLOCK_ROWS else rows[block_rows(part)]
        out[part] = work(block)[: part.stop - part.start]
    return out


def product_by_rows(X: FloatArray, shift: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Project rows: return (X - shift) @ axes.T (n, r) and squared norms (n,) of X - shift, for X (n, d), axes (r, d).

    Unlike in a product of BLAS, the bits of a row do not depend on other rows.
    """
    from allegiance._kernels.counting import project_rows

    rows, shift, axes = kernel_ready(X, shift, axes)
    out, squares = np.empty((X.shape[0], axes.shape[0])), np.empty(X.shape[0])
    project_rows(rows, shift, axes, out, squares)
    return out, squares


def block_rows(part: slice, size: int = BLOCK_ROWS) -> IntArray:
    """Return the numbers (size,) of some rows to embed, repeating the last one to fill the block for BLAS."""
    return np.minimum(np.arange(part.start, part.start + size), part.stop - 1)


def block_features(transformer: Any, X: Rows, part: slice) -> FloatArray:
    """Return the features (BLOCK_ROWS, m) of some rows to embed, repeating the last one to fill the block for BLAS."""
    with np.errstate(over="ignore", invalid="ignore"):  # distances of rows far away, whose kernel values are 0
        return dense(transformer.transform(float_rows(X[block_rows(part)])))


def _replace_entries(X: Rows, entries: FloatArray) -> Rows:
    """Return CSR X with other entries in the same places."""
    return sp.csr_array((entries, X.indices, X.indptr), shape=X.shape)
