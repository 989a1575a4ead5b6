"""Prepare the rows of a table in batches, and score batches and Arrow data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from allegiance._core.validation import AnyArray, FloatArray, check_count, require
from allegiance.fitting import Fitted, PreparedInput
from allegiance.results import FIRM, AffinityResult, FrameLike, Summary, review_rows

from .files import TableError
from .formats import as_arrow
from .plan import FeaturePlan
from .saved import Model, profile_matrix
from .tables import BATCH_ROWS, Table, open_table, rows_of_batch
from .values import label_values

#: Metadata of a scored record batch: the summary of its rows, and the rows to review.
SUMMARY, REVIEW = b"allegiance.summary", b"allegiance.review"
#: The sort key of review rows; no output has this column.
ORDER = "allegiance.order"


class ReviewRequest(NamedTuple):
    """The rows to list for review."""

    size: int
    """Maximum number of rows."""
    by: str = "priority"
    """The sort key: "priority" or "trust"."""
    with_firm: bool = True
    """Whether to list firm labels, too."""


class Batch(NamedTuple):
    """A batch of prepared rows."""

    X: Any
    """(m, d) numbers, or a frame for transformers that select columns by name."""
    labels: AnyArray | None
    passthrough: pa.RecordBatch
    """The columns to copy to the output."""
    first: int
    """The number of its first row in the table."""
    consumed: int
    """The number of table rows up to and including its last one."""


class Rows:
    """The rows of a table, prepared for fitting or scoring.

    A plan prepares the features; without one, the columns ``names`` are used as plain numbers, or as frames with
    ``frames``. ``row`` names an additional output column of row numbers.
    """

    def __init__(
        self,
        table: Table,
        plan: FeaturePlan | None,
        names: Sequence[str] | None,
        *,
        labels: str | None = None,
        keep: Sequence[str] = (),
        frames: bool = False,
        row: str | None = None,
        typed: bool = False,
    ) -> None:
        self.table, self.labels, self.keep, self._row, self._typed = table, labels, list(keep), row, typed
        self._others = list(dict.fromkeys([*keep, *([] if labels is None else [labels])]))
        #: A function to call with each batch.
        self.tap: Callable[[Batch], Any] | None = None
        table.check_columns(self._others)
        self.plan = plan
        if plan is not None:
            self.used = list(plan.used)
            return
        self.used = [name for name in table.columns if name not in self._others] if names is None else list(names)
        table.check_columns(self.used)
        self.plan = None if frames else FeaturePlan.of_numbers(self.used)

    @property
    def names(self) -> list[str]:
        """(d,) names of the features."""
        return list(self.used if self.plan is None else self.plan.names)

    def within(self, table: Table) -> Rows:
        """Return the rows of one partition of the table."""
        rows = copy(self)
        rows.table = table
        return rows

    def empty_batch(self) -> Batch:
        """Return a batch without rows."""
        schema = self.table.schema_of(self.keep, typed=self._typed)
        if self._row is not None:
            schema = schema.insert(0, pa.field(self._row, pa.int64()))
        passthrough = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
        return Batch(np.empty((0, len(self.names))), None, passthrough, 0, 0)

    def batches(self, rows: int, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Yield batches of ``rows`` table rows (fewer in wide tables) from row ``start`` to ``stop``.

        Excluded rows make a batch shorter.
        """
        if self.plan is None:
            require("pandas", "io", "a stream through transformers that select columns by name")
        labels = [] if self.plan is None else [name for name in self.plan.labels if name in self.table.columns]
        wanted = list(dict.fromkeys([*self.used, *labels, *self._others]))
        size = rows_of_batch(rows, len(self.names))
        for batch in self.table.batches(wanted, size, start, stop, typed=self.plan is None):
            end = start + batch.num_rows
            if self.plan is None:
                X, numbers = pa.Table.from_batches([batch.select(self.used)]).to_pandas(), np.arange(batch.num_rows)
            else:
                X, numbers = self.plan.prepare(batch)
            others, values = batch.select(self._others), None
            if numbers.size < batch.num_rows:
                others = others.take(pa.array(numbers))
            if self.labels is not None:
                column = self.table.typed(others.select([self.labels])).column(0)
                values, present = label_values(column, self.labels, self.table.where)
                if not present.all():
                    X, numbers, values = X[present], numbers[present], values[present]
                    others = others.filter(pa.array(present))
            passthrough = others.select(self.keep)
            if self._typed:
                passthrough = self.table.typed(passthrough)
            if self._row is not None:
                columns = [pa.array(start + numbers), *passthrough.columns]
                passthrough = pa.RecordBatch.from_arrays(columns, [self._row, *passthrough.schema.names])
            prepared = Batch(X, values, passthrough, start, end)
            del batch, X, others, passthrough  # free their memory before the next batch is read
            if self.tap is not None:
                self.tap(prepared)
            yield prepared
            start = end

    def matrices(self, rows: int) -> Iterator[tuple[FloatArray, AnyArray | None]]:
        """Yield features (m, d) and labels (m,) of batches with rows."""
        return ((batch.X, batch.labels) for batch in self.batches(rows) if len(batch.X))

    def sample(self, most: int) -> FloatArray:
        """Return the features of a random sample of rows, in their order. It does not depend on batches."""
        assert self.plan is not None
        return np.asarray(self.plan.prepare(self.table.sample(most, self.used))[0], np.float64)


