"""Scoring a table that need not fit into memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from typing import Any, NamedTuple

from allegiance._core import check_count
from allegiance._scorer import AffinityScorer
from allegiance.io.state import fingerprint
from allegiance.io.tables import BATCH_ROWS, PreparedSource, Source, TableError, open_sink

from ._batches import BatchScorer, score_batches
from ._checkpoint import Checkpoint
from ._progress import StreamProgress, Teller
from ._rows import as_source, feature_columns


class StreamSummary(NamedTuple):
    """What a stream did."""

    rows: int
    """Rows of the output."""
    resumed: int
    """How many of them an earlier, interrupted run had scored."""
    seconds: float
    reading: float
    """Seconds of these spent waiting for rows."""
    scoring: float
    """Seconds spent scoring them, or waiting for others to do so."""
    writing: float
    """Seconds spent writing parts, and the output."""


def score_stream(
    source: Any,
    scorer: Any,
    sink: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    labels: str | None = None,
    batch_rows: int = BATCH_ROWS,
    top: int | None = None,
    resume: bool = True,
    force: bool = False,
    progress: bool | Callable[[StreamProgress], Any] = False,
    executor: Executor | None = None,
) -> StreamSummary:
    r"""Score the rows of a table in batches and write one row for each; memory does not depend on its length.

    Parts that are done lie in the folder ``<sink>.partial`` until the output is complete. A run that was killed goes on
    where it stopped when it is started again, and its output is the same as that of a run without interruption.

    Parameters
    ----------
    source
        A table: what :func:`allegiance.io.tables.open_source` takes (Parquet, Arrow, CSV, .npy, patterns, several
        files), or what it returns.
    scorer
        A fitted :class:`AffinityScorer`, or the path of a saved one.
    sink
        The output; its ending says whether it is Parquet, Arrow, CSV or JSON.
    columns
        The columns that hold the features; by default those the scorer was fitted to, by name, or if they had no names
        all but ``keep`` and ``labels``. Other columns are not read.
    keep
        Columns to carry over to the output, such as identifiers.
    labels
        The column that holds the labels of the clustering the scorer was fitted to, -1 for noise: they are the column
        ``label`` of the output, and ``stable`` and ``score`` are about them. By default points are new, and get the
        label of the estimator or of the nearest cluster.
    batch_rows
        Rows in memory at a time.
    top
        Write only this many of the largest affinities of each row, and their clusters. None writes all.
    resume
        Go on with an interrupted run of the same source, scorer and settings. If not, start again.
    force
        Replace the output if it exists.
    progress
        True for a line on standard error with rate and time left, or a function that is called with a
        :class:`StreamProgress` after each batch.
    executor
        Where to score batches: an executor of ``concurrent.futures``, or of a Dask cluster by
        :func:`allegiance.io.dask.connect`. Rows are read and written here. None scores here too.

    Returns
    -------
    StreamSummary
        Numbers of rows, and where the time went.

    See Also
    --------
    fit_stream : Fit a scorer to such a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from allegiance import fit_stream, score_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, output = Path(folder) / "iris.csv", Path(folder) / "scores.csv"
    ...     load_iris(as_frame=True).frame.to_csv(table, index=False)
    ...     scorer = fit_stream(table, labels="target", random_state=0)
    ...     summary = score_stream(table, scorer, output, keep=["target"], top=1)
    ...     header = output.read_text().split("\n")[0]
    >>> summary.rows
    150
    >>> header.split(",")[:4]
    ['target', 'label', 'owner', 'runner_up']
    """
    started = time.perf_counter()
    batch_rows = check_count(batch_rows, "batch_rows")
    top = None if top is None else check_count(top, "top")
    if os.fspath(sink) == "-":
        raise TableError("sink must be a file: a run that was killed could not go on with standard output.")
    if not isinstance(scorer, AffinityScorer):
        scorer = AffinityScorer.load(scorer)
    names = columns if columns is not None else getattr(scorer, "feature_names_in_", None)
    others = [*keep] if labels is None else [*keep, labels]
    table = as_source(source, others)
    used = feature_columns(table, None if names is None else list(names), others)
    output = open_sink(sink, force=force)
    run = _describe(table, scorer) | {
        "columns": used,
        "keep": list(keep),
        "labels": labels,
        "batch_rows": batch_rows,
        "top": top,
    }
    checkpoint = Checkpoint(sink, run, resume=resume and bool(table.files))
    done = checkpoint.n_rows(batch_rows)
    teller = Teller(progress, table.n_rows, done)
    wanted = list(dict.fromkeys([*used, *others]))
    # If the last part is a short one, only the output was missing.
    batches = iter(()) if done % batch_rows else table.batches(batch_rows, wanted, start=done)
    score = BatchScorer(scorer, used, list(keep), labels, top, table.where)
    times, imprecise = _run(_numbered(batches, done), score, checkpoint, teller, executor)
    if not checkpoint.n_parts:
        checkpoint.remove()
        raise TableError(f"{table.where} has no rows.")
    merging = time.perf_counter()
    with output:
        for part in checkpoint.parts():
            output.write(part)
    checkpoint.remove()
    teller.end()
    scorer._scoring().warn(imprecise, output.n_rows - done)
    now = time.perf_counter()
    return StreamSummary(
        output.n_rows, done, now - started, times["reading"], times["scoring"], times["writing"] + now - merging
    )


def _numbered(batches: Iterator[Any], first: int) -> Iterator[tuple[int, Any]]:
    """Yield each batch after the number of its first row."""
    for batch in batches:
        yield first, batch
        first += batch.num_rows


def _describe(table: Source, scorer: AffinityScorer) -> dict[str, Any]:
    """Return what of a table and a scorer makes two runs the same. Threads and progress do not count."""
    state = scorer.to_dict()
    state["params"] = {name: value for name, value in state["params"].items() if name not in ("n_jobs", "verbose")}
    stats = [(path, os.stat(path)) for path in table.files]
    return {
        "scorer": fingerprint(state),
        "estimator": repr(getattr(scorer, "estimator_", None)),
        "source": [[path, found.st_size, found.st_mtime_ns] for path, found in stats],
        "preparation": _preparation(table),
    }


def _preparation(table: Source) -> str | None:
    """Return a hash of how rows are scaled, filled in and encoded while they are read; None if they are not.

    The scorer does not always tell: with given centres and no box, rows left out or filled in change nothing in it.
    """
    if not isinstance(table, PreparedSource):
        return None
    plan = asdict(table._features)
    scale = plan.pop("_scale")
    return fingerprint(plan if scale is None else plan | scale._asdict())


def _run(
    batches: Iterator[tuple[int, Any]],
    score: BatchScorer,
    checkpoint: Checkpoint,
    teller: Teller,
    executor: Executor | None,
) -> tuple[dict[str, float], int]:
    """Score batches and keep them in order; return the seconds spent on each kind of work, and the imprecise points."""
    times = {"reading": 0.0, "scoring": 0.0, "writing": 0.0}
    imprecise = 0
    scored = score_batches(batches, score, executor, times)
    for found in scored:
        imprecise += found.imprecise
        clock = time.perf_counter()
        checkpoint.add(found.batch)
        times["writing"] += time.perf_counter() - clock
        teller.advance(found.batch.num_rows)
    return times, imprecise
