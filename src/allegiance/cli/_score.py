"""``allegiance score``: how far to trust each label."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ._clustering import check_clustering, estimator_of, reclusterer, scale_matters, scorer_of, settled
from ._console import note
from ._kinds import Budget
from ._models import ModelOptions, check_models, load_model, model_options, open_by_model, save_model
from ._options import (
    ClusteringOptions,
    DataOptions,
    RunOptions,
    ScoringOptions,
    clustering_options,
    data_options,
    run_options,
    scoring_options,
)
from ._outputs import (
    OutputOptions,
    behind_ids,
    check_outputs,
    open_output,
    output_options,
    print_result,
    say_written,
    write_output,
)
from ._page import PageOptions, check_page, check_report, page_options, write_report
from ._points import Opened, Points, load_matrix, load_points, open_data
from ._program import UNDER_THRESHOLD
from ._stream import (
    MANY_ROWS,
    StreamOptions,
    Wanted,
    fit_in_passes,
    score_in_passes,
    stream_options,
    why_not_streamed,
    workers_at,
)
from ._summary import Worst, expected_share, print_summary, summary_of

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.io._old_tables import PreparedSource
    from allegiance.io.models import Model
    from allegiance.results import AffinityResult

EPILOG = """\b
Examples:
  allegiance score flowers.csv --labels species
  allegiance score flowers.csv --clusters 3 --id name -o scores.csv
  allegiance score events.parquet --centers centers.csv -o scores.parquet
  allegiance score events.parquet --labels cluster -o scores.parquet --scheduler tcp://scheduler:8786
  cat flowers.csv | allegiance score - --clusters 3 -o - > scores.csv
  allegiance score flowers.csv --labels species --review 5% -o review.csv
  allegiance score flowers.csv --labels species --fail-under 0.9
  allegiance score words.csv --labels topic --influence kl:smoothing=0.5
  allegiance score jan.csv --clusters 8 --id customer --standardize --save jan.model -o jan.parquet
  allegiance score feb.csv --model jan.model -o feb.parquet
