"""The span of the sites, and the map of all points onto it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from allegiance._core import (
    POSITIVE,
    Either,
    FloatArray,
    Number,
    OrNone,
    Rows,
    Sizes,
    dense,
    floats,
    for_row_blocks,
    is_sparse,
    kernel_ready,
    power_of_two,
    row_dots,
    stored,
)

from ._diagram import Located

#: Rows, and numbers, converted to float64 at a time at most.
_CHUNK, _BLOCK = 2048, 1 << 21
#: A sparse row is converted whole if its absent entries hold less than this share of the squared shift: their part of
#: a sum over all columns would otherwise be lost to rounding.
_FILLED = 1e-6
#: Positions are kept within this many site radii: beyond it a cell inside any domain no longer changes, and squares
#: could overflow.
_FAR = 1e8


def _without_basis(parts: dict[str, Any], sizes: Sizes) -> None:
    """Without a basis no coordinate is lost."""
    if parts["basis"] is None:
        sizes.settle("r", sizes["d"], "shift")


@stored(
    "reduction",
    agree=_without_basis,
    factor=Number(low=POSITIVE),
    shift=floats("d"),
    basis=OrNone(floats("d", "r")),
    rescale=Number(low=POSITIVE),
    whitening=OrNone(Either(floats("d"), floats("d", "d"))),
)
@dataclass(frozen=True)
class Reduction:
    """The affine map y = (factor * x @ whitening - shift) @ basis * rescale from rows of X to the span of the sites.

    The cells of the sites depend on y only through the r-dimensional span of their differences, and volume is measured
    there. A point is projected on it: exact for points in the span, a choice for the others, whose own cell depends on
    their distance from the span too. If the sites span the whole space (``basis`` is None), or all columns in which
    they differ, the user's own axes are kept.
    ``factor`` and ``rescale`` are powers of two, which round nothing: with them, data of size 1e150 or 1e-150 can be
    squared.

    Attributes
    ----------
    factor
        Power of two that brings the coordinates of the sites to size one.
    shift
        (d,) mean of the scaled sites.
    basis
        (d, r) orthonormal columns, or None for the identity.
    rescale
        Power of two that brings the differences of the sites to size one.
    whitening
        (d, d) linear map applied first, or factors (d,) of the columns, or None for the identity.
    """

    factor: float
    shift: FloatArray
    basis: FloatArray | None
    rescale: float
    whitening: FloatArray | None = None

    @classmethod
    def of_sites(cls, sites: FloatArray, *, keep_axes: bool = False, whitening: FloatArray | None = None) -> Reduction:
        """Find the span of ``sites`` (k, d) by an SVD of the centred sites.

        With ``keep_axes`` the space is not reduced, whatever the span: for domains given in the user's axes. A
        ``whitening`` is applied first: distances are those after x -> x @ whitening for (d, d), x * whitening for (d,).
        """
        if whitening is not None:
            sites = _whitened(sites, whitening)
        # In a fixed order of the rows, so that renumbering the clusters cannot turn the axes of the box.
        ordered = sites[np.lexsort(sites.T[::-1])]
        factor = power_of_two(np.abs(ordered).max())
        scaled = ordered * factor
        shift = scaled.mean(axis=0)
        centred = scaled - shift
        rescale = power_of_two(np.abs(centred).max())
        axes = span_axes(centred * rescale, float(np.abs(scaled).max()) * rescale)
        rank, d = axes.shape
        if keep_axes or rank == d:
            return cls(factor, shift, None, rescale, whitening)
        varying = np.flatnonzero(np.ptp(scaled, axis=0) > 0)
        if rank == varying.size:
            axes = np.zeros((rank, d))
            axes[np.arange(rank), varying] = 1.0
        return cls(factor, shift, np.ascontiguousarray(axes.T), rescale, whitening)

    @property
    def dim(self) -> int:
        """The number of coordinates after the map."""
        return self.shift.shape[0] if self.basis is None else self.basis.shape[1]

    def differences(self, difference: FloatArray) -> FloatArray:
        """Map differences (m, d) of points: the linear part, so that small ones stay accurate."""
        scaled = (difference if self.whitening is None else _whitened(difference, self.whitening)) * self.factor
        if self.basis is not None:
            scaled = scaled @ self.basis
        return scaled * self.rescale

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or CSR, to positions (n, r); never holds a second copy of X."""
        n = X.shape[0]
        position = np.empty((n, self.dim))
        off_span = np.zeros(n)
        chunk = min(_CHUNK, max(1, _BLOCK // X.shape[1]))

        def locate_rows(rows: slice) -> None:
            for start in range(rows.start, rows.stop, chunk):
                part = slice(start, min(start + chunk, rows.stop))
                self._locate_chunk(X[part], position[part], off_span[part])

        with np.errstate(over="ignore", invalid="ignore"):
            for_row_blocks(locate_rows, n, threads, products=n * X.shape[1] * self.dim)
            self._bring_near(X, position, off_span)
        return Located(position, off_span)

    def _whiten(self, X: Rows) -> Rows:
        """Apply the whitening to some rows."""
        if self.whitening is None:
            return X
        if self.whitening.ndim == 1:
            return _scaled_entries(X, self.whitening) if is_sparse(X) else _whitened(dense(X), self.whitening)
        from allegiance._kernels._projection import project_rows

        rows, shift, axes = kernel_ready(dense(X), np.zeros(X.shape[1]), self.whitening.T)
        white, unused = np.empty_like(rows), np.empty(X.shape[0])
        project_rows(rows, 1.0, shift, axes, white, unused)
        return white

    def whitened(self, X: Rows) -> Rows:
        """Return rows (n, d) after the whitening only, in float64; sparse ones stay so unless it mixes columns."""
        white = self._whiten(X)
        return sp.csr_array(white, dtype=np.float64) if is_sparse(white) else dense(white)

    def _locate_chunk(self, X: Rows, position: FloatArray, off_span: FloatArray) -> None:
        X = self._whiten(X)
        if self.basis is None:
            np.multiply(dense(X), self.factor, out=position)
            position -= self.shift
            position *= self.rescale
            return
        project = self._project_sparse if is_sparse(X) else self._project
        norms = project(X, position)
        norms -= row_dots(position, position)
        off_span[:] = np.sqrt(np.maximum(norms, 0.0)) / self.factor
        position *= self.rescale

    def _project(self, X: Rows, position: FloatArray) -> FloatArray:
        """Write positions (m, r), not yet rescaled, of whitened rows and return their squared distances (m,)."""
        from allegiance._kernels._projection import project_rows

        assert self.basis is not None
        norms = np.empty(X.shape[0])
        rows, shift, axes = kernel_ready(dense(X), self.shift, self.basis.T)
        project_rows(rows, self.factor, shift, axes, position, norms)
        return norms

    def _project_sparse(self, X: Rows, position: FloatArray) -> FloatArray:
        """Do the same with sparse rows, in time that grows with their entries."""
        assert self.basis is not None
        X = sp.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        position[:] = (X @ self.basis) * self.factor - self.shift @ self.basis
        there, one = self.shift[X.indices], np.ones(X.shape[1])
        total, filled = self.shift @ self.shift, _with_entries(X, there**2) @ one
        norms = _with_entries(X, (X.data * self.factor - there) ** 2) @ one + (total - filled)
        full = np.flatnonzero(total - filled < _FILLED * total)
        if full.size:
            direct = np.empty((full.size, position.shape[1]))
            norms[full] = self._project(X[full], direct)
            position[full] = direct
        return norms

    def _bring_near(self, X: Rows, position: FloatArray, off_span: FloatArray) -> None:
        """Move positions that are absurdly far, or overflowed, inwards along their ray."""
        if np.abs(position).max(initial=0.0) <= _FAR and np.isfinite(off_span).all():
            return
        near = np.abs(position).max(axis=1, initial=0.0) <= _FAR
        for row in np.flatnonzero(~(near & np.isfinite(off_span))):
            ray = position[row]
            if not (np.isfinite(ray).all() and np.isfinite(off_span[row])):
                # So far from the sites that they and the origin are in the same place.
                x = dense(X[[row]])
                largest = np.abs(x).max()
                white = dense(self._whiten(x / largest))[0]
                ray = white if self.basis is None else white @ self.basis
                off_span[row] = largest * np.sqrt(max(white @ white - ray @ ray, 0.0))
            if not near[row]:
                position[row] = ray * (_FAR / np.abs(ray).max()) if ray.any() else 0.0
        np.nan_to_num(off_span, copy=False, nan=np.finfo(float).max, posinf=np.finfo(float).max)


def _whitened(X: FloatArray, whitening: FloatArray) -> FloatArray:
    return X * whitening if whitening.ndim == 1 else X @ whitening


def _scaled_entries(X: Rows, factors: FloatArray) -> Rows:
    """Return sparse X with each column multiplied by its factor."""
    X = sp.csr_array(X)
    return _with_entries(X, X.data * factors[X.indices])


def _with_entries(X: Rows, entries: FloatArray) -> Rows:
    """Return other entries in the places of those of CSR X."""
    return sp.csr_array((entries, X.indices, X.indptr), shape=X.shape)


def span_axes(centred: FloatArray, size: float) -> FloatArray:
    """Return orthonormal rows (r, d) that span the rows of ``centred`` (k, d), the widest direction first.

    Directions at the level of rounding are left out, where ``size`` is that of the numbers before they were centred.
    The largest entry of each axis is positive, so that the axes do not turn round.
    """
    _, singular, rows = np.linalg.svd(centred, full_matrices=False)
    noise = 4 * np.finfo(float).eps * max(centred.shape) * (singular[0] + size)
    axes = rows[: int(np.count_nonzero(singular > noise))]
    largest = np.abs(axes).argmax(axis=1)
    return axes * np.sign(axes[np.arange(axes.shape[0]), largest])[:, None]
