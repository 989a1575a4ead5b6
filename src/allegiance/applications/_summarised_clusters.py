"""Clusters kept only as centroids, counts and inertia, and what can still be done with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, row_sums

from ._nearest_centers import NearestCenters

#: Share by which the objective must fall before a cluster moves: more than rounding.
_LEAST_GAIN = 1e-9


class _Swap(NamedTuple):
    """One cluster for another."""

    gone: int
    """The cluster to give up."""
    heir: int
    """The cluster that takes its points over."""
    founded_at: FloatArray
    """(d,) where to start it anew."""


@dataclass(frozen=True)
class SummarisedClusters:
    """k clusters whose points are not kept.

    Attributes
    ----------
    centers
        (k, d) mean of the points of each cluster; where there are none yet, where they are expected.
    counts
        (k,) number of points of each cluster.
    inertia
        Sum of the squared distances of all these points from the mean of their cluster.
    """

    centers: FloatArray
    counts: IntArray
    inertia: float

    def absorb(self, rows: FloatArray, codes: IntArray) -> SummarisedClusters:
        """Add ``rows`` (m, d) to the clusters ``codes`` (m,). Means, counts and inertia stay exact."""
        centers, counts, inertia = self.centers.copy(), self.counts.copy(), self.inertia
        for i in np.unique(codes):
            group = rows[codes == i]
            mean = group.mean(axis=0)
            inertia += float(row_sums((group - mean) ** 2).sum())
            share = group.shape[0] / (counts[i] + group.shape[0])
            away = mean - centers[i]
            inertia += float(counts[i] * share * (away @ away))
            centers[i] += share * away
            counts[i] += group.shape[0]
        return SummarisedClusters(centers, counts, inertia)

    def objective(self, rows: FloatArray) -> float:
        """Return the objective of k-means over the points absorbed and ``rows`` (m, d), these at their nearest mean."""
        return self.inertia + float(NearestCenters.of(self.centers, n_jobs=1).assign(rows).squared.sum())

    def reseated(self, rows: FloatArray, rng: np.random.Generator) -> SummarisedClusters | None:
        """Give one cluster up and found another among ``rows`` (m, d), if that lowers the objective; else None.

        What is given up joins the nearest other cluster. Founders are tried as k-means++ draws them: a few rows at
        random, likely far from all means, of which the best is kept. This is a step of single-swap local search for
        k-means.
        """
        swap = self._cheapest_swap(rows, rng) if self.counts.size > 1 and rows.size else None
        if swap is None:
            return None
        changed = self._handed_over(swap.gone, swap.heir, swap.founded_at)
        improved = changed.objective(rows) < (1.0 - _LEAST_GAIN) * self.objective(rows)
        return changed if improved else None

    def _cheapest_swap(self, rows: FloatArray, rng: np.random.Generator) -> _Swap | None:
        """Try every cluster with a few founders; None if all rows lie on means."""
        m, k = rows.shape[0], self.counts.size
        apart = NearestCenters.of(self.centers, n_jobs=1).squared_distances(np.vstack([rows, self.centers]))
        weight = np.concatenate([np.ones(m), self.counts])
        nearest = apart.argmin(axis=1)
        # A mean is nearest to itself, also where two means coincide.
        nearest[m:] = np.arange(k)
        everyone = np.arange(m + k)
        first = apart[everyone, nearest]
        apart[everyone, nearest] = np.inf
        second = apart.min(axis=1)
        if not first[:m].any():
            return None
        founders = rows[rng.choice(m, 2 + int(np.log(k)), p=first[:m] / first[:m].sum())]
        # Absorbed points never follow a founder: they are not kept, so they cannot be moved one by one.
        away = np.full((founders.shape[0], m + k), np.inf)
        away[:, :m] = NearestCenters.of(founders, n_jobs=1).squared_distances(rows).T
        costs = np.empty((founders.shape[0], k))
        for cost, distance in zip(costs, away, strict=True):
            kept, moved = weight * np.minimum(first, distance), weight * np.minimum(second, distance)
            cost[:] = kept.sum() + np.bincount(nearest, moved - kept, minlength=k)
        founder, gone = np.unravel_index(costs.argmin(), costs.shape)
        followers = away[founder, :m] < np.where(nearest == gone, second, first)[:m]
        return _Swap(int(gone), int(apart[m + gone].argmin()), rows[followers].mean(axis=0))

    def _handed_over(self, gone: int, heir: int, founded_at: FloatArray) -> SummarisedClusters:
        """Move the points of one cluster to another, and start it anew."""
        centers, counts, inertia = self.centers.copy(), self.counts.copy(), self.inertia
        total = counts[heir] + counts[gone]
        if counts[gone]:
            away = centers[gone] - centers[heir]
            inertia += float(counts[heir] * counts[gone] / total * (away @ away))
            centers[heir] += counts[gone] / total * away
        counts[heir], counts[gone] = total, 0
        centers[gone] = founded_at
        return SummarisedClusters(centers, counts, inertia)
