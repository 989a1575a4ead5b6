"""Scoring tables that do not fit into memory: fit in passes, then score batch by batch."""

from __future__ import annotations

import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ._console import note, progress_bar, say, working
from ._options import ClusteringOptions, RunOptions, ScoringOptions, bundled
from ._points import Opened, load_matrix
from ._tally import COLUMNS, Tally

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io.tables import PreparedSource, Sink, Source

#: Tables with more rows are streamed, if what is asked for allows it.
MANY_ROWS = 1_000_000
#: How long a scheduler may take to answer.
ANSWER_SECONDS = 30


@dataclass(frozen=True)
class StreamOptions:
    """Whether to read the table in passes, and how."""

    stream: bool | None
    batch_rows: int
    restart: bool
    scheduler: str | None


def _checked_address(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    if value is not None and re.fullmatch(r"(\w+://)?\S+:\d+", value) is None:
        raise click.BadParameter(f"{value!r} is not of the form HOST:PORT, such as tcp://10.0.0.1:8786.")
    return value


stream_options = bundled(
    "passes",
    StreamOptions,
    [
        click.option(
            "--stream/--in-memory",
            default=None,
            help=f"Read the table in passes, never all of it at once.  [default: beyond {MANY_ROWS:,} rows]",
        ),
        click.option(
            "--batch-rows",
            type=click.IntRange(min=1),
            default=65_536,
            show_default=True,
            help="Rows in memory at a time, if the table is streamed.",
        ),
        click.option("--restart", is_flag=True, help="Do not go on with an interrupted run that was streamed."),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            callback=_checked_address,
            help="Score on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786; streams the table.",
        ),
    ],
)


def why_not_streamed(clustering: ClusteringOptions, scoring: ScoringOptions, report: str | None) -> str | None:
    """Return the option that needs all rows in memory, or None.

    Parameters
    ----------
    clustering, scoring, report
        What the user said.
    """
    needs = {
        "--report": report is not None,
        f"--algorithm {clustering.algorithm}": clustering.algorithm not in (None, "kmeans", "minibatch"),
        "--kernel": scoring.kernel is not None,
        "--leave-one-out": scoring.leave_one_out,
        f"--representative {scoring.representative}": scoring.representative != "mean",
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


def score_in_passes(
    opened: Opened,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    run: RunOptions,
    sink: Sink | None,
    passes: StreamOptions,
    *,
    top: int | None,
    review: int,
    executor: Executor | None,
) -> dict[str, Any]:
    """Score a table of any length, in memory that does not grow with it, and return the summary.

    Parameters
    ----------
    opened
        The table.
    clustering, scoring, run
        What the user said.
    sink
        Takes the scores, if anything does.
    passes
        How to read the table.
    top
        How many affinities to keep of each row.
    review
        How many points to list.
    executor
        Where to score batches; None scores here.
    """
    from allegiance.io.tables import PreparedSource, open_sink

    started = time.perf_counter()
    carried = dict.fromkeys([*opened.ids, *([clustering.labels] if clustering.labels else [])])
    source = PreparedSource(opened.source, opened.features, [*carried], number=not opened.ids)
    with working(run, "fitting"):
        scorer = _fitted(source, opened, clustering, scoring, run, passes.batch_rows)
    keep = {source.row_column: "row"} if source.row_column is not None else {name: name for name in opened.ids}
    job = _Job(source, scorer, keep, clustering.labels, run, passes, top, executor)
    tally = Tally(scorer.classes_, job.ids, review)
    if sink is not None and sink.path != "-" and sink.format not in ("json", "jsonl"):
        job.score_to(sink)
        for batch in job.scores_in(sink).batches(columns=[*job.ids, *COLUMNS]):
            tally.add(batch)
    else:
        # What cannot be read again, or is not wanted at all, passes through a temporary file.
        with tempfile.TemporaryDirectory() as folder:
            kept = open_sink(os.path.join(folder, "scores.arrow"))
            job.score_to(kept)
            with sink or nullcontext():
                for batch in job.scores_in(kept).batches():
                    tally.add(batch)
                    if sink is not None:
                        sink.write(batch)
    return {**tally.summary(), "how": asdict(scorer._scoring()._how(started))}


@dataclass(frozen=True)
class _Job:
    """A prepared table and the scorer for it."""

    source: PreparedSource
    scorer: AffinityScorer
    keep: dict[str, str]
    labels: str | None
    run: RunOptions
    passes: StreamOptions
    top: int | None
    executor: Executor | None

    @property
    def ids(self) -> list[str]:
        """The columns of the output that identify rows."""
        return list(self.keep.values())

    def score_to(self, sink: Sink) -> None:
        """Write the scores; a run that was interrupted goes on where it stopped."""
        from allegiance.io.streams import score_stream

        with progress_bar(self.run, "scoring", self.source.n_rows) as advance:
            try:
                done = score_stream(
                    self.source,
                    self.scorer,
                    sink,
                    keep=self.keep,
                    labels=self.labels,
                    batch_rows=self.passes.batch_rows,
                    top=self.top,
                    resume=not self.passes.restart,
                    verbose=lambda progress: advance(progress.rows),
                    executor=self.executor,
                )
            except KeyboardInterrupt:
                if self.source.files:
                    say(self.run, "The same command goes on where this one stopped; --restart starts again.")
                raise
        if done.resumed:
            say(self.run, f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run.")

    def scores_in(self, sink: Sink) -> Source:
        """Return the scores as a table."""
        from allegiance.io.tables import open_source

        names = ["label", "owner", "runner_up"] if self.scorer.classes_.dtype.kind == "U" else []
        return open_source(sink.path, format=sink.format, text=[*self.ids, *names])


def _fitted(
    source: PreparedSource,
    opened: Opened,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    run: RunOptions,
    batch_rows: int,
) -> AffinityScorer:
    """Return a scorer for the labels or centres given, or for the centres that k-means finds."""
    from allegiance.io.streams import fit_stream

    centers = load_matrix(clustering.centers, opened.features, "--centers") if clustering.centers else None
    parameters = scoring.params() | {"n_jobs": run.n_jobs, "random_state": run.seed}
    return fit_stream(
        source,
        n_clusters=clustering.clusters,
        labels=clustering.labels,
        centers=centers,
        columns=opened.features.names,
        batch_rows=batch_rows,
        **parameters,
    )
