"""Refits: draw subsamples of the rows, cluster each, and place all rows in the new clusters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from allegiance._core.parallel import on_one_thread, thread_pools
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import AnyArray, FloatArray, IntArray

from ._adapt import adapt, is_pairwise, nearest_of
from ._samples import Keys, mix


def draw_subsamples(
    keys: Keys, size: int, numbers: range, seed: int, groups: AnyArray | None = None
) -> list[tuple[IntArray, int]]:
    """Return the rows of each of the subsamples ``numbers``, in the order of their hash, and a seed for the clusterer.

    Each pair of subsamples comes from both ends of one random order, disjoint if they have at most half of the rows.
    Groups are ordered as a whole, by the sum of their keys: their names do not matter.
    """
    if groups is not None:
        _, group = np.unique(groups, return_inverse=True)
        if (n_groups := int(group.max()) + 1) < 2:
            raise ValueError("groups has a single group: at least 2 are needed to hold one out.")
        group_keys = np.zeros(n_groups, np.uint64)
        np.add.at(group_keys, group, keys)
    subsamples = []
    for i in numbers:
        salts = [mix(np.array([(seed * 1_000_003 + j + 1) & (2**64 - 1)], dtype=np.uint64)) for j in (i - i % 2, i)]
        order = np.argsort(mix(keys ^ salts[0]), kind="stable")
        lower, upper = size, keys.size - size
        if groups is not None:
            rank = np.argsort(np.argsort(mix(group_keys ^ salts[0]), kind="stable"))[group]
            order = order[np.argsort(rank[order], kind="stable")]
            ends = np.cumsum(np.bincount(rank))[:-1]  # rows up to and including each group but the last
            lower, upper = (int(ends[np.abs(ends - place).argmin()]) for place in (lower, upper))
        subsamples.append((order[upper:] if i % 2 else order[:lower], int(salts[1][0] % np.uint64(2**31 - 1))))
    return subsamples


class Refit(NamedTuple):
    """Clusters subsamples of rows."""

    clusterer: Any
    rows: Any
    weights: FloatArray | None
    share: float

    def run(self, subsamples: Sequence[tuple[IntArray, int]], threads: int, verbose: Verbose = False) -> list[Any]:
        """Return the new cluster of every row (m,) for each subsample, or why the clusterer failed.

        Each runs on one thread of BLAS and OpenMP, so that sums are added in the same order everywhere.
        """

        def work(subsample: tuple[IntArray, int]) -> IntArray | str:
            try:
                with thread_pools().limit(limits=1, user_api="openmp"):  # holds only for the thread that sets it
                    return self.labels(*subsample)
            except _ClustererError as error:
                return str(error)

        clusterings = []
        with (
            on_one_thread(),
            warnings.catch_warnings(),
            progress(len(subsamples), "trust", verbose, unit="subsamples") as advance,
            ThreadPoolExecutor(threads if _is_thread_safe(self.clusterer) else 1) as pool,
        ):
            warnings.simplefilter("ignore")  # such as those about few distinct rows
            for clustering in pool.map(work, subsamples):
                clusterings.append(clustering)
                advance(1)
        return clusterings

    def labels(self, inside: IntArray, seed: int) -> IntArray:
        """Cluster the rows ``inside`` and return the new cluster (m,) of every row."""
        from sklearn.metrics import pairwise_distances_argmin

        pairwise = is_pairwise(self.clusterer)
        half = self.rows[np.ix_(inside, inside)] if pairwise else take(self.rows, inside)
        fitted = adapt(self.clusterer, half, self.rows, self.share)
        seeds = [name for name in fitted.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
        fitted.set_params(**dict.fromkeys(seeds, seed))
        is_outside = np.ones(self.rows.shape[0], dtype=bool)
        is_outside[inside] = False
        outside = np.flatnonzero(is_outside)
        labels = np.empty(is_outside.size, dtype=np.int64)
        try:
            own = fit_labels(fitted, half, None if self.weights is None else self.weights[inside])
            if outside.size and hasattr(fitted, "predict") and not pairwise:
                own = np.concatenate([own, np.asarray(fitted.predict(take(self.rows, outside)))])
        except Exception as error:
            raise _ClustererError(f"{type(error).__name__}: {error}") from error
        own = encode_labels(own)
        labels[inside] = own[: inside.size]
        if own.size > inside.size:
            labels[outside] = own[inside.size :]
        elif outside.size and pairwise:
            labels[outside] = own[nearest_of(self.clusterer, self.rows, outside, inside)]
        elif outside.size:
            remaining = take(self.rows, outside)
            if hasattr(fitted, "steps"):  # neighbors in the space of the clusterer
                half, remaining = fitted[:-1].transform(half), fitted[:-1].transform(remaining)
            labels[outside] = own[pairwise_distances_argmin(remaining, half)]
        return labels


class _ClustererError(Exception):
    """The clusterer failed on a subsample."""


def fit_labels(clusterer: Any, rows: Any, weights: FloatArray | None = None) -> AnyArray:
    """Fit a clusterer and return the labels of its rows."""
    arguments = {}
    if weights is not None:
        prefix = f"{clusterer.steps[-1][0]}__" if hasattr(clusterer, "steps") else ""
        arguments[f"{prefix}sample_weight"] = weights
    if hasattr(clusterer, "fit_predict"):
        return np.asarray(clusterer.fit_predict(rows, **arguments))
    clusterer.fit(rows, **arguments)
    return np.asarray(clusterer.labels_ if hasattr(clusterer, "labels_") else clusterer.predict(rows))


def _is_thread_safe(clusterer: Any) -> bool:
    """Tell whether clones can be fitted in threads: known only for scikit-learn's clusterers and ours."""
    steps = [clusterer, *(value for value in clusterer.get_params().values() if hasattr(value, "fit"))]
    return all(type(step).__module__.partition(".")[0] in ("sklearn", "allegiance") for step in steps)


def take(rows: Any, places: IntArray) -> Any:
    """Return some rows of an array, a matrix or a frame."""
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def encode_labels(labels: AnyArray) -> IntArray:
    """Return labels as 0, 1, ...; negative ones mean noise (-1)."""
    inner = labels >= 0 if labels.dtype.kind in "iuf" else np.ones(labels.size, dtype=bool)
    codes = np.full(labels.size, -1, dtype=np.int64)
    codes[inner] = np.unique(labels[inner], return_inverse=True)[1]
    return codes
