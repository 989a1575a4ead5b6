"""Consensus of several clusterings, found among the lifts of their clusters."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from allegiance._core import (
    FloatArray,
    IntArray,
    check_choice,
    check_count,
    check_jobs,
    check_rows,
    effective_threads,
    resolve_seed,
    stream,
)
from allegiance.metrics import Pool, check_codes, lift_clusters, lift_kernel, one_hot, rand_distance
from allegiance.notebook import Card, Cell, Share, share_bar

from ._base_clusterings import accept_sparse, base_labelings, default_labelings
from ._group_lifts import group_by_kmeans, group_by_linkage

METHODS = ("kmeans", "hac")


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Agree on one clustering among several of the same points.

    The lift of a cluster is the sum of its points in the feature space of a kernel, divided by its length. The lifts of
    all clusters of all clusterings, each with the weight ``|C| / n``, are themselves clustered, and each point goes to
    the centre nearest to its own lift. This is the spatially aware consensus of Raman, Phillips and Venkatasubramanian
    (2011) as we understand it. Whether it is better than they are, :func:`validate_consensus` says.

    Parameters
    ----------
    clusterings
        A list, or a dictionary by name, of labels (n,), of clusterers, which are cloned and fitted, and of fitted
        clusterers, which predict X, or if they cannot give their ``labels_``. ``sklearn.base.clone`` unfits clusterers
        in a list; :class:`~sklearn.frozen.FrozenEstimator` keeps them. By default k-means and single, average, complete
        and Ward linkage, each with ``n_clusters`` clusters: these hold the distances of all pairs, 16 bytes each, and
        refuse more than 20,000 rows. Points of noise (-1) have no cluster there, but one in the consensus.
    n_clusters
        The number of clusters of the consensus.
    method
        How lifts are clustered: "kmeans", weighted k-means; "hac", weighted agglomerative by Ward's cost.
    kernel
        "rbf", "laplacian", a function k(X, Y) -> (n, m), positive and positive definite, or :class:`Kernel` with
        parameters. By default gamma comes from the median distance between points, as in
        :func:`allegiance.metrics.lift_emd`. The exact kernel takes n² kernel values of time, in blocks; with an
        approximation, as in ``Kernel("rbf", approximation=Nystroem(500))``, time is linear in n.
    n_init
        Number of starts of "kmeans" among the lifts.
    random_state
        Seed, generator, or None for a new seed at each fit. Clusterers of yours have their own.
    n_jobs
        Threads for distances and kernel values; None or -1 for all cores. The result does not depend on it.

    Attributes
    ----------
    labels_
        (n,) consensus cluster of each point, numbered by their first points.
    n_clusters_
        The number of consensus clusters; fewer than ``n_clusters``, with a warning, if there are too few distinct
        clusters or no point is nearest to some centre.
    labelings_
        The labels (n,) of each clustering, by name.
    base_names_
        The names of the clusterings.
    kernel_
        The kernel that was used, with its gamma.
    lift_gram_
        (m, m) inner products of the lifts. Equal clusters have one lift.
    lift_weights_
        (m,) sum of the shares ``|C| / n`` of the clusters with this lift.
    lift_groups_
        (m,) the consensus cluster of each lift; -1 if that was left empty.
    centers_
        (k, m) the centres of the consensus clusters, as combinations of lifts.
    n_features_in_
        The number of columns of X.
    feature_names_in_
        Names of the columns of X, if it had any.

    See Also
    --------
    validate_consensus : Can its labels be trusted more than theirs?
    allegiance.metrics.lift_emd : The distance between clusterings by the same lifts.

    Examples
    --------
    Each of three labellings has some points wrong, but not the same ones.

    >>> import numpy as np
    >>> from allegiance import ConsensusClustering
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [11.0]])
    >>> labelings = [[0, 0, 0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 1, 1, 1]]
    >>> ConsensusClustering(labelings, n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and, once fitted, how near the clusterings are to the consensus."""
        diagram: str = estimator_html_repr(self)
        if not hasattr(self, "labels_"):
            return diagram
        nearness = {name: 1.0 - rand_distance(labels, self.labels_) for name, labels in self.labelings_.items()}
        bars = [share_bar([Share("agreeing pairs", near), Share("others", 1.0 - near)]) for near in nearness.values()]
        rows: list[list[Cell]] = [
            [name, f"{check_codes(self.labelings_[name], self.labels_.size, name).max() + 1}", f"{near:.3f}", bar]
            for (name, near), bar in zip(nearness.items(), bars, strict=True)
        ]
        title = f"Consensus of {len(rows)} clusterings: {self.n_clusters_} clusters of {self.labels_.size:,} points"
        headings = ("clustering", "clusters", "Rand index with the consensus", "")
        return diagram + Card(title, headings=headings, rows=rows, words=("clustering", "")).html()

    def __init__(
        self,
        clusterings: Any = None,
        n_clusters: int = 8,
        *,
        method: str = "kmeans",
        kernel: Any = "rbf",
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.clusterings = clusterings
        self.n_clusters = n_clusters
        self.method = method
        self.kernel = kernel
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> ConsensusClustering:
        """Collect the clusterings of X and find their consensus.

        Parameters
        ----------
        X
            (n, d) array, sparse matrix or frame.
        y
            Ignored.
        """
        check_choice(self.method, "method", METHODS)
        n_clusters = check_count(self.n_clusters, "n_clusters")
        threads, seed = effective_threads(check_jobs(self.n_jobs)), resolve_seed(self.random_state)
        given, X = X, check_rows(self, X, reset=True)
        if X.shape[0] < n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} must be at least n_clusters={n_clusters}.")
        kernel = lift_kernel(self.kernel, X)
        if self.clusterings is None:
            labelings = default_labelings(X, n_clusters, seed, threads)
        else:
            labelings = base_labelings(self.clusterings, given, X.shape[0])
        codes = [check_codes(each, X.shape[0], f"clusterings ({name})") for name, each in labelings.items()]
        pool = Pool.of([one_hot(each) for each in codes])
        nearness = np.empty(pool.columns.shape)
        lifts = lift_clusters(X, pool.columns, kernel, seed, threads, nearness)
        shares = np.concatenate(pool.masses) / X.shape[0]
        weights: FloatArray = np.bincount(np.concatenate(pool.numbers), shares).astype(np.float64)
        groups = self._group(lifts.gram, weights, min(n_clusters, weights.size), seed)
        consensus = _assign(nearness, lifts.gram, weights, groups)
        if consensus.centers.shape[0] < n_clusters:
            warnings.warn(
                f"The consensus has {consensus.centers.shape[0]} clusters instead of n_clusters={n_clusters}: the "
                f"clusterings have {weights.size} distinct clusters, or no point is nearest to some centre.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labelings_, self.base_names_ = labelings, list(labelings)
        self.kernel_, self.lift_gram_, self.lift_weights_ = kernel, lifts.gram, weights
        self.labels_, self.lift_groups_, self.centers_ = consensus
        self.n_clusters_ = self.centers_.shape[0]
        self._lifts = lifts
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the consensus cluster (n,) whose centre is nearest to each row of X (n, d)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False)
        nearness = self._lifts.with_rows(X, effective_threads(check_jobs(self.n_jobs)))
        return _nearest(nearness, self.lift_gram_, self.centers_)

    def _group(self, gram: FloatArray, weights: FloatArray, n_groups: int, seed: int) -> IntArray:
        if self.method == "hac":
            return group_by_linkage(gram, weights, n_groups)
        return group_by_kmeans(gram, weights, n_groups, check_count(self.n_init, "n_init"), stream(seed, *b"lifts"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = accept_sparse(self.clusterings)
        return tags


class _Consensus(NamedTuple):
    labels: IntArray
    """(n,) consensus cluster of each point."""
    groups: IntArray
    """(m,) consensus cluster of each lift, -1 if that was left empty."""
    centers: FloatArray
    """(k, m) centres as combinations of lifts."""


def _assign(nearness: FloatArray, gram: FloatArray, weights: FloatArray, groups: IntArray) -> _Consensus:
    """Give points to the nearest of the groups' weighted means; number those that get any by their first points.

    Parameters
    ----------
    nearness
        (n, m) inner products of the points' lifts with those of the clusters.
    gram, weights
        (m, m) inner products of the lifts of the clusters, and (m,) their weights.
    groups
        (m,) group of each lift.
    """
    centers = np.zeros((int(groups.max()) + 1, groups.size))
    centers[groups, np.arange(groups.size)] = weights
    centers /= centers.sum(axis=1, keepdims=True)
    used, first, labels = np.unique(_nearest(nearness, gram, centers), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    numbers = np.full(centers.shape[0], -1)
    numbers[used] = rank
    return _Consensus(rank[labels], numbers[groups], centers[used[order]])


def _nearest(nearness: FloatArray, gram: FloatArray, centers: FloatArray) -> IntArray:
    """Return the number (n,) of the centre nearest to each point: the least |c|² - 2 <x, c>."""
    squares = ((centers @ gram) * centers).sum(axis=1)
    return (squares - 2.0 * nearness @ centers.T).argmin(axis=1)
