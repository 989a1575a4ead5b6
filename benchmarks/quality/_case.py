"""One clustering to be judged, with what several scores need of it computed once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.spatial.distance import cdist

from ._clusterers import Clustering, Floats, Ints, cluster_means

T = TypeVar("T")
#: How often the data are clustered again by stability scores.
RUNS = 20
Clusterer = Callable[[Floats, int, int], Clustering]


@dataclass
class Case:
    """Data and its clustering."""

    X: Floats
    """(n, d)"""
    k: int
    """The number of clusters asked for."""
    seed: int
    clusterer: Clusterer
    of_the_data: dict[str, Any] = field(default_factory=dict)
    """What depends on the data alone, shared by the cases of all clusterers."""

    @cached_property
    def clustering(self) -> Clustering:
        return self.clusterer(self.X, self.k, self.seed)

    @property
    def labels(self) -> Ints:
        """(n,) the clusters that are judged."""
        return self.clustering.labels

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def centers(self) -> Floats:
        """(k, d) means of the clusters."""
        return cluster_means(self.X, self.labels)

    @cached_property
    def distances(self) -> Floats:
        """(n, k) distances to the means."""
        return cdist(self.X, self.centers)

    @cached_property
    def bootstraps(self) -> Ints:
        """(runs, n) clusters of all points by clusterings of bootstrap samples; -1 for a cluster without a name."""
        rng = np.random.default_rng([self.seed, 1])
        n = self.X.shape[0]
        samples = (rng.integers(0, n, n) for _ in range(RUNS))
        return np.stack([self.recluster(rows, run).predict(self.X) for run, rows in enumerate(samples)])

    def recluster(self, rows: Ints, run: int) -> Clustering:
        """Cluster some of the rows again, with a seed for each run."""
        return self.clusterer(self.X[rows], self.k, self.seed + 1000 * (run + 1))

    def own(self, values: Floats) -> Floats:
        """Return the entry (n,) of each row of ``values`` (n, k) at the point's own cluster."""
        return values[np.arange(self.X.shape[0]), self.labels]

    def largest_other(self, values: Floats) -> Floats:
        """Return the largest entry (n,) of each row of ``values`` (n, k) at any other cluster than the point's own."""
        others = values.copy()
        others[np.arange(self.X.shape[0]), self.labels] = -np.inf
        return others.max(axis=1)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what depends on the data alone, computed by the first case that asks."""
        if name not in self.of_the_data:
            self.of_the_data[name] = make()
        return self.of_the_data[name]
