"""Tables larger than memory: fitted in passes or from a sample, and scored in batches that a killed run resumes."""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from sklearn.base import clone

from allegiance._core.parallel import effective_threads, stream
from allegiance._core.progress import Progress, Verbose, progress
from allegiance._core.validation import AnyArray, FloatArray, check_count
from allegiance.fitting import Chunk, Columns, Fitted, Specification, fit, needs_memory
from allegiance.influence import AnySummary
from allegiance.results import FrameLike, Summary

from .batches import RANKING, SUMMARY, Batch, BatchScorer, Rows, fitted_of, rows_for
from .checkpoint import Checkpoint
from .files import TableError, refuse_inputs
from .plan import FeaturePlan
from .profile import SAMPLE_ROWS
from .saved import Model, fitted_id
from .sinks import Sink, open_sink
from .tables import BATCH_ROWS, open_table

if TYPE_CHECKING:
    from allegiance import AffinityScorer

__all__ = ["StreamProgress", "StreamSummary", "fit_stream", "score_stream"]

StreamProgress = Progress
#: Batches on their way to an executor and back: enough for a few dozen workers, but no more bytes than this.
_IN_FLIGHT, _BYTES_IN_FLIGHT = 64, 2**29
#: Batches measured at a time in this process.
_TOGETHER = 4
#: Rows that k-means sees at least for each cluster, and numbers in all of them at most.
_ROWS_PER_CLUSTER, _SAMPLE_NUMBERS = 100, 2**24


class StreamSummary(NamedTuple):
    """Rows and seconds of a stream.

    See Also
    --------
    allegiance.io.score_stream : Returns it, with an example.
    """

    rows: int
    """Rows of the output."""
    resumed: int
    """Rows that an earlier, interrupted run had scored."""
    seconds: float
    summary: Summary
    """Counts by cluster, replication and the head of the review list, over all rows."""


def score_stream(
    source: Any,
    scorer: Any,
    sink: str | os.PathLike[str] | Sink,
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | Mapping[str, str] = (),
    labels: str | None = None,
    batch_rows: int = BATCH_ROWS,
    top: int | None = None,
    details: bool = False,
    row_numbers: bool = False,
    resume: bool = True,
    force: bool = False,
    verbose: Verbose = False,
    executor: Executor | None = None,
) -> StreamSummary:
    r"""Score the rows of a table in batches and write one row for each; memory does not depend on its length.

    The table is read once. Finished parts lie in the folder ``<sink>.partial`` until the output is complete. A run that
    was killed resumes where it stopped when it is started again, with the same output as without interruption.

    Parameters
    ----------
    source
        What :func:`allegiance.io.open_table` takes, or a table that it returned.
    scorer
        A fitted ``AffinityScorer``, a :class:`Model`, which prepares columns by its plan, or the path of a saved one.
    sink
        The output; its ending gives the format. Or what :func:`allegiance.io.open_sink` returns.
    columns
        The columns that hold the features, for a scorer without a plan. By default those that it was fitted to, by
        name, or if they had no names all but ``keep`` and ``labels``.
    keep
        Columns to carry over to the output, such as identifiers; or a mapping to their names there. Into CSV files they
        go as they were written.
    labels
        The column that holds the labels of the clustering, -1 for noise. By default points are new, and get the label
        of the estimator or of the nearest cluster.
    batch_rows
        Rows in a batch. As many batches as there are threads, up to four, and one more are in memory at a time.
    top
        With ``details``, write only this many of the largest affinities of each row, and their clusters.
    details
        Write all columns of ``result.frame(details=True)``.
    row_numbers
        Write the numbers of the rows as a first column ``row``.
    resume
        Resume an interrupted run of the same source, scorer and settings. If not, start again.
    force
        Replace the output if it exists.
    verbose
        True to show progress on standard error, or a function that is called with a ``StreamProgress`` after each
        batch.
    executor
        Where to score batches: an executor of ``concurrent.futures``, or a Dask cluster by
        :func:`allegiance.io.dask.connect`. Rows are read and written here.

    Returns
    -------
    StreamSummary
        Numbers of rows, seconds, and the summary of all rows.

    See Also
    --------
    fit_stream : Fit a scorer to such a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from allegiance.io import fit_stream, score_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, output = Path(folder) / "iris.csv", Path(folder) / "scores.csv"
    ...     load_iris(as_frame=True).frame.to_csv(table, index=False)
    ...     scorer = fit_stream(table, labels="target")
    ...     summary = score_stream(table, scorer, output, keep=["target"])
    ...     header = output.read_text().split("\n")[0]
    >>> summary.rows
    150
    >>> header.split(",")[:4]
    ['target', 'label', 'rival', 'own_affinity']
    """
    if not isinstance(sink, Sink) and os.fspath(sink) == "-":
        raise TableError("sink must be a file: streaming to standard output cannot be resumed.")
    if isinstance(scorer, str | os.PathLike):
        from allegiance import load

        scorer = load(scorer)
    fitted = fitted_of(scorer)
    kept = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    output = open_sink(sink, force=force)
    rows = rows_for(
        scorer,
        open_table(source),
        columns,
        labels=labels,
        keep=list(kept),
        row="row" if row_numbers else None,
        typed=output.format not in ("csv", "tsv"),
    )
    return score_rows(
        rows,
        fitted,
        output,
        names=[*(["row"] if row_numbers else []), *kept.values()],
        batch_rows=check_count(batch_rows, "batch_rows"),
        top=None if top is None else check_count(top, "top"),
        details=details,
        resume=resume,
        verbose=verbose,
        executor=executor,
    )


