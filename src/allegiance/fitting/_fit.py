"""Fit to data in memory, in files or on many machines, in as few passes as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from allegiance._core.arithmetic import ExactSums
from allegiance._core.parallel import effective_threads, resolve_seed
from allegiance._core.parameters import Lazy
from allegiance._core.validation import (
    AnyArray,
    FloatArray,
    IntArray,
    Rows,
    check_centers,
    check_choice,
    check_jobs,
    check_number,
    dense,
    is_sparse,
)
from allegiance.calibration import Calibration, ContentSample, content_keys
from allegiance.domains import DOMAINS, Domain, Extent
from allegiance.engines import ENGINES, LEAST_EPS, Engine, Settings, Tessellation
from allegiance.influence import (
    INFLUENCES,
    Diagram,
    Euclidean,
    Influence,
    Located,
    SpreadSums,
    Weights,
    nearest_sites,
)
from allegiance.typicality import MemberDistances

from ._fitted import Fitted
from ._labels import Labels, check_classes, merge_classes, positions_of
from ._pipelines import Columns

REPRESENTATIVES = ("mean", "median", "medoid")
#: Rows per block when ranges are computed: few enough to stay in a cache.
_RANGE_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Specification:
    """The checked parameters of a scorer, with names resolved to objects."""

    influence: Influence
    weights: Weights | None
    representative: str
    domain: Domain
    engine: Engine
    settings: Settings
    calibration: Calibration | None
    centers: Any
    """(k, d) the user's representatives, not yet checked; None to compute them."""

    @classmethod
    def of(cls, scorer: Any) -> Specification:
        """Check the parameters of a scorer as far as possible without data."""
        check_choice(scorer.representative, "representative", REPRESENTATIVES)
        specification = cls(
            influence=INFLUENCES.resolve(scorer.influence),
            weights=Weights.resolve(scorer.weights),
            representative=scorer.representative,
            domain=DOMAINS.resolve(scorer.domain),
            engine=ENGINES.resolve(scorer.engine),
            settings=Settings(
                eps=check_number(scorer.eps, "eps", low=LEAST_EPS, high=1.0, closed=True),
                seed=resolve_seed(scorer.random_state),
                threads=effective_threads(check_jobs(scorer.n_jobs)),
                verbose=scorer.verbose,
            ),
            calibration=Calibration.resolve(scorer.calibration),
            centers=scorer.centers,
        )
        influence = specification.influence
        specification.domain.check_with(influence)
        if not influence.has_sites and (scorer.centers is not None or scorer.representative != "mean"):
            raise ValueError(
                f"influence={influence!r} represents clusters by their means in feature space: leave out centers and "
                "representative."
            )
        return specification

    def describe_influence(self) -> str:
        """Describe the influence of a fit, and its weights if any."""
        words = self.influence.describe()
        return words if self.weights is None else f"{words}, {self.weights.describe()}"


class Mergeable(Protocol):
    """A result for some training data that can be merged with that for other data."""

    def merge(self, other: Any) -> Self:
        """Return the result of a fit's pass over both parts of the training data."""


AnySummary = TypeVar("AnySummary", bound=Mergeable)


class Chunk(NamedTuple):
    """Some rows of the training data."""

    X: Any
    """(m, d) as read from the source."""
    labels: Any
    """(m,) as read from the source, or None."""
    start: int
    """The number of the first row in the whole data."""


