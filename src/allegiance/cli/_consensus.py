"""``allegiance consensus``: one clustering out of several, and whether it is any good."""

from __future__ import annotations

import click

from ._candidates import algorithm_option, candidates, check_clusters, labels_option
from ._console import console, note, print_table
from ._options import DataOptions, RunOptions, ScoringOptions, data_options, run_options, scoring_options
from ._outputs import OutputOptions, behind_ids, open_output, output_options, print_result, say_written, write_output
from ._points import load_points, open_data

EPILOG = """\b
Examples:
  allegiance consensus flowers.csv --clusters 3 --drop species -o agreed.csv
  allegiance consensus flowers.csv --clusters 3 --labels first --labels second --labels third
"""


@click.command(epilog=EPILOG, short_help="Find one clustering that several agree on.")
@data_options
@click.option("--clusters", metavar="K", type=click.IntRange(min=1), required=True, help="Clusters of the consensus.")
@labels_option
@algorithm_option
@click.option(
    "--by",
    type=click.Choice(["kmeans", "hac"]),
    default="kmeans",
    show_default=True,
    help="How clusters are grouped: k-means or agglomerative.",
)
@click.option("--bandwidth", type=float, help="Of the Gaussian kernel.  [default: the median distance]")
@scoring_options
@output_options
@run_options
def consensus(
    data: DataOptions,
    clusters: int,
    labels: tuple[str, ...],
    algorithm: tuple[str, ...],
    by: str,
    bandwidth: float | None,
    scoring: ScoringOptions,
    out: OutputOptions,
    run: RunOptions,
) -> None:
    """Agree on one clustering of DATA, and say whether points became stable by it.

    Without --labels and --algorithm it is made of k-means and single, average, complete and Ward linkage.
    """
    check_clusters(algorithm, clusters)
    sink = open_output(out, run)
    points = load_points(open_data(data, labels, lambda text: note(run, text)), labels)
    from allegiance import ConsensusClustering, validate_consensus

    model = ConsensusClustering(
        candidates(points, labels, algorithm, clusters, run) or None,
        clusters,
        method=by,
        bandwidth=bandwidth,
        random_state=run.seed,
        n_jobs=run.n_jobs,
    ).fit(points.X)
    validation = validate_consensus(
        points.X, model.labelings_, model.labels_, random_state=run.seed, n_jobs=run.n_jobs, **scoring.params()
    )
    columns = {"consensus": model.labels_, "stable": validation.consensus_stable}
    columns |= {f"label_{name}": values for name, values in model.labelings_.items()}
    write_output(sink, behind_ids(points.ids, columns))
    say_written(out.output, run)
    lines = validation.to_frame(like=points.ids).to_pylist()
    if run.json:
        print_result({"verdict": validation.verdict, "clusterings": lines}, output=out.output)
    elif not run.quiet:
        rows = [
            (
                line["clustering"],
                f"{line['n_clusters']:,}",
                f"{line['stable_share']:.1%}",
                f"{line['turned_stable']:,}",
                f"{line['turned_unstable']:,}",
                f"{line['gain']:+.1%}",
                f"{line['rand_distance']:.3f}",
            )
            for line in lines
        ]
        header = ("clustering", "clusters", "stable", "turned stable", "turned unstable", "gain", "Rand distance")
        screen = console(err=out.output == "-")
        print_table(screen, "", header, rows, left=("clustering",))
        screen.print(validation.verdict, markup=False)
