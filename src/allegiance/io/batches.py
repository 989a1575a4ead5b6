"""Rows of a table as a fit or a scorer takes them, batch by batch, and the scores of a batch; also of Arrow data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from allegiance._core.validation import AnyArray, FloatArray, check_count, require
from allegiance.fitting import Fitted, PreparedInput
from allegiance.results import FrameLike

from .files import TableError
from .formats import as_arrow
from .plan import FeaturePlan
from .saved import Model
from .tables import Table, open_table, rows_of_batch
from .values import label_values

#: Where a record batch of scores carries the counts of its rows.
SUMMARY = b"allegiance.summary"
#: The last column of a part whose rows are ranked; the output does not have it.
RANKING = "allegiance.ranking"


class Batch(NamedTuple):
    """Some rows of a table on their way to be scored."""

    X: Any
    """(m, d) numbers, or a frame for transformers that find columns by name."""
    labels: AnyArray | None
    kept: pa.RecordBatch
    """The columns to carry over."""
    first: int
    """The number of its first row in the table."""
    consumed: int
    """Rows of the table up to its last one."""


class Rows:
    """The rows of a table as a fit or a scorer takes them.

    Features are prepared by a plan, or found by ``names`` as plain numbers; with ``frames`` transformers get frames.
    ``row`` adds the numbers of the rows under that name to the columns that are kept.
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
        #: Called with each batch that is read.
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

    def batches(self, rows: int, start: int = 0) -> Iterator[Batch]:
        """Yield batches of ``rows`` rows of the table, from row ``start`` on, fewer in wide tables.

        Rows that are left out make a batch shorter. A reader that stopped goes on where ``consumed`` says.
        """
        if self.plan is None:
            require("pandas", "io", "a stream through transformers that find columns by name")
        labels = [] if self.plan is None else [name for name in self.plan.labels if name in self.table.columns]
        wanted = list(dict.fromkeys([*self.used, *labels, *self._others]))
        size = rows_of_batch(rows, len(self.names))
        for batch in self.table.batches(wanted, size, start, typed=self.plan is None):
            stop = start + batch.num_rows
            if self.plan is None:
                X, numbers = pa.Table.from_batches([batch.select(self.used)]).to_pandas(), np.arange(batch.num_rows)
            else:
                X, numbers = self.plan.prepare(batch)
            others, found = batch.select(self._others), None
            if numbers.size < batch.num_rows:
                others = others.take(pa.array(numbers))
            if self.labels is not None:
                column = self.table.typed(others.select([self.labels])).column(0)
                found, present = label_values(column, self.labels, self.table.where)
                if not present.all():
                    X, numbers, found = X[present], numbers[present], found[present]
                    others = others.filter(pa.array(present))
            kept = others.select(self.keep)
            if self._typed:
                kept = self.table.typed(kept)
            if self._row is not None:
                columns = [pa.array(start + numbers), *kept.columns]
                kept = pa.RecordBatch.from_arrays(columns, [self._row, *kept.schema.names])
            made = Batch(X, found, kept, start, stop)
            del batch, X, others, kept  # or they would be held while the next ones are read
            if self.tap is not None:
                self.tap(made)
            yield made
            start = stop

    def matrices(self, rows: int) -> Iterator[tuple[FloatArray, AnyArray | None]]:
        """Yield features (m, d) and labels (m,), leaving out batches without rows."""
        return ((batch.X, batch.labels) for batch in self.batches(rows) if len(batch.X))

    def sample(self, most: int) -> FloatArray:
        """Return the features of a random sample of rows, in their order; it does not depend on batches."""
        assert self.plan is not None
        return np.asarray(self.plan.prepare(self.table.sample(most, self.used))[0], np.float64)


@dataclass(frozen=True)
class BatchScorer:
    """Scores batches, and adds to each the counts of its rows."""

    fitted: Fitted
    names: Sequence[str]
    """The columns that are carried over, as they are called in the output."""
    where: str
    scores: Mapping[str, str] | None = None
    """Which scores follow, and their names in the output; None for all."""
    top: int | None = None
    details: bool = False
    ranked: bool = False
    """Whether what orders a review is the last column."""

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
        """Score what :meth:`enter` returned."""
        # Without details only the ranks of affinities are written, and one of them is the least that is kept.
        top = self.top if self.details else 1
        with self._naming_rows(batch):
            if points is None:
                result = self.fitted.nothing(FrameLike(), top)
            else:
                result = self.fitted.score_prepared(points, top)
        scores = result._columns(details=self.details)
        if self.scores is not None:
            scores = {shown: scores[name] for name, shown in self.scores.items()}
        twice = [name for name in self.names if name in scores]
        if twice:
            raise TableError(f"keep names {twice[0]!r}, which is also a column of scores: rename it with a mapping.")
        if self.ranked:
            scores = {**scores, RANKING: result._ranking}
        arrays = [*batch.kept.columns, *(pa.array(values) for values in scores.values())]
        counted = {SUMMARY: result.summary().to_json()}
        return pa.RecordBatch.from_arrays(arrays, names=[*self.names, *scores]).replace_schema_metadata(counted)

    @contextmanager
    def _naming_rows(self, batch: Batch) -> Iterator[None]:
        """Let an error say which rows it is about."""
        try:
            yield
        except ValueError as error:
            last = max(batch.consumed - 1, batch.first)
            raise TableError(f"rows {batch.first:,} to {last:,} of {self.where}: {error}") from error


def fitted_of(model: Any) -> Fitted:
    """Return the fitted object of a scorer or a model."""
    scorer = model.scorer if isinstance(model, Model) else model
    check_is_fitted(scorer)
    return scorer.fitted_


def rows_for(model: Any, table: Table, columns: Sequence[str] | None, **settings: Any) -> Rows:
    """Return the rows of a table as a scorer or a model takes them."""
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
    given = as_arrow(data)
    table = open_table(given)
    kept = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    fitted = fitted_of(model)
    known: Any = model.plan.used if isinstance(model, Model) else columns
    known = fitted.columns.known_names if known is None else known
    table.check_columns([*(known if known is not None else []), *kept, *([labels] if labels else [])])
    top = None if top is None else check_count(top, "top")
    score = BatchScorer(fitted, list(kept.values()), table.where, top=top, details=details)
    rows = rows_for(model, table, columns, labels=labels, keep=list(kept), typed=True)
    empty = pa.RecordBatch.from_pylist([], pa.schema([table.schema.field(name) for name in kept]))
    nothing = Batch(np.empty((0, len(rows.names))), None, empty, 0, 0)
    parts = [score(batch).replace_schema_metadata(None) for batch in rows.batches(max(given.num_rows, 1))]
    found = pa.Table.from_batches(parts or [score(nothing).replace_schema_metadata(None)])
    if isinstance(given, pa.Table):
        return found
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in found.columns], schema=found.schema)
