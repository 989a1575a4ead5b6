"""``allegiance consensus``: one clustering out of several, and whether it is better than they are."""

from __future__ import annotations

from typing import Any

import click

from ._candidates import algorithm_option, candidates, check_clusters, labels_option
from ._clustering import scorer_of
from ._console import console, note, print_line, print_table
from ._kinds import Kind
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

EPILOG = """\b
Examples:
  allegiance consensus flowers.csv --clusters 3 --drop species --id name -o agreed.csv
  allegiance consensus flowers.csv --clusters 3 --labels first --labels second --labels third
"""
_HEADER = ("clustering", "clusters", "above chance", "gain", "supported", "gained", "lost", "Rand distance")


@click.command(epilog=EPILOG, short_help="Find one clustering that several agree on.")
@data_options
@click.option(
    "--clusters", metavar="K", type=click.IntRange(min=1), required=True, help="Number of clusters of the consensus."
)
@labels_option
@algorithm_option
@click.option(
    "--by",
    type=click.Choice(["kmeans", "hac"]),
    default="kmeans",
    show_default=True,
    help="How the clusters of all clusterings are grouped: by k-means, or agglomeratively (hac).",
)
@click.option(
    "--kernel",
    type=Kind("influence"),
    metavar="NAME[:gamma=NUMBER]",
    default="rbf",
    show_default=True,
    help="Kernel by which clusters are compared, rbf or laplacian; gamma follows from the median distance of rows.",
)
@judging_options
@output_options
@run_options
def consensus(
    data: DataOptions,
    clusters: int,
    labels: tuple[str, ...],
    algorithm: tuple[str, ...],
    by: str,
    kernel: Any,
    scoring: ScoringOptions,
    out: OutputOptions,
    run: RunOptions,
) -> None:
    """Agree on one clustering of DATA, and say whether its labels can be trusted more.

    Without --labels and --algorithm it is made of k-means and single, average, complete and Ward linkage.
    """
    check_clusters(algorithm, clusters)
    sink = open_output(out, run)
    opened = open_data(data, labels, lambda text: note(run, text))
    check_outputs(opened, sink)
    points = load_points(opened, labels)
    from allegiance import ConsensusClustering, validate_consensus

    model = ConsensusClustering(
        candidates(points, labels, algorithm, clusters, run) or None,
        clusters,
        method=by,
        kernel=kernel,
        random_state=run.seed,
        n_jobs=run.n_jobs,
    ).fit(points.X)
    validation = validate_consensus(points.X, model.labelings_, model.labels_, scorer=scorer_of(scoring, run))
    columns = {"consensus": model.labels_, "supported": validation.comparison.supported[:, -1]}
    columns |= {f"label_{name}": values for name, values in model.labelings_.items()}
    write_output(sink, behind_ids(points.ids, columns))
    say_written(out.output, run)
    lines = validation.frame(like=points.ids).to_pylist()
    if run.json:
        print_result({"verdict": validation.verdict, "clusterings": lines}, output=out.output)
    elif not run.quiet:
        screen = console(err=out.output == "-")
        print_table(screen, "", _HEADER, [_cells(line) for line in lines], left=("clustering",))
        print_line(screen, validation.verdict)


def _cells(line: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a clustering; the consensus is not compared with itself."""
    others = (
        f"{line['gain']:+.2f}",
        f"{line['turned_supported']:,}",
        f"{line['turned_doubtful']:,}",
        f"{line['rand_distance']:.3f}",
    )
    gain, gained, lost, distance = others if line["verdict"] else ("",) * len(others)
    name, trust = line["clustering"], f"{line['above_chance']:.2f}"
    return name, f"{line['n_clusters']:,}", trust, gain, f"{line['supported']:,}", gained, lost, distance
