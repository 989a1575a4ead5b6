"""Record batches in, record batches with their scores out, here or on other processes."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from functools import cache
from typing import Any, NamedTuple

from allegiance._core import require
from allegiance.fitting import Fitted
from allegiance.io import TableError
from allegiance.results import FrameLike, Result, Tally

from ._rows import frame_of, labels_in, matrix_of

#: Batches on their way to an executor and back: enough that none of a few dozen workers waits.
_IN_FLIGHT = 64
#: But no more bytes than this: they lie in memory, here and at the scheduler.
_BYTES_IN_FLIGHT = 2**29
#: Where a record batch of scores says what its rows add up to.
_TALLY, _IMPRECISE = b"allegiance.tally", b"allegiance.imprecise"


class ScoredRows(NamedTuple):
    """What scored rows add up to."""

    tally: Tally
    imprecise: int
    """How many did not reach the precision asked for."""

    @classmethod
    def noted_on(cls, batch: Any, fitted: Fitted) -> ScoredRows:
        """Read what :class:`BatchScorer` noted on a batch."""
        noted = batch.schema.metadata
        return cls(Tally.from_json(noted[_TALLY], fitted.classes, fitted.trust_map), int(noted[_IMPRECISE]))

    def plus(self, other: ScoredRows) -> ScoredRows:
        """Return what both sets of rows add up to."""
        return ScoredRows(self.tally.plus(other.tally), self.imprecise + other.imprecise)


class BatchScorer:
    """Scores record batches, and notes on each what its rows add up to.

    Parameters
    ----------
    fitted
        What scores.
    columns
        The columns that hold the features.
    keep
        The columns to carry over, and what they are called in the output.
    labels
        The column that holds the labels of the points; None labels them as new points.
    top
        How many of the largest affinities to keep; None for all.
    details
        Whether to write all scores, or those that a person reads.
    where
        What to call the table in messages.
    """

    def __init__(
        self,
        fitted: Fitted,
        columns: list[str],
        keep: dict[str, str],
        labels: str | None,
        top: int | None,
        details: bool,
        where: str,
    ) -> None:
        self._fitted = fitted
        if fitted.columns.preparation is None:
            # Columns are found by name already; without names plain arrays are taken without a warning.
            self._fitted = fitted.bare()
        self._columns, self._keep, self._labels = columns, keep, labels
        self._top, self._details, self._where = top, details, where

    def __call__(self, batch: Any, first: int) -> Any:
        """Score a batch whose first row is number ``first`` of the table."""
        arrow = require("pyarrow", "io", "score_stream")
        result = self._scores(batch, first)
        scores = result.columns(details=self._details)
        twice = [name for name in self._keep.values() if name in scores]
        if twice:
            raise TableError(f"keep names {twice[0]!r}, which is also a column of scores: rename it in the source.")
        arrays = [batch.column(name) for name in self._keep] + [arrow.array(values) for values in scores.values()]
        scored = arrow.RecordBatch.from_arrays(arrays, names=[*self._keep.values(), *scores])
        imprecise = str(self._fitted.n_imprecise(result))
        return scored.replace_schema_metadata({_TALLY: result.tally().to_json(), _IMPRECISE: imprecise})

    def _scores(self, batch: Any, first: int) -> Result:
        if not batch.num_rows:
            return self._fitted.nothing(FrameLike(), self._top)
        rows = self._rows(batch, first)
        labels = None if self._labels is None else labels_in(batch, self._labels, first, self._where)
        try:
            return self._fitted.score(rows, labels=labels, top=self._top)
        except ValueError as error:
            beside = "" if self._labels is None else f", with labels in column {self._labels!r}"
            last = first + rows.shape[0] - 1
            raise TableError(f"rows {first:,} to {last:,} of {self._where}{beside}: {error}") from error

    def _rows(self, batch: Any, first: int) -> Any:
        """Return the features of a batch: numbers, or a frame for transformers that know columns by their names."""
        if self._fitted.columns.preparation is None or self._fitted.columns.known_names is None:
            return matrix_of(batch, self._columns, first, self._where)
        return frame_of(batch, self._columns)

    def __reduce__(self) -> Any:
        settings = (self._columns, self._keep, self._labels, self._top, self._details, self._where)
        return BatchScorer, (self._fitted.for_worker(), *settings)


@cache
def _arrived(packed: bytes) -> BatchScorer:
    """Return the scorer that was sent, built once for all batches that come with the same bytes."""
    scorer: BatchScorer = pickle.loads(packed)
    return scorer


def _score_there(packed: bytes, batch: Any, first: int) -> Any:
    return _arrived(packed)(batch, first)


def score_batches(
    batches: Iterator[tuple[int, Any]], score: BatchScorer, executor: Executor | None, times: dict[str, float]
) -> Iterator[Any]:
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
        ready: list[Any] = []
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
