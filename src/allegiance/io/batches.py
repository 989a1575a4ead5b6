"""Batches: prepare the rows of a table in batches, and score batches and Arrow data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sklearn.utils.validation import check_is_fitted

from allegiance._core.validation import AnyArray, FloatArray, check_count, require
from allegiance.drift import Profile
from allegiance.fitting import Fitted, PreparedInput
from allegiance.results import FIRM, AffinityResult, FrameLike, Summary, review_rows

from .files import TableError
from .formats import as_arrow
from .model import Model, profile_matrix
from .plan import CellError, FeaturePlan, Gaps
from .tables import BATCH_ROWS, Table, limit_rows, open_table
from .values import first_row, read_labels

#: The sort key of review rows; no output has this column.
ORDER = "allegiance.order"


class ReviewRequest(NamedTuple):
    """The rows to list for review: at most ``size``, by "priority" or "trust", with or without firm labels."""

    size: int
    by: str = "priority"
    with_firm: bool = True


class Batch(NamedTuple):
    """A batch of prepared rows."""

    X: Any  # (m, d) numbers, or a frame for transformers that select columns by name
    labels: AnyArray | None
    passthrough: pa.RecordBatch | pa.Table  # the columns to copy to the output
    first: int  # the number of its first row in the table
    consumed: int  # the number of table rows up to and including its last one


class Rows:
    """The rows of a table, prepared by a plan; without one, the columns ``names`` as numbers, or as frames.

    ``row`` names an additional output column of row numbers, the first unless ``keep`` places it.
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
        self.table, self.labels, self._row, self._typed = table, labels, row, typed
        self.keep = [name for name in keep if name != row]
        self._output = [*keep] if row is None or row in keep else [row, *keep]
        self._others = list(dict.fromkeys([*self.keep, *([] if labels is None else [labels])]))
        #: Missing values and new categories of the batches so far.
        self.gaps = Gaps()
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
        """(d,) the names of the features of a batch."""
        return list(self.used if self.plan is None else self.plan.names)

    def within(self, table: Table) -> Rows:
        """Return the rows of one partition of the table, to be read in batches."""
        rows = copy(self)
        rows.table = table
        return rows

    def empty_batch(self) -> Batch:
        """Return a batch without rows."""
        schema = self.table.schema_of(self.keep, typed=self._typed)
        if self._row is not None:
            schema = schema.append(pa.field(self._row, pa.int64()))
        schema = pa.schema([schema.field(name) for name in self._output])
        passthrough = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
        return Batch(np.empty((0, len(self.names))), None, passthrough, 0, 0)

    def batches(self, rows: int, start: int = 0, stop: int | None = None) -> Iterator[Batch]:
        """Yield prepared batches of at most ``rows`` rows of the table, from row ``start`` to ``stop``."""
        if self.plan is None:
            require("pandas", "io", "a stream through transformers that select columns by name")
        labels = [] if self.plan is None else [name for name in self.plan.labels if name in self.table.columns]
        wanted = list(dict.fromkeys([*self.used, *labels, *self._others]))
        size = limit_rows(rows, len(self.names))
        for batch in self.table.batches(wanted, size, start, stop, typed=self.plan is None):
            end = start + batch.num_rows
            if self.plan is None:
                X, numbers = pa.Table.from_batches([batch.select(self.used)]).to_pandas(), np.arange(batch.num_rows)
            else:
                X, numbers = self._prepare(self.plan, batch, start)
            others, values = batch.select(self._others), None
            if numbers.size < batch.num_rows:
                others = others.take(pa.array(numbers))
            if self.labels is not None:
                column = self.table.typed(others.select([self.labels])).column(0)
                values, present = read_labels(column, self.labels, self.table.where)
                if not present.all():
                    X, numbers, values = X[present], numbers[present], values[present]
                    others = others.filter(pa.array(present))
            passthrough = others.select(self.keep)
            if self._typed:
                passthrough = self.table.typed(passthrough)
            if self._row is not None:
                passthrough = passthrough.append_column(self._row, pa.array(start + numbers)).select(self._output)
            prepared = Batch(X, values, passthrough, start, end)
            del batch, X, others, passthrough  # free their memory before the next batch is read
            yield prepared
            start = end

    def _prepare(self, plan: FeaturePlan, batch: pa.RecordBatch, start: int) -> tuple[FloatArray, AnyArray]:
        """Return the features and row numbers of a batch; errors name the file and row of the cell."""
        try:
            return plan.prepare(batch, self.gaps)
        except CellError as error:
            row = start + first_row(batch.column(error.column), error.text)
            raise TableError(f"{self.table.place_of(row)}: {error}") from error

    def sample(self, most: int) -> FloatArray:
        """Return the features of a random sample of the rows of all batches, in their order."""
        assert self.plan is not None
        return np.asarray(self.plan.prepare(self.table.sample(most, self.used))[0], np.float64)


