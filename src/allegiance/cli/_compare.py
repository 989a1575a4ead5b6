"""``allegiance compare``: several clusterings of the same rows."""

from __future__ import annotations

import click

from ._candidates import algorithm_option, candidates, check_clusters, labels_option
from ._console import console, note, print_table, shows_progress
from ._options import DataOptions, RunOptions, ScoringOptions, data_options, run_options, scoring_options
from ._outputs import OutputOptions, behind_ids, open_output, output_options, print_result, say_written, write_output
from ._points import load_points, open_data

EPILOG = """\b
Examples:
  allegiance compare flowers.csv --labels species --algorithm kmeans --clusters 3
  allegiance compare flowers.csv --algorithm kmeans --algorithm gmm --clusters 3 -o compared.csv
"""


@click.command(epilog=EPILOG, short_help="Compare clusterings of one table, point by point.")
@data_options
@labels_option
@algorithm_option
@click.option("--clusters", metavar="K", type=click.IntRange(min=1), help="Number of clusters for the algorithms.")
@scoring_options
@output_options
@run_options
def compare(
    data: DataOptions,
    labels: tuple[str, ...],
    algorithm: tuple[str, ...],
    clusters: int | None,
    scoring: ScoringOptions,
    out: OutputOptions,
    run: RunOptions,
) -> None:
    """Score every row of DATA under several clusterings, and say which is surer of it."""
    if len(labels) + len(algorithm) < 2:
        raise click.UsageError("nothing to compare: name at least two of --labels COLUMN and --algorithm NAME.")
    check_clusters(algorithm, clusters)
    sink = open_output(out, run)
    points = load_points(open_data(data, labels, lambda text: note(run, text)), labels)
    from allegiance import compare_clusterings

    comparison = compare_clusterings(
        points.X,
        candidates(points, labels, algorithm, clusters, run),
        random_state=run.seed,
        n_jobs=run.n_jobs,
        verbose=shows_progress(run),
        **scoring.params(),
    )
    frame = comparison.to_frame(like=points.ids)
    write_output(sink, behind_ids(points.ids, {name: frame.column(name) for name in frame.column_names}))
    say_written(out.output, run)
    lines = comparison.candidates()
    counts = {
        "points": comparison.n_points,
        "stable_in_all": int((comparison.n_sure == len(lines)).sum()),
        "stable_in_none": int(comparison.none_sure.sum()),
    }
    if run.json:
        print_result({**counts, "candidates": [line._asdict() for line in lines]}, output=out.output)
    elif not run.quiet:
        rows = [
            (line.name, f"{line.n_clusters:,}", f"{line.stable:.1%}", f"{line.confidence:.2f}", f"{line.best_for:,}")
            for line in lines
        ]
        screen = console(err=out.output == "-")
        screen.print(
            f"[bold]{counts['stable_in_all']:,} of {counts['points']:,} points are stable in every candidate[/bold], "
            f"{counts['stable_in_none']:,} in none"
        )
        print_table(
            screen, "", ("candidate", "clusters", "stable", "confidence", "best for"), rows, left=("candidate",)
        )
        if len({line.n_clusters for line in lines}) > 1:
            screen.print("Fewer clusters are stable more easily: do not choose between numbers of clusters by this.")
