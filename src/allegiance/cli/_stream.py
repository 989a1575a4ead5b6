"""Scoring tables that do not fit into memory: fit in passes, then score batch by batch."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ._console import progress_bar, say, working
from ._options import ClusteringOptions, RunOptions, ScoringOptions
from ._points import Opened, load_matrix
from ._tally import COLUMNS, Tally

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.tables import PreparedSource, Sink, Source

#: Tables with more rows are streamed, if what is asked for allows it.
MANY_ROWS = 1_000_000


def why_not_streamed(clustering: ClusteringOptions, scoring: ScoringOptions, report: str | None) -> str | None:
    """Return the option that needs all rows in memory, or None.

    Parameters
    ----------
    clustering, scoring, report
        What the user said.
    """
    needs = {
        "--report": report is not None,
        "--labels": clustering.labels is not None,
        f"--algorithm {clustering.algorithm}": clustering.algorithm not in (None, "kmeans", "minibatch"),
        "--kernel": scoring.kernel is not None,
        "--leave-one-out": scoring.leave_one_out,
        f"--representative {scoring.representative}": scoring.representative != "mean",
    }
    return next((option for option, needed in needs.items() if needed), None)


def score_in_passes(
    opened: Opened,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    run: RunOptions,
    sink: Sink | None,
    *,
    top: int | None,
    review: int,
    batch_rows: int,
    restart: bool,
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
    top
        How many affinities to keep of each row.
    review
        How many points to list.
    batch_rows
        Rows in memory at a time.
    restart
        Do not go on with an interrupted run.
    """
    from allegiance.tables import PreparedSource, open_sink

    started = time.perf_counter()
    source = PreparedSource(opened.source, opened.features, opened.ids)
    with working(run, "fitting"):
        scorer = _fitted(source, opened, clustering, scoring, run, batch_rows)
    job = _Job(source, scorer, list(opened.ids) or ["row"], run, top, batch_rows, restart)
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
    ids: list[str]
    run: RunOptions
    top: int | None
    batch_rows: int
    restart: bool

    def score_to(self, sink: Sink) -> None:
        """Write the scores; a run that was interrupted goes on where it stopped."""
        from allegiance.streaming import score_stream

        with progress_bar(self.run, "scoring", self.source.n_rows) as advance:
            try:
                done = score_stream(
                    self.source,
                    self.scorer,
                    sink,
                    columns=[name for name in self.source.names if name not in self.ids],
                    keep=self.ids,
                    batch_rows=self.batch_rows,
                    top=self.top,
                    resume=not self.restart,
                    progress=lambda progress: advance(progress.rows),
                )
            except KeyboardInterrupt:
                if self.source.files:
                    say(self.run, "The same command goes on where this one stopped; --restart starts again.")
                raise
        if done.resumed:
            say(self.run, f"{done.resumed:,} of {done.rows:,} rows were scored by an earlier run.")

    def scores_in(self, sink: Sink) -> Source:
        """Return the scores as a table."""
        from allegiance.tables import open_source

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
    """Return a scorer for the centres given, or for those that k-means finds."""
    from allegiance.streaming import fit_stream

    centers = load_matrix(clustering.centers, opened.features, "--centers") if clustering.centers else None
    parameters = scoring.params() | {"n_jobs": run.n_jobs, "random_state": run.seed}
    return fit_stream(
        source,
        n_clusters=clustering.clusters,
        centers=centers,
        columns=opened.features.names,
        batch_rows=batch_rows,
        **parameters,
    )
