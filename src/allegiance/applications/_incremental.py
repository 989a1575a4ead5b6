"""k-means on a stream, in which unstable points wait."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from allegiance._core.arithmetic import row_sums
from allegiance._core.parallel import resolve_seed, stream
from allegiance._core.progress import Verbose
from allegiance._core.validation import BoolArray, FloatArray, IntArray, check_count, check_jobs, check_rows, dense
from allegiance.fitting import Fitted

from ._active import NearestCenterMixin, NearestCenters, best_kmeans, fit_to_centers, stability

#: One random stream per purpose.
_START, _FOUNDERS = range(2)
#: Starts of k-means for the first clusters.
_N_INIT = 3
#: Farthest distance at which a point is absorbed, in root mean square distances from the center.
REACH = 4.0
#: Distance a centroid may move before stability is measured again, in the same unit.
_SLACK = 0.03
#: Relative decrease of the objective that justifies moving a cluster: more than rounding.
_LEAST_GAIN = 1e-9


class IncrementalKMeans(NearestCenterMixin, BaseEstimator):
    """Cluster a stream of batches: absorb stable points into centroids and counts; the remaining points wait.

    Rows wait until there are ``init_size`` of them, with ``n_clusters`` distinct rows. K-means on these rows gives the
    first centroids. From then on, each batch goes through three steps:

    1. *Birth*. If moving one cluster to some of the current rows lowers the k-means objective, it is moved.
    2. *Absorption*. A row is absorbed if it is stable, its owner is the nearest centroid, and its distance from that
       centroid is at most four times the root mean square distance.
    3. *Second look*. All waiting rows are examined again, with the new centroids.

    Only waiting rows are stored. Territory is measured again once a centroid has moved by 3% of the root mean square
    distance, or a row lies outside the range of all earlier rows.

    A birth is one step of single-swap local search. The points of one cluster go to the nearest other cluster, and a
    new cluster starts at the mean of the rows that are closer to a random founder, chosen as in k-means++, than to any
    centroid. So empty or redundant clusters move to rows that are far from all centroids. The label of a moved cluster
    changes its meaning; ``n_births_`` counts these moves.

    Parameters
    ----------
    n_clusters
        The number of clusters.
    init_size
        How many rows to wait for before the first clusters; None for 20 times ``n_clusters``.
    max_pending
        Maximum number of waiting rows; None for no limit. The surplus is absorbed into the nearest clusters, rows
        within the distance above first, and among them those with the largest affinity first; ``n_forced_`` counts
        them. The limit applies once there are clusters.
    n_jobs, random_state, verbose
        As in :class:`AffinityScorer`, but each stream has a new seed by default.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) centroids of the points absorbed so far; missing until there are clusters.
    counts_
        (n_clusters,) number of points absorbed into each.
    inertia_
        Sum of the squared distances of the points absorbed from the centroids of their clusters.
    pending_
        (m, d) waiting rows, in order of arrival.
    n_iter_
        Iterations of k-means for the first clusters.
    n_batches_, n_samples_seen_
        Number of batches and rows received.
    n_births_
        Number of clusters moved elsewhere.
    n_forced_
        Number of rows absorbed because more than ``max_pending`` were waiting.
    labels_
        (n,) number of the nearest centroid of each row. After :meth:`fit` only: a stream keeps no rows to label; call
        :meth:`predict` on them.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    See Also
    --------
    ActiveKMeans : For data that is available all at once.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import IncrementalKMeans
    >>> X, _ = make_blobs(600, centers=[[0, 0], [10, 0], [5, 9]], random_state=0)
    >>> model = IncrementalKMeans(3, random_state=0)
    >>> for batch in np.array_split(X, 4):
    ...     model = model.partial_fit(batch)
    >>> model = model.partial_fit([[5, 3]])
    >>> model.pending_
    array([[5., 3.]])
    >>> int(model.finalize().counts_.sum())
    601
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init_size: int | None = None,
        max_pending: int | None = 2000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Verbose = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.init_size = init_size
        self.max_pending = max_pending
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def partial_fit(self, X: Any, y: Any = None) -> IncrementalKMeans:
        """Take the next batch X (m, d) of the stream; if this fails, the model is unchanged.

        Sparse rows are made dense, batch by batch.
        """
        fresh = not hasattr(self, "_state")
        rules = self._rules(resolve_seed(self.random_state) if fresh else self._seed)
        batch = dense(check_rows(self, X, reset=fresh))
        state = StreamState(batch[:0].copy()) if fresh else self._state
        self._publish(state.take(batch, rules), rules)
        return self

    def fit(self, X: Any, y: Any = None) -> IncrementalKMeans:
        """Start a new stream with X (n, d) as its only batch, and absorb all waiting rows."""
        self._forget("_state", "_seed")
        rules = self._rules(resolve_seed(self.random_state))
        rows = dense(check_rows(self, X, reset=True))
        self._publish(StreamState(rows[:0].copy()).take(rows, rules).absorb_pending(rules), rules)
        self.labels_ = self._nearest().assign(rows)[0].astype(np.int32)
        return self

    def finalize(self) -> IncrementalKMeans:
        """Absorb all waiting rows into their nearest clusters. The stream can continue afterwards."""
        if not hasattr(self, "_state"):
            raise NotFittedError(f"This {type(self).__name__} has received no rows yet: call partial_fit first.")
        rules = self._rules(self._seed)
        self._publish(self._state.absorb_pending(rules), rules)
        return self

    def _publish(self, state: StreamState, rules: Rules) -> None:
        """Publish a new state of the stream as attributes, all at once."""
        self._state, self._seed = state, rules.seed
        self.pending_ = state.pending
        self.n_batches_, self.n_births_, self.n_forced_ = state.n_batches, state.n_births, state.n_forced
        self.n_samples_seen_ = state.pending.shape[0]
        if state.clusters is not None:
            self.cluster_centers_, self.counts_ = state.clusters.centers, state.clusters.counts
            self.inertia_, self.n_iter_ = state.clusters.inertia, state.n_iter
            self.n_samples_seen_ += int(self.counts_.sum())
        # Labels belong to the rows and centroids of one fit.
        if hasattr(self, "labels_"):
            del self.labels_

    def _rules(self, seed: int) -> Rules:
        """Check and collect the parameters of the stream."""
        k = check_count(self.n_clusters, "n_clusters")
        if hasattr(self, "counts_") and k != self.counts_.size:
            raise ValueError(
                f"n_clusters={k} differs from the {self.counts_.size} clusters of the stream: leave it, or "
                "start again with fit or a clone."
            )
        return Rules(
            n_clusters=k,
            init_size=20 * k if self.init_size is None else check_count(self.init_size, "init_size"),
            max_pending=None if self.max_pending is None else check_count(self.max_pending, "max_pending"),
            seed=seed,
            n_jobs=check_jobs(self.n_jobs),
            verbose=self.verbose,
        )


