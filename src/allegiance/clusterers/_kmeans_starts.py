"""scikit-learn's k-means on few points, the same bits whatever the number of threads."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from allegiance._core import FloatArray, IntArray, Rows, check_count, check_number


@cache
def _thread_pools() -> Any:
    """Find the libraries with threads of their own: a search that takes longer than a small k-means."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def on_one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread.

    Threads add up in any order. For few rows they do not pay, and on a busy machine they wait for each other.
    """
    return _thread_pools().limit(limits=1)


class KMeansClusters(NamedTuple):
    """The best of some starts."""

    centers: FloatArray
    """(k, d)"""
    labels: IntArray
    """(m,)"""
    inertia: float
    n_iter: int
    n_found: int
    """The number of clusters that have points."""


@dataclass(frozen=True)
class KMeansStarts:
    """Several starts of k-means, of which the one with the lowest inertia is kept."""

    n_init: int
    max_iter: int = 300
    tol: float = 1e-4

    @classmethod
    def of(cls, model: Any) -> KMeansStarts:
        """Check the parameters that an estimator has under these names."""
        return cls(
            check_count(model.n_init, "n_init"),
            check_count(model.max_iter, "max_iter"),
            check_number(model.tol, "tol", low=0.0, closed=True),
        )

    def best(
        self,
        rows: Rows,
        k: int,
        rng: np.random.Generator,
        *,
        seeds: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> KMeansClusters:
        """Cluster ``rows`` (m, d) with weights (m,); the first start is from ``seeds`` (k, d), if given."""
        runs = [] if seeds is None else [self._run(rows, k, seeds, 1, rng, weights)]
        starts = self.n_init - len(runs)
        if starts:
            runs.append(self._run(rows, k, "k-means++", starts, rng, weights))
        return min(runs, key=lambda run: run.inertia)

    def from_seeds(self, rows: Rows, seeds: FloatArray, rng: np.random.Generator) -> KMeansClusters:
        """Cluster ``rows`` with only one start, from ``seeds`` (k, d)."""
        return self._run(rows, seeds.shape[0], seeds, 1, rng, None)

    def _run(
        self,
        rows: Rows,
        k: int,
        init: FloatArray | str,
        starts: int,
        rng: np.random.Generator,
        weights: FloatArray | None,
    ) -> KMeansClusters:
        model = KMeans(
            k, init=init, n_init=starts, max_iter=self.max_iter, tol=self.tol, random_state=int(rng.integers(2**31))
        )
        with on_one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the caller knows from ``n_found``
            model.fit(rows, sample_weight=weights)
        return KMeansClusters(
            np.asarray(model.cluster_centers_, dtype=np.float64),
            np.asarray(model.labels_, dtype=np.int64),
            float(model.inertia_),
            int(model.n_iter_),
            int(np.unique(model.labels_).size),
        )
