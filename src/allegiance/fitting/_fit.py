"""The one fit: from data in memory, in a file or on many machines to a fitted object, in as few passes as possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray, Lazy, Rows, check_centers, check_sites, dense
from allegiance.calibration import ContentSample, MemberDistances
from allegiance.domains import Extent
from allegiance.engines import Tessellation
from allegiance.influence import AnySummary, Diagram, Located, SpreadSums

from ._chunks import Chunk, Chunks, Reader
from ._clusterer import nearest_sites
from ._columns import Columns, PreparedColumns
from ._fitted import Fitted
from ._labels import check_classes, merged_classes, positions_of
from ._representatives import MeanSums, mean_sums, representatives
from ._specification import Specification


class Fit(NamedTuple):
    """A fitted object, and what scoring the points of the fit can reuse."""

    fitted: Fitted
    codes: IntArray | None
    """(n,) cluster of each point, -1 for noise; None if they are not in memory."""
    located: Located | None
    """Where the points are; None if they are not in memory."""
    sample: ContentSample | None
    """Rows to calibrate with; None if calibration was not asked for."""


def fit(
    specification: Specification,
    chunks: Chunks,
    columns: Columns | PreparedColumns,
    *,
    threads: int,
    clusterer: Any = None,
) -> Fit:
    """Fit to data in chunks.

    Labels need a pass for the means, "within" one more for its covariance. A last pass finds how far the data reaches,
    how far members lie from their representatives, the sums behind weights, and the rows to calibrate with.

    Parameters
    ----------
    specification
        What is asked for.
    chunks
        The data: rows, and labels unless there are ``centers``.
    columns
        The columns that the data has.
    threads
        For locating rows; one if chunks are handled in parallel.
    clusterer
        A fitted estimator that labels new points; None for the nearest representative.
    """
    training = _Training(specification, chunks, columns, threads)
    diagram, located = specification.influence.diagram(training, keep_axes=specification.domain.keeps_axes)
    placed = training.place(diagram, located)
    if specification.weights is not None:
        assert placed.spread is not None
        diagram = specification.weights.apply(diagram, placed.spread)
    extent = placed.extent.plus(Extent.of(diagram, diagram.positions, radius=specification.domain.needs_radius))
    tessellation = Tessellation(diagram, specification.domain.region(diagram, extent))
    fitted = Fitted(
        specification=specification,
        columns=columns,
        tessellation=tessellation,
        classes=training.classes,
        centers=specification.influence.restore(training.sites) if specification.influence.has_sites else None,
        members=placed.members,
        clusterer=clusterer,
    )
    fitted.check_engine()
    codes = placed.codes
    if specification.weights is not None and not chunks.labelled and placed.located is not None:
        # Weights move the borders between the centres.
        codes = nearest_sites(diagram, placed.located.position, threads)
    return Fit(fitted, codes, placed.located, placed.sample)


class Range(NamedTuple):
    """Smallest and largest value (d,) of each column."""

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, rows: Rows) -> Range:
        """Return the range of rows (m, d), dense or sparse."""
        ends = (rows.min(axis=0), rows.max(axis=0))
        return cls(*(dense(end).ravel() for end in ends))

    def plus(self, other: Range) -> Range:
        """Return the range of both sets of rows."""
        return Range(np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper))


class _Overview(NamedTuple):
    """What one pass says about labelled rows."""

    classes: AnyArray
    """The distinct labels (k,)."""
    sums: MeanSums | None
    """Over the members of each; None if means are not needed."""
    range: Range | None
    """Of the columns; None if it is not needed."""

    def plus(self, other: _Overview) -> _Overview:
        """Return what both sets of rows give together."""
        classes = merged_classes(self.classes, other.classes)
        sums = None
        if self.sums is not None and other.sums is not None:
            mine, theirs = positions_of(self.classes, classes), positions_of(other.classes, classes)
            sums = self.sums.among(classes.size, mine).plus(other.sums.among(classes.size, theirs))
        span = None if self.range is None or other.range is None else self.range.plus(other.range)
        return _Overview(classes, sums, span)


class _Placed(NamedTuple):
    """What the last pass finds."""

    extent: Extent
    members: Lazy[MemberDistances]
    spread: SpreadSums | None
    sample: ContentSample | None
    codes: IntArray | None = None
    located: Located | None = None

    def plus(self, other: _Placed) -> _Placed:
        """Return what both sets of rows give together."""
        spread = None if self.spread is None or other.spread is None else self.spread.plus(other.spread)
        sample = None if self.sample is None or other.sample is None else self.sample.plus(other.sample)
        return _Placed(
            self.extent.plus(other.extent), Lazy.known(self.members.value.plus(other.members.value)), spread, sample
        )


@dataclass(frozen=True)
class _Placing:
    """Places the rows of a chunk in a diagram."""

    reader: Reader
    diagram: Diagram
    classes: AnyArray | None
    """None if rows belong to the nearest site."""
    weighted: bool
    needs_radius: bool
    sample_rows: int
    seed: int
    threads: int
    located: Located | None
    """Where the rows are, if they are all in memory and that is known already."""

    def __call__(self, chunk: Chunk) -> _Placed | None:
        rows = self.reader.rows(chunk)
        if rows is None:
            return None
        located = self.located or self.diagram.locate(rows, self.threads)
        if self.classes is None:
            codes = nearest_sites(self.diagram, located.position, self.threads)
        else:
            codes = self.reader.codes(chunk, self.classes)
        k = self.diagram.positions.shape[0]
        # Noise belongs to no cluster; its divergence is computed from any site and then left out.
        site = np.maximum(codes, 0)
        members = Lazy(partial(_member_distances, self.diagram, located, codes, self.seed, chunk.start))
        if not self.reader.checked:
            members = Lazy.known(members.value)
        sample = None
        if self.sample_rows:
            sample = ContentSample.of(rows, codes, limit=self.sample_rows, start=chunk.start)
        placed = _Placed(
            Extent.of(self.diagram, located.position, radius=self.needs_radius),
            members,
            SpreadSums.of(codes, self.diagram.divergences(located, site), k) if self.weighted else None,
            sample,
        )
        return placed._replace(codes=codes, located=located) if self.reader.checked else placed


def _member_distances(diagram: Diagram, located: Located, codes: IntArray, seed: int, start: int) -> MemberDistances:
    distance = diagram.distances(located, np.maximum(codes, 0))
    return MemberDistances.of(codes, distance, diagram.positions.shape[0], seed=seed, start=start)


class _Training:
    """The data of a fit as an influence sees it: the :class:`allegiance.influence.Training` of all sources."""

    def __init__(
        self, specification: Specification, chunks: Chunks, columns: Columns | PreparedColumns, threads: int
    ) -> None:
        self.specification, self.chunks, self.threads = specification, chunks, threads
        self.seed = specification.settings.seed
        self.labelled = chunks.labelled
        self.reader = Reader(columns, specification.influence, checked=chunks.in_memory)
        centers = specification.centers
        given = None if centers is None else check_centers(centers, chunks.n_features)
        if given is None and not chunks.labelled:
            raise ValueError(
                "labels are missing: pass labels (y in fit), or centers, or an estimator that clusters, such as "
                "AffinityScorer(KMeans(10))."
            )
        self._refuse_what_needs_all_rows()
        needs_sums = given is None and specification.influence.has_sites and self._by_sums
        self._overview = chunks.total(partial(_look, self.reader, needs_sums)) if chunks.labelled else None
        if self._overview is not None:
            self.classes = check_classes(self._overview.classes, None if given is None else given.shape[0])
        elif given is not None:
            self.classes = np.arange(given.shape[0])
        self.n_clusters = self.classes.size
        self._sites = self._representatives(given)

    @property
    def _by_sums(self) -> bool:
        return self.specification.representative == "mean"

    def _refuse_what_needs_all_rows(self) -> None:
        specification = self.specification
        if self.chunks.in_memory or specification.representative == "mean":
            return
        raise ValueError(needs_memory(f"representative={specification.representative!r}"))

    def _representatives(self, given: FloatArray | None) -> FloatArray | None:
        influence = self.specification.influence
        if not influence.has_sites:
            return None
        if given is not None:
            return check_sites(influence.prepare(given, "centers"))
        assert self._overview is not None
        with np.errstate(over="ignore", invalid="ignore"):
            if self._overview.sums is not None:
                return check_sites(self._overview.sums.means)
            X, codes = self.in_memory("representative")
            return check_sites(representatives(X, codes, self.n_clusters, self.specification.representative))

    @property
    def sites(self) -> FloatArray:
        """(k, d) representatives of the clusters, prepared."""
        assert self._sites is not None
        return self._sites

    @property
    def reach(self) -> FloatArray:
        """(d,) an upper bound, by column, of the distance of rows from the sites."""
        assert self._overview is not None
        assert self._overview.range is not None
        lower, upper = self._overview.range
        return np.maximum(upper - self.sites.min(axis=0), self.sites.max(axis=0) - lower)

    def total(self, summarise: Callable[[Rows, AnyArray], AnySummary]) -> AnySummary:
        """Go once through the data, and merge ``summarise(rows, codes)``."""
        return self.chunks.total(partial(_with_codes, self.reader, self.classes, summarise))

    def in_memory(self, wanted_by: str) -> tuple[Rows, AnyArray]:
        """Return all rows (n, d) and their clusters (n,), or raise ValueError if they are not in memory."""
        if not self.chunks.in_memory:
            raise ValueError(needs_memory(wanted_by))
        everything: _Everything = self.chunks.total(partial(_keep, self.reader, self.classes))
        return everything

    def place(self, diagram: Diagram, located: Located | None) -> _Placed:
        """Go once more through the data, now that the diagram is known."""
        calibration = self.specification.calibration
        placing = _Placing(
            reader=self.reader,
            diagram=diagram,
            classes=self.classes if self.chunks.labelled else None,
            weighted=self.specification.weights is not None,
            needs_radius=self.specification.domain.needs_radius,
            sample_rows=0 if calibration is None else calibration.n_rows(self.n_clusters, self.chunks.n_features),
            seed=self.seed,
            threads=self.threads,
            located=located,
        )
        return self.chunks.total(placing)


class _Everything(NamedTuple):
    """All rows and their clusters."""

    rows: Rows
    codes: AnyArray

    def plus(self, other: Any) -> _Everything:
        """Refuse: all rows come in one piece, or not at all."""
        raise TypeError("rows in memory are a single chunk")


def needs_memory(wanted_by: str) -> str:
    """Say that something cannot be had from data in chunks."""
    return (
        f"{wanted_by} needs all rows in memory, but X comes in chunks: fit to a sample of the rows, or leave it out "
        "and pass labels or centers."
    )


def _look(reader: Reader, needs_sums: bool, chunk: Chunk) -> _Overview | None:
    rows = reader.rows(chunk)
    if rows is None:
        return None
    labels = reader.labels(chunk)
    classes = labels.classes
    # Numbers too large to be added are found out when the means are checked.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = mean_sums(rows, labels.codes(classes), classes.size) if needs_sums else None
    return _Overview(classes, sums, Range.of(rows) if reader.influence.uses_reach else None)


def _with_codes(
    reader: Reader, classes: AnyArray, summarise: Callable[[Rows, AnyArray], AnySummary], chunk: Chunk
) -> AnySummary | None:
    rows = reader.rows(chunk)
    return None if rows is None else summarise(rows, reader.codes(chunk, classes))


def _keep(reader: Reader, classes: AnyArray, chunk: Chunk) -> _Everything:
    return _Everything(reader.rows(chunk), reader.codes(chunk, classes))