class Rules(NamedTuple):
    """The parameters of the stream."""

    n_clusters: int
    init_size: int
    max_pending: int | None
    seed: int
    n_jobs: int | None
    verbose: Verbose


class CentroidSnapshot:
    """Stability by a snapshot of the centroids, while they hardly move: a new triangulation for each batch is slow."""

    def __init__(self, centers: FloatArray, rows: FloatArray, n_jobs: int | None) -> None:
        self.centers = centers
        self.nearest = NearestCenters.of(centers, n_jobs)
        self.extremes = rows[self.nearest.extreme_rows(rows)]
        """At most 2 (k - 1) rows that span the bounding box."""
        positions = self._positions(self.extremes)
        self.box = positions.min(axis=0), positions.max(axis=0)
        self._fitted: Fitted | None = None

    @staticmethod
    def latest(
        snapshot: CentroidSnapshot | None, clusters: ClusterSums, rows: FloatArray, slack: float, rules: Rules
    ) -> CentroidSnapshot:
        """Return the current snapshot of a stream, or a new one if a centroid moved too far or a row lies outside."""
        extremes = rows
        if snapshot is not None:
            if row_sums((clusters.centers - snapshot.centers) ** 2).max() <= slack**2:
                positions = snapshot._positions(rows)
                if (positions >= snapshot.box[0]).all() and (positions <= snapshot.box[1]).all():
                    return snapshot
            extremes = np.vstack([snapshot.extremes, rows])
        return CentroidSnapshot(clusters.centers, extremes, rules.n_jobs)

    def measure(self, rows: FloatArray, rules: Rules) -> FloatArray:
        """Return the largest affinity of rows (m, d) of a stream, and the number of its centroid, as columns (m, 2)."""
        if not rows.size:
            return np.empty((0, 2))
        if self._fitted is None:
            self._fitted = fit_to_centers(self.centers, self.extremes, rules.seed, rules.n_jobs, rules.verbose)
        return np.column_stack(stability(self._fitted, rows))

    def _positions(self, rows: FloatArray) -> FloatArray:
        """Return the positions of rows of the stream in the span of the centroids."""
        return self.nearest.diagram.locate(rows, 1).position

    def __getstate__(self) -> dict[str, Any]:
        # The scorer follows from the other attributes.
        return self.__dict__ | {"_fitted": None}


