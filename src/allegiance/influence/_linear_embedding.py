"""The linear embedding: rows of X, whitened and projected on the span of the sites."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from allegiance._core.arithmetic import power_of_two, row_dots
from allegiance._core.parallel import for_row_blocks, kernel_ready, on_one_thread, slices
from allegiance._core.parameters import Lazy
from allegiance._core.stored import POSITIVE, Number, OrNone, Part, Sizes, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows, dense, float_rows, is_sparse
from allegiance.geometry import span_axes

from ._diagram import Located

if TYPE_CHECKING:
    pass


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
MAX_RADIUS = 1e8
#: Distances from the mean of the sites whose fourth powers do not vanish.
_SMALLEST_SPREAD = 1e-75


def _factors_or_matrix(value: Any, name: str, sizes: Sizes) -> None:
    """Raise unless the stored whitening of an embedding has factors (m,) or a matrix (m, m)."""
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
        """(d,) origin of the linear embedding: the mean of the sites in the columns of X."""
        return self.sites[np.lexsort(self.sites.T[::-1])].mean(axis=0)

    @cached_property
    def _whitened_axes(self) -> FloatArray:
        """(r, d) axes of the linear embedding, on which rows of X, less the origin, are projected."""
        assert self.whitening is not None
        return np.ascontiguousarray((self.whitening if self.basis is None else self.whitening @ self.basis).T)

    @cached_property
    def _residual_map(self) -> tuple[FloatArray, AnyArray]:
        """Lower triangles (d, d), float64 and float32, that map a row to embed, less the origin, to its residual.

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
        """Embed rows of X (n, d), dense or CSR, as positions (n, r); never holds a second copy of X."""
        position, residual = np.empty((X.shape[0], self.dim)), np.zeros(X.shape[0])
        self._for_chunks(lambda rows, part: self._locate_chunk(rows, position[part], residual[part]), X, threads)
        if np.abs(position).max(initial=0.0) > MAX_RADIUS:
            position /= np.maximum(np.abs(position).max(axis=1, initial=0.0) / MAX_RADIUS, 1.0)[:, None]
        if self._uses_blas and self.basis is not None:
            return Located(position, Lazy(partial(self._residuals, X, threads)))
        return Located(position, Lazy.known(residual))

    def _residuals(self, X: Rows, threads: int) -> FloatArray:
        """Return the distance (n,) of rows to embed from the span of the sites, which takes most of the time."""
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
        """Whether rows are whitened by BLAS before their embedding, where that is most of the work."""
        return self.whitening is not None and self.whitening.ndim == 2 and self.whitening.shape[0] > _FEW_COLUMNS

    def _locate_chunk(self, X: Rows, position: FloatArray, residual: FloatArray) -> None:
        """Embed a chunk of rows: write their positions in the span of the sites, and residuals."""
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
                X = replace_entries(X, X.data * self.whitening[X.indices])
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
        """Embed sparse rows as :func:`product_by_rows` does dense ones, in time for their entries."""
        X = sp.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        position = X @ axes.T - shift @ axes.T
        there, one = shift[X.indices], np.ones(X.shape[1])
        total, filled = shift @ shift, replace_entries(X, there**2) @ one
        squares = replace_entries(X, (X.data - there) ** 2) @ one + (total - filled)
        full = np.flatnonzero(total - filled < _FILLED * total)
        if full.size:
            position[full], squares[full] = product_by_rows(dense(X[full]), shift, axes)
        return position, squares


#: Column blocks of a triangular matrix: an eighth more work than its half.
_TRIANGLE_BLOCKS = 8
#: Lengths from products in single precision are kept if their largest possible rounding is below this share of them.
_MAX_ROUNDING = 1e-4


def _lengths_after(rows: FloatArray, triangle: FloatArray, single: AnyArray) -> FloatArray:
    """Return the residuals (n,) of rows: lengths after a triangle, in single precision if rounding does not show."""
    squares = row_dots(np.square(rows), row_dots(triangle, triangle))
    rounding = np.finfo(np.float32).eps * np.sqrt(squares)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = _by_blocks(rows, lambda block: _triangle_lengths(block.astype(np.float32), single), 1)[:, 0]
    coarse = np.flatnonzero(~(rounding <= _MAX_ROUNDING * lengths))
    if coarse.size:
        lengths[coarse] = _by_blocks(rows[coarse], lambda block: _triangle_lengths(block, triangle), 1)[:, 0]
    return lengths


def _triangle_lengths(rows: AnyArray, triangle: AnyArray) -> AnyArray:
    """Return the lengths (n, 1) of whitened rows after a lower triangle, block by block of its columns."""
    d = triangle.shape[0]
    squares = np.zeros((rows.shape[0], 1))
    for part in slices(d, -(-d // _TRIANGLE_BLOCKS)):
        across = rows[:, part.start :] @ triangle[part.start :, part]
        squares[:, 0] += np.square(across, out=across).sum(axis=1)
    return np.sqrt(squares)


def _by_blocks(rows: FloatArray, work: Callable[[FloatArray], AnyArray], n_columns: int) -> FloatArray:
    """Return ``work`` (n, n_columns) of rows to embed, ``BLOCK_ROWS`` at a time, so that BLAS treats each row alike."""
    out = np.empty((rows.shape[0], n_columns))
    for part in slices(rows.shape[0], BLOCK_ROWS):
        block = rows[part] if part.stop - part.start == BLOCK_ROWS else rows[block_rows(part)]
        out[part] = work(block)[: part.stop - part.start]
    return out


def product_by_rows(X: FloatArray, shift: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Embed rows one by one: return (X - shift) @ axes.T (n, r), and the squared norms (n,) of X - shift.

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


def replace_entries(X: Rows, entries: FloatArray) -> Rows:
    """Return CSR rows to embed with other entries in the same places."""
    return sp.csr_array((entries, X.indices, X.indptr), shape=X.shape)
