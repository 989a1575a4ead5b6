"""Lifts of clusters: their normalised sums in the feature space of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from allegiance._core import FloatArray, Rows, for_row_blocks, row_dots
from allegiance.influence import (
    BLOCK_ROWS,
    KERNEL_COLUMNS,
    Kernel,
    KernelRows,
    SettledKernel,
    check_kernel_values,
    column_blocks,
    for_kernel_rows,
    padded_features,
    prepare_block,
    row_blocks,
)

#: Rows whose products with all clusters are held at a time: a multiple of the rows of a block.
_CHUNK = 4096


class Sums(Protocol):
    """Sums of the rows of clusters in a feature space."""

    def products(self, X: Rows, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return the inner products (n, m) of rows X (n, d) with the sums, and the squared norms (n,) of the rows."""

    def gram(self, X: Rows, columns: Any, threads: int, products: FloatArray | None) -> FloatArray:
        """Return the inner products (m, m) of the sums of X (n, d) by memberships ``columns``, CSR (n, m).

        Fill ``products`` (n, m) with the inner products of the rows' own lifts with the sums, if given.
        """


@dataclass(frozen=True)
class KernelSums:
    """Sums in the exact feature space of a kernel, known through sums of kernel values.

    ``KernelMeans`` does this for clusters that do not overlap; pooled or soft ones do.

    Attributes
    ----------
    kernel
        The kernel.
    members
        The rows (n, d) that are summed.
    weights
        CSR matrices (m, columns), the memberships in each cluster of each block of rows.
    """

    kernel: SettledKernel
    members: KernelRows
    weights: tuple[Any, ...]

    @classmethod
    def of(cls, X: Rows, columns: Any, kernel: SettledKernel) -> KernelSums:
        """Sum the rows of X (n, d) by the memberships ``columns``, CSR (n, m)."""
        starts = range(0, X.shape[0], KERNEL_COLUMNS)
        weights = tuple(columns[start : start + KERNEL_COLUMNS].T.tocsr() for start in starts)
        return cls(kernel, kernel.prepare(X), weights)

    def products(self, X: Rows, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return inner products (n, m) of rows with the sums, and the rows' squared norms (n,)."""
        sums, own = np.zeros((X.shape[0], self.weights[0].shape[0])), np.empty(X.shape[0])

        def fill(part: slice) -> None:
            count = part.stop - part.start
            rows = prepare_block(self.kernel, X, part)
            for weights, others in zip(self.weights, column_blocks(self.members), strict=True):
                # The members first, since then the block lies in memory as the sparse product reads it.
                sums[part] += (weights @ self.kernel.block(others, rows)).T[:count]
            own[part] = self.kernel.diagonal(rows)[:count]

        for_kernel_rows(fill, X.shape[0], self.kernel, threads)
        check_kernel_values(sums, own)
        return sums, own

    def gram(self, X: Rows, columns: Any, threads: int, products: FloatArray | None) -> FloatArray:
        """Return the inner products (m, m) of the sums, with one pass over all kernel values."""
        gram = np.zeros((columns.shape[1], columns.shape[1]))
        for start in range(0, X.shape[0], _CHUNK):
            part = slice(start, start + _CHUNK)
            sums, own = self.products(X[part], threads)
            gram += columns[part].T @ sums
            if products is not None:
                products[part] = sums / _lengths(own)[:, None]
        return gram


@dataclass(frozen=True)
class FeatureSums:
    """Sums of explicit features, whose inner products are approximately a kernel.

    Attributes
    ----------
    transformer
        A fitted transformer of rows (n, d), dense or CSR, to dense features (n, f).
    totals
        (m, f) the sums.
    """

    transformer: Any
    totals: FloatArray

    @classmethod
    def of(cls, X: Rows, columns: Any, transformer: Any) -> FeatureSums:
        """Sum the features of the rows of X (n, d) by the memberships ``columns``, CSR (n, m)."""
        totals: Any = 0.0
        with threadpool_limits(1, user_api="blas"):
            for part in row_blocks(slice(0, X.shape[0])):
                totals = totals + columns[part].T @ padded_features(transformer, X, part)[: part.stop - part.start]
        return cls(transformer, totals)

    def products(self, X: Rows, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return inner products (n, m) of rows with the sums, and the rows' squared norms (n,)."""
        sums, own = np.empty((X.shape[0], self.totals.shape[0])), np.empty(X.shape[0])

        def fill(rows: slice) -> None:
            for part in row_blocks(rows):
                count, features = part.stop - part.start, padded_features(self.transformer, X, part)
                sums[part] = (features @ self.totals.T)[:count]
                own[part] = row_dots(features, features)[:count]

        with threadpool_limits(1, user_api="blas"):
            for_row_blocks(fill, X.shape[0], threads, multiple=BLOCK_ROWS)
        return sums, own

    def gram(self, X: Rows, columns: Any, threads: int, products: FloatArray | None) -> FloatArray:
        """Return the inner products (m, m) of the sums."""
        if products is not None:
            sums, own = self.products(X, threads)
            products[:] = sums / _lengths(own)[:, None]
        return self.totals @ self.totals.T


@dataclass(frozen=True)
class Lifts:
    """The lifts of m clusters: unit vectors in a feature space, known through their inner products.

    Attributes
    ----------
    sums
        The sums of which the lifts are the directions.
    norms
        (m,) lengths of the sums.
    gram
        (m, m) inner products of the lifts.
    """

    sums: Sums
    norms: FloatArray
    gram: FloatArray

    @classmethod
    def of(cls, X: Rows, columns: Any, sums: Sums, threads: int = 1, with_points: FloatArray | None = None) -> Lifts:
        """Normalise the sums of X (n, d) by memberships ``columns``, CSR (n, m).

        ``with_points`` (n, m) is filled with what :meth:`with_rows` returns for X, if given: that costs little here.
        """
        gram = sums.gram(X, columns, threads, with_points)
        norms = _lengths(np.diagonal(gram))
        if with_points is not None:
            with_points /= norms
        gram = gram / norms / norms[:, None]
        return cls(sums, norms, (gram + gram.T) / 2.0)

    def with_rows(self, X: Rows, threads: int = 1) -> FloatArray:
        """Return the inner products (n, m) of the lifts of single rows X (n, d) with those of the clusters."""
        sums, own = self.sums.products(X, threads)
        return sums / _lengths(own)[:, None] / self.norms

    def distances(self) -> FloatArray:
        """Return the distances (m, m), exact to about 1e-8 since they come from squares; 0 from a lift to itself."""
        squares = 2.0 - 2.0 * self.gram
        np.fill_diagonal(squares, 0.0)
        return np.sqrt(np.maximum(squares, 0.0))


def lift_clusters(
    X: Rows, columns: Any, kernel: Kernel, seed: int, threads: int, with_points: FloatArray | None = None
) -> Lifts:
    """Lift the clusters of X (n, d) with memberships ``columns``, CSR (n, m).

    Parameters
    ----------
    X
        (n, d) dense or CSR.
    columns
        CSR (n, m); every cluster has a member.
    kernel
        As from ``lift_kernel``.
    seed
        For an approximation of the kernel.
    threads
        Threads for sums of kernel values.
    with_points
        (n, m) to be filled, as in :meth:`Lifts.of`.
    """
    settled, sums = kernel.settle(X), None
    if kernel.approximation is not None:
        sums = FeatureSums.of(X, columns, kernel.approximation.fit(settled, seed, X))
    return Lifts.of(X, columns, sums or KernelSums.of(X, columns, settled), threads, with_points)


def _lengths(squares: FloatArray) -> FloatArray:
    if not (squares > 0).all():
        raise ValueError(
            "kernel gives a point or a cluster no length in its feature space: its values must be positive."
        )
    return np.sqrt(squares)
