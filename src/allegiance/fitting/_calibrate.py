"""Calibrate trust for a fitted clustering: sample, clusterer, and trust map."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, IntArray, is_sparse
from allegiance.calibration import Calibration, ContentSample, fit_trust_map, is_pairwise, replicate, stand_in, take
from allegiance.results import AffinityResult, FrameLike

from ._fitted import Fitted, user_stacklevel
from ._pipelines import has_pipeline, last_estimator, without_wrappers


def calibrate_fitted(
    fitted: Fitted,
    sample: ContentSample | None,
    result: AffinityResult | None = None,
    *,
    estimator: Any = None,
    X: Any = None,
) -> Fitted:
    """Calibrate a fitted object: return it with trust, estimated from a sample of the training points, if any.

    ``result`` has the scores of all training points, and ``X`` (n, d) is the user's input, if known. ``estimator`` is
    the clusterer of the labels, which is refitted as a whole; None if unknown.
    """
    if sample is None:
        return fitted
    specification, places = fitted.specification, sample.positions()
    calibration, settings = specification.calibration, specification.settings
    assert calibration is not None
    sampled_rows: IntArray | slice = sample.numbers
    if result is None:
        started, sampled_rows = time.perf_counter(), slice(None)
        result = fitted.score_located(fitted.locate(sample.rows), sample.codes, FrameLike(), started, top=1)
    known = calibration.clusterer if calibration.clusterer is not None else estimator
    rows, clusterer = _rows_and_clusterer(fitted, sample, places, known, X)
    assert fitted.members is not None
    farthest, distance = fitted.members.value.farthest, result._distance[sampled_rows]
    inner = distance[sample.codes >= 0]
    usual = float(np.sqrt((inner**2).mean())) if inner.size else 0.0
    trust_map = fit_trust_map(
        calibration.without_clusterer(),
        rows,
        sample.codes[places],
        result.own_affinity[sampled_rows][places],
        result._closeness[sampled_rows][places],
        reach=np.where(farthest > 0.0, farthest, usual),
        clusterer=clusterer,
        made_labels=estimator is not None,
        others=_stand_ins(fitted, sample.codes),
        groups=_of_rows(calibration.groups, "groups", sample, places),
        weights=_of_rows(calibration.sample_weight, "sample_weight", sample, places),
        n_total=sample.total,
        seed=settings.seed,
        threads=settings.threads,
        verbose=settings.verbose,
    )
    if trust_map.warning is not None:
        warnings.warn(trust_map.warning, UserWarning, stacklevel=user_stacklevel())
    return replace(fitted, trust_map=trust_map)


def _rows_and_clusterer(fitted: Fitted, sample: ContentSample, places: IntArray, known: Any, X: Any) -> tuple[Any, Any]:
    """Return the rows to re-cluster for calibration, and the clusterer; None if it is unknown."""
    influence = fitted.specification.influence
    restored = influence.restore(sample.rows) if influence.has_sites else sample.rows
    if known is None:
        return restored[places], None
    clusterer = without_wrappers(known)
    is_transformed = fitted.columns.preparation is not None
    if X is None or (is_transformed and not has_pipeline(clusterer) and not is_pairwise(clusterer)):
        # The transformers, which stay fixed, have already been applied to these rows.
        return restored[places], last_estimator(clusterer) if is_transformed else clusterer
    table = X.tocsr() if is_sparse(X) else X if hasattr(X, "columns") else np.asarray(X)
    rows = sample.numbers[places]
    return table[np.ix_(rows, rows)] if is_pairwise(clusterer) else take(table, rows), clusterer


def _stand_ins(fitted: Fitted, codes: IntArray) -> list[tuple[str, Any]]:
    """Return the names and stand-in clusterers that the influence suggests for calibrating labels of unknown origin."""
    clusterer = fitted.specification.influence.clusterer(np.unique(codes[codes >= 0]).size)
    return [] if clusterer is None else [(type(clusterer).__name__, clusterer)]


def score_by_calibration(fitted: Fitted, X: Any) -> float:
    """Return the replication above chance of a fitted clustering's labels of X, as calibration finds it."""
    settings = fitted.specification.settings
    calibration = fitted.specification.calibration or Calibration()
    points = fitted.prepare_input(X)
    rows, codes = points.rows, fitted.codes_of(points, fitted.locate(points.rows))
    sample = ContentSample.of(rows, codes, limit=calibration.n_rows(fitted.classes.size, rows.shape[1]))
    places = sample.positions()
    known = calibration.clusterer if calibration.clusterer is not None else fitted.clusterer
    repeated, known = _rows_and_clusterer(fitted, sample, places, known, None)
    if known is None:
        others = _stand_ins(fitted, sample.codes)
        known = stand_in(repeated, sample.codes[places], n_total=codes.size, others=others).clusterer
    replication = replicate(
        repeated, sample.codes[places], known, calibration=calibration, seed=settings.seed,
        threads=settings.threads, n_total=codes.size, verbose=settings.verbose,
    )  # fmt: skip
    return float(replication.above_chance.mean())


def _of_rows(values: Any, name: str, sample: ContentSample, places: IntArray) -> AnyArray | None:
    """Return the entries of a user's array (n,) for the rows sampled for calibration."""
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (sample.total,):
        raise ValueError(f"{name} has shape {array.shape} but X has {sample.total} rows: pass one entry per row.")
    return array[sample.numbers[places]]