@dataclass(frozen=True)
class StreamState:
    """The state of a stream."""

    pending: FloatArray
    """(m, d) waiting rows, in order of arrival."""
    stability: FloatArray | None = None
    """(m, 2) their largest affinities, and the indices of these centroids."""
    clusters: ClusterSums | None = None
    """None until there are enough rows."""
    snapshot: CentroidSnapshot | None = None
    n_iter: int = 0
    """Number of k-means iterations for the first clusters."""
    n_batches: int = 0
    """Number of batches so far, which also selects the random stream of the next one."""
    n_births: int = 0
    n_forced: int = 0

    def take(self, batch: FloatArray, rules: Rules) -> StreamState:
        """Process a batch (m, d): absorb its stable rows, then examine all waiting rows again."""
        state = replace(self, n_batches=self.n_batches + 1)
        if state.clusters is not None:
            return state._absorb_stable(batch, rules)
        rows = np.vstack([self.pending, batch])
        if rows.shape[0] < rules.init_size or len(np.unique(rows, axis=0)) < rules.n_clusters:
            return replace(state, pending=rows)
        return state._start_clusters(rows, rules)

    def absorb_pending(self, rules: Rules) -> StreamState:
        """Absorb every waiting row into the nearest cluster."""
        state = self
        if state.clusters is None:
            if len(np.unique(state.pending, axis=0)) < rules.n_clusters:
                raise ValueError(
                    f"n_clusters={rules.n_clusters} needs at least as many distinct points, but the n_samples="
                    f"{state.pending.shape[0]} rows of X so far have fewer: pass more rows, or lower n_clusters."
                )
            state = state._start_clusters(state.pending, rules)
        assert state.clusters is not None
        codes, _ = NearestCenters.of(state.clusters.centers, rules.n_jobs).assign(state.pending)
        clusters = state.clusters.absorb(state.pending, codes)
        return replace(state, clusters=clusters, pending=state.pending[:0].copy(), stability=None)

    def _start_clusters(self, rows: FloatArray, rules: Rules) -> StreamState:
        """Find the first clusters by k-means on ``rows``."""
        kmeans = best_kmeans(rows, rules.n_clusters, _N_INIT, stream(rules.seed, _START))
        centers = np.asarray(kmeans.cluster_centers_, dtype=np.float64)
        clusters = ClusterSums(centers, np.zeros(rules.n_clusters, dtype=np.int64), 0.0)
        state = replace(self, pending=rows[:0].copy(), clusters=clusters, n_iter=int(kmeans.n_iter_))
        return state._absorb_stable(rows, rules)

    def _absorb_stable(self, batch: FloatArray, rules: Rules) -> StreamState:
        """Replace clusters where that pays, absorb the stable rows of the batch, then the stable waiting rows."""
        rows = np.vstack([self.pending, batch])
        clusters, n_births, rng = self.clusters, self.n_births, stream(rules.seed, _FOUNDERS, self.n_batches)
        assert clusters is not None
        for _ in range(rules.n_clusters):  # each cluster moves at most once
            moved = clusters.move_cluster(rows, rng)
            if moved is None:
                break
            clusters, n_births = moved, n_births + 1
        squared = clusters.objective(rows) / (clusters.counts.sum() + rows.shape[0])
        slack, reach = _SLACK * np.sqrt(squared), REACH**2 * squared
        snapshot = CentroidSnapshot.latest(self.snapshot, clusters, rows, slack, rules)
        first = snapshot.measure(batch, rules)
        codes, _, safe = _examine(batch, first, clusters, reach, rules)
        clusters = clusters.absorb(batch[safe], codes[safe])
        waiting = np.vstack([self.pending, batch[~safe]])
        known = self.stability if snapshot is self.snapshot else None
        later = CentroidSnapshot.latest(snapshot, clusters, rows, slack, rules)
        if later is snapshot and (known is not None or not self.pending.size):
            affinities = first[~safe] if known is None else np.vstack([known, first[~safe]])
        else:
            affinities = later.measure(waiting, rules)
        codes, away, safe = _examine(waiting, affinities, clusters, reach, rules)
        leaving, stay = safe.copy(), np.flatnonzero(~safe)
        if rules.max_pending is not None and stay.size > rules.max_pending:
            readiness = affinities[stay, 0] - (away[stay] > reach)
            leaving[stay[np.argsort(-readiness, kind="stable")[: stay.size - rules.max_pending]]] = True
        return replace(
            self,
            pending=waiting[~leaving],
            stability=affinities[~leaving],
            clusters=clusters.absorb(waiting[leaving], codes[leaving]),
            snapshot=later,
            n_births=n_births,
            n_forced=self.n_forced + int((leaving & ~safe).sum()),
        )