class ScoredBatch(NamedTuple):
    """A scored batch."""

    rows: pa.RecordBatch | pa.Table  # the copied columns and the scores
    summary: Summary
    review: pa.Table | None  # the rows to review, with the reason and the order, if they were requested
    n_read: int  # the number of table rows read for it


@dataclass(frozen=True)
class BatchScorer:
    """Score batches."""

    fitted: Fitted
    names: Sequence[str]  # output names of the first columns to copy; further ones are only listed for review
    where: str
    scores: Mapping[str, str] | None = None  # output names of the scores to write; None for all scores
    top: int | None = None
    details: bool = False
    review: ReviewRequest | None = None
    plan: FeaturePlan | None = None  # the plan whose units a drift profile has; None for no profile

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "fitted": self.fitted.with_threads()}

    def __call__(self, batch: Batch) -> ScoredBatch:
        """Score a batch."""
        return self.measure(batch, self.enter(batch))

    def enter(self, batch: Batch) -> PreparedInput | None:
        """Run transformers and the estimator on a batch, which are not thread-safe; None for a batch without rows."""
        if not len(batch.X):
            return None
        with self._naming_rows(batch):
            return self.fitted.prepare_input(batch.X, batch.labels, named=hasattr(batch.X, "columns"))

    def measure(self, batch: Batch, points: PreparedInput | None) -> ScoredBatch:
        """Score a batch with its points from :meth:`enter`."""
        # Without details no affinities are written, so one per row is enough.
        top = self.top if self.details else 1
        with self._naming_rows(batch):
            if points is None:
                return self.pack(batch, self.fitted.empty_result(FrameLike(), top))
            return self.pack(batch, self.fitted.score_prepared(points, top))

    def pack(self, batch: Batch, result: AffinityResult) -> ScoredBatch:
        """Return the output of a batch from its result."""
        scores = result._columns(details=self.details)
        if self.scores is not None:
            scores = {output_name: scores[name] for name, output_name in self.scores.items()}
        twice = [name for name in self.names if name in scores]
        if twice:
            raise TableError(f"keep names {twice[0]!r}, which is also a score column: rename it with a mapping.")
        arrays = [*batch.passthrough.columns, *(pa.array(values) for values in scores.values())]
        names = [*self.names, *batch.passthrough.schema.names[len(self.names) :], *scores]
        rows = type(batch.passthrough).from_arrays(arrays, names=names)
        summary = result.summary()
        if self.plan is not None and self.fitted.members is not None:
            profile = profile_matrix(self.fitted, self.plan, batch.X, batch.first, result)
            summary = replace(summary, profile=profile)
        review = None if self.review is None else list_review(rows, result, self.review)
        rows = rows.select([*self.names, *scores]) if len(arrays) > len(self.names) + len(scores) else rows
        return ScoredBatch(rows, summary, review, batch.consumed - batch.first)

    @contextmanager
    def _naming_rows(self, batch: Batch) -> Iterator[None]:
        """Name the rows of the batch in errors."""
        try:
            yield
        except TableError:
            raise
        except ValueError as error:
            last = max(batch.consumed - 1, batch.first)
            raise TableError(f"rows {batch.first:,} to {last:,} of {self.where}: {error}") from error


def list_review(rows: pa.RecordBatch | pa.Table, result: AffinityResult, request: ReviewRequest) -> pa.Table:
    """Return the rows of a scored batch to review, with the reason and the sort key (lowest first) as last columns."""
    order = result.trust if request.by == "trust" and result._has_trust else result._ranking
    numbers = review_rows(order, None)
    if not request.with_firm:
        numbers = numbers[result._verdicts[numbers] != FIRM]
    numbers, reason = numbers[: request.size], "reason"
    while reason in rows.schema.names:
        reason = f"{reason}_"
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_batches([rows])
    table = table.take(pa.array(numbers))
    table = table.append_column(reason, pa.array(result._reasons(numbers).tolist(), pa.string()))
    return table.append_column(ORDER, pa.array(order[numbers]))


