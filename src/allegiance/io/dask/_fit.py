"""The sums of a fit as Dask reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allegiance._core import require
from allegiance._scorer import AffinityScorer
from allegiance.fitting import AnySummary, fit_in_passes

from ._partitions import Partitions
from ._score import predict_lazily, score_partitions


class DaskChunks:
    """Partitions as the chunks that :func:`fit_in_passes` goes through; each pass is one computation by Dask."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self.n_features = partitions.n_features
        self.labelled = partitions.labels is not None

    def total(self, summarise: Callable[[Any, Any], AnySummary | None]) -> AnySummary:
        """Summarise each partition where it is, and merge neighbours, pair by pair."""
        delayed = require("dask", "dask", "a fit to a Dask collection").delayed
        # Each function is one node of the graph: it reaches a worker once, not with every partition.
        each, merge = delayed(summarise, traverse=False), delayed(_merge, traverse=False)
        level = [each(rows, labels) for rows, labels in self._partitions.pairs()]
        while len(level) > 1:
            merged = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = merged + level[2 * len(merged) :]
        total: AnySummary | None = level[0].compute()
        if total is None:
            raise ValueError("X has no rows: all of its partitions are empty.")
        return total


def _merge(first: AnySummary | None, second: AnySummary | None) -> AnySummary | None:
    if first is None or second is None:
        return second if first is None else first
    merged: AnySummary = first.plus(second)
    return merged


def fit_lazily(scorer: AffinityScorer, X: Any, labels: Any, fit_params: dict[str, Any]) -> AffinityScorer:
    """Fit ``scorer`` to a Dask array or frame X (n, d); the sums are computed now, the data stays where it is.

    Parameters
    ----------
    scorer
        Its settings.
    X
        The rows.
    labels
        (n,) their labels, a Dask collection or not; None if the scorer has centers.
    fit_params
        Must be empty: there is no estimator to pass them to.
    """
    if fit_params:
        raise TypeError(f"fit got {', '.join(sorted(fit_params))}, but there is no estimator to pass it to.")
    partitions = Partitions.of(X, labels)
    fit_in_passes(scorer, DaskChunks(partitions), partitions.names)
    # Not computed: who needs them all has them already, or asks Dask.
    scorer.labels_ = predict_lazily(scorer, X) if labels is None else labels
    return scorer


def fit_affinity_lazily(
    scorer: AffinityScorer, X: Any, labels: Any, fit_params: dict[str, Any], top: int | None
) -> Any:
    """Fit, and return the lazy result for the points of the fit; see :meth:`AffinityScorer.fit_affinity`."""
    fit_lazily(scorer, X, labels, fit_params)
    return score_partitions(scorer, Partitions.of(X, labels), top, of_the_fit=True)
