"""Fit and score tables larger than memory: in passes, from a sample, and in batches with one output per partition."""

from __future__ import annotations

import os
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import chain
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from sklearn.base import clone

from allegiance._core.parallel import effective_threads, stream
from allegiance._core.progress import Progress, Verbose, progress
from allegiance._core.validation import AnyArray, FloatArray, check_count
from allegiance.fitting import AnySummary, Chunk, Columns, Specification, calibrate_fitted, fit, needs_memory
from allegiance.results import AffinityResult, Summary

from .batches import Batch, BatchScorer, Rows, ScoredBatch, merge_reviews, prepare_scoring, profile_table
from .files import TableError, is_folder, refuse_inputs
from .model import Model
from .partitions import PartitionedSink, ScoredPartition, list_partitions
from .plan import FeaturePlan
from .profile import SAMPLE_ROWS
from .saved import model_id
from .sinks import Sink, open_sink
from .tables import BATCH_ROWS, open_table

if TYPE_CHECKING:
    from allegiance import AffinityScorer

__all__ = ["StreamProgress", "StreamSummary", "fit_stream", "score_stream"]

StreamProgress = Progress
#: Maximum number and bytes of batches in flight to an executor: enough for a few dozen workers.
_IN_FLIGHT, _BYTES_IN_FLIGHT = 64, 2**29
#: Default rows per scored batch: with twice as many, a run takes 40 MB more and is not faster.
SCORED_ROWS = 16_384
#: Batches scored in parallel in this process.
_CONCURRENT_BATCHES = 4
#: Scorers cached in a worker process.
_CACHED_SCORERS = 4
#: Minimum sample rows per cluster for k-means, and maximum numbers in the sample.
_ROWS_PER_CLUSTER, _SAMPLE_NUMBERS = 100, 2**24


class StreamSummary(NamedTuple):
    """Rows, seconds and the summary of a stream.

    See Also
    --------
    allegiance.io.score_stream : Score a table, with an example.
    """

    rows: int
    """Number of output rows."""
    resumed: int
    """Rows scored by an earlier run."""
    seconds: float
    summary: Summary
    """Summary of all rows: counts by cluster, replication, and the head of the review list."""
    review: pa.Table | None = None
    """The rows to review, if they were requested."""
    skipped: Mapping[str, str] = {}
    """Input files that could not be scored, and why."""