def merge_reviews(lists: Iterable[pa.Table | None], request: ReviewRequest | None) -> pa.Table | None:
    """Merge the review lists of scored batches; None without lists. The sort is stable."""
    tables = [table for table in lists if table is not None]
    if request is None or not tables:
        return None
    whole = pa.concat_tables(tables)
    return whole.take(pc.sort_indices(whole, sort_keys=[(ORDER, "ascending")])[: request.size])


def profile_table(fitted: Fitted, rows: Rows, start: int = 0, stop: int | None = None) -> Profile:
    """Return the drift profile of rows ``start`` to ``stop`` of a table, added up batch by batch."""
    assert rows.plan is not None
    empty = fitted.empty_result(FrameLike(), 1)
    total = profile_matrix(fitted, rows.plan, rows.empty_batch().X, 0, empty)
    for batch in rows.batches(BATCH_ROWS, start, stop):
        if len(batch.X):
            total = total + profile_matrix(fitted, rows.plan, batch.X, batch.first)
    return total


def fitted_of(model: Any) -> Fitted:
    """Return the fitted object that scores batches: that of a scorer or model."""
    scorer = model.scorer if isinstance(model, Model) else model
    check_is_fitted(scorer)
    return scorer.fitted_


def prepare_scoring(
    model: Any,
    table: Table,
    *,
    columns: Sequence[str] | None,
    labels: str | None,
    keep: Sequence[str] | Mapping[str, str] = (),
    top: int | None = None,
    details: bool = False,
    row_numbers: bool = False,
    typed: bool = True,
) -> tuple[Rows, BatchScorer]:
    """Return the rows of a table in batches, and the batch scorer of a scorer or model."""
    fitted, row = fitted_of(model), "row" if row_numbers else None
    outputs = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    settings: dict[str, Any] = {"labels": labels, "keep": list(outputs), "row": row, "typed": typed}
    if isinstance(model, Model):
        if columns is not None:
            raise ValueError("columns cannot be chosen for a model: its plan names them.")
        rows = Rows(table, model.plan, None, **settings)
    else:
        known = fitted.columns.known_names
        frames = fitted.columns.preparation is not None and known is not None
        chosen: Any = known if columns is None else columns
        rows = Rows(table, None, None if chosen is None else [*map(str, chosen)], frames=frames, **settings)
    names = [*([row] if row else []), *outputs.values()]
    top = None if top is None else check_count(top, "top")
    return rows, BatchScorer(fitted, names, table.where, top=top, details=details)


def score_arrow(
    model: Any,
    data: Any,
    *,
    columns: Sequence[str] | None,
    keep: Sequence[str] | Mapping[str, str],
    labels: str | None,
    **settings: Any,
) -> Any:
    """Score a record batch or a table in one batch; see :meth:`AffinityScorer.score_arrow`."""
    arrow = as_arrow(data)
    table = open_table(arrow)
    known: Any = model.plan.used if isinstance(model, Model) else columns
    known = fitted_of(model).columns.known_names if known is None else known
    table.check_columns([*(known if known is not None else []), *keep, *([labels] if labels else [])])
    rows, score = prepare_scoring(model, table, columns=columns, keep=keep, labels=labels, **settings)
    parts = [score(batch).rows for batch in rows.batches(max(arrow.num_rows, 1))]
    scores = pa.Table.from_batches(parts or [score(rows.empty_batch()).rows])
    if isinstance(arrow, pa.Table):
        return scores
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in scores.columns], schema=scores.schema)


def summarize_arrow(
    model: Any, data: Any, *, columns: Sequence[str] | None = None, labels: str | None = None, start: int = 0
) -> Summary:
    """Score Arrow data in batches and return only the summary; summaries of partitions can be added.

    ``print(summary)`` prints the same text as ``print(result)``. ``summary.review`` lists the first labels to review,
    ``summary.drivers()`` the columns that separate the clusters, and ``summary.profile`` is a drift profile for
    :func:`allegiance.drift.compare_profiles`.

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
    rows, score = prepare_scoring(model, open_table(as_arrow(data)), columns=columns, labels=labels)
    score = replace(score, scores={}, plan=rows.plan)
    batches = (batch._replace(first=start + batch.first) for batch in rows.batches(BATCH_ROWS))
    return reduce(add, (score(batch).summary for batch in batches), score(rows.empty_batch()).summary)
