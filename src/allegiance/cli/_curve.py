"""``allegiance curve``: stability against the number of clusters."""

from __future__ import annotations

import re

import click

from ._clustering import clusterer
from ._console import console, note, print_table
from ._options import ALGORITHMS, DataOptions, RunOptions, ScoringOptions, data_options, run_options, scoring_options
from ._outputs import OutputOptions, open_output, output_options, print_result, say_written, write_output
from ._points import load_points, open_data

EPILOG = """\b
Examples:
  allegiance curve flowers.csv --drop species
  allegiance curve flowers.csv --drop species --clusters 2-12 --algorithm gmm -o curve.csv
"""


class Numbers(click.ParamType[tuple[int, ...]]):
    """Whole numbers such as 2-10 or 2,3,5."""

    name = "numbers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers.

        Parameters
        ----------
        value
            What the user wrote.
        param, ctx
            For the error message.
        """
        numbers: set[int] = set()
        for part in value.split(","):
            found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
            if found is None:
                self.fail(f"{value!r} is neither a range such as 2-10 nor a list such as 2,3,5.", param, ctx)
            low = int(found[1])
            numbers.update(range(low, int(found[2] or low) + 1))
        if not numbers:
            self.fail(f"{value!r} is an empty range.", param, ctx)
        return tuple(sorted(numbers))


@click.command(epilog=EPILOG, short_help="Measure stability for several numbers of clusters.")
@data_options
@click.option("--clusters", metavar="FROM-TO", type=Numbers(), default="2-10", show_default=True, help="Or 2,3,5.")
@click.option(
    "--algorithm",
    type=click.Choice([name for name in ALGORITHMS if name != "hdbscan"]),
    default="kmeans",
    show_default=True,
    help="How to cluster.",
)
@click.option(
    "--references", type=click.IntRange(min=1), default=10, show_default=True, help="Draws of data without clusters."
)
@scoring_options
@output_options
@run_options
def curve(
    data: DataOptions,
    clusters: tuple[int, ...],
    algorithm: str,
    references: int,
    scoring: ScoringOptions,
    out: OutputOptions,
    run: RunOptions,
) -> None:
    """Cluster DATA into several numbers of clusters, and compare with data that has none."""
    sink = open_output(out, run)
    points = load_points(open_data(data, (), lambda text: note(run, text)))
    from allegiance import stability_curve

    measured = stability_curve(
        points.X,
        lambda k: clusterer(algorithm, k, run.seed),
        clusters,
        n_references=references,
        random_state=run.seed,
        n_jobs=run.n_jobs,
        **scoring.params(),
    )
    table = measured.to_frame(like=points.ids)
    write_output(sink, table)
    say_written(out.output, run)
    lines = table.to_pylist()
    if run.json:
        print_result({"suggested": measured.suggested, "caveat": measured.caveat, "curve": lines}, output=out.output)
    elif not run.quiet:
        rows = [
            (
                str(line["n_clusters"]),
                f"{line['unstable']:.1%}",
                f"{line['confidence']:.3f}",
                f"{line['reference_confidence']:.3f}",
                f"{line['excess']:+.3f} ± {line['spread']:.3f}",
            )
            for line in lines
        ]
        screen = console(err=out.output == "-")
        print_table(screen, "", ("clusters", "unstable", "confidence", "reference", "excess"), rows)
        suggested = measured.suggested
        verdict = "No number of clusters stands out." if suggested is None else f"Suggested: {suggested} clusters."
        screen.print(f"[bold]{verdict}[/bold] {measured.caveat}")
