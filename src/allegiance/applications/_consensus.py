"""Consensus of several clusterings from the lifts of their clusters, and whether it improved trust."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import euclidean_distances
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from allegiance._core.parallel import effective_threads, resolve_seed, stream
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import (
    AnyArray,
    FloatArray,
    IntArray,
    Rows,
    check_choice,
    check_count,
    check_jobs,
    check_rows,
    dense,
    is_sparse,
)
from allegiance._scorer import AffinityScorer
from allegiance.calibration import as_clusterer
from allegiance.fitting import cluster
from allegiance.metrics import Pool, check_codes, lift_clusters, lift_kernel, one_hot, rand_distance
from allegiance.notebook import Card, CardMixin

from ._active import best_kmeans
from ._compare import ClusteringComparison, by_name, comparison_card, score_clusterings

METHODS = ("kmeans", "hac")
LINKAGES: tuple[Literal["single", "average", "complete", "ward"], ...] = ("single", "average", "complete", "ward")
#: Maximum number of rows for default linkages: their distances take twice 1.6 GB.
MAX_ROWS = 20_000
#: Eigenvalues below this share of the largest are rounding.
_ROUNDING = 1e-13
_CONSENSUS = "consensus"
#: Columns of the table of a consensus.
_CONSENSUS_COLUMNS = (
    "clustering", "n_clusters", "above_chance", "gain", "firm", "turned_firm", "turned_weak", "stable",
    "rand_distance", "verdict",
)  # fmt: skip
#: Smallest change in replication above chance at which a consensus counts as improved, or worse.
_CONSIDERABLE = 0.05


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Combine several clusterings of the same points into one.

    The lift of a cluster is the sum of its points in the feature space of a kernel, divided by its length. The lifts of
    all clusters of all clusterings, each with the weight ``|C| / n``, are themselves clustered, and each point goes to
    the center nearest to its own lift. This is the spatially aware consensus of Raman, Phillips and Venkatasubramanian
    (2011) as we understand it. :func:`validate_consensus` checks whether the consensus replicates better than the
    clusterings.

    Parameters
    ----------
    clusterings
        A list, or a dictionary by name, of labels (n,), of clusterers, which are cloned and fitted, of functions from X
        to labels, and of fitted clusterers, which predict X, or if they cannot give their ``labels_``.
        ``sklearn.base.clone`` unfits clusterers in a list; :class:`~sklearn.frozen.FrozenEstimator` keeps them. By
        default k-means and single, average, complete and Ward linkage, each with ``n_clusters`` clusters: linkage needs
        the distances of all pairs, 16 bytes each, so this default is limited to 20,000 rows. Noise points (-1) have no
        cluster there, but get one in the consensus.
    n_clusters
        The number of clusters of the consensus.
    method
        How lifts are clustered: "kmeans", weighted k-means; "hac", weighted agglomerative by Ward's cost.
    kernel
        "rbf", "laplacian", a function k(X, Y) -> (n, m), positive and positive definite, or ``Kernel`` with
        parameters. By default gamma comes from the median distance between points, as in
        :func:`allegiance.metrics.lift_emd`. The exact kernel computes n² values, in blocks. With an approximation, as
        in ``Kernel("rbf", approximation="nystroem")``, time is linear in n.
    random_state, n_jobs, verbose
        As in :class:`AffinityScorer`, but each fit has a new seed by default. Your own clusterers keep their seeds.

    Attributes
    ----------
    labels_
        (n,) consensus cluster of each point, numbered by their first points.
    n_clusters_
        The number of consensus clusters; fewer than ``n_clusters``, with a warning, if there are too few distinct
        clusters or no point is nearest to some center.
    labelings_
        The labels (n,) of each clustering, by name.
    kernel_
        The kernel that was used, with its gamma.
    lift_gram_
        (m, m) inner products of the lifts. Equal clusters have one lift.
    lift_weights_
        (m,) sum of the shares ``|C| / n`` of the clusters with this lift.
    lift_groups_
        (m,) the consensus cluster of each lift; -1 if that was left empty.
    centers_
        (k, m) the centers of the consensus clusters, as combinations of lifts.
    n_features_in_
        The number of columns of X.
    feature_names_in_
        Names of the columns of X, if it had any.

    See Also
    --------
    validate_consensus : Compare trust in the consensus with trust in each clustering.
    allegiance.metrics.lift_emd : The distance between clusterings by the same lifts.

    Examples
    --------
    Each of three labelings has some wrong points, but not the same ones.

    >>> import numpy as np
    >>> from allegiance import ConsensusClustering
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [8.0], [9.0], [10.0], [11.0]])
    >>> labelings = [[0, 0, 0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0, 0, 0], [0, 0, 1, 0, 1, 1, 1, 1]]
    >>> ConsensusClustering(labelings, n_clusters=2, random_state=0).fit_predict(X)
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(
        self,
        clusterings: Any = None,
        n_clusters: int = 8,
        *,
        method: str = "kmeans",
        kernel: Any = "rbf",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: Verbose = False,
    ) -> None:
        self.clusterings = clusterings
        self.n_clusters = n_clusters
        self.method = method
        self.kernel = kernel
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ConsensusClustering:
        """Collect the clusterings of X (n, d), dense or sparse, and find their consensus."""
        check_choice(self.method, "method", METHODS)
        n_clusters = check_count(self.n_clusters, "n_clusters")
        threads, seed = effective_threads(check_jobs(self.n_jobs)), resolve_seed(self.random_state)
        frame, X = X, check_rows(self, X, reset=True)
        if X.shape[0] < n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} must be at least n_clusters={n_clusters}.")
        kernel = lift_kernel(self.kernel, X)
        if self.clusterings is None:
            labelings = default_labelings(X, n_clusters, seed, self.verbose)
        else:
            named, labelings = by_name(self.clusterings), {}
            with progress(len(named), "consensus", self.verbose, unit="clusterings") as advance:
                for name, clustering in named.items():
                    labelings[name] = _labels_of(clustering, frame, X.shape[0], f"clusterings[{name!r}]")
                    advance(1)
        codes = [check_codes(labels, X.shape[0], f"clusterings ({name})") for name, labels in labelings.items()]
        pool = Pool.of([one_hot(numbers) for numbers in codes])
        nearness = np.empty(pool.columns.shape)
        lifts = lift_clusters(X, pool.columns, kernel, seed, threads, nearness)
        shares = np.concatenate(pool.masses) / X.shape[0]
        weights: FloatArray = np.bincount(np.concatenate(pool.numbers), shares).astype(np.float64)
        k = min(n_clusters, weights.size)
        if self.method == "hac":
            groups = _group_by_linkage(lifts.gram, weights, k)
        else:
            groups = _group_by_kmeans(lifts.gram, weights, k, stream(seed, *b"lifts"))
        labels, groups, centers = _assign(nearness, lifts.gram, weights, groups)
        if centers.shape[0] < n_clusters:
            warnings.warn(
                f"The consensus has {centers.shape[0]} clusters instead of n_clusters={n_clusters}: the "
                f"clusterings have {weights.size} distinct clusters, or no point is nearest to some center.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.labelings_ = labelings
        self.kernel_, self.lift_gram_, self.lift_weights_ = kernel, lifts.gram, weights
        self.labels_, self.lift_groups_, self.centers_ = labels, groups, centers
        self.n_clusters_ = self.centers_.shape[0]
        self._lifts = lifts
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the consensus cluster (n,) whose center is nearest to each row of X (n, d)."""
        check_is_fitted(self, "labels_")
        X = check_rows(self, X, reset=False)
        nearness = self._lifts.with_rows(X, effective_threads(check_jobs(self.n_jobs)))
        return _nearest(nearness, self.lift_gram_, self.centers_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        entries = self.clusterings.values() if isinstance(self.clusterings, Mapping) else self.clusterings
        entries = entries if hasattr(entries, "__iter__") else ()
        clusterers = (item for item in entries if hasattr(item, "__sklearn_tags__") and not isinstance(item, type))
        tags.input_tags.sparse = all(get_tags(clusterer).input_tags.sparse for clusterer in clusterers)
        return tags


def _assign(
    nearness: FloatArray, gram: FloatArray, weights: FloatArray, groups: IntArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the consensus clusters of points (n,) and lifts (m,), -1 if empty, and the centers (k, m) of groups."""
    centers = np.zeros((int(groups.max()) + 1, groups.size))
    centers[groups, np.arange(groups.size)] = weights
    centers /= centers.sum(axis=1, keepdims=True)
    used, first, labels = np.unique(_nearest(nearness, gram, centers), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    numbers = np.full(centers.shape[0], -1)
    numbers[used] = rank
    return rank[labels], numbers[groups], centers[used[order]]


def _nearest(nearness: FloatArray, gram: FloatArray, centers: FloatArray) -> IntArray:
    """Return the number (n,) of the consensus center nearest to each point: the least |c|² - 2 <x, c>."""
    squares = ((centers @ gram) * centers).sum(axis=1)
    return (squares - 2.0 * nearness @ centers.T).argmin(axis=1)


def default_labelings(X: Rows, n_clusters: int, seed: int, verbose: Verbose = False) -> dict[str, AnyArray]:
    """Cluster X (n, d) for a consensus by k-means and by single, average, complete and Ward linkage."""
    n = X.shape[0]
    if n > MAX_ROWS:
        raise ValueError(
            f"clusterings=None would hold the distances of all pairs of {n:,} rows, {8e-9 * n * n:.0f} GB. Pass "
            f"clusterings= for more than {MAX_ROWS:,} rows."
        )
    kmeans = KMeans(n_clusters, n_init=10, random_state=int(stream(seed, *b"k-means").integers(2**31)))
    labelings = {"k-means": np.asarray(kmeans.fit(X).labels_)}
    if n == n_clusters:  # and a single row has no tree
        return labelings | {method: np.arange(n) for method in LINKAGES}
    with np.errstate(over="ignore", invalid="ignore"):
        distances = squareform(euclidean_distances(X), checks=False) if is_sparse(X) else pdist(dense(X))
    if not np.isfinite(distances).all():
        raise ValueError("X is too large for distances: scale it down.")
    with progress(len(LINKAGES), "linkage", verbose, unit="trees") as advance:
        for method in LINKAGES:
            labelings[method] = cut_tree(linkage(distances, method), [n_clusters])[:, 0]
            advance(1)
    return labelings


def _labels_of(clustering: Any, X: Any, n_rows: int, where: str) -> AnyArray:
    """Return the labels (n,) that a clustering of the consensus gives the rows of X."""
    if callable(clustering) and not hasattr(clustering, "fit"):
        return cluster(as_clusterer(clustering), X)
    if not hasattr(clustering, "fit"):
        return np.asarray(clustering)
    try:
        check_is_fitted(clustering)
    except NotFittedError:
        return cluster(clustering, X)
    if hasattr(clustering, "predict"):
        return np.asarray(clustering.predict(X))
    labels = np.asarray(getattr(clustering, "labels_", ()))
    if labels.shape != (n_rows,):
        raise ValueError(
            f"{where} was fitted to data other than the {n_rows} rows of X and cannot predict: pass it unfitted."
        )
    return labels


def _group_by_kmeans(gram: FloatArray, weights: FloatArray, n_clusters: int, rng: np.random.Generator) -> IntArray:
    """Return the group (m,) of each lift by weighted k-means (LiftKm)."""
    values, vectors = np.linalg.eigh(gram)
    positive = values > _ROUNDING * gram.shape[0] * values[-1]
    positions = vectors[:, positive] * np.sqrt(values[positive])
    return np.unique(best_kmeans(positions, n_clusters, 10, rng, weights=weights).labels_, return_inverse=True)[1]


def _group_by_linkage(gram: FloatArray, weights: FloatArray, n_clusters: int) -> IntArray:
    """Return the group (m,) of each lift, by repeatedly merging the two groups with the least Ward cost."""
    mass = weights.astype(np.float64)
    norms = np.diagonal(gram)
    squares = np.maximum(norms + norms[:, None] - 2.0 * gram, 0.0)
    cost = squares * mass * mass[:, None] / (mass + mass[:, None])
    np.fill_diagonal(cost, np.inf)
    groups = np.arange(mass.size)
    for _ in range(mass.size - n_clusters):
        a, b = sorted(divmod(int(cost.argmin()), mass.size))
        with np.errstate(invalid="ignore"):  # inf - inf at merged groups, which stay out
            new_cost = (mass[a] + mass) * cost[a] + (mass[b] + mass) * cost[b] - mass * cost[a, b]
            new_cost /= mass[a] + mass[b] + mass
        new_cost[~np.isfinite(new_cost)] = np.inf
        cost[a], cost[:, a] = new_cost, new_cost
        cost[a, a] = np.inf
        cost[b], cost[:, b] = np.inf, np.inf
        mass[a] += mass[b]
        groups[groups == b] = a
    return np.unique(groups, return_inverse=True)[1]


@dataclass(frozen=True, repr=False, eq=False)
class ConsensusValidation(CardMixin):
    """Trust in a consensus of n points, and in the m clusterings it combines.

    Returned by :func:`allegiance.validate_consensus`. ``print(validation)`` gives a table and the verdict,
    :meth:`frame` one row per clustering.

    Attributes
    ----------
    comparison
        The comparison of all clusterings; the consensus is the last candidate.
    rand_distance
        (m,) Rand distance between each clustering and the consensus.
    """

    comparison: ClusteringComparison
    rand_distance: FloatArray

    @property
    def gain(self) -> FloatArray:
        """(m,) replication above chance of the consensus minus that of each clustering."""
        *others, consensus = self.comparison.above_chance
        return consensus - np.array(others)

    @property
    def verdict(self) -> str:
        """A sentence on the median gain over the clusterings."""
        gain, doubtful = float(np.median(self.gain)), ~self.comparison.firm[:, -1]
        typical, word = f"replication above chance {gain:+.2f} at the median", _verdict(gain)
        if word == "improved":
            return f"Improved: you can trust the consensus labels more ({typical})."
        if word == "worse":
            return (
                f"Worse: you can trust the consensus labels less ({typical}). The clusterings disagree, and the "
                "consensus resembles none of them."
            )
        if not doubtful.any():
            return f"Little changed ({typical}): all consensus labels are firm, so there was nothing to gain."
        always = int(self.comparison.never_firm.sum())
        return (
            f"Little changed ({typical}; {_CONSIDERABLE:.2f} would count as a change). Either the clusterings already "
            f"agreed (median Rand distance to the consensus: {np.median(self.rand_distance):.3f}), or the same points "
            f"are ambiguous in all of them ({always:,} of the {int(doubtful.sum()):,} that are not firm in the "
            "consensus)."
        )

    def frame(self) -> Any:
        """Return one row per clustering, and a last one that compares the consensus with itself.

        Columns are ``clustering``, ``n_clusters``, ``above_chance``, ``gain``, ``firm``, ``turned_firm``,
        ``turned_weak`` (numbers of points), ``stable`` (share of points), ``rand_distance`` and ``verdict``.
        """
        before, after = self.comparison.firm, self.comparison.firm[:, -1:]
        rows = self.comparison.candidates().rename(columns={"name": "clustering"})
        rows["gain"] = [*self.gain, 0.0]
        rows["turned_firm"], rows["turned_weak"] = (~before & after).sum(axis=0), (before & ~after).sum(axis=0)
        rows["rand_distance"], rows["verdict"] = [*self.rand_distance, 0.0], [*map(_verdict, self.gain), ""]
        return rows[[*_CONSENSUS_COLUMNS]]

    def _card(self) -> Card:
        """Return the card that displays the comparison of a consensus with its clusterings."""
        n, rows = self.comparison.n_points, self.frame().astype(object)
        bars = [(firm, n - firm) for firm in rows["firm"]]
        # The consensus is not compared with itself.
        rows.loc[len(rows) - 1, ["gain", "turned_firm", "turned_weak", "rand_distance"]] = ""
        title = f"Consensus of {len(rows) - 1} clusterings of {n:,} points"
        return comparison_card(title, self.verdict, rows, bars, self.comparison.notes())


def _verdict(gain: float) -> str:
    """Return the verdict on a consensus from its gain in replication above chance."""
    return "improved" if gain >= _CONSIDERABLE else "worse" if gain <= -_CONSIDERABLE else "little changed"


def validate_consensus(
    X: Any,
    clusterings: Any,
    consensus: Any,
    *,
    scorer: AffinityScorer | None = None,
    verbose: Verbose = False,
) -> ConsensusValidation:
    """Check whether the labels of a consensus clustering replicate better than those of the clusterings it combines.

    Every clustering is scored with the same settings and seed. The consensus improved if its replication above chance
    is higher. If little changed, the clusterings already agreed, or the same points are ambiguous in all of them. If it
    is lower, the consensus resembles none of the clusterings.

    Parameters
    ----------
    X
        (n, d) data: array, sparse matrix or frame.
    clusterings
        The clusterings that were combined, in a dictionary by name or a list, such as ``labelings_`` of a fitted
        :class:`ConsensusClustering`: labels (n,), clusterers, or functions from X to labels.
    consensus
        The consensus: labels (n,), a clusterer, or a function.
    scorer, verbose
        As in :func:`compare_clusterings`.

    Returns
    -------
    ConsensusValidation
        Trust in each clustering, and a verdict.

    See Also
    --------
    ConsensusClustering : Finds a consensus.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import ConsensusClustering, validate_consensus
    >>> X, _ = make_blobs(300, centers=4, cluster_std=2.0, random_state=1)
    >>> model = ConsensusClustering(n_clusters=4, random_state=0).fit(X)
    >>> single = model.labelings_["single"]
    >>> validate_consensus(X, {"single linkage": single}, model.labels_).frame()["verdict"][0]
    'improved'
    """
    named = by_name(clusterings)
    if _CONSENSUS in named:
        raise ValueError("clusterings has an entry named 'consensus', which is reserved for the consensus: rename it.")
    comparison = score_clusterings(X, named | {_CONSENSUS: consensus}, scorer, verbose)
    *labels, combined = (result.label for result in comparison.results.values())
    return ConsensusValidation(comparison, np.array([rand_distance(one, combined) for one in labels]))
