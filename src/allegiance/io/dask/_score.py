"""Scores of Dask collections: the fitted state goes to the partitions, never the data to the scorer."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from allegiance._core import NOISE, AnyArray, Membership, Rows, check_rows, discrete_labels, require
from allegiance._scorer import AffinityScorer
from allegiance.fitting import labels_of, nearest_sites
from allegiance.influence import Located
from allegiance.results import AffinityResult, FrameLike, TopAffinityResult

from ._lazy_result import LazyAffinityResult
from ._partitions import Partitions


def affinity_lazily(scorer: AffinityScorer, X: Any, top: int | None) -> Any:
    """Return the lazy result of scoring a Dask array or frame X (n, d); see :meth:`AffinityScorer.affinity`."""
    return score_partitions(scorer, Partitions.of(X), top, of_the_fit=False)


def predict_lazily(scorer: AffinityScorer, X: Any) -> Any:
    """Return the labels (n,) of a Dask array or frame X (n, d) as a Dask array."""
    array = require("dask.array", "dask", "predict of a Dask collection")
    partitions = Partitions.of(X)
    label = _delayed(_predict)
    node = _ship(scorer)
    parts = [label(node, rows) for rows in partitions.rows]
    dtype = scorer.classes_.dtype
    return array.concatenate(
        [
            array.from_delayed(part, (length,), dtype=dtype)
            for part, length in zip(parts, partitions.lengths, strict=True)
        ]
    )


def score_partitions(
    scorer: AffinityScorer, partitions: Partitions, top: int | None, *, of_the_fit: bool
) -> LazyAffinityResult:
    """Return the lazy result of scoring partitions.

    Parameters
    ----------
    scorer
        A fitted scorer; its state is what is sent to the workers.
    partitions
        The rows, with their labels if they have any.
    top
        How many of the largest affinities to keep; None for all.
    of_the_fit
        Whether these are the points of the fit, with the labels they had there.
    """
    if partitions.n_features != scorer.n_features_in_:
        raise ValueError(
            f"X has {partitions.n_features} features, but AffinityScorer is expecting {scorer.n_features_in_} features "
            "as input."
        )
    score = _delayed(partial(_score_partition, top=top, of_the_fit=of_the_fit))
    node = _ship(scorer)
    parts = [score(node, rows, labels) for rows, labels in partitions.pairs()]
    nothing = _nothing(scorer, FrameLike(), top)
    return LazyAffinityResult(parts, partitions.lengths, nothing, scorer._scoring())


def _delayed(function: Any) -> Any:
    return require("dask", "dask", "scoring a Dask collection").delayed(function, traverse=False)


def _ship(scorer: AffinityScorer) -> Any:
    """Return the scorer as a node of the graph: rebuilt from its state once where partitions are scored."""
    state = scorer.to_dict()
    # Partitions run side by side already.
    state["params"] = state["params"] | {"n_jobs": 1, "verbose": False}
    return _delayed(partial(_rebuild, state, getattr(scorer, "estimator_", None)))()


def _rebuild(state: dict[str, Any], estimator: Any) -> AffinityScorer:
    scorer = AffinityScorer.from_dict(state)
    if estimator is not None:
        scorer.estimator_ = estimator
    return scorer


def _score_partition(
    scorer: AffinityScorer, X: Any, labels: Any, top: int | None, of_the_fit: bool
) -> AffinityResult | TopAffinityResult:
    frame = FrameLike.of(X)
    if X.shape[0] == 0:
        return _nothing(scorer, frame, top)
    rows = _rows(scorer, X)
    label = _labels_of_the_fit(scorer, rows, labels) if of_the_fit else None
    return scorer._score_rows(rows, frame, top, label)


def _predict(scorer: AffinityScorer, X: Any) -> AnyArray:
    return scorer.predict(X) if X.shape[0] else scorer.classes_[:0]


def _rows(scorer: AffinityScorer, X: Any) -> Rows:
    return scorer._fitted_influence.prepare(check_rows(scorer, X, reset=False))


def _labels_of_the_fit(scorer: AffinityScorer, rows: Rows, labels: Any) -> AnyArray:
    """Return the labels (n,) that the points of the fit have: their own, or without any the nearest site's."""
    if labels is None:
        diagram = scorer._scene.diagram
        return scorer.classes_[nearest_sites(diagram, diagram.locate(rows).position)]
    values, noise = discrete_labels(labels, rows.shape[0])
    codes = np.where(noise, NOISE, np.searchsorted(scorer.classes_, values))
    return labels_of(Membership(scorer.classes_, codes))


def _nothing(scorer: AffinityScorer, frame: FrameLike, top: int | None) -> AffinityResult | TopAffinityResult:
    """Return the result of no points."""
    located = Located(np.empty((0, scorer._scene.dim)), np.empty(0))
    return scorer._scoring().score(located, scorer.classes_[:0], frame, time.perf_counter(), top)