class Chunks(Protocol):
    """Training data that a fit reads in several passes."""

    @property
    def n_features(self) -> int:
        """The number of columns of the chunks of a fit."""

    @property
    def has_labels(self) -> bool:
        """Whether the chunks of a fit come with labels."""

    def total(self, summarize: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Read the training data of a fit once, and merge the summaries of its chunks in order; None is left out."""


@dataclass(frozen=True)
class InMemory:
    """Checked and prepared training data (n, d) in memory, with labels if any: a single chunk."""

    X: Rows
    labels: Labels | None

    @property
    def n_features(self) -> int:
        """The number of columns of the chunks to fit to."""
        return int(self.X.shape[1])

    @property
    def has_labels(self) -> bool:
        """Whether the training data has labels."""
        return self.labels is not None

    def total(self, summarize: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Summarize the training data, which is one chunk."""
        total = summarize(Chunk(self.X, self.labels, 0))
        assert total is not None
        return total


def fit(
    specification: Specification, chunks: Chunks, columns: Columns, *, threads: int, clusterer: Any = None
) -> tuple[Fitted, LastPass]:
    """Fit to training data in chunks; the results of the last pass serve to score and calibrate the training points.

    Labeled data is read once for the clusters and their means; "within" reads it again for the covariance (twice
    above 128 columns), and weights take one more pass. The last pass computes the extent of the data, the distances of
    members from their representatives, and the calibration sample. The result does not depend on chunks or row order.

    ``threads`` is the number of threads that locate rows: one if chunks are processed in parallel. ``clusterer`` is the
    fitted estimator that labels new points; None for the nearest representative.
    """
    training = Training(specification, chunks, columns, threads)
    influence, domain = specification.influence, specification.domain
    diagram, located = influence.diagram(training, keep_axes=domain.keeps_axes)
    if specification.weights is not None:
        spread = training.read(partial(training.spread, diagram))
        diagram = specification.weights.apply(diagram, spread)
    # Unlabeled rows get the nearest center; weights move the borders between centers.
    by_nearest = not training.has_labels or (not training.comes_with_labels and specification.weights is not None)
    last = training.read(partial(training.last_pass, diagram, located, by_nearest))
    extent = last.extent.merge(Extent.of(diagram, diagram.positions, radius=domain.needs_radius))
    fitted = Fitted(
        specification=specification,
        columns=columns,
        tessellation=Tessellation(diagram, domain.region(diagram, extent)),
        classes=training.classes,
        centers=influence.restore(training.sites) if influence.has_sites else None,
        members=last.members,
        clusterer=clusterer,
    )
    _ = fitted.engine  # raises if the engine cannot measure this tessellation
    return fitted, last


class Training:
    """The data of a fit, read in passes on the workers that have it: what an influence may ask for."""

    classes: AnyArray
    """(k,) the label of each cluster."""
    sites: FloatArray
    """(k, d) representatives of the clusters, prepared."""
    has_labels: bool
    """Whether rows have clusters; if not, only ``sites`` are known."""

    def __init__(self, specification: Specification, chunks: Chunks, columns: Columns, threads: int) -> None:
        influence, centers = specification.influence, specification.centers
        self.specification, self.chunks, self.columns, self.threads = specification, chunks, columns, threads
        self.seed, self.comes_with_labels = specification.settings.seed, chunks.has_labels
        self.is_prepared = isinstance(chunks, InMemory)
        if influence.needs_labels and isinstance(chunks, InMemory) and chunks.X.shape[0] == 1:
            raise ValueError("X has 1 sample, but influence='within' needs several: use influence='euclidean'.")
        if specification.representative != "mean" and not self.is_prepared:
            raise ValueError(needs_memory(f"representative={specification.representative!r}"))
        self.user_sites = None if centers is None else check_centers(centers, chunks.n_features)
        if self.user_sites is None and not self.comes_with_labels:
            raise ValueError(
                "labels are missing: AffinityScorer requires y to be passed, but the target y is None. Pass labels, or "
                "centers, or an estimator that clusters, such as AffinityScorer(KMeans(10))."
            )
        self.sites = np.empty((0, chunks.n_features))
        if influence.has_sites and self.user_sites is not None:
            self.sites = influence.prepare(self.user_sites, "centers")
        self.has_labels = self.comes_with_labels or influence.needs_labels
        if not self.comes_with_labels and influence.needs_labels:
            self._nearest_center = Euclidean().diagram(self, keep_axes=False)[0]
            if isinstance(chunks, InMemory):
                self.chunks = InMemory(chunks.X, self.chunk_labels(Chunk(chunks.X, None, 0), chunks.X))
        self._clusters = self.read(self.first_pass) if self.has_labels else None
        if self._clusters is not None:
            n_centers = None if self.user_sites is None else self.user_sites.shape[0]
            self.classes = check_classes(self._clusters.classes, n_centers)
        elif self.user_sites is not None:
            self.classes = np.arange(self.user_sites.shape[0])
        self.n_clusters = self.classes.size
        if influence.has_sites and self.user_sites is None:
            assert self._clusters is not None
            if self._clusters.sums is not None:
                self.sites = self._clusters.sums.values / self._clusters.sizes[:, None]
            else:
                X, codes = self.in_memory("representative")
                self.sites = representatives(X, codes, self.n_clusters, specification.representative)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"chunks": None}

    def read(self, summarize: Callable[[Chunk, Rows], AnySummary]) -> AnySummary:
        """Read the training data once, and merge ``summarize(chunk, rows)``; rows (m, d) are as diagrams need them."""
        return self.chunks.total(partial(self._summarize_chunk, summarize))

    def _summarize_chunk(self, summarize: Callable[[Chunk, Rows], AnySummary], chunk: Chunk) -> AnySummary | None:
        """Return the summary of a chunk of a fit; None if it has no rows."""
        if chunk.X.shape[0] == 0:
            return None
        rows = chunk.X if self.is_prepared else self.specification.influence.prepare(self.columns.check(chunk.X))
        return summarize(chunk, rows)

    def chunk_labels(self, chunk: Chunk, rows: Rows) -> Labels:
        """Return the labels of a chunk of a fit; without labels, the nearest center by Euclidean distance."""
        if chunk.labels is None:
            nearest = nearest_sites(self._nearest_center, self._nearest_center.locate(rows, self.threads).position)
            return Labels.of(nearest, nearest.size)
        return chunk.labels if isinstance(chunk.labels, Labels) else Labels.of(chunk.labels, chunk.X.shape[0])

    def first_pass(self, chunk: Chunk, rows: Rows) -> _Clusters:
        """Return the clusters of a chunk, with sums and ranges of their members if needed: the first pass of a fit."""
        labels, influence = self.chunk_labels(chunk, rows), self.specification.influence
        classes = labels.classes
        codes, k = labels.codes(classes), classes.size
        needs_means = self.user_sites is None and influence.has_sites and self.specification.representative == "mean"
        return _Clusters(
            classes,
            np.bincount(codes[codes >= 0], minlength=k),
            ExactSums.of(rows, codes, k) if needs_means else None,
            _ranges(rows, codes, k) if influence.needs_labels else None,
        )

    def spread(self, diagram: Diagram, chunk: Chunk, rows: Rows) -> SpreadSums:
        """Return the sums over a chunk of training data from which the weights of clusters are computed."""
        located = diagram.locate(rows, self.threads)
        codes = self._codes(chunk, rows, diagram, located, not self.has_labels)
        # Noise gets the divergence from an arbitrary site, which is then ignored.
        return SpreadSums.of(codes, diagram.divergences(located, np.maximum(codes, 0)), self.n_clusters)

    def last_pass(
        self, diagram: Diagram, located: Located | None, by_nearest: bool, chunk: Chunk, rows: Rows
    ) -> LastPass:
        """Summarize a chunk for the last pass of a fit; its rows are located first unless ``located`` is passed."""
        calibration, k = self.specification.calibration, self.n_clusters
        places = located or diagram.locate(rows, self.threads)
        codes = self._codes(chunk, rows, diagram, places, by_nearest)
        limit = 0 if calibration is None else calibration.n_rows(k, rows.shape[1])
        keys = content_keys(rows) if limit else None

        def member_distances() -> MemberDistances:
            """Return the distances of the chunk's members from their sites, for the last pass of a fit."""
            distance = np.sqrt(diagram.divergences(places, np.maximum(codes, 0)))
            return MemberDistances.of(content_keys(rows) if keys is None else keys, codes, distance, k)

        summary = LastPass(
            Extent.of(diagram, places.position, radius=self.specification.domain.needs_radius),
            Lazy(member_distances) if self.is_prepared else Lazy.known(member_distances()),
            ContentSample.of(rows, codes, limit=limit, start=chunk.start, keys=keys) if limit else None,
        )
        return summary._replace(codes=codes, located=places) if self.is_prepared else summary

    def _codes(self, chunk: Chunk, rows: Rows, diagram: Diagram, located: Located, by_nearest: bool) -> IntArray:
        """Return the cluster numbers (m,) of a chunk of training data, from its labels or the nearest site."""
        if by_nearest:
            return nearest_sites(diagram, located.position, self.threads)
        return self.chunk_labels(chunk, rows).codes(self.classes)

    def largest_residuals(self) -> FloatArray:
        """(d,) bound on the distance between any row of the training data and its site in each column."""
        assert self._clusters is not None
        assert self._clusters.ranges is not None
        lower, upper = self._clusters.ranges
        sites = self.sites[positions_of(self._clusters.classes, self.classes)]
        return np.maximum(np.abs(upper - sites), np.abs(lower - sites)).max(axis=0)

    def total(self, summarize: Callable[[Rows, AnyArray], AnySummary]) -> AnySummary:
        """Read the training data of a fit once, and merge ``summarize(rows, codes)``."""
        return self.read(partial(self._with_codes, summarize))

    def _with_codes(self, summarize: Callable[[Rows, AnyArray], AnySummary], chunk: Chunk, rows: Rows) -> AnySummary:
        """Summarize a chunk of training data with the cluster numbers of its labels."""
        return summarize(rows, self.chunk_labels(chunk, rows).codes(self.classes))

    def in_memory(self, caller: str) -> tuple[Rows, AnyArray]:
        """Return all training rows (n, d) and cluster numbers (n,); ValueError if they are not in memory."""
        if not isinstance(self.chunks, InMemory) or self.chunks.labels is None:
            raise ValueError(needs_memory(caller))
        return self.chunks.X, self.chunks.labels.codes(self.classes)


