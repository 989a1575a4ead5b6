"""k-means on a few points, the same bits whatever the number of threads."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from allegiance._core import FloatArray, Rows, check_count, check_number


@cache
def _thread_pools() -> Any:
    """Find the libraries with threads of their own: a search that takes longer than a small k-means."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class Clusters(NamedTuple):
    """The best of some starts."""

    centers: FloatArray
    """(k, d)"""
    inertia: float
    n_iter: int
    n_filled: int
    """The number of clusters that have points."""


@dataclass(frozen=True)
class SmallKMeans:
    """The parameters of k-means that do not change along the way."""

    n_init: int
    max_iter: int
    tol: float

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        check_count(self.n_init, "n_init")
        check_count(self.max_iter, "max_iter")
        check_number(self.tol, "tol", low=0.0, closed=True)

    def best(self, rows: Rows, k: int, rng: np.random.Generator, seeds: FloatArray | None = None) -> Clusters:
        """Cluster ``rows`` (m, d); the first start is from ``seeds`` (k, d), if given, the others are k-means++."""
        runs = [] if seeds is None else [self._run(rows, k, seeds, 1, rng)]
        starts = self.n_init - len(runs)
        if starts:
            runs.append(self._run(rows, k, "k-means++", starts, rng))
        return min(runs, key=lambda run: run.inertia)

    def from_seeds(self, rows: Rows, seeds: FloatArray, rng: np.random.Generator) -> Clusters:
        """Cluster ``rows`` with one start from ``seeds`` (k, d)."""
        return self._run(rows, seeds.shape[0], seeds, 1, rng)

    def _run(self, rows: Rows, k: int, init: FloatArray | str, starts: int, rng: np.random.Generator) -> Clusters:
        model = KMeans(
            k, init=init, n_init=starts, max_iter=self.max_iter, tol=self.tol, random_state=int(rng.integers(2**31))
        )
        # Threads add up in any order, and are not worth their while for a few rows.
        with _thread_pools().limit(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the caller knows from ``n_filled``
            model.fit(rows)
        return Clusters(
            np.asarray(model.cluster_centers_, dtype=np.float64),
            float(model.inertia_),
            int(model.n_iter_),
            int(np.unique(model.labels_).size),
        )


def warn_if_empty(found: Clusters, k: int, stacklevel: int) -> None:
    """Warn if some clusters have no points."""
    if found.n_filled < k:
        warnings.warn(
            f"only {found.n_filled} of n_clusters={k} clusters have points: are there duplicates in X?",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )
