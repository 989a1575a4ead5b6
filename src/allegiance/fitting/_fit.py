"""One fit for data in memory, in files and on many machines, in as few passes as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

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
from allegiance.calibration import Calibration, ContentSample, MemberDistances, as_clusterer, content_keys
from allegiance.domains import DOMAINS, Domain, Extent
from allegiance.engines import ENGINES, LEAST_EPS, Engine, Settings, Tessellation
from allegiance.influence import INFLUENCES, AnySummary, Diagram, Influence, Located, SpreadSums, Weights, Within

from ._fitted import Fitted, nearest_sites
from ._inputs import Columns
from ._labels import Labels, check_classes, merged_classes, positions_of

REPRESENTATIVES = ("mean", "median", "medoid")
#: Rows, and entries, converted to float64 at a time.
_CHUNK, _ENTRIES = 8192, 2**19


@dataclass(frozen=True, eq=False)
class Specification:
    """The parameters of a scorer, checked and with every name turned into its object."""

    influence: Influence
    weights: Weights | None
    representative: str
    domain: Domain
    engine: Engine
    settings: Settings
    calibration: Calibration | None
    centers: Any
    """(k, d) the user's own representatives, not checked; None to compute them."""

    @classmethod
    def of(cls, scorer: Any) -> Specification:
        """Check the parameters of a scorer that can be checked without data."""
        if scorer.estimator is not None:
            as_clusterer(scorer.estimator, "estimator")
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
                f"influence={influence!r} represents clusters by their means in its own space: leave out centers and "
                "representative."
            )
        return specification

    def describe_influence(self) -> str:
        """Say in a few words what closeness means, weights included."""
        words = self.influence.describe()
        return words if self.weights is None else f"{words}, {self.weights.describe()}"


class Chunk(NamedTuple):
    """Some rows of the data."""

    X: Any
    """(m, d) as the source gave them."""
    labels: Any
    """(m,) as the source gave them, or None."""
    start: int
    """The number of the first row in the whole data."""


class Chunks(Protocol):
    """Data that a fit reads as often as it needs to."""

    @property
    def n_features(self) -> int:
        """The number of columns."""

    @property
    def labelled(self) -> bool:
        """Whether chunks come with labels."""

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Read the data once, and merge the summaries of chunks in their order; None is left out."""


@dataclass(frozen=True)
class InMemory:
    """Checked and prepared rows (n, d) in memory, with their labels if they have any: a single chunk."""

    X: Rows
    labels: Labels | None

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @property
    def labelled(self) -> bool:
        """Whether there are labels."""
        return self.labels is not None

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Summarise the one chunk."""
        total = summarise(Chunk(self.X, self.labels, 0))
        assert total is not None
        return total


class Fit(NamedTuple):
    """A fitted object, and what scoring the points of the fit can reuse."""

    fitted: Fitted
    codes: IntArray | None
    """(n,) cluster of each point, -1 for noise; None if they are not in memory."""
    located: Located | None
    """Where the points are; None if they are not in memory."""
    sample: ContentSample | None
    """Rows to calibrate with; None without calibration."""


def fit(
    specification: Specification,
    chunks: Chunks,
    columns: Columns,
    *,
    threads: int,
    clusterer: Any = None,
) -> Fit:
    """Fit to data in chunks.

    The means need a first pass over labelled data, "within" one more for its covariance. A last pass finds the extent
    of the data, the distances of members from their representatives, the sums behind weights, and the rows to
    calibrate with.

    ``threads`` locate rows: one if chunks are handled in parallel. ``clusterer`` is a fitted estimator that labels new
    points; None for the nearest representative.
    """
    training = _Training(specification, chunks, columns, threads)
    influence, domain = specification.influence, specification.domain
    diagram, located = influence.diagram(training, keep_axes=domain.keeps_axes)
    calibration = specification.calibration
    last = chunks.total(
        partial(
            _last_pass,
            reader=training.reader,
            diagram=diagram,
            classes=training.classes if training.labelled else None,
            weighted=specification.weights is not None,
            needs_radius=domain.needs_radius,
            sample_rows=0 if calibration is None else calibration.n_rows(training.n_clusters, chunks.n_features),
            threads=threads,
            located=located,
        )
    )
    if specification.weights is not None:
        assert last.spread is not None
        diagram = specification.weights.apply(diagram, last.spread)
    extent = last.extent.plus(Extent.of(diagram, diagram.positions, radius=domain.needs_radius))
    fitted = Fitted(
        specification=specification,
        columns=columns,
        tessellation=Tessellation(diagram, domain.region(diagram, extent)),
        classes=training.classes,
        centers=influence.restore(training.sites) if influence.has_sites else None,
        members=last.members,
        clusterer=clusterer,
    )
    _ = fitted.engine  # raises if the engine cannot measure here
    codes = last.codes
    if specification.weights is not None and not chunks.labelled and last.located is not None:
        # Weights move the borders between the centres.
        codes = nearest_sites(diagram, last.located.position, threads)
    return Fit(fitted, codes, last.located, last.sample)


