"""Record batches in, record batches with their scores out, here or on other processes."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, NamedTuple

from allegiance._core import require
from allegiance.fitting import Fitted, PreparedInput
from allegiance.io import TableError
from allegiance.results import AffinityResult, FrameLike, Tally

from ._rows import frame_of, labels_in, matrix_of

#: Batches on their way to an executor and back: enough that none of a few dozen workers waits.
_IN_FLIGHT = 64
#: But no more bytes than this: they lie in memory, here and at the scheduler.
_BYTES_IN_FLIGHT = 2**29
#: Batches measured at a time in this process: while one is in Python, another computes. If it is known that there are
#: enough, more of them, on fewer threads each.
_TOGETHER, _MOST_TOGETHER = 2, 4
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


class EnteredBatch(NamedTuple):
    """A record batch on its way to be measured."""

    batch: Any
    first: int
    """The number of its first row in the table."""
    points: PreparedInput | None
    """Its rows; None if it has none."""


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
            self._fitted = fitted.without_preprocessing()
        self._columns, self._keep, self._labels = columns, keep, labels
        self._top, self._details, self._where = top, details, where

    @property
    def _settings(self) -> tuple[Any, ...]:
        return self._columns, self._keep, self._labels, self._top, self._details, self._where

    @property
    def threads(self) -> int:
        """How many threads measure a batch."""
        return self._fitted.specification.settings.threads

    def with_threads(self, threads: int) -> BatchScorer:
        """Return the same for use by several threads at a time, each of which may start so many."""
        return BatchScorer(self._fitted.with_threads(threads), *self._settings)

    def check_engine(self) -> None:
        """Build what measures, before several threads want to; raise ValueError if it cannot measure here."""
        _ = self._fitted.engine

    def __call__(self, batch: Any, first: int) -> Any:
        """Score a batch whose first row is number ``first`` of the table."""
        return self.measure(self.enter(batch, first))

    def enter(self, batch: Any, first: int) -> EnteredBatch:
        """Do for a batch what only one thread may do: transformers and estimators may not expect several."""
        if not batch.num_rows:
            return EnteredBatch(batch, first, None)
        rows = self._rows(batch, first)
        labels = None if self._labels is None else labels_in(batch, self._labels, first, self._where)
        with self._naming_rows(batch, first):
            return EnteredBatch(batch, first, self._fitted.prepare_input(rows, labels))

    def measure(self, entered: EnteredBatch) -> Any:
        """Score a batch that was entered."""
        arrow = require("pyarrow", "io", "score_stream")
        batch, first, points = entered
        if points is None:
            result: AffinityResult = self._fitted.nothing(FrameLike(), self._top)
        else:
            with self._naming_rows(batch, first):
                result = self._fitted.score_prepared(points, self._top)
        scores = result.columns(details=self._details)
        twice = [name for name in self._keep.values() if name in scores]
        if twice:
            raise TableError(f"keep names {twice[0]!r}, which is also a column of scores: rename it in the source.")
        arrays = [batch.column(name) for name in self._keep] + [arrow.array(values) for values in scores.values()]
        scored = arrow.RecordBatch.from_arrays(arrays, names=[*self._keep.values(), *scores])
        imprecise = str(self._fitted.n_imprecise(result))
        return scored.replace_schema_metadata({_TALLY: result.tally().to_json(), _IMPRECISE: imprecise})

    @contextmanager
    def _naming_rows(self, batch: Any, first: int) -> Iterator[None]:
        """Let an error say which rows it is about."""
        try:
            yield
        except ValueError as error:
            beside = "" if self._labels is None else f", with labels in column {self._labels!r}"
            last = first + batch.num_rows - 1
            raise TableError(f"rows {first:,} to {last:,} of {self._where}{beside}: {error}") from error

    def _rows(self, batch: Any, first: int) -> Any:
        """Return the features of a batch: numbers, or a frame for transformers that know columns by their names."""
        if self._fitted.columns.preparation is None or self._fitted.columns.known_names is None:
            return matrix_of(batch, self._columns, first, self._where)
        return frame_of(batch, self._columns)

    def __reduce__(self) -> Any:
        return BatchScorer, (self._fitted.with_threads(), *self._settings)


@cache
def _arrived(packed: bytes) -> BatchScorer:
    """Return the scorer that was sent, built once for all batches that come with the same bytes."""
    scorer: BatchScorer = pickle.loads(packed)
    return scorer


def _score_there(packed: bytes, batch: Any, first: int) -> Any:
    return _arrived(packed)(batch, first)


def score_batches(
    batches: Iterator[tuple[int, Any]],
    score: BatchScorer,
    executor: Executor | None,
    n_batches: int | None,
    times: dict[str, float],
) -> Iterator[Any]:
    """Yield the scores of batches, given with the numbers of their first rows, in their order.

    ``n_batches`` says how many there are, if that is known. Adds the seconds spent waiting for batches and scores to
    ``times``.
    """
    if executor is not None:
        there = partial(_score_there, pickle.dumps(score))
        yield from _in_order(batches, lambda batch, first: executor.submit(there, batch, first), _IN_FLIGHT, times)
        return
    # Threads are best used for batches of their own; but there may be only one.
    together = min(score.threads, _TOGETHER if n_batches is None else min(n_batches, _MOST_TOGETHER))
    if together <= 1:
        yield from _in_order(batches, partial(_score_now, score), 1, times)
        return
    score = score.with_threads(score.threads if n_batches is None else score.threads // together)
    score.check_engine()
    with ThreadPoolExecutor(together) as pool:
        try:
            # One more waits, so that no thread does while a batch is written.
            yield from _in_order(
                batches, lambda batch, first: pool.submit(score.measure, score.enter(batch, first)), together + 1, times
            )
        finally:
            pool.shutdown(cancel_futures=True)


def _score_now(score: BatchScorer, batch: Any, first: int) -> Future[Any]:
    done: Future[Any] = Future()
    done.set_result(score(batch, first))
    return done


def _in_order(
    batches: Iterator[tuple[int, Any]],
    submit: Callable[[Any, int], Future[Any]],
    most: int,
    times: dict[str, float],
) -> Iterator[Any]:
    """Submit batches, and yield the results in order; at most ``most`` of them are on their way."""
    waiting: deque[tuple[Future[Any], int]] = deque()
    in_flight = 0
    more = True
    while more or waiting:
        clock = time.perf_counter()
        found = next(batches, None) if more else None
        times["reading"] += time.perf_counter() - clock
        more = found is not None
        clock = time.perf_counter()
        if found is not None:
            first, batch = found
            waiting.append((submit(batch, first), batch.nbytes))
            in_flight += batch.nbytes
        ready = []
        while waiting and (not more or len(waiting) >= most or in_flight > _BYTES_IN_FLIGHT):
            future, size = waiting.popleft()
            ready.append(future.result())
            in_flight -= size
            if more:
                break
        times["scoring"] += time.perf_counter() - clock
        yield from ready
