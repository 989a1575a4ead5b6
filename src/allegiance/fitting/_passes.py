"""Fitting a scorer to data that comes in chunks: every number it needs is a sum, a least or a largest value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from sklearn.base import clone

from allegiance._core._typing import AnyArray, FloatArray, Rows
from allegiance._core._validation import NOISE, check_centers, check_classes, check_rows, check_sites, discrete_labels
from allegiance._scorer import AffinityScorer
from allegiance.domains import Polytope
from allegiance.domains._extent import Extent, extent_of, make_domain
from allegiance.engines import Scene
from allegiance.influence import BregmanDiagram, Diagram, LinearEmbedding, PowerDiagram
from allegiance.influence._parameters import WITHIN_NEEDS_LABELS, Influence, spread_sums
from allegiance.influence._scatter import WithinSums, scatter_sums, unit_of
from allegiance.influence._weights import SpreadSums
from allegiance.influence._whitening import ScaledCovariance

from ._labels import nearest_sites
from ._representatives import MeanSums, mean_sums


class Summary(Protocol):
    """Something computed from rows that can be merged with the same from other rows."""

    def plus(self, other: Any) -> Any:
        """Return what both sets of rows give together."""


AnySummary = TypeVar("AnySummary", bound=Summary)


class Chunks(Protocol):
    """Data that is never in memory as a whole."""

    n_features: int
    labelled: bool
    """Whether chunks come with labels."""

    def total(self, summarise: Callable[[Any, Any], AnySummary | None]) -> AnySummary:
        """Go once through the data, and merge ``summarise(X, labels)`` of all chunks but those that give None.

        X is (m, d), labels (m,) or None. Chunks are merged in their order.
        """


class Overview(NamedTuple):
    """What one pass says about rows: the range of each column, the labels, and the sums of their points."""

    lower: FloatArray
    upper: FloatArray
    classes: AnyArray
    """(c,) the labels seen, in order, noise left out."""
    sums: MeanSums

    def plus(self, other: Overview) -> Overview:
        """Return what both sets of rows give together."""
        try:
            classes = np.union1d(self.classes, other.classes) if self.classes.size else other.classes
        except TypeError as error:
            raise TypeError("labels must be of one kind: they mix types that cannot be compared.") from error
        if self.classes.size and other.classes.size and self.classes.dtype.kind != other.classes.dtype.kind:
            raise TypeError("labels must be of one kind: some chunks have names, others numbers.")
        mine, theirs = self._spread(classes, other), other._spread(classes, self)
        lower, upper = np.minimum(self.lower, other.lower), np.maximum(self.upper, other.upper)
        return Overview(lower, upper, classes, mine.plus(theirs))

    def _spread(self, classes: AnyArray, other: Overview) -> MeanSums:
        """Return the sums for all ``classes``, around the other's origin where this one has none."""
        k, d = classes.size, self.lower.size
        sizes, origin, sums = np.zeros(k), np.zeros((k, d)), np.zeros((k, d))
        origin[np.searchsorted(classes, other.classes)] = other.sums.origin
        own = np.searchsorted(classes, self.classes)
        sizes[own], origin[own], sums[own] = self.sums
        return MeanSums(sizes, origin, sums)


class Placed(NamedTuple):
    """Where points lie, and how far from the representatives of their clusters."""

    extent: Extent
    spread: SpreadSums | None

    def plus(self, other: Placed) -> Placed:
        """Return what both sets of rows give together."""
        spread = None if self.spread is None or other.spread is None else self.spread.plus(other.spread)
        return Placed(self.extent.plus(other.extent), spread)


@dataclass(frozen=True)
class _Reader:
    """Turns a chunk into checked and prepared rows."""

    scorer: AffinityScorer
    influence: Influence

    def rows(self, X: Any) -> Rows | None:
        if X.shape[0] == 0:
            return None
        return self.influence.prepare(check_rows(self.scorer, X, reset=False))


def fit_in_passes(scorer: AffinityScorer, chunks: Chunks, names: Any = None, *, threads: int = 1) -> AffinityScorer:
    """Fit a scorer to data in chunks, with as few passes as its settings allow, and return it.

    Labels need one pass for the means. The box needs another if its axes depend on the means: if there are no more
    clusters than columns, or with a ball, weights or a whitening. "within" needs one more for its covariance. With
    ``centers`` alone there is one pass for the box.

    Parameters
    ----------
    scorer
        Its settings; what only data in memory can serve is refused.
    chunks
        The data, with labels or with ``centers`` in the scorer.
    names
        (d,) names of the columns, if they have any.
    threads
        For locating rows; one if chunks are handled in parallel.
    """
    settings, influence = scorer._check_settings(), scorer._influence()
    _refuse_what_needs_all_rows(scorer)
    scorer._forget()
    scorer.n_features_in_ = chunks.n_features
    if names is not None:
        scorer.feature_names_in_ = np.array(names, dtype=object)
    reader = _Reader(_settings_only(scorer), influence)
    overview = chunks.total(partial(_look, reader)) if chunks.labelled else None
    classes, sites = _clusters(scorer, influence, overview)
    covariance = _covariance(chunks, reader, sites, overview, classes)
    diagram = influence.diagram_of(sites, covariance, keep_axes=isinstance(scorer.domain, Polytope))
    placed = _place(scorer, chunks, reader, diagram, overview, classes, threads)
    if placed.spread is not None:
        diagram = influence.weighted_by(diagram, placed.spread)
    scene = Scene(diagram, make_domain(scorer.domain, float(scorer.margin), diagram, placed.extent))
    scorer._install(scene, settings, influence, classes, sites)
    return scorer


