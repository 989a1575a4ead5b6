"""Scores of Dask collections: the fitted object goes to the partitions, never the data to it."""

from __future__ import annotations

from functools import partial
from typing import Any

from allegiance._core import AnyArray, require
from allegiance.fitting import Fitted
from allegiance.results import AffinityResult, FrameLike

from ._lazy_result import LazyAffinityResult
from ._partitions import Partitions


def affinity_lazily(fitted: Fitted, X: Any, top: int | None) -> Any:
    """Return the lazy result of scoring a Dask array or frame X (n, d); see :meth:`AffinityScorer.affinity`."""
    return score_partitions(fitted, Partitions.of(X), top)


def predict_lazily(fitted: Fitted, X: Any) -> Any:
    """Return the labels (n,) of a Dask array or frame X (n, d) as a Dask array."""
    array = require("dask.array", "dask", "predict of a Dask collection")
    partitions = Partitions.of(X)
    label, node = _delayed(_predict), _ship(fitted)
    return array.concatenate(
        [
            array.from_delayed(label(node, rows), (length,), dtype=fitted.classes.dtype)
            for rows, length in zip(partitions.rows, partitions.lengths, strict=True)
        ]
    )


def score_partitions(fitted: Fitted, partitions: Partitions, top: int | None) -> LazyAffinityResult:
    """Return the lazy result of scoring partitions.

    Parameters
    ----------
    fitted
        What is sent to the workers.
    partitions
        The rows, with their labels if they have any.
    top
        How many of the largest affinities to keep; None for all.
    """
    n_features = fitted.columns.n_features
    # Transformers find the columns they need by name, and say themselves which are missing.
    by_name = fitted.columns.preparation is not None and partitions.names is not None
    if partitions.n_features != n_features and not by_name:
        raise ValueError(
            f"X has {partitions.n_features} features, but AffinityScorer is expecting {n_features} features as input."
        )
    score, node = _delayed(partial(_score_partition, top=top)), _ship(fitted)
    parts = [score(node, rows, labels) for rows, labels in partitions.pairs()]
    return LazyAffinityResult(parts, partitions.lengths, fitted.nothing(FrameLike(), top), fitted)


def _delayed(function: Any) -> Any:
    return require("dask", "dask", "scoring a Dask collection").delayed(function, traverse=False)


def _ship(fitted: Fitted) -> Any:
    """Return the fitted object as a node of the graph: unpacked once where partitions are scored."""
    return _delayed(partial(_unpacked, fitted.with_threads()))()


def _unpacked(fitted: Fitted) -> Fitted:
    return fitted


def _score_partition(fitted: Fitted, X: Any, labels: Any, top: int | None) -> AffinityResult:
    return fitted.score(X, labels=labels, top=top) if X.shape[0] else fitted.nothing(FrameLike.of(X), top)


def _predict(fitted: Fitted, X: Any) -> AnyArray:
    return fitted.predict(X) if X.shape[0] else fitted.classes[:0]
