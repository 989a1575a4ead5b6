"""The state of incremental clustering, and how a batch changes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from allegiance._core import BoolArray, FloatArray, IntArray, stream
from allegiance.clusterers import KMeansStarts

from ._nearest_centers import NearestCenters
from ._stable_points import StabilityTest
from ._summarised_clusters import SummarisedClusters

#: What is drawn at random, one stream each.
_START, _FOUNDERS = range(2)
#: How many times the root mean square distance from its centre a point may be away and still be absorbed.
REACH = 4.0


@dataclass(frozen=True)
class Rules:
    """The parameters of the stream."""

    n_clusters: int
    init_size: int
    max_pending: int | None
    kmeans: KMeansStarts
    stability: StabilityTest


@dataclass(frozen=True)
class StreamState:
    """All that is known of a stream.

    Attributes
    ----------
    pending
        (m, d) rows that wait, in the order in which they came.
    clusters
        The clusters; None before there are any.
    extremes
        (at most 2 (k - 1), d) rows that reached farthest along the axes in which volume is measured: the box.
    n_iter
        Iterations of k-means for the first clusters.
    n_batches
        Batches so far: it names the stream of random numbers of the next one.
    n_births
        Clusters that were given up and founded elsewhere.
    n_forced
        Rows that were absorbed before their time because too many waited.
    """

    pending: FloatArray
    clusters: SummarisedClusters | None = None
    extremes: FloatArray | None = None
    n_iter: int = 0
    n_batches: int = 0
    n_births: int = 0
    n_forced: int = 0

    @classmethod
    def empty(cls, n_features: int) -> StreamState:
        """Return the state before the first batch."""
        return cls(np.empty((0, n_features)))

    def take(self, batch: FloatArray, rules: Rules) -> StreamState:
        """Receive a batch (m, d): absorb its stable rows, then look again at all that wait."""
        state = replace(self, n_batches=self.n_batches + 1)
        if state.clusters is None:
            everyone = np.vstack([self.pending, batch])
            if everyone.shape[0] < rules.init_size or not has_distinct(everyone, rules.n_clusters):
                return replace(state, pending=everyone)
            return state._started(everyone, rules)
        return state._resumed(batch, rules)

    def emptied(self, rules: Rules) -> StreamState:
        """Absorb every row that waits into the nearest cluster."""
        state = self
        if state.clusters is None:
            if not has_distinct(state.pending, rules.n_clusters):
                raise ValueError(
                    f"n_clusters={rules.n_clusters} clusters need as many distinct points, but the n_samples="
                    f"{state.pending.shape[0]} rows of X so far have fewer: pass more, or set n_clusters lower."
                )
            state = state._started(state.pending, rules)
        assert state.clusters is not None
        codes = NearestCenters.of(state.clusters.centers, rules.stability.n_jobs).assign(state.pending).codes
        return replace(state, clusters=state.clusters.absorb(state.pending, codes), pending=_no_rows(state.pending))

    def _started(self, rows: FloatArray, rules: Rules) -> StreamState:
        """Find the first clusters by k-means on all ``rows`` there are."""
        found = rules.kmeans.best(rows, rules.n_clusters, stream(rules.stability.seed, _START))
        clusters = SummarisedClusters(found.centers, np.zeros(rules.n_clusters, dtype=np.int64), 0.0)
        state = replace(self, pending=_no_rows(rows), clusters=clusters, extremes=_no_rows(rows), n_iter=found.n_iter)
        return state._resumed(rows, rules)

    def _resumed(self, batch: FloatArray, rules: Rules) -> StreamState:
        """Let clusters be born, absorb what is stable in the batch, then what is stable of all that wait."""
        rows = np.vstack([self.pending, batch])
        state = self._with_births(rows, stream(rules.stability.seed, _FOUNDERS, self.n_batches))
        assert state.clusters is not None
        assert state.extremes is not None
        seen = np.vstack([state.extremes, rows])
        reach = REACH**2 * state.clusters.objective(rows) / (state.clusters.counts.sum() + rows.shape[0])
        first = _examine(batch, state.clusters, seen, reach, rules)
        clusters = state.clusters.absorb(batch[first.safe], first.nearest[first.safe])
        waiting = np.vstack([self.pending, batch[~first.safe]])
        second = _examine(waiting, clusters, seen, reach, rules)
        forced = second.surplus(rules.max_pending)
        leaving = second.safe | forced
        return replace(
            state,
            pending=waiting[~leaving],
            clusters=clusters.absorb(waiting[leaving], second.nearest[leaving]),
            extremes=second.extremes,
            n_forced=state.n_forced + int(forced.sum()),
        )

    def _with_births(self, rows: FloatArray, rng: np.random.Generator) -> StreamState:
        """Give clusters up and found others among ``rows`` as long as that pays, each cluster once at most."""
        state = self
        assert state.clusters is not None
        for _ in range(state.clusters.counts.size):
            reseated = state.clusters.reseated(rows, rng)
            if reseated is None:
                break
            state = replace(state, clusters=reseated, n_births=state.n_births + 1)
        return state


class _Verdict(NamedTuple):
    """What is to become of m rows."""

    safe: BoolArray
    """(m,) whether the row can be absorbed: stable, owned by the cluster it is nearest to, and not far from it."""
    nearest: IntArray
    """(m,) number of the nearest cluster."""
    readiness: FloatArray
    """(m,) the largest affinity, less 1 for rows that are far: the higher, the less harm in absorbing the row."""
    extremes: FloatArray
    """Rows that span the box."""

    def surplus(self, max_pending: int | None) -> BoolArray:
        """Choose the rows that have to go, though not safe, so that no more than ``max_pending`` stay."""
        forced = np.zeros(self.safe.shape, dtype=bool)
        waiting = np.flatnonzero(~self.safe)
        if max_pending is not None and waiting.size > max_pending:
            order = waiting[np.argsort(-self.readiness[waiting], kind="stable")]
            forced[order[: waiting.size - max_pending]] = True
        return forced


def _examine(rows: FloatArray, clusters: SummarisedClusters, seen: FloatArray, reach: float, rules: Rules) -> _Verdict:
    """Judge ``rows`` (m, d) in the box around the rows ``seen``; a squared distance beyond ``reach`` is far."""
    centers = NearestCenters.of(clusters.centers, rules.stability.n_jobs)
    extremes = seen[centers.extreme_rows(seen)]
    nearest, squared = centers.assign(rows)
    if not rows.size:
        return _Verdict(np.empty(0, dtype=bool), nearest, squared, extremes)
    found = rules.stability.measure(rows, clusters.centers, extremes)
    near = squared <= reach
    safe = found.stable & (found.owner == nearest) & near
    return _Verdict(safe, nearest, found.confidence - ~near, extremes)


def _no_rows(like: FloatArray) -> FloatArray:
    """Return no rows, of the same width, that keep nothing of ``like`` alive."""
    return np.empty((0, like.shape[1]))


def has_distinct(rows: FloatArray, number: int) -> bool:
    """Tell whether ``rows`` (m, d) hold at least ``number`` distinct ones."""
    for _ in range(number):
        if not rows.size:
            return False
        rows = rows[(rows != rows[0]).any(axis=1)]
    return True
