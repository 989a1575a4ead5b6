"""``allegiance compare``: several clusterings of the same rows."""

from __future__ import annotations

from typing import Any

import click

from . import _options as opt
from ._app import begin, console, print_json, print_line, print_table
from ._inputs import clusterer, load_points, make_scorer, open_input, plan_features
from ._outputs import check_inputs, check_outputs, open_output

EPILOG = """\b
Examples:
  allegiance compare flowers.csv --labels species --algorithm kmeans --clusters 3
  allegiance compare flowers.csv --drop species --algorithm kmeans --algorithm gmm --clusters 3
"""
_HEADER = ("candidate", "clusters", "come back", "above chance", "supported", "contested", "contradicted", "best for")


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Compare clusterings of one table, label by label.")
@opt.options(
    opt.DATA,
    [
        opt.option(opt.CLUSTERING, "--labels", metavar="COLUMN", multiple=True, help="Column of labels. Repeatable."),
        opt.option(
            opt.CLUSTERING, "--algorithm", type=click.Choice(opt.ALGORITHMS), multiple=True,
            help="Algorithm that makes a clustering. Repeatable.",
        ),
        opt.option(
            opt.CLUSTERING, "--clusters", metavar="K", type=click.IntRange(min=1),
            help="Clusters of each --algorithm.",
        ),
    ],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    [*opt.TRUST_OPTIONS[:2], opt.RESAMPLES_NEEDED, opt.SEED_OPTION],
    opt.OUTPUT_OPTIONS,
    opt.RUN_OPTIONS,
)  # fmt: skip
def compare(**values: Any) -> None:
    """Score every row of DATA under several clusterings, and say whose labels can be trusted more.

    Candidates are ranked by replication above chance: 1 if all labels come back, 0 if no more than unrelated ones
    would. So their numbers of clusters may differ.
    """
    o, log = begin(values | {"centers": None}, where=values["data"])
    if len(o.labels) + len(o.algorithm) < 2:
        raise click.UsageError("nothing to compare: pass at least two of --labels COLUMN and --algorithm NAME.")
    needing = [name for name in o.algorithm if name != "hdbscan"]
    if needing and o.clusters is None:
        raise click.UsageError(f"--algorithm {needing[0]} needs --clusters K.")
    check_outputs(o)
    table = open_input(o)
    check_inputs(table.files, o.output)
    plan = plan_features(o, table, labels=list(o.labels) or None)
    plan.raise_problems()
    from allegiance import compare_clusterings
    from allegiance.io.values import label_values

    points = load_points(table, plan, None, typed=True)
    candidates: dict[str, Any] = {
        name: label_values(points.columns.column(name), name, table.where)[0] for name in o.labels
    }
    for name in o.algorithm:
        candidates[name if name not in candidates else f"{name} algorithm"] = clusterer(name, o.clusters, o.seed)
    found = compare_clusterings(points.X, candidates, scorer=make_scorer(o, log))
    if o.output is not None:
        row = points.columns.column_names[0]
        frame = found.frame(like=points.columns)
        whole = points.columns.drop_columns([row])
        for name in frame.column_names:
            whole = whole.append_column(name, frame.column(name))
        with open_output(o.output, o) as sink:
            sink.write(whole)
        log.wrote(o.output)
    lines = [line._asdict() for line in found.candidates()]
    notes = {name: result.clusterer_note for name, result in found.results.items() if result.clusterer_note}
    summary = {
        "rows": found.n_points,
        "best": found.best,
        "supported_in_all": int((found.n_supported == len(found.names)).sum()),
        "supported_in_none": int(found.never_supported.sum()),
        "candidates": lines,
        "notes": notes,
    }
    if o.json:
        print_json({**summary, "output": o.output})
    elif not o.quiet:
        _print(summary, err=o.output == "-")
    log.end()


def _print(summary: dict[str, Any], *, err: bool) -> None:
    out = console(err=err)
    best = next(line for line in summary["candidates"] if line["name"] == summary["best"])
    print_line(out, f"Best candidate: {summary['best']} ({best['above_chance']:.2f} above chance).", bold=True)
    print_line(
        out,
        f"Of {summary['rows']:,} rows, {summary['supported_in_all']:,} have a supported label in every candidate, "
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
    for name, note in summary["notes"].items():
        print_line(out, f"{name}: {note}")
    if any(line["labelled"] < 1 for line in summary["candidates"]):
        print_line(out, "Noise has no label to trust: a candidate that leaves doubtful rows out looks better.")
