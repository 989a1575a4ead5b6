"""The span of the sites, and the map of all points onto it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allegiance._core import FloatArray, Rows, dense, for_row_blocks, is_sparse, kernel_ready, row_dots, stored

from ._diagram import Located

#: Rows converted to float64 at a time.
_CHUNK = 2048
#: Positions are kept within this many site radii: beyond it a cell inside any domain no longer changes, and squares
#: could overflow.
_FAR = 1e8


@stored("reduction", "factor", "shift", "basis", "rescale", "whitening")
@dataclass(frozen=True)
class Reduction:
    """The affine map y = (factor * x @ whitening - shift) @ basis * rescale from rows of X to the span of the sites.

    Ratios of volumes depend on y only through the r-dimensional span of the differences of the sites, so nothing is
    lost by measuring there. If the sites span the whole space (``basis`` is None), or all columns in which they differ,
    the user's own axes are kept.
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
        (d, d) linear map applied first, or None for the identity.
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
        ``whitening`` (d, d) is applied first: distances are those after x -> x @ whitening.
        """
        if whitening is not None:
            sites = sites @ whitening
        # In a fixed order of the rows, so that renumbering the clusters cannot turn the axes of the box.
        ordered = sites[np.lexsort(sites.T[::-1])]
        factor = _power_of_two(np.abs(ordered).max())
        scaled = ordered * factor
        shift = scaled.mean(axis=0)
        centred = scaled - shift
        rescale = _power_of_two(np.abs(centred).max())
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
        scaled = (difference if self.whitening is None else difference @ self.whitening) * self.factor
        if self.basis is not None:
            scaled = scaled @ self.basis
        return scaled * self.rescale

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), dense or CSR, to positions (n, r); never holds a second copy of X."""
        n = X.shape[0]
        position = np.empty((n, self.dim))
        off_span = np.zeros(n)

        def locate_rows(rows: slice) -> None:
            for start in range(rows.start, rows.stop, _CHUNK):
                part = slice(start, min(start + _CHUNK, rows.stop))
                self._locate_chunk(X[part], position[part], off_span[part])

        with np.errstate(over="ignore", invalid="ignore"):
            for_row_blocks(locate_rows, n, threads)
            self._bring_near(X, position, off_span)
        return Located(position, off_span)

    def _whiten(self, X: Rows) -> Rows:
        """Apply the whitening to some rows."""
        if self.whitening is None:
            return X
        from allegiance._kernels._projection import project_rows

        rows, shift, axes = kernel_ready(dense(X), np.zeros(X.shape[1]), self.whitening.T)
        white, unused = np.empty_like(rows), np.empty(X.shape[0])
        project_rows(rows, 1.0, shift, axes, white, unused)
        return white

    def whitened(self, X: Rows) -> FloatArray:
        """Return rows (n, d) after the whitening only, dense."""
        return dense(self._whiten(X))

    def _locate_chunk(self, X: Rows, position: FloatArray, off_span: FloatArray) -> None:
        X = self._whiten(X)
        if self.basis is None:
            np.multiply(dense(X), self.factor, out=position)
            position -= self.shift
            position *= self.rescale
            return
        if is_sparse(X):
            X = X.astype(np.float64)
            position[:] = (X @ self.basis) * self.factor - self.shift @ self.basis
            inner = X @ self.shift
            norms = np.asarray(X.multiply(X).sum(axis=1)).ravel() * self.factor**2
            norms += self.shift @ self.shift - 2.0 * self.factor * inner
        else:
            from allegiance._kernels._projection import project_rows

            norms = np.empty(X.shape[0])
            rows, shift, axes = kernel_ready(dense(X), self.shift, self.basis.T)
            project_rows(rows, self.factor, shift, axes, position, norms)
        norms -= row_dots(position, position)
        off_span[:] = np.sqrt(np.maximum(norms, 0.0)) / self.factor
        position *= self.rescale

    def _bring_near(self, X: Rows, position: FloatArray, off_span: FloatArray) -> None:
        """Move positions that are absurdly far, or overflowed, inwards along their ray."""
        if np.abs(position).max(initial=0.0) <= _FAR:
            return
        far = np.flatnonzero(~(np.abs(position).max(axis=1, initial=0.0) <= _FAR))
        for row in far:
            x = dense(X[[row]])
            ray = dense(self._whiten(x / np.abs(x).max()))[0]
            ray = ray if self.basis is None else ray @ self.basis
            size = np.abs(ray).max()
            position[row] = ray * (_FAR / size) if size > 0 else 0.0
        np.nan_to_num(off_span, copy=False, nan=np.finfo(float).max, posinf=np.finfo(float).max)


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


def _power_of_two(size: float) -> float:
    """Return the power of two that brings ``size`` to [1/2, 1); 1 for zero."""
    if size == 0:
        return 1.0
    return float(np.ldexp(1.0, min(-int(np.frexp(size)[1]), 1022)))
