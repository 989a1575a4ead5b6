"""Lifts of clusters: their normalised sums in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from allegiance._core import FloatArray, Rows, dense, for_row_blocks, is_sparse, row_dots
from allegiance.influence import Kernel, Prepared, feature_map

#: A block of kernel values: small enough for the cache.
_ROWS, _COLUMNS = 128, 1024
#: Rows mapped to features at a time.
_FEATURE_ROWS = 512
#: Rows whose products with all clusters are held at a time.
_CHUNK = 32 * _ROWS


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

    ``diagrams.KernelMeans`` does this for clusters that do not overlap; pooled or soft ones do. Blocks have a fixed
    shape, so that the result for a row does not depend on the others, nor on the number of threads.

    Attributes
    ----------
    kernel
        The kernel.
    members
        The rows (n, d) that are summed.
    weights
        CSR matrices (m, columns), the memberships in each cluster of each block of rows.
    """

    kernel: Kernel
    members: Prepared
    weights: tuple[Any, ...]

    @classmethod
    def of(cls, X: Rows, columns: Any, kernel: Kernel) -> KernelSums:
        """Sum the rows of X (n, d) by the memberships ``columns``, CSR (n, m)."""
        starts = range(0, X.shape[0], _COLUMNS)
        weights = tuple(columns[start : start + _COLUMNS].T.tocsr() for start in starts)
        return cls(kernel, kernel.prepare(X), weights)

    def products(self, X: Rows, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return inner products (n, m) of rows with the sums, and the rows' squared norms (n,)."""
        sums, own = np.empty((X.shape[0], self.weights[0].shape[0])), np.empty(X.shape[0])

        def fill(rows: slice) -> None:
            for part in _parts(rows, _ROWS):
                sums[part], own[part] = self._block(X, part)

        if callable(self.kernel.name):  # which may not be safe in threads, or may use its own
            fill(slice(0, X.shape[0]))
        else:
            with threadpool_limits(1, user_api="blas"):
                for_row_blocks(fill, X.shape[0], threads, multiple=_ROWS)
        if not (np.isfinite(sums).all() and np.isfinite(own).all()):
            raise ValueError("kernel gives values that are not finite: scale X, or change the bandwidth.")
        return sums, own

    def gram(self, X: Rows, columns: Any, threads: int, products: FloatArray | None) -> FloatArray:
        """Return the inner products (m, m) of the sums, with one pass over all kernel values."""
        gram = np.zeros((columns.shape[1], columns.shape[1]))
        for part in _parts(slice(0, X.shape[0]), _CHUNK):
            sums, own = self.products(X[part], threads)
            gram += columns[part].T @ sums
            if products is not None:
                products[part] = sums / _lengths(own)[:, None]
        return gram

    def _block(self, X: Rows, part: slice) -> tuple[FloatArray, FloatArray]:
        count = part.stop - part.start
        rows = self.kernel.prepare(_filled(X, part, _ROWS))
        sums: Any = 0.0
        for i, weights in enumerate(self.weights):
            others = Prepared(*(array[i * _COLUMNS : (i + 1) * _COLUMNS] for array in self.members))
            # The members first, since then the block lies in memory as the sparse product reads it.
            sums = sums + weights @ self.kernel.block(others, rows)
        return sums.T[:count], self.kernel.diagonal(rows)[:count]


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
            for part in _parts(slice(0, X.shape[0]), _FEATURE_ROWS):
                totals = totals + columns[part].T @ _features(transformer, X, part)[: part.stop - part.start]
        return cls(transformer, totals)

    def products(self, X: Rows, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return inner products (n, m) of rows with the sums, and the rows' squared norms (n,)."""
        sums, own = np.empty((X.shape[0], self.totals.shape[0])), np.empty(X.shape[0])

        def fill(rows: slice) -> None:
            for part in _parts(rows, _FEATURE_ROWS):
                features = _features(self.transformer, X, part)
                sums[part] = (features @ self.totals.T)[: part.stop - part.start]
                own[part] = row_dots(features, features)[: part.stop - part.start]

        with threadpool_limits(1, user_api="blas"):
            for_row_blocks(fill, X.shape[0], threads, multiple=_FEATURE_ROWS)
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
    X: Rows,
    columns: Any,
    kernel: Kernel,
    approximation: str | None,
    n_components: int,
    seed: int,
    threads: int,
    with_points: FloatArray | None = None,
) -> Lifts:
    """Lift the clusters of X (n, d) with memberships ``columns``, CSR (n, m).

    Parameters
    ----------
    X
        (n, d) dense or CSR.
    columns
        CSR (n, m); every cluster has a member.
    kernel
        The kernel, settled.
    approximation, n_components, seed
        None for the exact kernel, or as in ``diagrams._feature_maps.feature_map``.
    threads
        Threads for sums of kernel values.
    with_points
        (n, m) to be filled, as in :meth:`Lifts.of`.
    """
    sums: Sums
    if approximation is None:
        sums = KernelSums.of(X, columns, kernel)
    else:
        transformer = feature_map(approximation, kernel.name, kernel.params, n_components, seed, X)
        sums = FeatureSums.of(X, columns, transformer)
    return Lifts.of(X, columns, sums, threads, with_points)


def _lengths(squares: FloatArray) -> FloatArray:
    if not (squares > 0).all():
        raise ValueError(
            "kernel gives a point or a cluster no length in its feature space: its values must be positive."
        )
    return np.sqrt(squares)


def _parts(rows: slice, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, rows.stop)) for start in range(rows.start, rows.stop, size))


def _filled(X: Rows, part: slice, size: int) -> Rows:
    """Return some rows of X and copies of the last one: always ``size``, so that BLAS treats each row alike."""
    return X[np.minimum(np.arange(part.start, part.start + size), part.stop - 1)]


def _features(transformer: Any, X: Rows, part: slice) -> FloatArray:
    """Return the features (_FEATURE_ROWS, f) of some rows of X and of copies of the last one."""
    rows = _filled(X, part, _FEATURE_ROWS)
    rows = rows.astype(np.float64) if is_sparse(rows) else dense(rows)
    return dense(transformer.transform(rows))