def needs_memory(caller: str) -> str:
    """Return the error message for options of a fit that cannot be computed from data in chunks."""
    return (
        f"{caller} needs all rows in memory, but X comes in chunks: fit to a sample of the rows, or leave it out "
        "and pass labels or centers."
    )


class _Clusters(NamedTuple):
    """The clusters of labeled training rows, from the first pass of a fit."""

    classes: AnyArray
    """(k,) the distinct labels."""
    sizes: IntArray
    sums: ExactSums | None
    """(k, d) of the members; None if means are not needed."""
    ranges: tuple[FloatArray, FloatArray] | None
    """The minimum and maximum (k, d) over the members; None if not needed."""

    def merge(self, other: _Clusters) -> _Clusters:
        """Return the clusters of both sets of training rows."""
        classes = merge_classes(self.classes, other.classes)
        k, mine, theirs = classes.size, *(positions_of(each.classes, classes) for each in (self, other))
        sizes = np.zeros(k, np.int64)
        sizes[mine] += self.sizes
        sizes[theirs] += other.sizes
        sums = ranges = None
        if self.sums is not None and other.sums is not None:
            sums = self.sums.among(k, mine).merge(other.sums.among(k, theirs))
        if self.ranges is not None and other.ranges is not None:
            d = self.ranges[0].shape[1]
            ranges = np.full((k, d), np.inf), np.full((k, d), -np.inf)
            for places, (lower, upper) in ((mine, self.ranges), (theirs, other.ranges)):
                ranges[0][places] = np.minimum(ranges[0][places], lower)
                ranges[1][places] = np.maximum(ranges[1][places], upper)
        return _Clusters(classes, sizes, sums, ranges)


