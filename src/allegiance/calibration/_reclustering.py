"""Cluster a half of the points anew and put all points into the new clusters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias

import numpy as np

from allegiance._core import IntArray, Rows, Verbose, progress, stream

#: Takes the rows (h,) of a half and a seed below 2**31, returns new cluster numbers (m,) of all points, -1 for noise.
Recluster: TypeAlias = Callable[[IntArray, int], IntArray]


def by_kmeans(coordinates: Rows, n_clusters: int) -> Recluster:
    """Return a function that clusters a half by k-means with one start; the other points go to the nearest centre.

    More starts find better optima and hide how far the answer depends on the points drawn: trust was too sure.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    def recluster(half: IntArray, seed: int) -> IntArray:
        kmeans = KMeans(min(n_clusters, half.size), n_init=1, random_state=seed).fit(coordinates[half])
        return pairwise_distances_argmin(coordinates, kmeans.cluster_centers_).astype(np.int64)

    return recluster


def by_clusterer(clusterer: Any, rows: Rows) -> Recluster:
    """Return a function that fits a copy of ``clusterer`` to a half of ``rows`` (m, d).

    The other points are placed by its ``predict`` or, where it has none, with their nearest neighbour in the half.
    """
    from sklearn.base import clone
    from sklearn.metrics import pairwise_distances_argmin

    def recluster(half: IntArray, seed: int) -> IntArray:
        fitted = clone(clusterer)
        seeds = {name: seed for name in fitted.get_params() if name.split("__")[-1] == "random_state"}
        fitted.set_params(**seeds)
        outside = np.setdiff1d(np.arange(rows.shape[0]), half)
        new = np.empty(rows.shape[0], dtype=np.int64)
        try:
            new[half] = _fit_predict(fitted, rows[half])
        except Exception as error:
            raise ValueError(f"clusterer={clusterer!r} failed on a half of {half.size} rows: {error}") from error
        if hasattr(fitted, "predict"):
            new[outside] = fitted.predict(rows[outside])
        else:
            new[outside] = new[half][pairwise_distances_argmin(rows[outside], rows[half])]
        return _numbered(new)

    return recluster


def _fit_predict(clusterer: Any, rows: Rows) -> IntArray:
    """Fit the clusterer and return the cluster numbers (h,) of its rows."""
    if hasattr(clusterer, "fit_predict"):
        return np.asarray(clusterer.fit_predict(rows))
    clusterer.fit(rows)
    return np.asarray(clusterer.labels_ if hasattr(clusterer, "labels_") else clusterer.predict(rows))


def _numbered(labels: IntArray) -> IntArray:
    """Return labels as 0, 1, ...; negative ones mean noise (-1)."""
    numbers = np.full(labels.size, -1, dtype=np.int64)
    numbers[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    return numbers


def halves(m: int, n_resamples: int, seed: int) -> Iterator[tuple[IntArray, int]]:
    """Yield for each resample the rows of a random half of ``m`` points, ascending, and a seed for its clustering."""
    for number in range(n_resamples):
        rng = stream(seed, *b"halves", number)
        yield np.sort(rng.permutation(m)[: max(m // 2, 1)]), int(rng.integers(2**31))


def recluster_halves(
    recluster: Recluster, m: int, n_resamples: int, seed: int, threads: int, verbose: Verbose
) -> IntArray:
    """Return the new cluster numbers (n_resamples, m) for halves drawn with ``seed``.

    Each half is clustered on one thread, several at a time, so that sums are added in the same order on any machine.
    """
    from threadpoolctl import ThreadpoolController

    pools = ThreadpoolController()

    def work(drawn: tuple[IntArray, int]) -> IntArray:
        with pools.limit(limits=1, user_api="openmp"):  # the limit of OpenMP holds for the thread that sets it only
            return recluster(*drawn)

    found, drawn = [], halves(m, n_resamples, seed)
    with (
        pools.limit(limits=1),
        _duplicates_expected(),
        progress(n_resamples, "trust", verbose, unit="halves") as advance,
        ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool,
    ):
        for codes in map(work, drawn) if pool is None else pool.map(work, drawn):
            found.append(codes)
            advance(1)
    return np.array(found)


@contextmanager
def _duplicates_expected() -> Iterator[None]:
    """Silence k-means about halves with fewer distinct points than clusters: that is an answer here."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Number of distinct clusters", ConvergenceWarning)
        yield