@dataclass(frozen=True)
class _Reader:
    """Turns a chunk into rows as the diagram needs them, and labels into cluster numbers."""

    columns: Columns
    influence: Influence
    checked: bool
    """Whether the rows are checked and prepared, as those in memory are."""
    centers: FloatArray | None = None
    """(k, d) whose nearest one labels a row, by Euclidean distance; None if rows have labels, or need none."""

    def rows(self, chunk: Chunk) -> Rows | None:
        """Return the rows (m, d) of a chunk; None if it is empty."""
        if chunk.X.shape[0] == 0:
            return None
        return chunk.X if self.checked else self.influence.prepare(self.columns.check(chunk.X))

    def labels(self, chunk: Chunk) -> Labels:
        """Return the labels of a chunk."""
        if self.centers is not None:
            from sklearn.metrics import pairwise_distances_argmin

            nearest = pairwise_distances_argmin(self.rows(chunk), self.centers)
            return Labels.of(nearest, nearest.size)
        return chunk.labels if isinstance(chunk.labels, Labels) else Labels.of(chunk.labels, chunk.X.shape[0])


class _Training:
    """The data of a fit as an influence sees it: the :class:`allegiance.influence.Training` of all sources."""

    def __init__(self, specification: Specification, chunks: Chunks, columns: Columns, threads: int) -> None:
        self.specification, self.chunks, self.threads = specification, chunks, threads
        self.seed = specification.settings.seed
        centers, influence = specification.centers, specification.influence
        given = None if centers is None else check_centers(centers, chunks.n_features)
        nearest = given if not chunks.labelled and isinstance(influence, Within) else None
        self.labelled = chunks.labelled or nearest is not None
        self.reader = _Reader(columns, influence, isinstance(chunks, InMemory), nearest)
        if given is None and not chunks.labelled:
            raise ValueError(
                "labels are missing: pass labels (y in fit), or centers, or an estimator that clusters, such as "
                "AffinityScorer(KMeans(10))."
            )
        if isinstance(influence, Within) and isinstance(chunks, InMemory) and chunks.X.shape[0] == 1:
            raise ValueError("X has 1 sample, but influence='within' needs several: use influence='euclidean'.")
        by_sums = specification.representative == "mean"
        if not by_sums and not isinstance(chunks, InMemory):
            raise ValueError(needs_memory(f"representative={specification.representative!r}"))
        needs_sums = given is None and influence.has_sites and by_sums
        self._first = chunks.total(partial(_first_pass, self.reader, needs_sums)) if self.labelled else None
        if self._first is not None:
            self.classes = check_classes(self._first.classes, None if given is None else given.shape[0])
        elif given is not None:
            self.classes = np.arange(given.shape[0])
        self.n_clusters = self.classes.size
        self._sites = self._representatives(given)

    def _representatives(self, given: FloatArray | None) -> FloatArray | None:
        influence = self.specification.influence
        if not influence.has_sites:
            return None
        if given is not None:
            return influence.prepare(given, "centers")
        assert self._first is not None
        if self._first.sums is not None:
            return self._first.sums.means
        X, codes = self.in_memory("representative")
        return representatives(X, codes, self.n_clusters, self.specification.representative)

    @property
    def sites(self) -> FloatArray:
        """(k, d) representatives of the clusters, prepared."""
        assert self._sites is not None
        return self._sites

    def total(self, summarise: Callable[[Rows, AnyArray], AnySummary]) -> AnySummary:
        """Read the data once, and merge ``summarise(rows, codes)``."""
        return self.chunks.total(partial(_with_codes, self.reader, self.classes, summarise))

    def in_memory(self, wanted_by: str) -> tuple[Rows, AnyArray]:
        """Return all rows (n, d) and their clusters (n,), or raise ValueError if they are not in memory."""
        if not isinstance(self.chunks, InMemory) or self.chunks.labels is None:
            raise ValueError(needs_memory(wanted_by))
        return self.chunks.X, self.chunks.labels.codes(self.classes)