def score_rows(
    rows: Rows,
    fitted: Fitted,
    output: Sink,
    *,
    names: Sequence[str],
    scores: Mapping[str, str] | None = None,
    batch_rows: int = BATCH_ROWS,
    top: int | None = None,
    details: bool = False,
    resume: bool = True,
    verbose: Verbose = False,
    rank: Callable[[Any, FloatArray], Any] | None = None,
    executor: Executor | None = None,
) -> StreamSummary:
    """Score rows and write them; see :func:`score_stream`. ``names`` and ``scores`` are those of the output.

    ``rank`` is called with each record batch of the output and what orders a review of its rows, NaN for noise.
    """
    started = time.perf_counter()
    table = rows.table
    refuse_inputs(output.path, table.files)
    if table.format in ("parquet", "arrow", "frame"):
        # A column that the output cannot hold should be known before the work.
        output.check(table.schema.field(name) for name in rows.keep)
    run = _describe(rows, fitted) | {
        "keep": [rows.keep, list(names)],
        "scores": None if scores is None else dict(scores),
        "labels": rows.labels,
        "batch_rows": batch_rows,
        "top": top,
        "details": details,
        "ranked": rank is not None,
    }
    score = BatchScorer(fitted, names, table.where, scores, top, details, rank is not None)
    empty = fitted.nothing(FrameLike(), 1).summary()
    summaries: list[Summary] = []

    def write(part: pa.RecordBatch) -> None:
        summaries.append(empty.from_json(part.schema.metadata[SUMMARY]))
        part = part.replace_schema_metadata(None)
        if rank is not None:
            ranking = part.column(RANKING).to_numpy(zero_copy_only=False)
            part = part.drop_columns([RANKING])
            rank(part, ranking)
        output.write(part)

    with Checkpoint(output.path, run, resume=resume, resumable=bool(table.files)) as parts:
        done, total = parts.n_rows, table.n_rows
        n_batches = None if total is None else -(-(total - parts.consumed) // batch_rows)
        with output, progress(total, "scoring", verbose, unit="rows", done=parts.consumed) as advance:
            for part in parts.parts():
                write(part)
            batches = rows.batches(batch_rows, parts.consumed)
            for batch, scored in _score_batches(batches, score, executor, n_batches):
                parts.add(scored, batch.consumed)
                write(scored)
                advance(batch.consumed - batch.first)
            if not summaries:
                parts.remove()
                raise TableError(f"{table.where} has no rows.")
        parts.remove()
    summary = sum(summaries[1:], summaries[0])
    fitted.warn(summary.imprecise, output.n_rows)
    return StreamSummary(output.n_rows, done, time.perf_counter() - started, summary)


def _describe(rows: Rows, fitted: Fitted) -> dict[str, Any]:
    """Return the values that identify this run. Threads and progress do not count."""
    return {
        "scorer": fitted_id(fitted),
        "source": rows.table.fingerprint(),
        "columns": rows.used,
        "plan": None if rows.plan is None else rows.plan.to_dict(),
    }


@cache
def _unpacked(packed: bytes) -> BatchScorer:
    """Return the scorer that was sent, built once for all batches that come with the same bytes."""
    scorer: BatchScorer = pickle.loads(packed)
    return scorer


def _score_remotely(packed: bytes, batch: Batch) -> pa.RecordBatch:
    return _unpacked(packed)(batch)


def _score_batches(
    batches: Iterator[Batch], score: BatchScorer, executor: Executor | None, n_batches: int | None
) -> Iterator[tuple[Batch, pa.RecordBatch]]:
    """Yield batches and their scores in order, while the next ones are read and scored."""
    if executor is not None:
        remote = partial(_score_remotely, pickle.dumps(score))
        yield from _in_order(batches, lambda batch: executor.submit(remote, batch), _IN_FLIGHT)
        return
    threads = score.fitted.specification.settings.threads
    # While one batch is in Python, another computes.
    together = max(1, min(threads, _TOGETHER if n_batches is None else n_batches, _TOGETHER))
    score = replace(score, fitted=score.fitted.with_threads(threads // together))
    _ = score.fitted.engine  # built before several threads need it; raises if it cannot measure here
    with ThreadPoolExecutor(together) as pool:
        try:
            # One more than there are threads, so that none waits while a batch is read or written.
            yield from _in_order(
                batches, lambda batch: pool.submit(score.measure, batch, score.enter(batch)), together + 1
            )
        finally:
            pool.shutdown(cancel_futures=True)


def _in_order(
    batches: Iterator[Batch], submit: Callable[[Batch], Future[Any]], most: int
) -> Iterator[tuple[Batch, pa.RecordBatch]]:
    """Submit batches, and yield the results in order; at most ``most`` of them are on their way."""
    waiting: deque[tuple[Future[Any], Batch, int]] = deque()
    in_flight = 0
    for batch in chain(batches, [None]):
        if batch is not None:
            size = getattr(batch.X, "nbytes", 0) + batch.kept.nbytes
            waiting.append((submit(batch), batch, size))
            in_flight += size
        while waiting and (batch is None or len(waiting) >= most or in_flight > _BYTES_IN_FLIGHT):
            future, done, size = waiting.popleft()
            in_flight -= size
            yield done, future.result()


class StreamChunks:
    """Rows and their labels as the chunks that a fit goes through; ``read`` is called for each pass."""

    def __init__(
        self,
        rows: Rows,
        read: Callable[[], Iterable[tuple[FloatArray, AnyArray | None]]],
        labelled: bool,
        verbose: Verbose,
    ) -> None:
        self._where, self._read, self._verbose = rows.table.where, read, verbose
        self.n_features, self.labelled = len(rows.names), labelled

    def total(self, summarise: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Read the rows once, and merge the summaries of the batches."""
        total: AnySummary | None = None
        start = 0
        with progress(None, "fitting", self._verbose, unit="rows") as advance:
            for X, labels in self._read():
                found = summarise(Chunk(X, labels, start))
                start += X.shape[0]
                advance(X.shape[0])
                if found is not None:
                    total = found if total is None else total.plus(found)
        if total is None:
            raise TableError(f"{self._where} has no rows.")
        return total


def fit_stream(
    source: Any,
    scorer: AffinityScorer | None = None,
    *,
    n_clusters: int | None = None,
    labels: str | None = None,
    columns: Sequence[str] | None = None,
    plan: FeaturePlan | None = None,
    batch_rows: int = BATCH_ROWS,
    verbose: Verbose = False,
) -> Any:
    """Fit a scorer to a table in batches; memory does not depend on its length.

    With ``n_clusters`` everything is fitted to a random sample of rows, which the pass of :func:`allegiance.io.propose`
    has drawn; without a plan the table is read once for it. With ``labels`` it is read twice, for the means and for the
    extent of the data, and with ``centers`` once. ``influence="within"`` takes one pass more, with ``centers`` two.

    Parameters
    ----------
    source
        What :func:`allegiance.io.open_table` takes, or a table that it returned.
    scorer
        The settings, by default those of ``AffinityScorer``; it is cloned. With its ``centers`` no labels are
        needed. Kernels, medians, medoids and estimators need all rows at once and are refused.
    n_clusters
        Cluster a random sample of 16,384 rows, or of 100 for each cluster if that is more, by k-means. A table of fewer
        rows is fitted as a whole.
    labels
        The column that holds the labels of any clustering, -1 for noise.
    columns
        The columns to use as features, as they are; by default all but ``labels``.
    plan
        How columns become features, as :func:`allegiance.io.propose` returns it, instead of ``columns``. The result is
        then a :class:`Model`, which takes tables like this one.
    batch_rows
        Rows in memory at a time.
    verbose
        Whether to show the progress of each pass on standard error, or a callback that receives it.

    Returns
    -------
    AffinityScorer or Model
        Fitted, without ``labels_``. Means agree with those in memory to rounding; with ``centers`` all is the same.

    See Also
    --------
    score_stream : Score a table with it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import AffinityScorer
    >>> from allegiance.io import fit_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.csv"
    ...     load_iris(as_frame=True).frame.to_csv(path, index=False)
    ...     scorer = fit_stream(path, AffinityScorer(influence="within"), labels="target")
    >>> scorer.cluster_centers_[0].round(2)
    array([5.01, 3.43, 1.46, 0.25])
    """
    from allegiance import AffinityScorer

    fitting: AffinityScorer = AffinityScorer() if scorer is None else clone(scorer)
    if (n_clusters is None) == (labels is None and fitting.centers is None):
        raise ValueError("pass n_clusters, or labels, or a scorer with centers.")
    if fitting.estimator is not None:
        raise ValueError(needs_memory("estimator"))
    batch_rows = check_count(batch_rows, "batch_rows")
    table = open_table(source)
    rows = Rows(table, plan, columns, labels=labels)
    specification = Specification.of(fitting)
    # A saved scorer must give the same numbers again.
    fitting.random_state = specification.settings.seed
    clusterer = None
    chunks = StreamChunks(rows, partial(rows.matrices, batch_rows), labels is not None, verbose)
    if n_clusters is not None:
        sample, clusterer = _kmeans(rows, check_count(n_clusters, "n_clusters"), specification.settings.seed)
        fitting.centers = clusterer.cluster_centers_
        specification = Specification.of(fitting)
        chunks = StreamChunks(rows, lambda: [(sample, clusterer.labels_)], True, verbose)
    # Batches are plain arrays; the names of their columns are for those who score frames later.
    threads = effective_threads(fitting.n_jobs)
    found = fit(specification, chunks, Columns(len(rows.names)), threads=threads, clusterer=clusterer)
    fitted = found.fitted if found.sample is None else found.fitted.calibrated(found.sample, estimator=clusterer)
    if plan is None and table.has_names:
        fitted = replace(fitted, columns=Columns(len(rows.used), rows.used))
    fitting._set_fitted(fitted)
    return fitting if plan is None else Model(plan, fitting)


def _kmeans(rows: Rows, n_clusters: int, seed: int) -> tuple[FloatArray, Any]:
    """Return a sample of rows, and k-means fitted to it."""
    from sklearn.cluster import KMeans

    wanted = max(SAMPLE_ROWS, _ROWS_PER_CLUSTER * n_clusters)
    sample = rows.sample(max(n_clusters, min(wanted, _SAMPLE_NUMBERS // max(len(rows.names), 1))))
    if len(sample) < n_clusters:
        raise TableError(f"{rows.table.where} has {len(sample)} rows, fewer than n_clusters={n_clusters} (--clusters).")
    seed32 = int(stream(seed, *b"k-means start").integers(2**31))
    return sample, KMeans(n_clusters, n_init=10, random_state=seed32).fit(sample)
