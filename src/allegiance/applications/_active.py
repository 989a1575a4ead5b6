"""k-means on the few points that matter most, and the nearest centres and stable points that streams need as well."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.validation import check_is_fitted

from allegiance._core.parallel import effective_threads, resolve_seed, stream
from allegiance._core.progress import Verbose, progress
from allegiance._core.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    Rows,
    check_count,
    check_jobs,
    check_number,
    check_rows,
    dense,
    is_sparse,
)
from allegiance._scorer import AffinityScorer
from allegiance.clusterers import KMeansStarts, warn_if_empty
from allegiance.engines import ENGINES, LEAST_EPS, Engine, PrecisionWarning
from allegiance.fitting import nearest_sites
from allegiance.influence import LinearEmbedding, PowerDiagram

DEFAULT_SIZE = "2*sqrt(n)"
#: What is drawn at random, one stream each.
_SEEDS, _SAMPLE, _STARTS = range(3)
#: Rows looked at together. Only the result is kept, so that memory beyond X stays O(n).
BLOCK = 8192
#: Entries whose squares can be added up.
_LARGEST = 1e150


class NearestCenterMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin):
    """What users of k-means expect of a model with ``cluster_centers_`` and a parameter ``n_jobs``."""

    n_jobs: int | None
    cluster_centers_: FloatArray

    def predict(self, X: Any) -> AnyArray:
        """Return the number (n,) of the centre nearest to each row.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        return self._nearest().assign(self._checked(X)).codes.astype(np.int32)

    def transform(self, X: Any) -> FloatArray:
        """Return the distances (n, n_clusters) of rows from centres.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        """
        return np.sqrt(self._nearest().squared_distances(self._checked(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the sum of the squared distances of rows from their nearest centres.

        Parameters
        ----------
        X
            (n, d) points, known or new.
        y
            Ignored.
        """
        return -float(self._nearest().assign(self._checked(X)).squared.sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cluster_centers_")

    def _forget(self, *private: str) -> None:
        """Undo the last fit, so that one that fails leaves nothing behind."""
        for name in [name for name in vars(self) if name.endswith("_") or name in private]:
            delattr(self, name)

    @property
    def _n_features_out(self) -> int:
        return self.cluster_centers_.shape[0]

    def _nearest(self) -> NearestCenters:
        check_is_fitted(self)
        return NearestCenters.of(self.cluster_centers_, check_jobs(self.n_jobs))

    def _checked(self, X: Any) -> Rows:
        return check_rows(self, X, reset=False)


class ActiveKMeans(NearestCenterMixin, BaseEstimator):
    """Cluster a sample of stable and unstable points, and give all others to the nearest centre.

    Seeds are drawn as k-means++ does, and every point is scored with respect to them: it is stable if one seed gives
    more than half of its territory. The sample takes a share from the stable points and the rest from the unstable
    ones, at random. k-means on the sample gives the centres. Besides X itself, memory is O(n).

    Parameters
    ----------
    n_clusters
        The number of clusters.
    sample_size
        "2*sqrt(n)"; or a number of points; or a share of them, above 0 and at most 1. Never fewer than ``n_clusters``
        points are taken, nor more than there are.
    stable_fraction
        The share of the sample that comes from the stable points, from 0 to 1; None for their share among all points.
        If one kind has too few points, the other fills up, with a warning.
    n_init
        Starts of k-means on the sample: the first from the seeds, the others from new seeds drawn from the sample. The
        one with the lowest inertia on the sample is kept.
    max_iter
        Maximum number of iterations of one start.
    tol
        When a start has converged, as in :class:`sklearn.cluster.KMeans`.
    engine, eps
        How affinity is measured: as in :class:`AffinityScorer`.
    n_jobs
        Number of threads for the affinities; None and -1 use all cores. Results do not depend on it.
    random_state
        Seed, generator, or None for a new seed at each fit.
    verbose
        Whether to show progress on standard error, or a callback that receives it.

    Attributes
    ----------
    cluster_centers_
        (n_clusters, d) centres.
    labels_
        (n,) number of the nearest centre of each point.
    sample_indices_
        (m,) rows of the sample, in ascending order.
    stable_fraction_
        The share of the sample that came from the stable points.
    n_stable_sampled_, n_unstable_sampled_
        How many points of each kind were drawn.
    n_stable_, n_unstable_
        How many points of each kind there are, with respect to the seeds.
    inertia_
        Sum of the squared distances of all points from their nearest centres.
    n_iter_
        Iterations of the best start.
    n_features_in_, feature_names_in_
        The number and names of the columns of X.

    See Also
    --------
    IncrementalKMeans : For data that come in batches.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import ActiveKMeans
    >>> X, _ = make_blobs(10_000, centers=5, random_state=1)
    >>> model = ActiveKMeans(5, random_state=0).fit(X)
    >>> model.sample_indices_.size, model.labels_.size
    (200, 10000)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        sample_size: float | str = "2*sqrt(n)",
        stable_fraction: float | None = None,
        n_init: int = 10,
        max_iter: int = 300,
        tol: float = 1e-4,
        engine: str | Engine = "auto",
        eps: float = 0.03,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: Verbose = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.sample_size = sample_size
        self.stable_fraction = stable_fraction
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.engine = engine
        self.eps = eps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> ActiveKMeans:
        """Find the clusters.

        Parameters
        ----------
        X
            (n, d) data: array, sparse matrix or frame.
        y
            Ignored.
        """
        self._forget()
        k, kmeans = check_count(self.n_clusters, "n_clusters"), KMeansStarts.of(self)
        _check_sample_size(self.sample_size)
        fraction = self.stable_fraction
        if fraction is not None and check_number(fraction, "stable_fraction", low=0.0, closed=True) > 1.0:
            raise ValueError(f"stable_fraction must be None or a number from 0 to 1, got {fraction!r}.")
        test = StabilityTest.of(self, resolve_seed(self.random_state))
        X = check_squares(check_rows(self, X, reset=True))
        n = X.shape[0]
        if n < k:
            raise ValueError(f"n_samples={n} must be at least n_clusters={k}: X has too few rows.")
        seeds = dense(kmeans_plusplus(X, k, random_state=int(stream(test.seed, _SEEDS).integers(2**31)))[0])
        extremes = NearestCenters.of(seeds, test.n_jobs).extreme_rows(X)
        stable = test.measure(X, test.scorer(seeds, X[extremes])).stable
        sample = _draw_sample(stable, _size_of_sample(self.sample_size, n, k), fraction, stream(test.seed, _SAMPLE))
        best = kmeans.best(X[sample], k, stream(test.seed, _STARTS), seeds=seeds)
        warn_if_empty(np.unique(best.labels_).size, k, stacklevel=2)
        centers = np.asarray(best.cluster_centers_, dtype=np.float64)
        assigned = NearestCenters.of(centers, test.n_jobs).assign(X)

        self.cluster_centers_, self.n_iter_ = centers, int(best.n_iter_)
        self.labels_, self.inertia_ = assigned.codes.astype(np.int32), float(assigned.squared.sum())
        self.n_stable_ = int(stable.sum())
        self.n_unstable_ = n - self.n_stable_
        self.sample_indices_ = sample
        self.n_stable_sampled_ = int(stable[sample].sum())
        self.n_unstable_sampled_ = sample.size - self.n_stable_sampled_
        self.stable_fraction_ = self.n_stable_sampled_ / sample.size
        return self


def _draw_sample(stable: BoolArray, size: int, fraction: float | None, rng: np.random.Generator) -> IntArray:
    """Draw ``size`` rows, of which a share is stable; the other kind fills up where one has too few."""
    rows = rng.permutation(stable.size)
    pools = rows[stable[rows]], rows[~stable[rows]]
    wanted = round((stable.mean() if fraction is None else fraction) * size)
    taken = min(max(wanted, size - pools[1].size), pools[0].size)
    if fraction is not None and taken != wanted:
        kinds = ("stable", "unstable") if taken < wanted else ("unstable", "stable")
        asked = wanted if taken < wanted else size - wanted
        warnings.warn(
            f"stable_fraction={fraction:g} asks for {asked} {kinds[0]} points in a sample of {size}, but there are "
            f"only {pools[0 if taken < wanted else 1].size}: the sample is filled up with {kinds[1]} ones.",
            UserWarning,
            stacklevel=3,
        )
    return np.sort(np.concatenate([pools[0][:taken], pools[1][: size - taken]]))


def _check_sample_size(sample_size: Any) -> None:
    """Raise unless ``sample_size`` is the default, a number of points or a share of them."""
    if isinstance(sample_size, str):
        if sample_size != DEFAULT_SIZE:
            raise ValueError(f"sample_size must be {DEFAULT_SIZE!r}, an integer or a share, got {sample_size!r}.")
    elif isinstance(sample_size, Integral):
        check_count(sample_size, "sample_size")
    elif check_number(sample_size, "sample_size", low=0.0) > 1.0:
        raise ValueError(f"sample_size={sample_size!r} is more than all points: use an integer for a number of points.")


def _size_of_sample(sample_size: Any, n: int, n_clusters: int) -> int:
    """Return the number of points to take of ``n``."""
    if isinstance(sample_size, str):
        size = round(2.0 * np.sqrt(n))
    elif isinstance(sample_size, Integral):
        size = int(sample_size)
    else:
        size = round(float(sample_size) * n)
    return min(max(size, n_clusters), n)


class Assigned(NamedTuple):
    """Points given to their nearest centres."""

    codes: IntArray
    """(n,) number of the nearest centre."""
    squared: FloatArray
    """(n,) squared distance from it."""


@dataclass(frozen=True)
class NearestCenters:
    """Distances from k centres, measured in the span of the centres and off it.

    In the span there are at most k - 1 coordinates, however many columns the data have.
    """

    diagram: PowerDiagram
    threads: int

    @classmethod
    def of(cls, centers: FloatArray, n_jobs: int | None = None) -> NearestCenters:
        """Prepare for centres (k, d). For few rows use ``n_jobs=1``: threads cost more than they save."""
        return cls(PowerDiagram(LinearEmbedding.of_sites(centers)), effective_threads(n_jobs))

    def assign(self, X: Rows) -> Assigned:
        """Find the nearest centre of each row of X (n, d)."""
        codes, squared = np.empty(X.shape[0], dtype=np.int64), np.empty(X.shape[0])
        for part in row_blocks(X.shape[0]):
            located = self.diagram.locate(X[part], self.threads)
            codes[part] = nearest_sites(self.diagram, located.position)
            squared[part] = self.diagram.divergences(located, codes[part])
        return Assigned(codes, squared)

    def squared_distances(self, X: Rows) -> FloatArray:
        """Return the squared distances (n, k) of rows of X from all centres."""
        k = self.diagram.positions.shape[0]
        out = np.empty((X.shape[0], k))
        for part in row_blocks(X.shape[0]):
            located = self.diagram.locate(X[part], self.threads)
            for i in range(k):
                out[part, i] = self.diagram.divergences(located, np.full(located.residual.shape, i))
        return out

    def extreme_rows(self, X: Rows) -> IntArray:
        """Return the rows of X that reach farthest, to either side, along the axes in which volume is measured.

        The box around these at most 2 (k - 1) rows is the box around all of X.
        """
        r = self.diagram.positions.shape[1]
        axes = np.arange(r)
        reach = np.full((2, r), -np.inf)
        rows = np.zeros((2, r), dtype=np.int64)
        for part in row_blocks(X.shape[0]):
            position = self.diagram.locate(X[part], self.threads).position
            for side, outwards in enumerate((-position, position)):
                farthest = outwards.argmax(axis=0)
                farther = outwards[farthest, axes] > reach[side]
                reach[side, farther] = outwards[farthest, axes][farther]
                rows[side, farther] = part.start + farthest[farther]
        # Coinciding centres span no axis at all; any row serves then.
        return np.unique(rows) if r else np.zeros(1, dtype=np.int64)


def check_squares(X: Rows) -> Rows:
    """Return X if squared distances of its rows can be computed."""
    values = X.data if is_sparse(X) else X
    if values.size and not max(float(values.max()), -float(values.min())) < _LARGEST:
        raise ValueError(f"X is too large to be squared: scale it down until no entry exceeds {_LARGEST:g}.")
    return X


def row_blocks(n: int) -> Iterator[slice]:
    """Yield slices that cover ``range(n)``."""
    return (slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK))


class Stability(NamedTuple):
    """What is kept of the affinities of n points."""

    stable: BoolArray
    """(n,) whether one centre gives more than half of the point's territory."""
    confidence: FloatArray
    """(n,) the largest affinity."""
    owner: IntArray
    """(n,) number of the centre with the largest affinity."""

    def take(self, rows: BoolArray) -> Stability:
        """Return what is known of some points."""
        kept: Any = (values[rows] for values in self)
        return Stability(*kept)

    def plus(self, other: Stability) -> Stability:
        """Return what is known of the points of both."""
        both: Any = zip(self, other, strict=True)
        return Stability(*map(np.concatenate, both))


@dataclass(frozen=True)
class StabilityTest:
    """How stability is measured: the parameters of :class:`AffinityScorer` that stay the same for all centres."""

    engine: Engine
    eps: float
    seed: int
    n_jobs: int | None
    verbose: Verbose

    @classmethod
    def of(cls, model: Any, seed: int) -> StabilityTest:
        """Check the parameters that an estimator has under these names."""
        return cls(
            ENGINES.resolve(model.engine),
            check_number(model.eps, "eps", low=LEAST_EPS, high=1.0, closed=True),
            seed,
            check_jobs(model.n_jobs),
            model.verbose,
        )

    def scorer(self, centers: FloatArray, extremes: Rows) -> AffinityScorer:
        """Return what scores rows with respect to centres (k, d), in the box around the rows ``extremes``."""
        return AffinityScorer(
            centers=centers,
            influence="euclidean",
            engine=self.engine,
            eps=self.eps,
            random_state=self.seed,
            n_jobs=self.n_jobs,
        ).fit(extremes)

    def measure(self, X: Rows, scorer: AffinityScorer) -> Stability:
        """Score rows of X (n, d), a block at a time."""
        n = X.shape[0]
        found = Stability(np.empty(n, dtype=bool), np.empty(n), np.empty(n, dtype=np.int64))
        with warnings.catch_warnings(), progress(n, "stability", self.verbose) as advance:
            # Affinities are not returned, so precision warnings are irrelevant.
            warnings.simplefilter("ignore", PrecisionWarning)
            for part in row_blocks(n):
                result = scorer.affinity(X[part])
                found.stable[part], found.confidence[part], found.owner[part] = (
                    result.stable,
                    result.ranks.largest,
                    result.owner,
                )
                advance(result.n_points)
        return found
