"""``allegiance curve``: trust in labels against the number of clusters."""

from __future__ import annotations

import re
from typing import Any

import click

from ._clustering import clusterer, scorer_of
from ._console import console, note, print_line, print_table, say
from ._options import (
    ALGORITHMS,
    LIKE_KMEANS,
    DataOptions,
    RunOptions,
    ScoringOptions,
    calibration_options,
    data_options,
    run_options,
)
from ._outputs import (
    OutputOptions,
    check_outputs,
    open_output,
    output_options,
    print_result,
    say_written,
    write_output,
)
from ._param_type import ParamType
from ._points import load_points, open_data

EPILOG = """\b
Examples:
  allegiance curve flowers.csv --drop species --id name
  allegiance curve flowers.csv --drop species --id name --clusters 2-12 --algorithm gmm -o curve.csv
"""
_HEADER = ("clusters", "above chance", "half of the halves", "no clusters", "at most", "")


class Numbers(ParamType[tuple[int, ...]]):
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


@click.command(epilog=EPILOG, short_help="Measure trust for several numbers of clusters.")
@data_options
@click.option(
    "--clusters",
    metavar="FROM-TO",
    type=Numbers(),
    default="2-10",
    show_default=True,
    help="Numbers of clusters to try: a range such as 2-10, or a list such as 2,3,5.",
)
@click.option(
    "--algorithm",
    type=click.Choice([name for name in ALGORITHMS if name != "hdbscan"]),
    default="kmeans",
    show_default=True,
    help="Algorithm that makes the clusterings, and clusters halves of the data anew.",
)
@click.option(
    "--references",
    metavar="N",
    type=click.IntRange(min=2),
    default=10,
    show_default=True,
    help="How many tables without clusters to compare DATA with; each takes as long as DATA.",
)
@calibration_options
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
    """Cluster DATA into several numbers of clusters, and say for which the labels can be trusted most.

    Trust is measured above chance, and compared with that in tables without clusters: points drawn uniformly from the
    box of DATA.
    """
    sink = open_output(out, run)
    opened = open_data(data, (), lambda text: note(run, text))
    check_outputs(opened, sink)
    points = load_points(opened)
    from allegiance import stability_curve

    say(run, f"Clustering DATA and {references:,} tables without clusters, for {len(clusters)} numbers of clusters.")
    measured = stability_curve(
        points.X,
        lambda k: clusterer(algorithm, k, run.seed),
        clusters,
        # In a pipe this says at least that it is done, and how long it took.
        scorer=scorer_of(scoring, run).set_params(verbose=not (run.quiet or run.no_progress)),
        n_references=references,
        refit=algorithm not in LIKE_KMEANS,
    )
    table = measured.frame(like=points.ids)
    write_output(sink, table)
    say_written(out.output, run)
    lines = table.to_pylist()
    if run.json:
        print_result({"suggested": measured.suggestion, "caveat": measured.caveat, "curve": lines}, output=out.output)
    elif not run.quiet:
        screen = console(err=out.output == "-")
        print_table(screen, "Trust above chance", _HEADER, [_cells(line) for line in lines], left=("",))
        print_line(screen, measured.verdict, bold=True)
        if measured.suggestion is not None:
            print_line(screen, measured.caveat)


def _cells(line: dict[str, Any]) -> tuple[str, ...]:
    return (
        str(line["n_clusters"]),
        f"{line['above_chance']:.3f}",
        f"{line['low']:.3f} to {line['high']:.3f}",
        f"{line['reference']:.3f}",
        f"{line['reference_high']:.3f}",
        "<- suggested" if line["suggested"] else "",
    )
