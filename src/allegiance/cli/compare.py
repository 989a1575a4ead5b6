"""``allegiance compare``: several clusterings of the same rows."""

from __future__ import annotations

from typing import Any

import click

from . import _options as opt
from ._app import begin, print_json, show
from ._inputs import clusterer, load_points, make_scorer, open_input, plan_or_raise, run_fingerprint
from ._outputs import check_inputs, check_outputs, earlier_exit, write_record, write_rows

EPILOG = """\b
Examples:
  allegiance compare flowers.csv --labels species --algorithm kmeans --clusters 3
  allegiance compare flowers.csv --drop species --algorithm kmeans --algorithm gmm --clusters 3
"""


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
    run = run_fingerprint(o, table)
    if earlier_exit(o, run, log) is not None:
        return
    plan = plan_or_raise(o, table, log, labels=list(o.labels) or None)
    from allegiance import compare_clusterings
    from allegiance.io.values import label_values

    points = load_points(table, plan, None, typed=True)
    candidates: dict[str, Any] = {
        name: label_values(points.columns.column(name), name, table.where)[0] for name in o.labels
    }
    for name in o.algorithm:
        candidates[name if name not in candidates else f"{name} algorithm"] = clusterer(name, o.clusters, o.seed)
    found = compare_clusterings(points.X, candidates, scorer=make_scorer(o, log))
    row, *_ = points.columns.column_names
    frame = found.frame(like=points.columns)
    whole = points.columns.drop_columns([row])
    for name in frame.column_names:
        whole = whole.append_column(name, frame.column(name))
    write_rows(o.output, whole, o, log)
    if o.json:
        summary = {
            "rows": found.n_points,
            "best": found.best,
            "firm_in_all": int((found.n_firm == len(found.names)).sum()),
            "firm_in_none": int(found.never_firm.sum()),
            "candidates": [line._asdict() for line in found.candidates()],
            "notes": {name: result.summary().note for name, result in found.results.items()},
        }
        print_json({**summary, "output": o.output})
    elif not o.quiet:
        show(*repr(found).splitlines(), err=o.output == "-")
    write_record(o, run)
    log.end()