def needs_memory(wanted_by: str) -> str:
    """Say that something cannot be computed from data in chunks."""
    return (
        f"{wanted_by} needs all rows in memory, but X comes in chunks: fit to a sample of the rows, or leave it out "
        "and pass labels or centers."
    )


def _with_codes(
    reader: _Reader, classes: AnyArray, summarise: Callable[[Rows, AnyArray], AnySummary], chunk: Chunk
) -> AnySummary | None:
    rows = reader.rows(chunk)
    return None if rows is None else summarise(rows, reader.labels(chunk).codes(classes))


class _FirstPass(NamedTuple):
    """The clusters of labelled rows."""

    classes: AnyArray
    """The distinct labels (k,)."""
    sums: MeanSums | None
    """Over the members of each; None if means are not needed."""

    def plus(self, other: _FirstPass) -> _FirstPass:
        """Return the same of both sets of rows."""
        classes = merged_classes(self.classes, other.classes)
        sums = None
        if self.sums is not None and other.sums is not None:
            mine, theirs = positions_of(self.classes, classes), positions_of(other.classes, classes)
            sums = self.sums.among(classes.size, mine).plus(other.sums.among(classes.size, theirs))
        return _FirstPass(classes, sums)


def _first_pass(reader: _Reader, needs_sums: bool, chunk: Chunk) -> _FirstPass | None:
    rows = reader.rows(chunk)
    if rows is None:
        return None
    labels = reader.labels(chunk)
    classes = labels.classes
    return _FirstPass(classes, mean_sums(rows, labels.codes(classes), classes.size) if needs_sums else None)


class _LastPass(NamedTuple):
    """What the last pass finds."""

    extent: Extent
    members: Lazy[MemberDistances]
    spread: SpreadSums | None
    sample: ContentSample | None
    codes: IntArray | None = None
    located: Located | None = None

    def plus(self, other: _LastPass) -> _LastPass:
        """Return the same of both sets of rows."""
        return _LastPass(
            self.extent.plus(other.extent),
            Lazy.known(self.members.value.plus(other.members.value)),
            None if self.spread is None or other.spread is None else self.spread.plus(other.spread),
            None if self.sample is None or other.sample is None else self.sample.plus(other.sample),
        )


def _last_pass(
    chunk: Chunk,
    *,
    reader: _Reader,
    diagram: Diagram,
    classes: AnyArray | None,
    weighted: bool,
    needs_radius: bool,
    sample_rows: int,
    threads: int,
    located: Located | None,
) -> _LastPass | None:
    """Locate the rows of a chunk, unless that is done; without ``classes`` they belong to the nearest site."""
    rows = reader.rows(chunk)
    if rows is None:
        return None
    located = located or diagram.locate(rows, threads)
    if classes is None:
        codes = nearest_sites(diagram, located.position, threads)
    else:
        codes = reader.labels(chunk).codes(classes)
    # Noise belongs to no cluster; its divergence is computed from any site and then left out.
    site = np.maximum(codes, 0)
    keys = content_keys(rows) if sample_rows else None
    members = Lazy(partial(_member_distances, diagram, located, codes, rows, keys))
    if not reader.checked:
        members = Lazy.known(members.value)
    k = diagram.positions.shape[0]
    found = _LastPass(
        Extent.of(diagram, located.position, radius=needs_radius),
        members,
        SpreadSums.of(codes, diagram.divergences(located, site), k) if weighted else None,
        ContentSample.of(rows, codes, limit=sample_rows, start=chunk.start, keys=keys) if sample_rows else None,
    )
    return found._replace(codes=codes, located=located) if reader.checked else found