def score_stream(
    source: Any,
    scorer: Any,
    sink: str | os.PathLike[str] | Sink | PartitionedSink,
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | Mapping[str, str] = (),
    labels: str | None = None,
    batch_rows: int = SCORED_ROWS,
    top: int | None = None,
    details: bool = False,
    row_numbers: bool = False,
    force: bool = False,
    verbose: Verbose = False,
    executor: Executor | None = None,
) -> StreamSummary:
    r"""Score the rows of a table in batches, and write one output row per input row. Memory use is constant.

    A path that ends with a slash is a folder: each input file gives one output file, or several if it has more than a
    million rows. Files appear complete or not at all. If a run is killed, the same call scores only the remaining rows.

    Parameters
    ----------
    source
        A source for :func:`allegiance.io.open_table`, or a table that it returned.
    scorer
        A fitted ``AffinityScorer``, a :class:`Model`, whose plan prepares the columns, or the path of a saved one.
    sink
        The output: a file, whose ending sets the format, or a folder (``"out/"``) of Parquet files; local, or a URL
        such as ``s3://bucket/out/``. Or a sink from :func:`allegiance.io.open_sink`.
    columns
        The feature columns, for a scorer without a plan. By default the named columns of the fit, or if they had no
        names, all columns except ``keep`` and ``labels``.
    keep
        Columns to copy to the output, such as identifiers, or a mapping from their names to output names. CSV output
        contains them exactly as written.
    labels
        The label column, -1 for noise. By default rows are new points, labeled by the estimator or the nearest
        cluster.
    batch_rows
        Rows per batch. Memory holds one batch per thread, up to four, plus one if there are several threads.
    top
        With ``details``, write only this many of the largest affinities of each row, and their clusters.
    details
        Write all columns of ``result.frame(details=True)``.
    row_numbers
        Write the row numbers as a first column ``row``; in a folder, those within each input file.
    force
        Replace existing outputs, including finished files of a folder.
    verbose
        Whether to show progress on standard error, or a function to call with a ``StreamProgress`` after each batch.
    executor
        An executor that scores batches: from ``concurrent.futures``, or a Dask cluster from
        :func:`allegiance.io.dask.connect`. Rows are read and written locally.

    Returns
    -------
    StreamSummary
        Row counts, seconds, and the summary of all rows.

    See Also
    --------
    fit_stream : Fit a scorer to a table in batches.

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
    if isinstance(scorer, str | os.PathLike):
        from allegiance import load

        scorer = load(scorer)
    if isinstance(sink, str | os.PathLike) and is_folder(os.fspath(sink)):
        sink = PartitionedSink(sink, if_exists="replace" if force else "error")
    output = sink if isinstance(sink, PartitionedSink) else open_sink(sink, force=force)
    rows, score = prepare_scoring(
        scorer,
        open_table(source),
        columns=columns,
        keep=keep,
        labels=labels,
        top=top,
        details=details,
        row_numbers=row_numbers,
        typed=output.format not in ("csv", "tsv"),
    )
    return score_rows(rows, score, output, check_count(batch_rows, "batch_rows"), verbose=verbose, executor=executor)


def score_rows(
    rows: Rows,
    score: BatchScorer,
    output: Sink | PartitionedSink | None,
    batch_rows: int = SCORED_ROWS,
    *,
    points: tuple[Batch, AffinityResult] | None = None,
    skip_errors: bool = False,
    verbose: Verbose = False,
    executor: Executor | None = None,
) -> StreamSummary:
    """Score a stream of rows and write it; ``points`` are all rows with their result, if they are in memory."""
    started, table, fitted = time.perf_counter(), rows.table, score.fitted
    if output is not None and table.format in ("parquet", "arrow", "frame"):
        # Fail before the work if the output cannot store a column.
        output.check(table.schema.field(name) for name in rows.keep)
    empty, resumed, skipped = score(rows.empty_batch()), 0, dict[str, str]()
    parts: list[ScoredPartition] = []
    with (
        output if isinstance(output, PartitionedSink) else nullcontext(),
        _workers(score, executor, points) as score_all,
        progress(table.n_rows, "scoring", verbose, unit="rows") as advance,
    ):
        finish = partial(_write_stream, score=score, empty=empty, advance=advance)
        if not isinstance(output, PartitionedSink):
            refuse_inputs("" if output is None else output.path, table.files)
            parts.append(finish(score_all(rows.batches(batch_rows)), output))
        else:
            run, partitions = _describe_stream(rows, score), list_partitions(table)
            for part in partitions:
                refuse_inputs(output.file_of(part), table.files)
            for part in partitions:
                inner = rows.within(part.table)
                earlier = output.find(part, run, empty.summary)
                if earlier is not None:
                    if score.plan is not None:
                        profile = profile_table(fitted, inner, part.start, part.stop)
                        earlier = earlier._replace(summary=replace(earlier.summary, profile=profile))
                    parts.append(earlier)
                    resumed += earlier.rows
                    advance(earlier.rows)
                    continue
                try:
                    scored = score_all(inner.batches(batch_rows, part.start, part.stop))
                    done = finish(scored, output.open(part, run))
                except (ValueError, OSError, pa.ArrowException) as error:
                    if not skip_errors:
                        raise
                    skipped[part.table.where] = str(error)
                    continue
                output.finish(part, run, done)
                parts.append(done)
    summary = reduce(add, (part.summary for part in parts), empty.summary)
    n_rows = sum(part.rows for part in parts)
    if points is None:
        fitted.warn_if_imprecise(summary.imprecise, n_rows)
    review = merge_reviews([part.review for part in parts], score.review)
    return StreamSummary(n_rows, resumed, time.perf_counter() - started, summary, review, skipped)


def _write_stream(
    scored: Iterator[ScoredBatch],
    sink: Sink | None,
    *,
    score: BatchScorer,
    empty: ScoredBatch,
    advance: Callable[[int], None],
) -> ScoredPartition:
    """Write a stream of scored batches to one file, and merge their summaries and review lists."""
    n_rows, summary, review = 0, empty.summary, empty.review
    with sink if sink is not None else nullcontext():
        for batch in scored:
            n_rows, summary = n_rows + batch.rows.num_rows, summary + batch.summary
            review = merge_reviews([review, batch.review], score.review)
            if sink is not None:
                sink.write(batch.rows)
            advance(batch.n_read)
        if sink is not None and not n_rows:
            sink.write(empty.rows)
    return ScoredPartition(n_rows, summary, review)


def _describe_stream(rows: Rows, score: BatchScorer) -> dict[str, Any]:
    """Return the values that determine the output of a stream."""
    return {
        "scorer": model_id(score.fitted),
        "columns": rows.used,
        "types": str(rows.empty_batch().passthrough.schema),
        "plan": None if rows.plan is None else rows.plan.to_dict(),
        "keep": [rows.keep, list(score.names)],
        "scores": None if score.scores is None else dict(score.scores),
        "labels": rows.labels,
        "top": score.top,
        "details": score.details,
        "review": None if score.review is None else list(score.review),
    }


#: Unpickles the scorer of a stream, once for all batches with the same bytes.
_unpack = lru_cache(_CACHED_SCORERS)(pickle.loads)


def _score_remotely(packed: bytes, batch: Batch) -> ScoredBatch:
    """Score a batch of a stream in a worker process."""
    scored: ScoredBatch = _unpack(packed)(batch)
    return scored


@contextmanager
def _workers(
    score: BatchScorer, executor: Executor | None, points: tuple[Batch, AffinityResult] | None
) -> Iterator[Callable[[Iterator[Batch]], Iterator[ScoredBatch]]]:
    """Yield a function that scores batches in parallel and returns them in order."""
    if points is not None:
        yield lambda batches: iter([score.pack(*points)])
        return
    if executor is not None:
        remote = partial(_score_remotely, pickle.dumps(score))
        yield lambda batches: _in_order(batches, lambda batch: executor.submit(remote, batch), _IN_FLIGHT)
        return
    threads = score.fitted.specification.settings.threads
    # While one batch is in Python, another computes.
    together = max(1, min(threads, _CONCURRENT_BATCHES))
    score = replace(score, fitted=score.fitted.with_threads(threads // together))
    _ = score.fitted.engine  # built before several threads need it; raises if it cannot measure here
    if together == 1:  # a second batch in flight would only take memory
        yield lambda batches: map(score, batches)
        return
    with ThreadPoolExecutor(together) as pool:

        def submit(batch: Batch) -> Future[Any]:
            """Submit a batch of the stream, entered in this thread."""
            return pool.submit(score.measure, batch, score.enter(batch))

        try:
            # One more batch than threads, so that no thread waits while a batch is read or written.
            yield lambda batches: _in_order(batches, submit, together + 1)
        finally:
            pool.shutdown(cancel_futures=True)


def _in_order(
    batches: Iterator[Batch], submit: Callable[[Batch], Future[ScoredBatch]], most: int
) -> Iterator[ScoredBatch]:
    """Submit batches of a stream, and yield results in order, with at most ``most`` batches in flight."""
    waiting: deque[tuple[Future[ScoredBatch], int]] = deque()
    in_flight = 0
    for batch in chain(batches, [None]):
        if batch is not None:
            size = getattr(batch.X, "nbytes", 0) + batch.passthrough.nbytes
            waiting.append((submit(batch), size))
            in_flight += size
        while waiting and (batch is None or len(waiting) >= most or in_flight > _BYTES_IN_FLIGHT):
            future, size = waiting.popleft()
            in_flight -= size
            yield future.result()


class StreamChunks:
    """Rows and labels as the chunks of a fit: those of batches, which each pass reads again, or of a sample."""

    def __init__(
        self, rows: Rows, batch_rows: int, verbose: Verbose, sample: tuple[FloatArray, AnyArray] | None = None
    ) -> None:
        self._rows, self._batch_rows, self._verbose, self._sample = rows, batch_rows, verbose, sample
        self.n_features, self.has_labels = len(rows.names), sample is not None or rows.labels is not None

    def total(self, summarize: Callable[[Chunk], AnySummary | None]) -> AnySummary:
        """Read the stream of rows once, and merge the summaries of its batches."""
        batches = ((batch.X, batch.labels) for batch in self._rows.batches(self._batch_rows) if len(batch.X))
        total: AnySummary | None = None
        start = 0
        with progress(None, "fitting", self._verbose, unit="rows") as advance:
            for X, labels in batches if self._sample is None else [self._sample]:
                summary = summarize(Chunk(X, labels, start))
                start += X.shape[0]
                advance(X.shape[0])
                if summary is not None:
                    total = summary if total is None else total.merge(summary)
        if total is None:
            raise TableError(f"{self._rows.table.where} has no rows.")
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
    """Fit a scorer to a table in batches. Memory use is constant.

    With ``n_clusters``, the scorer is fitted to a random sample of rows, which :func:`allegiance.io.propose` draws;
    without a plan, this takes one pass over the table. With ``labels``, the fit takes two passes, for the means and for
    the extent of the data, and with ``centers`` one. ``influence="within"`` takes one more pass, two with ``centers``.

    Parameters
    ----------
    source
        A source for :func:`allegiance.io.open_table`, or a table that it returned.
    scorer
        A scorer with the settings, which is cloned; by default ``AffinityScorer()``. With ``centers`` it needs no
        labels. Kernels, medians, medoids and estimators need all rows at once and raise an error.
    n_clusters
        Cluster a random sample with k-means: 16,384 rows, or 100 per cluster if that is more. Smaller tables are used
        completely.
    labels
        The label column, -1 for noise.
    columns
        The columns to use as features without preparation; by default all except ``labels``.
    plan
        A feature plan from :func:`allegiance.io.propose`, instead of ``columns``. The result is then a :class:`Model`,
        which scores tables.
    batch_rows
        Rows per batch.
    verbose
        Whether to show the progress of each pass on standard error, or a function to call with a ``StreamProgress``.

    Returns
    -------
    AffinityScorer or Model
        The fitted scorer, without ``labels_``. It equals a fit in memory to the same rows and labels, or centers.

    See Also
    --------
    score_stream : Score a table in batches.

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
    # A saved scorer must reproduce its numbers.
    fitting.random_state = specification.settings.seed
    clusterer = None
    chunks = StreamChunks(rows, batch_rows, verbose)
    if n_clusters is not None:
        sample, clusterer = _cluster_sample(rows, check_count(n_clusters, "n_clusters"), specification.settings.seed)
        # By labels: exact means, from which a column that is constant within clusters does not deviate by rounding.
        chunks = StreamChunks(rows, batch_rows, verbose, (sample, clusterer.labels_))
    # Batches are plain arrays; column names are set below, for scoring frames later.
    threads = effective_threads(fitting.n_jobs)
    fitted, last = fit(specification, chunks, Columns(len(rows.names)), threads=threads, clusterer=clusterer)
    fitted = calibrate_fitted(fitted, last.sample, estimator=clusterer)
    if plan is None and table.has_names:
        fitted = replace(fitted, columns=Columns(len(rows.used), rows.used))
    fitting._set_fitted(fitted)
    return fitting if plan is None else Model(plan, fitting)


def _cluster_sample(rows: Rows, n_clusters: int, seed: int) -> tuple[FloatArray, Any]:
    """Return a sample of the rows of a stream, and k-means fitted to it."""
    from sklearn.cluster import KMeans

    most = max(SAMPLE_ROWS, _ROWS_PER_CLUSTER * n_clusters)
    sample = rows.sample(max(n_clusters, min(most, _SAMPLE_NUMBERS // max(len(rows.names), 1))))
    if len(sample) < n_clusters:
        wanted = f"`n_clusters={n_clusters}`"
        raise TableError(f"{rows.table.where} has {len(sample)} rows, fewer than {wanted}.")
    seed32 = int(stream(seed, *b"k-means start").integers(2**31))
    return sample, KMeans(n_clusters, n_init=10, random_state=seed32).fit(sample)
