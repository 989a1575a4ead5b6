"""The fit of a Dask collection: each pass over it is one computation by Dask."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import require
from allegiance.fitting import Chunk, Columns, Specification, fit, needs_memory
from allegiance.influence import AnySummary

from ._partitions import Partitions
from ._score import predict_lazily, score_partitions

if TYPE_CHECKING:
    from allegiance import AffinityScorer


class DaskChunks:
    """Partitions as the chunks that a fit goes through."""

    in_memory = False

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions.with_lengths()
        self.n_features = partitions.n_features
        self.labelled = partitions.labels is not None

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Summarise each partition where it is, and merge neighbours, pair by pair."""
        delayed = require("dask", "dask", "a fit to a Dask collection").delayed
        # Each function is one node of the graph: it reaches a worker once, not with every partition.
        each, merge = delayed(_summarise, traverse=False), delayed(_merge, traverse=False)
        work = delayed(summarise, traverse=False)
        starts = np.cumsum([0, *self._partitions.lengths[:-1]]).astype(int).tolist()
        pairs = zip(self._partitions.pairs(), starts, strict=True)
        level = [each(work, rows, labels, start) for (rows, labels), start in pairs]
        while len(level) > 1:
            merged = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = merged + level[2 * len(merged) :]
        total: AnySummary | None = level[0].compute()
        if total is None:
            raise ValueError("X has no rows: all of its partitions are empty.")
        return total


def _summarise(work: Callable[[Chunk], Any], rows: Any, labels: Any, start: int) -> Any:
    return work(Chunk(rows, labels, start))


def _merge(first: AnySummary | None, second: AnySummary | None) -> AnySummary | None:
    if first is None or second is None:
        return second if first is None else first
    return first.plus(second)


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
    if scorer.estimator is not None:
        raise ValueError(needs_memory("estimator"))
    partitions = Partitions.of(X, labels)
    columns = Columns(partitions.n_features, partitions.names)
    # One thread: partitions run side by side already.
    found = fit(Specification.of(scorer), DaskChunks(partitions), columns, threads=1)
    fitted = found.fitted if found.sample is None else found.fitted.calibrated(found.sample)
    scorer._set_fitted(fitted)
    # Not computed: who needs them all has them already, or asks Dask.
    scorer.labels_ = predict_lazily(fitted, X) if labels is None else labels
    return scorer


def fit_affinity_lazily(
    scorer: AffinityScorer, X: Any, labels: Any, fit_params: dict[str, Any], top: int | None
) -> Any:
    """Fit, and return the lazy result for the points of the fit; see :meth:`AffinityScorer.fit_affinity`."""
    fit_lazily(scorer, X, labels, fit_params)
    return score_partitions(scorer.fitted_, Partitions.of(X, labels), top)