@dataclass(frozen=True)
class BatchScorer:
    """Score batches, with the summary and the review list of each in its metadata."""

    fitted: Fitted
    names: Sequence[str]
    """Output names of the columns to copy."""
    where: str
    scores: Mapping[str, str] | None = None
    """Output names of the scores to write; None for all scores."""
    top: int | None = None
    details: bool = False
    review: ReviewRequest | None = None
    """The rows to list for review."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "fitted": self.fitted.with_threads()}

    def __call__(self, batch: Batch) -> pa.RecordBatch:
        """Score a batch."""
        return self.measure(batch, self.enter(batch))

    def enter(self, batch: Batch) -> PreparedInput | None:
        """Run transformers and the estimator, which are not thread-safe; None for a batch without rows."""
        if not len(batch.X):
            return None
        with self._naming_rows(batch):
            return self.fitted.prepare_input(batch.X, batch.labels, named=hasattr(batch.X, "columns"))

    def measure(self, batch: Batch, points: PreparedInput | None) -> pa.RecordBatch:
        """Score the points from :meth:`enter`."""
        # Without details no affinities are written, so one per row is enough.
        top = self.top if self.details else 1
        with self._naming_rows(batch):
            if points is None:
                result = self.fitted.empty_result(FrameLike(), top)
            else:
                result = self.fitted.score_prepared(points, top)
        scores = result._columns(details=self.details)
        if self.scores is not None:
            scores = {output_name: scores[name] for name, output_name in self.scores.items()}
        twice = [name for name in self.names if name in scores]
        if twice:
            raise TableError(f"keep names {twice[0]!r}, which is also a score column: rename it with a mapping.")
        arrays = [*batch.passthrough.columns, *(pa.array(values) for values in scores.values())]
        facts: dict[bytes, Any] = {SUMMARY: result.summary().to_json()}
        if self.review is not None:
            facts[REVIEW] = _pack(list_review(result, self.review))
        return pa.RecordBatch.from_arrays(arrays, names=[*self.names, *scores]).replace_schema_metadata(facts)

    @contextmanager
    def _naming_rows(self, batch: Batch) -> Iterator[None]:
        """Add the row numbers to errors."""
        try:
            yield
        except ValueError as error:
            last = max(batch.consumed - 1, batch.first)
            raise TableError(f"rows {batch.first:,} to {last:,} of {self.where}: {error}") from error


def list_review(result: AffinityResult, request: ReviewRequest) -> pa.Table:
    """Return the rows to review, with their order (lowest first) and the reason."""
    order = result.trust if request.by == "trust" and result._calibrated else result._ranking
    rows = review_rows(order, None)
    if not request.with_firm:
        rows = rows[result._verdicts[rows] != FIRM]
    rows = rows[: request.size]
    reasons = pa.array(result._reasons(rows).tolist(), pa.string())
    return pa.table({"row": pa.array(rows), ORDER: pa.array(order[rows]), "reason": reasons})


def _pack(table: pa.Table) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue().to_pybytes()


def review_rows_of(scored: pa.RecordBatch) -> pa.Table:
    """Return the rows of a scored batch that are listed for review, with the reason."""
    with pa.ipc.open_stream(scored.schema.metadata[REVIEW]) as reader:
        return take_review(pa.Table.from_batches([scored.replace_schema_metadata(None)]), reader.read_all())


def take_review(table: pa.Table, listed: pa.Table) -> pa.Table:
    """Return the listed rows of a table, with the reason and the order of :func:`list_review`."""
    rows, reason = table.take(listed["row"]), "reason"
    while reason in rows.column_names:
        reason = f"{reason}_"
    return rows.append_column(reason, listed["reason"]).append_column(ORDER, listed[ORDER])


def fitted_of(model: Any) -> Fitted:
    """Return the fitted object of a scorer or model."""
    scorer = model.scorer if isinstance(model, Model) else model
    check_is_fitted(scorer)
    return scorer.fitted_


def rows_for(model: Any, table: Table, columns: Sequence[str] | None, **settings: Any) -> Rows:
    """Return the rows of a table, prepared for a scorer or model."""
    if isinstance(model, Model):
        if columns is not None:
            raise ValueError("columns cannot be chosen for a model: its plan names them.")
        return Rows(table, model.plan, None, **settings)
    fitted = model.fitted_
    known = columns if columns is not None else fitted.columns.known_names
    frames = fitted.columns.preparation is not None and fitted.columns.known_names is not None
    return Rows(table, None, None if known is None else [str(name) for name in known], frames=frames, **settings)


def score_arrow(
    model: Any,
    data: Any,
    *,
    columns: Sequence[str] | None,
    keep: Sequence[str] | Mapping[str, str],
    labels: str | None,
    top: int | None,
    details: bool,
) -> Any:
    """Score a record batch or a table; see :meth:`AffinityScorer.score_arrow`."""
    arrow = as_arrow(data)
    table = open_table(arrow)
    output_names = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    fitted = fitted_of(model)
    known: Any = model.plan.used if isinstance(model, Model) else columns
    known = fitted.columns.known_names if known is None else known
    table.check_columns([*(known if known is not None else []), *output_names, *([labels] if labels else [])])
    top = None if top is None else check_count(top, "top")
    score = BatchScorer(fitted, list(output_names.values()), table.where, top=top, details=details)
    rows = rows_for(model, table, columns, labels=labels, keep=list(output_names), typed=True)
    empty = pa.RecordBatch.from_pylist([], pa.schema([table.schema.field(name) for name in output_names]))
    nothing = Batch(np.empty((0, len(rows.names))), None, empty, 0, 0)
    parts = [score(batch).replace_schema_metadata(None) for batch in rows.batches(max(arrow.num_rows, 1))]
    scores = pa.Table.from_batches(parts or [score(nothing).replace_schema_metadata(None)])
    if isinstance(arrow, pa.Table):
        return scores
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in scores.columns], schema=scores.schema)


def summarize_arrow(
    model: Any, data: Any, *, columns: Sequence[str] | None = None, labels: str | None = None, start: int = 0
) -> Summary:
    """Score Arrow data and return only the summary; summaries of partitions can be added.

    ``print(summary)`` prints the same text as ``print(result)``. ``summary.review`` lists the first labels to review,
    and ``summary.extras["profile"]`` is a drift profile for :func:`allegiance.drift.compare_profiles`.

    Parameters
    ----------
    model
        A fitted ``AffinityScorer`` or a :class:`Model`.
    data
        A ``pyarrow.RecordBatch`` or ``Table``, or anything with Arrow's C interface; it may have no rows.
    columns, labels
        As in :meth:`allegiance.AffinityScorer.score_arrow`.
    start
        The number of the first row, different for each partition; the sample of the drift profile depends on it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import AffinityScorer
    >>> from allegiance.io import summarize_arrow
    >>> iris = load_iris(as_frame=True)
    >>> scorer = AffinityScorer(calibration=5).fit(iris.data, iris.target)
    >>> first, second = (pa.Table.from_pandas(iris.data[part]) for part in (slice(70), slice(70, None)))
    >>> total = summarize_arrow(scorer, first) + summarize_arrow(scorer, second, start=70)
    >>> total.replication == scorer.affinity(iris.data).replication
    True
    """
    table, fitted = open_table(as_arrow(data)), fitted_of(model)
    rows = rows_for(model, table, columns, labels=labels)
    nothing = np.empty((0, len(rows.names)))
    summaries = []
    for X, values, first in [*((b.X, b.labels, b.first) for b in rows.batches(BATCH_ROWS)), (nothing, None, 0)]:
        if len(X):
            result = fitted.score_prepared(fitted.prepare_input(X, values, named=hasattr(X, "columns")), 1)
        else:
            result = fitted.empty_result(FrameLike(), 1)
        part = result.summary()
        if fitted.members is not None and rows.plan is not None:
            part = replace(part, extras={"profile": profile_matrix(fitted, rows.plan, X, start + first, result)})
        summaries.append(part)
    return reduce(add, summaries)