"""


@click.command(epilog=EPILOG, short_help="Say how far to trust each label of a table.")
@data_options
@clustering_options
@scoring_options
@output_options
@click.option(
    "--details",
    is_flag=True,
    help="Write all columns: also affinities to all clusters, their errors, and the paper's quantities.",
)
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(min=1),
    help="With --details: write the N largest affinities of a row and their clusters instead of all.",
)
@click.option(
    "--review",
    metavar="N|SHARE%",
    type=Budget(),
    help="Write only the least trusted labels, the least first: a number such as 500, or a share such as 5%.",
)
@click.option("--report", metavar="FILE", help="Also write a report, one HTML page.")
@page_options
@click.option(
    "--show",
    metavar="N",
    default=10,
    show_default=True,
    type=click.IntRange(min=0),
    help="How many of the least trusted labels to list on the screen.",
)
@click.option(
    "--fail-under",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    help="Exit with code 3 if a smaller share of the labels is expected to be right; with --no-calibration, if a "
    "smaller share is supported.",
)
@model_options
@stream_options
@run_options
def score(
    data: DataOptions,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    out: OutputOptions,
    details: bool,
    top: int | None,
    review: int | str | None,
    report: str | None,
    page: PageOptions,
    show: int,
    fail_under: float | None,
    kept: ModelOptions,
    passes: StreamOptions,
    run: RunOptions,
) -> int:
    """Say how far to trust the label of each row of DATA.

    DATA is CSV, TSV, Parquet, Arrow or Feather, .npy or .npz, or - for CSV on standard input; several files with the
    same columns are read as one. The summary is printed on standard output, unless that carries data.
    """
    check_models(kept, run)
    model = load_model(kept.model)
    if model is None:
        check_clustering(clustering)
        scoring = settled(scoring, clustering)
    check_report(report, run)
    _check_wanted(details, top, review, out)
    words = review is not None and page.text is not None
    obstacle = why_not_streamed(clustering, scoring, report, by_model=model is not None, words=words)
    _check_passes(passes, obstacle)
    sink = open_output(out, run)
    wanted = Wanted(details, top, review, show)
    with workers_at(passes.scheduler, run) as executor:
        opened = open_table(data, clustering, scoring, page, model, run)
        check_page(page, opened)
        check_outputs(opened, sink, report, kept.save, inputs=[clustering.centers, kept.model])
        if _streams(passes, opened, clustering, obstacle, run):

            def fit(source: PreparedSource) -> AffinityScorer:
                if model is not None:
                    return model.scorer
                return fit_in_passes(source, opened, clustering, scoring, run, passes.batch_rows)

            summary, scorer = score_in_passes(
                opened, clustering.labels, fit, run, sink, passes, wanted=wanted, executor=executor
            )
        else:
            points, result, scorer = score_in_memory(opened, clustering, scoring, run, top, model)
            scores = behind_ids(points.ids, result.columns(details=details))
            write_output(sink, scores if review is None else _to_review(result, points, review, details, page.text))
            summary = summary_in_memory(result, points, scores, show)
            if report is not None:
                write_report(result, points, opened, report, page, run)
    say_written(out.output, run)
    save_model(kept.save, scorer, opened, clustering, summary, run)
    if run.json:
        print_result(summary, output=out.output, report=report, saved=kept.save)
    elif not run.quiet:
        print_summary(summary, err=out.output == "-", verbose=run.verbose)
    return exit_code(summary, fail_under, run)


def open_table(
    data: DataOptions,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    page: PageOptions,
    model: Model | None,
    run: RunOptions,
) -> Opened:
    """Open the table, by its own plan or by that of a model."""
    notes = partial(note, run)
    if model is not None:
        return open_by_model(model, data, clustering.labels, notes, numbers=page.numbers, written=page.written)
    columns = [*([clustering.labels] if clustering.labels else []), *page.numbers]
    matters = scale_matters(clustering, scoring)
    return open_data(data, columns, notes, written=page.written, scale_matters=matters)


def _to_review(result: AffinityResult, points: Points, review: int | str, details: bool, text: str | None) -> Any:
    """Return the labels to look at, with their texts and the words in these that speak for the rival."""
    rows = result.least_trusted(review)
    columns = {name: column[rows] for name, column in result.columns(details=details).items()}
    if text is not None:
        from allegiance.applications import Documents

        columns |= Documents(result, points.others.column(text)).columns(rows)
    return behind_ids(points.ids.take(rows), columns)


def summary_in_memory(result: AffinityResult, points: Points, scores: Any, show: int) -> dict[str, Any]:
    """Return the summary of a result, given also as a table behind what identifies the points."""
    worst = Worst(points.ids.column_names, show)
    worst.add(scores)
    return summary_of(result.tally(), worst, result.how, result.clusterer_note)


def _check_wanted(details: bool, top: int | None, review: int | str | None, out: OutputOptions) -> None:
    """Raise a usage error if options that say what to write would change nothing."""
    if review is not None and out.output is None:
        raise click.UsageError("--review says what to write: name a file with -o.")
    if top is not None and not details:
        raise click.UsageError("--top says which affinities --details writes: add --details.")


def _check_passes(passes: StreamOptions, obstacle: str | None) -> None:
    """Raise a usage error if the table is to be read in passes and cannot be."""
    asking = "--scheduler" if passes.scheduler is not None else "--stream" if passes.stream else None
    if asking is not None and obstacle is not None:
        raise click.UsageError(f"{obstacle} needs all rows in memory: leave it or {asking} out.")
    if passes.scheduler is not None and passes.stream is False:
        raise click.UsageError("--scheduler scores a table batch by batch: leave --in-memory or --scheduler out.")


def _streams(
    passes: StreamOptions, opened: Opened, clustering: ClusteringOptions, obstacle: str | None, run: RunOptions
) -> bool:
    """Decide whether to read the table in passes, which something may stand against."""
    asked = passes.stream or passes.scheduler is not None
    if passes.stream is False or not (asked or opened.features.noticed.n_rows > MANY_ROWS):
        return False
    if obstacle is None:
        if clustering.clusters is not None:
            note(run, "clusters are found by mini-batch k-means, since the table is read in passes.")
        return True
    note(run, f"{opened.features.noticed.n_rows:,} rows are read into memory, since {obstacle} needs them all at once.")
    return False


def score_in_memory(
    opened: Opened,
    clustering: ClusteringOptions,
    scoring: ScoringOptions,
    run: RunOptions,
    top: int | None = None,
    model: Model | None = None,
) -> tuple[Points, AffinityResult, AffinityScorer]:
    """Read the points, cluster them if asked to, and score them, by a model if there is one."""
    points = load_points(opened, opened.apart)
    if model is None:
        scorer, labels = scorer_for(points, opened, clustering, scoring, run)
        return points, scorer.fit_affinity(points.X, labels, top=top), scorer
    fitted = model.scorer.fitted_
    result = fitted.score(points.X, labels=points.labels(clustering.labels) if clustering.labels else None, top=top)
    fitted.warn_if_imprecise(result)
    return points, result, model.scorer


def scorer_for(
    points: Points, opened: Opened, clustering: ClusteringOptions, scoring: ScoringOptions, run: RunOptions
) -> tuple[Any, Any]:
    """Return the scorer for points in memory, not yet fitted, and their labels, None if they have none yet."""
    from allegiance.fitting import Labels

    labels = points.labels(clustering.labels) if clustering.labels else None
    centers = load_matrix(clustering.centers, opened.features, "--centers") if clustering.centers else None
    n_labels = None if centers is None else len(centers)
    if labels is not None:
        n_labels = Labels.of(labels, len(labels)).classes.size
    scorer = scorer_of(
        scoring,
        run,
        estimator=estimator_of(clustering, run),
        centers=centers,
        recluster=reclusterer(clustering, scoring, run, n_labels),
    )
    return scorer, labels


def exit_code(summary: dict[str, Any], fail_under: float | None, run: RunOptions) -> int:
    """Return the exit code for a summary."""
    share, what = expected_share(summary)
    if fail_under is None or share >= fail_under:
        return 0
    if not run.quiet:
        click.echo(f"{share:.1%} {what}, below --fail-under {fail_under:g}.", err=True)
    return UNDER_THRESHOLD
