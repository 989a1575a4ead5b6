"""Scoring tables that do not fit into memory: fit in passes, then score batch by batch."""

from __future__ import annotations

import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ._clustering import scorer_of
from ._console import note, say, shows_progress, working
from ._options import LIKE_KMEANS, ClusteringOptions, RunOptions, ScoringOptions, bundled
from ._points import Opened, load_matrix
from ._summary import Worst, summary_of

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io._old_tables import PreparedSource, Sink, Source
    from allegiance.results import Tally

#: Tables with more rows are streamed, if what is asked for allows it.
MANY_ROWS = 1_000_000
#: How long a scheduler may take to answer.
ANSWER_SECONDS = 30


@dataclass(frozen=True)
class Wanted:
    """What to write of the scores, and what to show."""

    details: bool
    """All columns."""
    top: int | None
    """How many affinities to keep of each row."""
    review: int | str | None
    """How many of the least trusted labels; None for all rows."""
    show: int
    """How many labels to list on the screen."""


@dataclass(frozen=True)
class StreamOptions:
    """Whether to read the table in passes, and how."""

    stream: bool | None
    batch_rows: int
    restart: bool
    scheduler: str | None


def _checked_address(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and re.fullmatch(r"(\w+://)?\S+:\d+", value) is None:
        raise click.BadParameter(f"{value!r} is not of the form HOST:PORT, such as tcp://scheduler:8786.")
    return value


stream_options = bundled(
    "passes",
    StreamOptions,
    [
        click.option(
            "--stream/--in-memory",
            default=None,
            help=f"Read DATA in passes, or all of it into memory.  [default: in passes beyond {MANY_ROWS:,} rows]",
        ),
        click.option(
            "--batch-rows",
            metavar="N",
            type=click.IntRange(min=1),
            default=65_536,
            show_default=True,
            help="With --stream: how many rows to hold in memory at a time.",
        ),
        click.option(
            "--restart", is_flag=True, help="With --stream: start again instead of going on with an interrupted run."
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            callback=_checked_address,
            help="Score on the Dask cluster with this scheduler, such as tcp://scheduler:8786; implies --stream.",
        ),
    ],
)


def why_not_streamed(
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    report: str | None,
    *,
    by_model: bool = False,
    words: bool = False,
) -> str | None:
    """Return the option that needs all rows in memory, or None.

    Parameters
    ----------
    clustering, scoring, report
        What the user said.
    by_model
        Whether a model scores, which needs no other rows than those of a batch.
    words
        Whether texts are reviewed, whose words are held against those of all texts.
    """
    if words:
        return "--review with --text"
    if report is not None or by_model:
        return None if report is None else "--report"
    needs = {
        f"--algorithm {clustering.algorithm}": clustering.algorithm not in (None, "kmeans", "minibatch"),
        f"--influence {scoring.influence.describe()}": not scoring.influence.has_sites,
        f"--representative {scoring.representative}": scoring.representative != "mean",
        f"--recluster {scoring.recluster}": scoring.recluster not in (None, *LIKE_KMEANS),
    }
    return next((option for option, needed in needs.items() if needed), None)


@contextmanager
def workers_at(address: str | None, run: RunOptions) -> Iterator[Executor | None]:
    """Connect to a Dask cluster for as long as batches are scored there; without an address they are scored here.

    Parameters
    ----------
    address
        Of the scheduler.
    run
        Whether to say that no worker is free.
    """
    if address is None:
        yield None
        return
    from allegiance.io.dask import connect

    # Dask advises to load tables on the workers; here they need not see the files, so batches are large.
    warnings.filterwarnings("ignore", "Sending large graph")
    with connect(address, timeout=ANSWER_SECONDS) as executor:
        try:
            executor.submit(int).result(timeout=ANSWER_SECONDS)
        except TimeoutError:
            note(run, f"no worker of {address} was free for {ANSWER_SECONDS} s: the work waits for one.")
        yield executor


class Scored(NamedTuple):
    """What a command made of a table."""

    summary: dict[str, Any]
    scorer: AffinityScorer
    """Fitted to the features."""


def score_in_passes(
    opened: Opened,
    labels: str | None,
    fit: Callable[[PreparedSource], AffinityScorer],
    run: RunOptions,
    sink: Sink | None,
    passes: StreamOptions,
    *,
    wanted: Wanted,
    executor: Executor | None,
) -> Scored:
    """Score a table of any length, in memory that does not grow with it.

    Parameters
    ----------
    opened
        The table.
    labels
        The column of labels, if there is one.
    fit
        Returns the scorer for the prepared table.
    run
        What the user said.
    sink
        Takes the scores, if anything does.
    passes
        How to read the table.
    wanted
        What to write and show.
    executor
        Where to score batches; None scores here.
    """
    from allegiance.io._old_tables import PreparedSource

    started = time.perf_counter()
    carried = dict.fromkeys([*opened.ids, *([labels] if labels else [])])
    source = PreparedSource(opened.source, opened.features, [*carried], number=not opened.ids)
    with working(run, "fitting"):
        scorer = fit(source)
    keep = {source.row_column: "row"} if source.row_column is not None else {name: name for name in opened.ids}
    job = _Job(source, scorer, keep, labels, run, passes, wanted, executor)
    worst = Worst(job.ids, wanted.show)
    tally = job.score_to(sink, worst)
    trust_map = scorer.fitted_.trust_map
    note = None if trust_map is None else " ".join([trust_map.note, *trust_map.remarks])
    return Scored(summary_of(tally, worst, scorer.fitted_.how(started), note), scorer)


@dataclass(frozen=True)
class _Job:
    """A prepared table and the scorer for it."""

    source: PreparedSource
    scorer: AffinityScorer
    keep: dict[str, str]
    labels: str | None
    run: RunOptions
    passes: StreamOptions
    wanted: Wanted
    executor: Executor | None

    @property
    def ids(self) -> list[str]:
        """The columns of the output that identify rows."""
        return list(self.keep.values())

    def score_to(self, sink: Sink | None, worst: Worst) -> Tally:
        """Write what is wanted of the scores; a run that was interrupted goes on where it stopped."""
        from allegiance.io._old_tables import open_sink

        direct = sink is not None and sink.path != "-" and sink.format not in ("json", "jsonl")
        if sink is not None and direct and self.wanted.review is None:
            return self._score(sink, worst)
        # What cannot be read again, is not wanted at all, or must be ranked first passes through a temporary file.
        with tempfile.TemporaryDirectory() as folder:
            kept = open_sink(os.path.join(folder, "scores.arrow"))
            tally = self._score(kept, worst)
            if sink is not None:
                with sink:
                    for batch in self._wanted_of(kept):
                        sink.write(batch)
        return tally

    def _score(self, sink: Sink, worst: Worst) -> Tally:
        from allegiance.io.streams import score_stream

        try:
            done = score_stream(
                self.source,
                self.scorer,
                sink,
                keep=self.keep,
                labels=self.labels,
                batch_rows=self.passes.batch_rows,
                top=self.wanted.top,
                details=self.wanted.details,
                resume=not self.passes.restart,
                verbose=shows_progress(self.run),
                observe=worst.add,
                executor=self.executor,
            )
        except KeyboardInterrupt:
            if self.source.files:
                say(self.run, "The same command goes on where this one stopped; --restart starts again.")
            raise
        if done.resumed:
            say(self.run, f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run.")
        return done.tally

    def _wanted_of(self, kept: Sink) -> Iterator[Any]:
        """Yield scores from a file: all of them, or the least trusted, the least first."""
        from allegiance.io._old_tables import open_source

        source = open_source(kept.path, format=kept.format)
        if self.wanted.review is None:
            yield from source.batches()
        else:
            yield _least_trusted(source, self.wanted.review)


def _least_trusted(scores: Source, review: int | str) -> Any:
    """Return the rows of a table of scores to look at, the least trusted first."""
    import numpy as np
    import pyarrow as pa

    from allegiance.results import NO_LABEL, review_rows

    by = "trust" if "trust" in scores.names else "own_affinity"
    parts = []
    for batch in scores.batches(columns=[by, "verdict"]):
        labelled = np.asarray(batch.column("verdict").to_numpy(zero_copy_only=False)) != NO_LABEL
        parts.append(np.where(labelled, batch.column(by).to_numpy(zero_copy_only=False), np.nan))
    rows = review_rows(np.concatenate(parts), review, None)
    kept, start = [], 0
    for batch in scores.batches():
        inside = rows[(rows >= start) & (rows < start + batch.num_rows)]
        kept.append(batch.take(np.sort(inside) - start))
        start += batch.num_rows
    return pa.Table.from_batches(kept).take(np.argsort(np.argsort(rows)))


def fit_in_passes(
    source: PreparedSource,
    opened: Opened,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    run: RunOptions,
    batch_rows: int,
) -> AffinityScorer:
    """Return a scorer for the labels or centres given, or for the centres that k-means finds.

    Parameters
    ----------
    source
        The table, prepared.
    opened
        The table.
    clustering, scoring, run
        What the user said.
    batch_rows
        Rows to hold in memory at a time.
    """
    from allegiance.io.streams import fit_stream

    centers = load_matrix(clustering.centers, opened.features, "--centers") if clustering.centers else None
    return fit_stream(
        source,
        # Affinities are measured while scoring, which shows its own progress.
        scorer_of(scoring, run, centers=centers).set_params(verbose=False),
        n_clusters=clustering.clusters,
        labels=clustering.labels,
        columns=opened.features.names,
        batch_rows=batch_rows,
    )
