"""Record batches in, record batches with their scores out, here or on other processes."""

from __future__ import annotations

import copy
import pickle
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import NOISE, AnyArray, Membership, check_rows, discrete_labels, require
from allegiance._scorer import AffinityScorer
from allegiance.fitting import labels_of
from allegiance.io.tables import TableError
from allegiance.results import FrameLike

from ._rows import labels_in, matrix_of

#: Batches on their way to an executor and back: enough that none of a few dozen workers waits.
_IN_FLIGHT = 64
#: But no more bytes than this: they lie in memory, here and at the scheduler.
_BYTES_IN_FLIGHT = 2**29


class ScoredBatch(NamedTuple):
    """The scores of a record batch, after the columns that are kept, and how many of its points are imprecise."""

    batch: Any
    imprecise: int


class BatchScorer:
    """Scores record batches.

    Parameters
    ----------
    scorer
        A fitted scorer.
    columns
        The columns that hold the features.
    keep
        The columns to carry over.
    labels
        The column that holds the labels of the points; None labels them as new points.
    top
        How many of the largest affinities to keep; None for all.
    where
        What to call the table in messages.
    """

    def __init__(
        self,
        scorer: AffinityScorer,
        columns: list[str],
        keep: list[str],
        labels: str | None,
        top: int | None,
        where: str,
    ) -> None:
        # Columns are found by name already; without its own names the scorer takes plain arrays without a warning.
        self._scorer = copy.copy(scorer)
        if hasattr(scorer, "feature_names_in_"):
            del self._scorer.feature_names_in_
        self._columns, self._keep, self._labels, self._top, self._where = columns, keep, labels, top, where

    def __call__(self, batch: Any, first: int) -> ScoredBatch:
        """Score a batch whose first row is number ``first`` of the table."""
        arrow = require("pyarrow", "io", "score_stream")
        rows = matrix_of(batch, self._columns, first, self._where)
        rows = self._scorer._fitted_influence.prepare(check_rows(self._scorer, rows, reset=False))
        label = None if self._labels is None else self._own_labels(labels_in(batch, self._labels, first, self._where))
        result = self._scorer._score_rows(rows, FrameLike(), self._top, label)
        scores = result.columns()
        twice = [name for name in self._keep if name in scores]
        if twice:
            raise TableError(f"keep names {twice[0]!r}, which is also a column of scores: rename it in the source.")
        arrays = [batch.column(name) for name in self._keep] + [arrow.array(values) for values in scores.values()]
        scored = arrow.RecordBatch.from_arrays(arrays, names=[*self._keep, *scores])
        return ScoredBatch(scored, self._scorer._scoring().n_imprecise(result))

    def _own_labels(self, values: AnyArray) -> AnyArray:
        """Return labels (m,) as those of a fit come back: names or whole numbers, noise as -1."""
        classes = self._scorer.classes_
        found, noise = discrete_labels(values, values.shape[0])
        unknown = np.setdiff1d(found[~noise], classes)
        if unknown.size:
            raise TableError(
                f"column {self._labels!r} of {self._where} holds {unknown[0].item()!r}, which is no cluster of the "
                "scorer: score with the labels it was fitted to."
            )
        return labels_of(Membership(classes, np.where(noise, NOISE, np.searchsorted(classes, found))))

    def __reduce__(self) -> Any:
        # Of the scorer only its state travels: the rest is built again where it arrives, for one thread.
        state = self._scorer.to_dict()
        state["params"] = state["params"] | {"n_jobs": 1, "verbose": False}
        inner = getattr(self._scorer, "estimator_", None)
        return _rebuild, (state, inner, self._columns, self._keep, self._labels, self._top, self._where)


def _rebuild(state: dict[str, Any], inner: Any, *settings: Any) -> BatchScorer:
    scorer = AffinityScorer.from_dict(state)
    if inner is not None:
        scorer.estimator_ = inner
    return BatchScorer(scorer, *settings)


@cache
def _arrived(packed: bytes) -> BatchScorer:
    """Return the scorer that was sent, built once for all batches that come with the same bytes."""
    scorer: BatchScorer = pickle.loads(packed)
    return scorer


def _score_there(packed: bytes, batch: Any, first: int) -> ScoredBatch:
    return _arrived(packed)(batch, first)


def score_batches(
    batches: Iterator[tuple[int, Any]], score: BatchScorer, executor: Executor | None, times: dict[str, float]
) -> Iterator[ScoredBatch]:
    """Yield the scores of batches, given with the numbers of their first rows, in their order.

    Adds the seconds spent waiting for batches and scores to ``times``.
    """
    packed = b"" if executor is None else pickle.dumps(score)
    waiting: deque[tuple[Any, int]] = deque()
    in_flight = 0
    more = True
    while more or waiting:
        clock = time.perf_counter()
        found = next(batches, None) if more else None
        times["reading"] += time.perf_counter() - clock
        more = found is not None
        clock = time.perf_counter()
        ready: list[ScoredBatch] = []
        if found is not None:
            first, batch = found
            if executor is None:
                ready.append(score(batch, first))
            else:
                waiting.append((executor.submit(_score_there, packed, batch, first), batch.nbytes))
                in_flight += batch.nbytes
        while waiting and (not more or len(waiting) >= _IN_FLIGHT or in_flight > _BYTES_IN_FLIGHT):
            future, size = waiting.popleft()
            ready.append(future.result())
            in_flight -= size
            if more:
                break
        times["scoring"] += time.perf_counter() - clock
        yield from ready