def _examine(
    rows: FloatArray, affinities: FloatArray, clusters: ClusterSums, reach: float, rules: Rules
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return the nearest clusters of rows of a stream, squared distances to them, and which rows can be absorbed."""
    codes, squared = NearestCenters.of(clusters.centers, rules.n_jobs).assign(rows)
    return codes, squared, (affinities[:, 0] > 0.5) & (affinities[:, 1] == codes) & (squared <= reach)


@dataclass(frozen=True)
class ClusterSums:
    """The k clusters of a stream as means and counts, without their points."""

    centers: FloatArray
    """(k, d) mean of each cluster, or its initial center while it is empty."""
    counts: IntArray
    """(k,) number of points of each cluster."""
    inertia: float
    """Sum of the squared distances of all these points from the mean of their cluster."""

    def absorb(self, rows: FloatArray, codes: IntArray) -> ClusterSums:
        """Absorb ``rows`` (m, d) of a stream into the clusters ``codes`` (m,). Means, counts and inertia stay exact."""
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
        return ClusterSums(centers, counts, inertia)

    def objective(self, rows: FloatArray) -> float:
        """Return the objective of k-means over the points absorbed and ``rows`` (m, d), these at their nearest mean."""
        return self.inertia + float(NearestCenters.of(self.centers, n_jobs=1).assign(rows)[1].sum())

    def move_cluster(self, rows: FloatArray, rng: np.random.Generator) -> ClusterSums | None:
        """Move one cluster of a stream to the best of a few random founders if the objective falls; None if not."""
        swap = self._cheapest_swap(rows, rng) if self.counts.size > 1 and rows.size else None
        if swap is None:
            return None
        gone, heir, position = swap
        centers, counts, inertia = self.centers.copy(), self.counts.copy(), self.inertia
        total = counts[heir] + counts[gone]
        if counts[gone]:
            away = centers[gone] - centers[heir]
            inertia += float(counts[heir] * counts[gone] / total * (away @ away))
            centers[heir] += counts[gone] / total * away
        counts[heir], counts[gone], centers[gone] = total, 0, position
        changed = ClusterSums(centers, counts, inertia)
        improved = changed.objective(rows) < (1.0 - _LEAST_GAIN) * self.objective(rows)
        return changed if improved else None

    def _cheapest_swap(self, rows: FloatArray, rng: np.random.Generator) -> tuple[int, int, FloatArray] | None:
        """Return the cluster of a stream to remove, its heir, and the new position (d,); None if rows lie on means."""
        m, k = rows.shape[0], self.counts.size
        apart = NearestCenters.of(self.centers, n_jobs=1).squared_distances(np.vstack([rows, self.centers]))
        weight = np.concatenate([np.ones(m), self.counts])
        nearest = apart.argmin(axis=1)
        # A mean is nearest to itself, also where two means coincide.
        nearest[m:] = np.arange(k)
        numbers = np.arange(m + k)
        first = apart[numbers, nearest]
        apart[numbers, nearest] = np.inf
        second = apart.min(axis=1)
        if not first[:m].any():
            return None
        founders = rows[rng.choice(m, 2 + int(np.log(k)), p=first[:m] / first[:m].sum())]
        # Absorbed points never follow a founder: they are not kept, so they cannot be moved one by one.
        away = np.full((founders.shape[0], m + k), np.inf)
        away[:, :m] = NearestCenters.of(founders, n_jobs=1).squared_distances(rows).T
        costs = np.empty((founders.shape[0], k))
        for cost, distance in zip(costs, away, strict=True):
            before, after = weight * np.minimum(first, distance), weight * np.minimum(second, distance)
            cost[:] = before.sum() + np.bincount(nearest, after - before, minlength=k)
        founder, gone = np.unravel_index(costs.argmin(), costs.shape)
        followers = away[founder, :m] < np.where(nearest == gone, second, first)[:m]
        return int(gone), int(apart[m + gone].argmin()), rows[followers].mean(axis=0)