def _ranges(X: Rows, codes: AnyArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum (k, d) over the training members of each cluster; over all rows if X is sparse."""
    d = X.shape[1]
    if is_sparse(X):
        lower, upper = (np.asarray(side.todense(), np.float64).ravel() for side in (X.min(axis=0), X.max(axis=0)))
        return np.tile(lower, (k, 1)), np.tile(upper, (k, 1))
    lower, upper = np.full((k, d), np.inf), np.full((k, d), -np.inf)
    order = np.argsort(codes, kind="stable")
    for cluster, members in enumerate(np.split(order, np.searchsorted(codes[order], np.arange(k + 1)))[1:-1]):
        for start in range(0, members.size, _RANGE_ROWS):
            rows = X[members[start : start + _RANGE_ROWS]]
            lower[cluster] = np.minimum(lower[cluster], rows.min(axis=0))
            upper[cluster] = np.maximum(upper[cluster], rows.max(axis=0))
    return lower, upper


class LastPass(NamedTuple):
    """The results of the last pass of a fit."""

    extent: Extent
    members: Lazy[MemberDistances]
    sample: ContentSample | None
    """Rows to calibrate with; None without calibration."""
    codes: IntArray | None = None
    """(n,) cluster of each point, -1 for noise; None if they are not in memory."""
    located: Located | None = None
    """Positions of the points; None if they are not in memory."""

    def merge(self, other: LastPass) -> LastPass:
        """Return the results of the last pass over both sets of training rows."""
        return LastPass(
            self.extent.merge(other.extent),
            Lazy.known(self.members.value.merge(other.members.value)),
            None if self.sample is None or other.sample is None else self.sample.merge(other.sample),
        )


def representatives(X: Rows, codes: AnyArray, n_clusters: int, kind: str) -> FloatArray:
    """Return the representative (k, d) that a fit computes for each cluster of rows (n, d), dense or CSR.

    ``kind`` is "median" (per coordinate) or "medoid", the member with the smallest sum of distances to the other
    members, which compares all pairs inside a cluster.
    """
    if kind == "median" and is_sparse(X):
        raise TypeError(
            "representative='median' needs dense X: most coordinates of a sparse median are zero. Use 'mean'."
        )
    from sklearn.metrics import pairwise_distances_chunked

    centers = np.empty((n_clusters, X.shape[1]))
    for i in range(n_clusters):
        members = X[np.flatnonzero(codes == i)]
        if kind == "median":
            centers[i] = np.median(np.asarray(members, dtype=np.float64), axis=0)
        else:
            sums = [chunk.sum(axis=1) for chunk in pairwise_distances_chunked(members)]
            centers[i] = dense(members[[int(np.concatenate(sums).argmin())]])[0]
    return centers