def _refuse_what_needs_all_rows(scorer: AffinityScorer) -> None:
    reasons = {
        "estimator": scorer.estimator is not None,
        "kernel": scorer.kernel is not None,
        "representative": scorer.representative != "mean",
        "leave_one_out": bool(scorer.leave_one_out),
    }
    refused = [name for name, given in reasons.items() if given]
    if refused:
        raise ValueError(
            f"{refused[0]} needs all rows in memory, but X comes in chunks: fit to a sample of the rows, or leave it "
            "out and pass labels or centers."
        )


def _settings_only(scorer: AffinityScorer) -> AffinityScorer:
    """Return a copy that knows its columns but is not fitted: what checking a chunk needs, and cheap to send away."""
    copy: AffinityScorer = clone(scorer)
    copy.n_features_in_ = scorer.n_features_in_
    if hasattr(scorer, "feature_names_in_"):
        copy.feature_names_in_ = scorer.feature_names_in_
    return copy


def _look(reader: _Reader, X: Any, labels: Any) -> Overview | None:
    rows = reader.rows(X)
    if rows is None:
        return None
    values, noise = discrete_labels(labels, rows.shape[0])
    classes, member = np.unique(values[~noise], return_inverse=True)
    codes = np.full(rows.shape[0], NOISE, dtype=np.int64)
    codes[~noise] = member
    lower, upper = (np.asarray(end, dtype=np.float64) for end in (rows.min(axis=0), rows.max(axis=0)))
    if classes.size == 0:
        empty = MeanSums(np.zeros(0), np.zeros((0, lower.size)), np.zeros((0, lower.size)))
        return Overview(lower, upper, classes, empty)
    return Overview(lower, upper, classes, mean_sums(rows, codes, classes.size))


def _clusters(scorer: AffinityScorer, influence: Influence, overview: Overview | None) -> tuple[AnyArray, FloatArray]:
    """Return the labels (k,) of the clusters, and their representatives (k, d)."""
    if scorer.centers is not None:
        centers = check_centers(scorer.centers, scorer.n_features_in_)
        sites = check_sites(influence.prepare(centers, "centers"))
        k = sites.shape[0]
        return (np.arange(k) if overview is None else check_classes(overview.classes, k)), sites
    if overview is None:
        raise ValueError("labels are missing: pass labels, or centers.")
    return check_classes(overview.classes, None), check_sites(overview.sums.means)


def _covariance(
    chunks: Chunks, reader: _Reader, sites: FloatArray, overview: Overview | None, classes: AnyArray
) -> ScaledCovariance | None:
    if not reader.influence.is_within:
        return None
    if overview is None:
        raise ValueError(WITHIN_NEEDS_LABELS)
    reach = np.maximum(overview.upper - sites.min(axis=0), sites.max(axis=0) - overview.lower)
    unit = unit_of(reach)
    sums = chunks.total(partial(_scatter, reader, classes, sites, unit))
    return sums.covariance(sites, reader.influence.shrinkage, unit)


def _scatter(
    reader: _Reader, classes: AnyArray, sites: FloatArray, unit: FloatArray, X: Any, labels: Any
) -> WithinSums | None:
    rows = reader.rows(X)
    return None if rows is None else scatter_sums(rows, _codes(labels, classes, rows.shape[0]), sites, unit)


def _codes(labels: Any, classes: AnyArray, n_rows: int) -> AnyArray:
    """Return the cluster (n,) of each row, -1 for noise."""
    values, noise = discrete_labels(labels, n_rows)
    return np.where(noise, NOISE, np.searchsorted(classes, values))


def _place(
    scorer: AffinityScorer,
    chunks: Chunks,
    reader: _Reader,
    diagram: Diagram,
    overview: Overview | None,
    classes: AnyArray,
    threads: int,
) -> Placed:
    """Find the extent of the data in the coordinates of the diagram, and if there are weights the spread."""
    weighted = scorer.weights is not None
    if not weighted and not isinstance(scorer.domain, str):
        return Placed(extent_of(scorer.domain, diagram, diagram.positions), None)
    if not weighted and scorer.domain == "box" and overview is not None and _keeps_axes(diagram):
        # Coordinates are those of X, scaled and shifted: the extreme points are the images of the extreme points.
        corners = diagram.locate(np.stack([overview.lower, overview.upper])).position
        return Placed(extent_of(scorer.domain, diagram, corners), None)
    known = classes if chunks.labelled else None
    return chunks.total(partial(_put, reader, scorer.domain, diagram, known, weighted, threads))


def _put(
    reader: _Reader,
    domain: Any,
    diagram: Diagram,
    classes: AnyArray | None,
    weighted: bool,
    threads: int,
    X: Any,
    labels: Any,
) -> Placed | None:
    rows = reader.rows(X)
    if rows is None:
        return None
    located = diagram.locate(rows, threads)
    extent = extent_of(domain, diagram, located.position)
    if not weighted:
        return Placed(extent, None)
    if classes is None:
        codes = nearest_sites(diagram, located.position)
    else:
        codes = _codes(labels, classes, rows.shape[0])
    return Placed(extent, spread_sums(diagram, located, codes))


def _keeps_axes(diagram: Diagram) -> bool:
    """Tell whether every coordinate of the diagram is one of X, scaled and shifted."""
    if isinstance(diagram, BregmanDiagram):
        return diagram.axes is None
    if isinstance(diagram, PowerDiagram) and isinstance(diagram.embedding, LinearEmbedding):
        reduction = diagram.embedding.reduction
        return reduction.basis is None and reduction.whitening is None
    return False
