"""The fitted object: all that scoring needs, in memory, on workers and in saved files."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allegiance._core.parameters import Lazy
from allegiance._core.validation import AnyArray, FloatArray, IntArray, Rows
from allegiance.calibration import TrustMap
from allegiance.engines import (
    Estimate,
    FittedEngine,
    PrecisionWarning,
    Tessellation,
    build_engine,
    measure,
    measure_blocks,
)
from allegiance.influence import Diagram, Influence, Located, nearest_sites
from allegiance.results import AffinityResult, FrameLike, Measurement, Ranks, join_results
from allegiance.typicality import MemberDistances, distance_and_closeness

from ._labels import NOISE, Labels, align, labels_of
from ._pipelines import Columns, without_feature_names

if TYPE_CHECKING:
    from ._fit import Specification

#: Rows labeled at a time, and scored at a time if only the largest affinities are stored.
_PART = 65_536


class PreparedInput(NamedTuple):
    """Points for a fitted object to score, after the transformers and the estimator, which may be third-party code."""

    rows: Rows
    """(n, d) as the diagram needs them."""
    codes: IntArray | None
    """(n,) cluster numbers, -1 for noise; None for the nearest cluster."""
    frame: FrameLike
    """The frame kind of the input."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The fitted object: a clustering as affine functions over a region, with statistics of its points."""

    specification: Specification
    columns: Columns
    """The columns of X, and the transformers before the clusterer if any."""
    tessellation: Tessellation
    classes: AnyArray
    """(k,) label of each cluster."""
    centers: FloatArray | None
    """(k, d) representatives, in the coordinates of (transformed) X; None for kernels."""
    members: Lazy[MemberDistances] | None = None
    """None if a model was saved without them."""
    trust_map: TrustMap | None = None
    """The result of calibration; None without it."""
    clusterer: Any = None
    """The fitted estimator that labels new points, after the transformers; None for the nearest representative."""
    baseline: Any = None
    """The drift profile of the reference period, if any."""

    @property
    def influence(self) -> Influence:
        """The influence of the fitted object, which defines closeness."""
        return self.specification.influence

    @property
    def diagram(self) -> Diagram:
        """The affine functions of the fitted object, one per cluster."""
        return self.tessellation.diagram

    @cached_property
    def engine(self) -> FittedEngine:
        """The engine of the fitted object, which measures affinities; built on first use."""
        specification = self.specification
        return build_engine(specification.engine, self.tessellation, specification.settings)

    def __getstate__(self) -> dict[str, Any]:
        # The engine can be rebuilt, and its samples would only enlarge the pickle.
        return {name: value for name, value in self.__dict__.items() if name != "engine"}

    def with_threads(self, threads: int = 1) -> Fitted:
        """Return a copy of the fitted object for one of several workers, with ``threads`` threads, without progress."""
        settings = replace(self.specification.settings, threads=threads, verbose=False)
        return replace(self, specification=replace(self.specification, settings=settings))

    def without_preprocessing(self) -> Fitted:
        """Return a copy of the fitted object for points that are already transformed."""
        return replace(self, columns=Columns(self.columns.n_prepared), clusterer=without_feature_names(self.clusterer))

    def locate(self, rows: Rows) -> Located:
        """Return the positions of rows (n, d) in the fitted diagram."""
        return self.diagram.locate(rows, self.specification.settings.threads)

    def _predict_codes(self, X: Any, n: int) -> IntArray | None:
        """Return the cluster numbers (n,) that the fitted estimator predicts for new points; None if it cannot."""
        clusterer = self.clusterer if hasattr(X, "columns") else without_feature_names(self.clusterer)
        if clusterer is None or not hasattr(clusterer, "predict"):
            return None
        # scikit-learn's k-means fails on rows whose precision differs from that of its centers.
        precision = getattr(getattr(clusterer, "cluster_centers_", None), "dtype", None)
        # In parts, since some estimators need much memory per row.
        codes = np.empty(n, np.int64)
        for start in range(0, n, _PART):
            part = slice(start, min(start + _PART, n))
            batch = X.iloc[part] if hasattr(X, "iloc") else X[part]
            if precision is not None and isinstance(batch, np.ndarray):
                batch = batch.astype(precision, copy=False)
            # Clusters without training members have no representative, so their points are scored as noise.
            codes[part] = Labels.of(clusterer.predict(batch), part.stop - start).codes(self.classes, unknown=NOISE)
        return codes

    def codes_of(self, points: PreparedInput, located: Located) -> IntArray:
        """Return the fitted clusters (n,) of points that passed :meth:`prepare_input`."""
        if points.codes is not None:
            return points.codes
        return nearest_sites(self.diagram, located.position, self.specification.settings.threads)

    def predict(self, X: Any) -> AnyArray:
        """Return the labels (n,) that the fitted object gives to new points (n, d)."""
        points = self.prepare_input(X)
        return labels_of(self.codes_of(points, self.locate(points.rows)), self.classes)

    def prepare_input(self, X: Any, labels: Any = None, *, named: bool = True) -> PreparedInput:
        """Prepare points (n, d) for the fitted object to score: apply its transformers and its estimator.

        ``labels`` are (n,), -1 for noise; with None the points are labeled as new points. ``named=False`` accepts an
        array in place of a frame, with the columns in training order.
        """
        columns = self.columns
        if not named:
            columns = Columns(columns.n_features, None, columns.preparation, columns.n_prepared)
        table, rows = columns.prepare(X)
        if labels is not None:
            codes: IntArray | None = Labels.of(align(X, labels), rows.shape[0]).codes(self.classes)
        else:
            # A clusterer that was fitted to arrays would warn about names.
            is_nameless = hasattr(self.clusterer, "n_features_in_") and not hasattr(self.clusterer, "feature_names_in_")
            codes = self._predict_codes(rows if is_nameless else table, rows.shape[0])
        return PreparedInput(self.influence.prepare(rows), codes, FrameLike.of(X))

    def score(self, X: Any, *, labels: Any = None, top: int | None = None) -> AffinityResult:
        """Score points with the fitted object, arguments as in :meth:`prepare_input`; keep ``top`` affinities."""
        return self.score_prepared(self.prepare_input(X, labels), top)

    def score_prepared(self, points: PreparedInput, top: int | None = None) -> AffinityResult:
        """Score points that were prepared by :meth:`prepare_input` of the fitted object."""
        n = points.rows.shape[0]
        # With top in parts, so that not even all coordinates (n, r) are in memory.
        size = max(n, 1) if top is None else _PART
        parts = []
        for start in range(0, max(n, 1), size):
            started, rows, part = time.perf_counter(), slice(start, start + size), points
            if n > size:
                codes = None if points.codes is None else points.codes[rows]
                part = PreparedInput(points.rows[rows], codes, points.frame)
            located = self.locate(part.rows)
            parts.append(self.score_located(located, self.codes_of(part, located), points.frame, started, top=top))
        return parts[0] if len(parts) == 1 else join_results(parts, points.frame)

    def score_located(
        self, located: Located, codes: IntArray, frame: FrameLike, started: float, *, top: int | None = None
    ) -> AffinityResult:
        """Measure located points of clusters ``codes`` (n,), -1 for noise, since ``time.perf_counter() == started``."""
        settings = self.specification.settings
        estimates: dict[str, Any]
        if top is None:
            estimate = measure(self.engine, self.tessellation, located.position, settings)
            estimates = {
                "affinity": estimate.affinity,
                "standard_error": estimate.standard_error,
                "_empty_cell": estimate.empty_cell,
                "_engine_codes": estimate.engine,
            }
        else:
            blocks = measure_blocks(self.engine, self.tessellation, located.position, settings)
            estimates = _largest_affinities(blocks, codes, self.classes, min(top, self.classes.size))
        return AffinityResult(
            label=labels_of(codes, self.classes),
            classes=self.classes,
            _residual=located.lazy_residual,
            _measurement=replace(self.measurement, seconds=time.perf_counter() - started),
            _codes=codes,
            _distances=Lazy(partial(distance_and_closeness, self.diagram, located, codes, settings.threads)),
            _members=self.members,
            _trust_map=self.trust_map,
            _frame_like=frame,
            **estimates,
        )

    def empty_result(self, frame: FrameLike, top: int | None) -> AffinityResult:
        """Return the result of a fitted object for no points at all."""
        located = Located(np.empty((0, self.tessellation.dim)), Lazy.known(np.empty(0)))
        return self.score_located(located, np.empty(0, dtype=np.int64), frame, time.perf_counter(), top=top)

    @cached_property
    def measurement(self) -> Measurement:
        """The settings with which the fitted object measures, for the record."""
        specification = self.specification
        return Measurement(
            influence=specification.describe_influence(),
            domain=specification.domain.describe(),
            engine=specification.engine.describe(),
            eps=specification.settings.eps,
            seed=specification.settings.seed,
            dim=self.tessellation.dim,
            n_features=self.columns.n_prepared,
            seconds=0.0,
        )

    def warn_if_imprecise(self, imprecise: int, n_points: int) -> None:
        """Warn once if some points that a fitted object scored did not reach the requested precision."""
        specification = self.specification
        if imprecise:
            warnings.warn(
                f"{imprecise} of {n_points} points did not reach eps={specification.settings.eps:g} within "
                f"max_samples={specification.engine.max_samples:,}: see standard_error, raise eps, or max_samples of "
                "the engine, as in engine=SharedSamples(max_samples=10**7).",
                PrecisionWarning,
                stacklevel=user_stacklevel(),
            )