def _member_distances(diagram: Diagram, located: Located, codes: IntArray, rows: Rows, keys: Any) -> MemberDistances:
    distance = np.sqrt(diagram.divergences(located, np.maximum(codes, 0)))
    keys = content_keys(rows) if keys is None else keys
    return MemberDistances.of(keys, codes, distance, diagram.positions.shape[0])


def representatives(X: Rows, codes: AnyArray, n_clusters: int, kind: str) -> FloatArray:
    """Return a representative (k, d) of each cluster of rows (n, d), dense or CSR; every cluster has a member.

    ``kind`` is "median" (coordinate by coordinate), or "medoid", the member with the smallest sum of distances to the
    others, for which all pairs inside a cluster are compared.
    """
    if kind == "median" and is_sparse(X):
        raise TypeError(
            "representative='median' needs dense X: most coordinates of a sparse median are zero. Use 'mean'."
        )
    chosen = np.empty((n_clusters, X.shape[1]))
    for i in range(n_clusters):
        members = X[np.flatnonzero(codes == i)]
        if kind == "median":
            chosen[i] = np.median(np.asarray(members, dtype=np.float64), axis=0)
        else:
            chosen[i] = dense(members[[_medoid(members)]])[0]
    return chosen


def _medoid(members: Rows) -> int:
    from sklearn.metrics import pairwise_distances_chunked

    sums = [chunk.sum(axis=1) for chunk in pairwise_distances_chunked(members)]
    return int(np.concatenate(sums).argmin())


class MeanSums(NamedTuple):
    """Sums from which means follow, around an origin in each cluster, so that a large common offset rounds nothing."""

    sizes: FloatArray
    """(k,) numbers of points."""
    origin: FloatArray
    """(k, d)"""
    sums: FloatArray
    """(k, d) of the points less the origin."""

    @property
    def means(self) -> FloatArray:
        """The means (k, d)."""
        return self.origin + self.sums / self.sizes[:, None]

    def plus(self, other: MeanSums) -> MeanSums:
        """Return the sums over both sets of points, around the origin of this one where it has members."""
        origin = np.where(self.sizes[:, None] > 0, self.origin, other.origin)
        moved = other.sums + other.sizes[:, None] * (other.origin - origin)
        return MeanSums(self.sizes + other.sizes, origin, self.sums + moved)

    def among(self, k: int, places: AnyArray) -> MeanSums:
        """Return the same sums among k clusters, of which these have the numbers ``places``; the others are empty."""
        spread = MeanSums(*(np.zeros((k, *part.shape[1:])) for part in self))
        for part, mine in zip(spread, self, strict=True):
            part[places] = mine
        return spread


def mean_sums(X: Rows, codes: AnyArray, n_clusters: int) -> MeanSums:
    """Sum the members of each cluster of rows (n, d) in float64; ``codes`` (n,) are -1 for noise."""
    n, d = X.shape
    if is_sparse(X) or n_clusters == 0:
        origin = np.zeros((n_clusters, d))
    else:
        first = np.array([np.argmax(codes == i) for i in range(n_clusters)])
        origin = np.asarray(X[first], dtype=np.float64)
    sums = np.zeros((n_clusters, d))
    sizes = np.zeros(n_clusters)
    size = min(_CHUNK, max(1, _ENTRIES // d))
    for start in range(0, n, size):
        part = codes[start : start + size]
        members = np.flatnonzero(part >= 0)
        part = part[members]
        indicator = sp.csr_array((np.ones(part.size), (part, np.arange(part.size))), shape=(n_clusters, part.size))
        rows = X[start : start + size][members]
        if not is_sparse(rows):
            rows = np.asarray(rows, dtype=np.float64) - origin[part]
        sums += dense(indicator @ rows)
        sizes += np.bincount(part, minlength=n_clusters)
    return MeanSums(sizes, origin, sums)
