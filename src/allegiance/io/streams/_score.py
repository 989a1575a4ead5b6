"""Scoring a table that need not fit into memory."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from allegiance._core import Advance, Verbose, check_count, progress
from allegiance.fitting import Fitted
from allegiance.io import NO_ROOM, TableError, refuse_inputs
from allegiance.io._old_tables import BATCH_ROWS, PreparedSource, Sink, Source, open_sink
from allegiance.io.saved import encode_scorer, encode_transformer, fingerprint
from allegiance.results import Tally

from ._batches import BatchScorer, ScoredRows, score_batches
from ._checkpoint import Checkpoint
from ._rows import as_source, feature_columns


class StreamSummary(NamedTuple):
    """What a stream did.

    See Also
    --------
    allegiance.io.score_stream : What returns it, with an example.
    """

    rows: int
    """Rows of the output."""
    resumed: int
    """How many of them an earlier, interrupted run had scored."""
    seconds: float
    """How long it took."""
    reading: float
    """Seconds of these spent waiting for rows."""
    scoring: float
    """Seconds spent scoring them, or waiting for others to do so."""
    writing: float
    """Seconds spent writing parts, and the output."""
    tally: Tally
    """Counts by cluster, over all rows."""


def score_stream(
    source: Any,
    scorer: Any,
    sink: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    keep: Sequence[str] | Mapping[str, str] = (),
    labels: str | None = None,
    batch_rows: int = BATCH_ROWS,
    top: int | None = None,
    details: bool = False,
    resume: bool = True,
    force: bool = False,
    verbose: Verbose = False,
    observe: Callable[[Any], Any] | None = None,
    executor: Executor | None = None,
) -> StreamSummary:
    r"""Score the rows of a table in batches and write one row for each; memory does not depend on its length.

    Parts that are done lie in the folder ``<sink>.partial`` until the output is complete. A run that was killed goes on
    where it stopped when it is started again, and its output is the same as that of a run without interruption.

    Parameters
    ----------
    source
        A table: what :func:`allegiance.io._old_tables.open_source` takes (Parquet, Arrow, CSV, .npy, patterns, several
        files), or what it returns.
    scorer
        A fitted :class:`AffinityScorer`, or the path of a saved one.
    sink
        The output; its ending says whether it is Parquet, Arrow, CSV or JSON. Or what
        :func:`allegiance.io._old_tables.open_sink` returns.
    columns
        The columns that hold the features; by default those the scorer was fitted to, by name, or if they had no names
        all but ``keep`` and ``labels``. Other columns are not read.
    keep
        Columns to carry over to the output, such as identifiers; or a mapping that says what they are called there. In
        CSV files their values stay as they are written.
    labels
        The column that holds the labels of the clustering the scorer was fitted to, -1 for noise: they are the column
        ``label`` of the output, and trust is about them. By default points are new, and get the label of the estimator
        or of the nearest cluster.
    batch_rows
        Rows in a batch. As many batches as there are threads, up to four, and one more are in memory at a time.
    top
        With ``details``, write only this many of the largest affinities of each row, and their clusters. None writes
        all.
    details
        Write all columns of ``result.frame(details=True)``, or those that a person reads.
    resume
        Go on with an interrupted run of the same source, scorer and settings. If not, start again.
    force
        Replace the output if it exists.
    verbose
        True to show progress with rate and time left on standard error, or a function that is called with a
        ``StreamProgress`` after each batch.
    observe
        A function that is called with each record batch of the output, in order, as it is written: for summaries
        without reading the output again. Batches that an interrupted run had scored are among them.
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
    >>> from allegiance.io.streams import fit_stream, score_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, output = Path(folder) / "iris.csv", Path(folder) / "scores.csv"
    ...     load_iris(as_frame=True).frame.to_csv(table, index=False)
    ...     scorer = fit_stream(table, labels="target")
    ...     summary = score_stream(table, scorer, output, keep=["target"])
    ...     header = output.read_text().split("\n")[0]
    >>> summary.rows
    150
    >>> header.split(",")[:4]
    ['target', 'label', 'verdict', 'rival']
    """
    started = time.perf_counter()
    batch_rows = check_count(batch_rows, "batch_rows")
    top = None if top is None else check_count(top, "top")
    if os.fspath(sink) == "-":
        raise TableError("sink must be a file: a run that was killed could not go on with standard output.")
    if isinstance(scorer, str | os.PathLike):
        from allegiance import AffinityScorer

        scorer = AffinityScorer.load(scorer)
    check_is_fitted(scorer)
    fitted: Fitted = scorer.fitted_
    kept = dict(keep) if isinstance(keep, Mapping) else {name: name for name in keep}
    names = columns if columns is not None else fitted.columns.known_names
    others = [*kept] if labels is None else [*kept, labels]
    table = as_source(source, others, text=[name for name in kept if name != labels])
    used = feature_columns(table, None if names is None else list(names), others)
    output = open_sink(sink, force=force)
    _check_output(output, table, list(kept))
    run = _describe(table, scorer) | {
        "columns": used,
        "keep": kept,
        "labels": labels,
        "batch_rows": batch_rows,
        "top": top,
        "details": details,
    }
    resumable = bool(table.files)
    with _resumable(f"{output.path}.partial", resumable), Checkpoint(output, run, resume=resume and resumable) as parts:
        done = parts.n_rows(batch_rows)
        wanted = list(dict.fromkeys([*used, *others]))
        # If the last part is a short one, only the output was missing.
        batches = iter(()) if done % batch_rows else table.batches(batch_rows, wanted, start=done)
        score = BatchScorer(fitted, used, kept, labels, top, details, table.where)
        with progress(table.n_rows, "scoring", verbose, unit="rows", done=done) as advance:
            n_batches = None if table.n_rows is None else -(-(table.n_rows - done) // batch_rows)
            times = _run(_numbered(batches, done), score, parts, advance, executor, n_batches)
        if not parts.n_parts:
            parts.remove()
            raise TableError(f"{table.where} has no rows.")
        merging = time.perf_counter()
        scored = _merge(parts, output, observe, fitted)
        parts.remove()
    fitted.warn(scored.imprecise, output.n_rows)
    now = time.perf_counter()
    return StreamSummary(
        rows=output.n_rows,
        resumed=done,
        seconds=now - started,
        reading=times["reading"],
        scoring=times["scoring"],
        writing=times["writing"] + now - merging,
        tally=scored.tally,
    )


def _check_output(output: Sink, table: Source, kept: Sequence[str]) -> None:
    """Raise if the output would replace the table, or cannot hold the columns that are carried over."""
    refuse_inputs(output, table.files)
    schema = table.schema
    output.check(schema.field(name) for name in kept)


@contextmanager
def _resumable(folder: str, resumable: bool) -> Iterator[None]:
    """Let the error of a full disk say that nothing is lost."""
    try:
        yield
    except OSError as error:
        if not resumable or error.errno not in NO_ROOM or not os.path.exists(folder):
            raise
        reason = f"{error.strerror}. What was scored is kept in {folder}: make room and start the same run again"
        raise OSError(error.errno, reason, error.filename) from error


def _merge(parts: Checkpoint, output: Sink, observe: Callable[[Any], Any] | None, fitted: Fitted) -> ScoredRows:
    """Write the parts to the output, and return what their rows add up to."""
    total: ScoredRows | None = None
    with output:
        for part in parts.parts():
            noted = ScoredRows.noted_on(part, fitted)
            total = noted if total is None else total.plus(noted)
            plain = part.replace_schema_metadata(None)
            output.write(plain)
            if observe is not None:
                observe(plain)
    assert total is not None
    return total


def _numbered(batches: Iterator[Any], first: int) -> Iterator[tuple[int, Any]]:
    """Yield each batch after the number of its first row."""
    for batch in batches:
        yield first, batch
        first += batch.num_rows


def _describe(table: Source, scorer: Any) -> dict[str, Any]:
    """Return what of a table and a scorer makes two runs the same. Threads and progress do not count."""
    fitted: Fitted = scorer.fitted_
    # Transformers of the user's own can be used here, though not saved: their description must do.
    state = encode_scorer(scorer.get_params(deep=False), fitted.without_preprocessing())
    state["params"] = {name: value for name, value in state["params"].items() if name not in ("n_jobs", "verbose")}
    stats = [(path, os.stat(path)) for path in table.files]
    return {
        "scorer": fingerprint(state),
        "estimator": repr(getattr(scorer, "estimator_", None)),
        "transformers": _transformers(fitted.columns.preparation),
        "source": [[path, found.st_size, found.st_mtime_ns] for path, found in stats],
        "preparation": _preparation(table),
    }


def _transformers(preparation: Any) -> str | None:
    """Return a hash of the transformers before a scorer, or of their description if they cannot be saved."""
    if preparation is None:
        return None
    try:
        return fingerprint(encode_transformer(preparation, "preparation"))
    except TypeError:
        return repr(preparation)


def _preparation(table: Source) -> str | None:
    """Return a hash of how rows are scaled, filled in and encoded while they are read; None if they are not.

    The scorer does not always tell: with given centres and no box, rows left out or filled in change nothing in it.
    """
    if not isinstance(table, PreparedSource):
        return None
    features = table.features
    known = {"plan": json.dumps(features.to_json()), "noticed": json.dumps(asdict(features.noticed))}
    return fingerprint(known | {"transformers": encode_transformer(features.preparation, "preparation")})


def _run(
    batches: Iterator[tuple[int, Any]],
    score: BatchScorer,
    checkpoint: Checkpoint,
    advance: Advance,
    executor: Executor | None,
    n_batches: int | None,
) -> dict[str, float]:
    """Score batches and keep them in order; return the seconds spent on each kind of work."""
    times = {"reading": 0.0, "scoring": 0.0, "writing": 0.0}
    for batch in score_batches(batches, score, executor, n_batches, times):
        clock = time.perf_counter()
        checkpoint.add(batch)
        times["writing"] += time.perf_counter() - clock
        advance(batch.num_rows)
    return times
