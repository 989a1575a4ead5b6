"""Influence by distance in the feature space of a kernel, computed exactly from sums of kernel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core import (
    POSITIVE,
    AnyArray,
    Array,
    FloatArray,
    IntArray,
    Number,
    OrNone,
    Part,
    Rows,
    Sizes,
    Starts,
    dense,
    floats,
    row_dots,
    row_sums,
    stored,
)

from ._diagram import Located
from ._kernel_blocks import KERNEL_COLUMNS, check_kernel_values, column_blocks, for_kernel_rows, prepare_block
from ._kernel_values import KernelRows, SettledKernel

#: Positions are kept within this many site radii, as in `Reduction`.
_FAR = 1e8
#: Diagonal values below this share of the largest are rounding.
_NO_NORM = 1e-12
#: Eigenvalues below minus this share of the largest are no rounding: the kernel has no feature space.
_INDEFINITE = 1e-6


def _precomputed_or_not(parts: dict[str, Any], sizes: Sizes) -> None:
    """Raise unless there are members to compare rows with, or the diagonal of their kernel values."""
    precomputed = parts["kernel"]["name"] == "precomputed"
    if (parts["members"] is None, parts["own"] is not None) != (precomputed, precomputed):
        raise ValueError("it needs the members, or for 'precomputed' the diagonal, and never both.")
    if precomputed:
        Array(("m",), "int", low=0, high=sizes["d"] - 1).check(parts["order"], "order", sizes, {})
        if np.unique(parts["order"]).size != sizes["m"]:
            raise ValueError("order names rows twice.")


@stored(
    "kernel-sums",
    agree=_precomputed_or_not,
    kernel=Part("kernel-function", d="d"),
    order=Array(("m",), "int", low=0),
    starts=Starts("k", "m", empty=False),
    weights=OrNone(floats("m", low=0.0)),
    members=OrNone(Part("kernel-rows", n="m", d="d")),
    own=OrNone(floats("d", low=0.0)),
)
@dataclass(frozen=True)
class KernelMeans:
    """Mean kernel values g_i(x) of rows x with the members of each cluster i.

    Dense blocks are filled up to a fixed number of rows, and BLAS runs on one thread: then its usual implementations
    treat all rows alike, and the result for a row has the same bits whatever the others. That is up to the function
    if the kernel is one.

    Attributes
    ----------
    kernel
        The kernel.
    order
        (m,) the training rows that belong to a cluster, cluster by cluster.
    starts
        (k,) where in ``order`` each cluster starts.
    weights
        (m,) weights of these rows, or None.
    members
        These rows; None for "precomputed", where columns of the rows to come stand for them.
    own
        (n,) the diagonal of a "precomputed" kernel; None for others.
    """

    kernel: SettledKernel
    order: IntArray
    starts: IntArray
    weights: FloatArray | None
    members: KernelRows | None
    own: FloatArray | None

    @classmethod
    def of_clusters(
        cls, X: Rows, codes: AnyArray, n_clusters: int, kernel: SettledKernel, weights: FloatArray | None = None
    ) -> KernelMeans:
        """Sort the rows of X (n, d) by their ``codes`` (n,), -1 for rows of no cluster; every cluster has a member."""
        sizes = np.bincount(codes[codes >= 0], minlength=n_clusters)
        if sizes.size != n_clusters or not sizes.all():
            raise ValueError(f"codes must name each of the {n_clusters} clusters at least once.")
        order = np.argsort(codes, kind="stable")[int((codes < 0).sum()) :]
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        precomputed = kernel.name == "precomputed"
        if precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be square for Kernel('precomputed'), got shape {X.shape}.")
        return cls(
            kernel,
            order,
            starts,
            None if weights is None else weights[order],
            None if precomputed else kernel.prepare(X[order]),
            np.array(X.diagonal(), dtype=np.float64) if precomputed else None,
        )

    def means(self, X: Rows, threads: int = 1, own: FloatArray | None = None) -> FloatArray:
        """Return g (n, k) of rows X (n, d), or of rows (n, n_train) of kernel values; fill ``own`` (n,) with K(x, x).

        From kernel values K(x, x) is not known. The largest K(x, j)² / K(j, j) over the training rows j stands in: by
        Cauchy and Schwarz no more than K(x, x), and equal to it if x is one of them.
        """
        if self.own is not None and X.shape[1] != self.own.size:
            raise ValueError(f"X must hold kernel values with the {self.own.size} training rows, got shape {X.shape}.")
        g = np.zeros((X.shape[0], self.starts.size))

        def fill(part: slice) -> None:
            self._fill(X, part, g[part], None if own is None else own[part])

        for_kernel_rows(fill, X.shape[0], self.kernel, threads)
        g /= self._totals
        check_kernel_values(g, own)
        return g

    def over_clusters(self, g: FloatArray) -> FloatArray:
        """Return the means (k, m) over each cluster of values g (n, m) of the training rows."""
        rows = g[self.order] if self.weights is None else g[self.order] * self.weights[:, None]
        return np.add.reduceat(rows, self.starts, axis=0) / self._totals[:, None]

    @property
    def _totals(self) -> FloatArray:
        """(k,) number of members of each cluster, or their weight."""
        return np.add.reduceat(np.ones(self.order.size) if self.weights is None else self.weights, self.starts)

    def _fill(self, X: Rows, part: slice, g: FloatArray, own: FloatArray | None) -> None:
        """Add the sums over each cluster to g (rows, k), and write the diagonal to ``own`` (rows,)."""
        if self.own is not None or self.members is None:
            self._fill_precomputed(dense(X[part]), g, own)
            return
        count = part.stop - part.start
        A = prepare_block(self.kernel, X, part)
        for number, B in enumerate(column_blocks(self.members)):
            self._add(self.kernel.block(A, B, count), number * KERNEL_COLUMNS, g)
        if own is not None:
            own[:] = self.kernel.diagonal(A)[:count]

    def _fill_precomputed(self, values: FloatArray, g: FloatArray, own: FloatArray | None) -> None:
        for start in range(0, self.order.size, KERNEL_COLUMNS):
            self._add(values.take(self.order[start : start + KERNEL_COLUMNS], axis=1), start, g)
        if own is not None:
            assert self.own is not None
            known = self.own > _NO_NORM * self.own.max()
            own[:] = (values[:, known] ** 2 / self.own[known]).max(axis=1, initial=0.0)

    def _add(self, values: FloatArray, start: int, g: FloatArray) -> None:
        """Add kernel values (rows, m) with the members from number ``start`` on to the sums g (rows, k)."""
        stop = start + values.shape[1]
        if self.weights is not None:
            values = values * self.weights[start:stop]
        first = np.searchsorted(self.starts, start, side="right") - 1
        last = np.searchsorted(self.starts, stop, side="left")
        g[:, first:last] += np.add.reduceat(values, np.maximum(self.starts[first:last] - start, 0), axis=1)


@stored(
    "kernel",
    means=Part("kernel-sums", k="k", d="d"),
    gram=floats("k", "k"),
    axes=floats("k", "r"),
    positions=floats("k", "r"),
    unit=Number(low=POSITIVE),
)
@dataclass(frozen=True)
class KernelEmbedding:
    """The span of the clusters' means in the feature space of a kernel.

    With G the mean kernel values between clusters, J the centring matrix and J G J = E Λ Eᵀ, the means are at E √Λ and
    a row with mean kernel values g(x) at Λ^(-1/2) Eᵀ J (g(x) - G 1/k). Squared distances to the means differ as in the
    feature space. Since G holds squares, directions in which the means differ by less than about 1e-7 of their size
    are lost, where ``LinearEmbedding`` keeps them to 1e-15.

    Attributes
    ----------
    means
        Mean kernel values with each cluster; its clusters are numbered by their first rows.
    gram
        (k, k) mean kernel values between clusters, in the same numbering.
    axes
        (k, r) E Λ^(-1/2), in the same numbering.
    positions
        (k, r) coordinates of the sites, in the user's numbering.
    unit
        1: coordinates are distances in the feature space.
    """

    means: KernelMeans
    gram: FloatArray
    axes: FloatArray
    positions: FloatArray
    unit: float = 1.0

    @classmethod
    def fit_locate(
        cls,
        X: Rows,
        codes: AnyArray,
        n_clusters: int,
        kernel: SettledKernel,
        threads: int = 1,
    ) -> tuple[KernelEmbedding, Located]:
        """Embed the means of clusters, and locate the rows of X with the same kernel values.

        Each kernel value is computed once, in blocks: n = 20,000 rows never need n² numbers at a time.

        Parameters
        ----------
        X
            (n, d) dense or CSR, or the matrix (n, n) of kernel values for "precomputed".
        codes
            (n,) cluster numbers, -1 for noise. Every cluster has a member.
        kernel
            The kernel.
        """
        codes, rank = _number_by_first_row(codes, n_clusters)
        means = KernelMeans.of_clusters(X, codes, n_clusters, kernel)
        own = np.empty(X.shape[0])
        g = means.means(X, threads, own)
        gram = means.over_clusters(g)
        # Products of d terms, sums of k: the scale of their rounding. A kernel of single precision says so.
        eps = float(np.finfo(X.dtype).eps) if means.own is not None and X.dtype.kind == "f" else np.finfo(float).eps
        values, vectors = _axes(gram, 8 * eps * max(n_clusters, X.shape[1], 16))
        embedding = cls(means, gram, vectors / np.sqrt(values), (vectors * np.sqrt(values))[rank])
        return embedding, embedding._locate(g, own)

    def locate(self, X: Rows, threads: int = 1) -> Located:
        """Map rows of X (n, d), or of kernel values (n, n_train) for "precomputed", to the span of the sites.

        A row's result does not depend on the others, see :class:`KernelMeans`. For "precomputed", ``off_span`` is
        exact for training rows and a lower bound for others.
        """
        own = np.empty(X.shape[0])
        return self._locate(self.means.means(X, threads, own), own)

    affine = axis_aligned = False

    def unprojected(self, X: Rows, located: Located) -> FloatArray:
        """Return the positions: the space of the kernel is known only as far as the clusters span it."""
        return located.position

    def differences(self, site: int) -> FloatArray:
        """Return the positions (k, r) of all sites relative to one."""
        return self.positions - self.positions[site]

    def _locate(self, g: FloatArray, own: FloatArray) -> Located:
        center = self.gram.mean(axis=1)
        away = g - center
        # Axis by axis, since a matrix product would not round every row alike.
        position = np.empty((g.shape[0], self.axes.shape[1]))
        for c in range(position.shape[1]):
            position[:, c] = row_dots(away, self.axes[:, c])
        squares = row_dots(position, position)
        off_span = own - 2.0 * row_sums(g) / center.size + center.mean() - squares
        far = np.sqrt(squares) / (_FAR * max(float(np.abs(self.positions).max(initial=0.0)), np.finfo(float).tiny))
        position /= np.maximum(far, 1.0)[:, None]
        return Located(position, np.sqrt(np.maximum(off_span, 0.0)))


def _number_by_first_row(codes: AnyArray, n_clusters: int) -> tuple[AnyArray, AnyArray]:
    """Return codes (n,) that number the clusters by their first rows, and the number (k,) each cluster gets.

    So that renumbering the clusters changes no bit of the axes.
    """
    present, first = np.unique(codes, return_index=True)
    present, first = present[present >= 0], first[present >= 0]
    rank = np.arange(n_clusters)
    rank[present[np.argsort(first)]] = np.arange(present.size)
    return np.where(codes >= 0, rank[codes], -1), rank


def _axes(gram: FloatArray, rounding: float) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues (r,) and vectors (k, r) of the centred ``gram`` (k, k) above rounding, largest first."""
    size = float(np.abs(gram).max())
    if np.abs(gram - gram.T).max() > _INDEFINITE * size:
        raise ValueError("kernel must be symmetric: its mean values between clusters are not.")
    centred = (gram + gram.T) / 2.0
    centred = centred - centred.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values, vectors = np.linalg.eigh(centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[-1] < -_INDEFINITE * size:
        raise ValueError("kernel must be positive semidefinite: some distance between clusters has a negative square.")
    rank = int(np.count_nonzero(values > rounding * (values[0] + size)))
    values, vectors = values[:rank], vectors[:, :rank] - vectors[:, :rank].mean(axis=0)
    # The sign by the largest entry; of two alike, by the cluster whose own values are smaller, then by the first row.
    scale = size if size > 0 else 1.0
    key = np.lexsort([np.round(total / scale, 9) for total in (gram.sum(axis=1), np.diagonal(gram))])
    magnitude = np.abs(vectors[key])
    leading = key[(magnitude >= (1.0 - 1e-6) * magnitude.max(axis=0, initial=0.0)).argmax(axis=0)]
    return values, vectors * np.sign(vectors[leading, np.arange(rank)])