def _largest_affinities(
    blocks: Iterable[tuple[slice, Estimate]], codes: IntArray, classes: AnyArray, top: int
) -> dict[str, Any]:
    """Return what a fitted object stores for ``top``: the largest affinities, the same numbers as in a full result."""
    n = codes.size
    cluster, shares, errors = np.empty((n, top), np.int64), np.empty((n, top)), np.empty((n, top))
    engines, empty = np.empty(n, np.uint8), np.empty(n, dtype=bool)
    ranks = [Ranks.of(np.empty((0, classes.size)), np.empty((0, classes.size)), codes[:0])]
    for rows, part in blocks:
        ranks.append(Ranks.of(part.affinity, part.standard_error, codes[rows]))
        cluster[rows, 0], shares[rows, 0], errors[rows, 0] = ranks[-1][:3]
        if top > 1:
            remaining, numbers = part.affinity.copy(), np.arange(part.affinity.shape[0])
            for rank in range(1, top):  # faster than sorting rows
                remaining[numbers, cluster[rows, rank - 1]] = -1.0
                cluster[rows, rank] = remaining.argmax(axis=1)
            shares[rows] = np.take_along_axis(part.affinity, cluster[rows], axis=1)
            errors[rows] = np.take_along_axis(part.standard_error, cluster[rows], axis=1)
        engines[rows], empty[rows] = part.engine, part.empty_cell
    return {
        "clusters": classes[cluster],
        "affinity": shares,
        "standard_error": errors,
        "_empty_cell": empty,
        "_engine_codes": engines,
        "_stored_ranks": Ranks(*map(np.concatenate, zip(*ranks, strict=True))),
    }


def user_stacklevel() -> int:
    """Return the ``stacklevel`` at which a warning of a fitted object names the line of the user's code."""
    frame: Any = inspect.currentframe()
    level = -1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("allegiance", "sklearn"):
        frame, level = frame.f_back, level + 1
    return level + 1
