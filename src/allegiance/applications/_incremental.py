"""k-means on a stream, in which doubtful points wait."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from allegiance._core import check_count, check_rows, dense, resolve_seed
from allegiance.clusterers import KMeansStarts
from allegiance.engines import Engine

from ._nearest_centers import NearestCenterMixin, check_squares
from ._stable_points import StabilityTest
from ._stream_state import Rules, StreamState


class IncrementalKMeans(NearestCenterMixin, BaseEstimator):
    """Cluster a stream of batches: absorb stable points into centroids and counts, let the others wait.

    Each batch goes through three steps. First, if giving one cluster up and founding another among the rows at hand
    lowers the objective of k-means, that is done (below). Then rows of the batch are absorbed if they are stable, their
    owner is also the nearest centroid, and they are no farther from it than four times the root mean square distance.
    Finally all rows that wait are examined again, with the new centroids. Rows are kept only while they wait.

    *Start*: rows wait until there are ``init_size`` of them, ``n_clusters`` distinct ones among them. Then k-means on
    all that wait gives the first centroids, with counts of zero.

    *Birth*: the objective is the sum of squared distances of all points, absorbed or at hand, from their centroids. One
    step of single-swap local search gives the points of one cluster to the nearest other one, and founds a cluster at
    the mean of the rows that are closer to a founder than to any centroid; founders are drawn as k-means++ draws
    seeds. The step is taken only if the objective falls. A cluster that is empty, or whose points another can take
    over at little cost, thus moves to where rows are badly served. Its label then means something else, which
    ``n_births_`` shows.

    Parameters
    ----------
    n_clusters
        The number of clusters.
    init_size
        How many rows to wait for before the first clusters; None for 20 times ``n_clusters``.
    max_pending
        Most rows that may wait; None for no limit. When there are more, the surplus is absorbed into the nearest
        clusters, rows within the distance above first, and among them those with the largest affinity first;
        ``n_forced_`` counts them. The limit holds from the first clusters on.
    n_init
        Starts of k-means for the first clusters.
    max_iter
        Maximum number of iterations of one start.
    tol
        When a start has converged, as in :class:`sklearn.cluster.KMeans`.
    engine, eps
        How affinity is measured: as in :class:`AffinityScorer`.
    n_jobs
        Number of threads for the affinities; None and -1 use all cores. Results do not depend on it.
    random_state
        Seed, generator, or None for a new seed for each stream.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) centroids of the points absorbed so far. Not there before the first clusters are.
    counts_
        (n_clusters,) number of points absorbed into each.
    inertia_
        Sum of the squared distances of the points absorbed from the centroids of their clusters.
    pending_
        (m, d) rows that wait, in the order in which they came.
    n_iter_
        Iterations of k-means for the first clusters.
    n_batches_, n_samples_seen_
        How many batches and rows came.
    n_births_
        How many clusters were given up and founded elsewhere.
    n_forced_
        How many rows were absorbed because more than ``max_pending`` waited.
    labels_
        (n,) number of the nearest centroid of each row. After :meth:`fit` only: a stream keeps no rows to label; call
        :meth:`predict` on them.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    See Also
    --------
    ActiveKMeans : For data that are there at once.

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
        n_init: int = 3,
        max_iter: int = 300,
        tol: float = 1e-4,
        engine: str | Engine = "auto",
        eps: float = 0.03,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init_size = init_size
        self.max_pending = max_pending
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state

    def partial_fit(self, X: Any, y: Any = None) -> IncrementalKMeans:
        """Take the next batch of the stream.

        If it fails, the model is as before.

        Parameters
        ----------
        X
            (m, d) rows, one or more: array, sparse matrix or frame. Sparse rows are made dense, batch by batch.
        y
            Ignored.
        """
        anew = not hasattr(self, "_state")
        rules = self._rules(resolve_seed(self.random_state) if anew else self._seed)
        batch = dense(check_squares(check_rows(self, X, reset=anew)))
        state = StreamState.empty(batch.shape[1]) if anew else self._state
        self._publish(state.take(batch, rules), rules)
        return self

    def fit(self, X: Any, y: Any = None) -> IncrementalKMeans:
        """Forget the stream so far, take X as the only batch, and assign what waits.

        Parameters
        ----------
        X
            (n, d) data: array, sparse matrix or frame.
        y
            Ignored.
        """
        self._forget("_state", "_seed")
        rules = self._rules(resolve_seed(self.random_state))
        rows = dense(check_squares(check_rows(self, X, reset=True)))
        self._publish(StreamState.empty(rows.shape[1]).take(rows, rules).emptied(rules), rules)
        self.labels_ = self._nearest().assign(rows).codes.astype(np.int32)
        return self

    def finalize(self) -> IncrementalKMeans:
        """Absorb every row that waits into the nearest cluster. The stream may go on afterwards."""
        if not hasattr(self, "_state"):
            raise NotFittedError(f"This {type(self).__name__} has seen no rows yet: call partial_fit first.")
        rules = self._rules(self._seed)
        self._publish(self._state.emptied(rules), rules)
        return self

    def _publish(self, state: StreamState, rules: Rules) -> None:
        """Take over a new state, all at once."""
        self._state, self._seed = state, rules.stability.seed
        self.pending_ = state.pending
        self.n_batches_, self.n_births_, self.n_forced_ = state.n_batches, state.n_births, state.n_forced
        self.n_samples_seen_ = state.pending.shape[0]
        if state.clusters is not None:
            self.cluster_centers_, self.counts_ = state.clusters.centers, state.clusters.counts
            self.inertia_, self.n_iter_ = state.clusters.inertia, state.n_iter
            self.n_samples_seen_ += int(self.counts_.sum())
        # Labels of a fit are those of its rows and centroids only.
        if hasattr(self, "labels_"):
            del self.labels_

    def _rules(self, seed: int) -> Rules:
        """Check the parameters, and gather them."""
        k = check_count(self.n_clusters, "n_clusters")
        if hasattr(self, "counts_") and k != self.counts_.size:
            raise ValueError(
                f"n_clusters={k} differs from the {self.counts_.size} clusters of the stream: leave it, or start "
                "anew with fit or a clone."
            )
        return Rules(
            n_clusters=k,
            init_size=20 * k if self.init_size is None else check_count(self.init_size, "init_size"),
            max_pending=None if self.max_pending is None else check_count(self.max_pending, "max_pending"),
            kmeans=KMeansStarts.of(self),
            stability=StabilityTest.of(self, seed),
        )
