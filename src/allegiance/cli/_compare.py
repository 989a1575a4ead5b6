"""``allegiance compare``: several clusterings of the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._candidates import algorithm_option, candidates, check_clusters, labels_option
from ._clustering import scorer_of
from ._console import console, note, print_line, print_table
from ._options import DataOptions, RunOptions, ScoringOptions, data_options, judging_options, run_options
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
from ._points import load_points, open_data
from ._remedies import in_words_of_the_command

if TYPE_CHECKING:
    from allegiance.applications import ClusteringComparison

EPILOG = """\b
Examples:
  allegiance compare flowers.csv --labels species --algorithm kmeans --clusters 3 --id name
  allegiance compare flowers.csv --drop species --id name --algorithm kmeans --algorithm gmm --clusters 3
"""
_HEADER = ("candidate", "clusters", "right", "above chance", "supported", "contested", "contradicted", "best for")


@click.command(epilog=EPILOG, short_help="Compare clusterings of one table, label by label.")
@data_options
@labels_option
@algorithm_option
@click.option(
    "--clusters", metavar="K", type=click.IntRange(min=1), help="Number of clusters that each --algorithm finds."
)
@judging_options
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
    """Score every row of DATA under several clusterings, and say whose labels can be trusted more.

    Candidates are judged by trust above chance: 1 if all labels hold, 0 if no more than unrelated ones would. So their
    numbers of clusters may differ.
    """
    if len(labels) + len(algorithm) < 2:
        raise click.UsageError("nothing to compare: name at least two of --labels COLUMN and --algorithm NAME.")
    check_clusters(algorithm, clusters)
    sink = open_output(out, run)
    opened = open_data(data, labels, lambda text: note(run, text))
    check_outputs(opened, sink)
    points = load_points(opened, labels)
    from allegiance import compare_clusterings

    found = compare_clusterings(
        points.X, candidates(points, labels, algorithm, clusters, run), scorer=scorer_of(scoring, run)
    )
    frame = found.frame(like=points.ids)
    write_output(sink, behind_ids(points.ids, {name: frame.column(name) for name in frame.column_names}))
    say_written(out.output, run)
    summary = _summary_of(found)
    if run.json:
        print_result(summary, output=out.output)
    elif not run.quiet:
        _print(summary, err=out.output == "-")


def _summary_of(found: ClusteringComparison) -> dict[str, Any]:
    """Return the comparison as plain values."""
    reasons = {name: result.clusterer_note for name, result in found.results.items()}
    return {
        "points": found.n_points,
        "best": found.best,
        "supported_in_all": int((found.n_supported == len(found.names)).sum()),
        "supported_in_none": int(found.never_supported.sum()),
        "candidates": [line._asdict() for line in found.candidates()],
        "notes": {name: in_words_of_the_command(reason) for name, reason in reasons.items() if reason is not None},
    }


def _print(summary: dict[str, Any], *, err: bool) -> None:
    out = console(err=err)
    print_line(out, f"Most trust above chance: {summary['best']}.", bold=True)
    print_line(
        out,
        f"Of {summary['points']:,} points, {summary['supported_in_all']:,} have a supported label in every candidate, "
        f"{summary['supported_in_none']:,} in none.",
    )
    rows = [
        (
            line["name"],
            f"{line['n_clusters']:,}",
            f"{line['replication']:.0%}",
            f"{line['above_chance']:.2f}",
            *(f"{line[count]:,}" for count in ("supported", "contested", "contradicted", "best_for")),
        )
        for line in summary["candidates"]
    ]
    print_table(out, "", _HEADER, rows, left=("candidate",))
    for name, reason in summary["notes"].items():
        print_line(out, f"{name}: {reason}")
    if any(line["labelled"] < 1 for line in summary["candidates"]):
        print_line(out, "Noise has no label to trust: a candidate that leaves doubtful points out looks better.")
