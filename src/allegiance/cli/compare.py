"""``allegiance compare``: compare several clusterings of the same rows."""

from __future__ import annotations

from typing import Any

import click

from . import _options as opt
from ._clustering import make_clusterer, make_scorer
from ._inputs import load_points, plan_or_raise
from ._outputs import finish_job, free_names, open_job
from ._program import begin

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
            help="Clustering algorithm. Repeatable.",
        ),
        opt.option(
            opt.CLUSTERING, "--clusters", metavar="K", type=click.IntRange(min=1),
            help="Number of clusters of each --algorithm.",
        ),
    ],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    [*opt.TRUST_OPTIONS[:2], opt.RESAMPLES_NEEDED, opt.SEED_OPTION],
    opt.OUTPUT_OPTIONS,
    opt.RUN_OPTIONS,
)  # fmt: skip
def compare(**values: Any) -> int:
    """Score every row of DATA under several clusterings, and compare how well their labels replicate.

    Candidates are ranked by replication above chance: 1 if all labels replicate, 0 if they do so no more often than
    unrelated labels. The candidates may have different numbers of clusters.
    """
    names, algorithms, clusters = values.pop("labels"), values.pop("algorithm"), values.pop("clusters")
    run = begin(values)
    if len(names) + len(algorithms) < 2:
        raise click.UsageError("nothing to compare: pass at least two of --labels COLUMN and --algorithm NAME.")
    needing = [name for name in algorithms if name not in opt.WITHOUT_K]
    if needing and clusters is None:
        raise click.UsageError(f"--algorithm {needing[0]} needs --clusters K.")
    table, record, _ = open_job(run, labels=names, algorithm=algorithms, clusters=clusters)
    if (code := record.skip_if_up_to_date()) is not None:
        return code
    plan = plan_or_raise(run, table, labels=list(names) or None)
    from allegiance import compare_clusterings
    from allegiance.io.values import read_labels

    points = load_points(table, plan)
    candidates: dict[str, Any] = {
        name: read_labels(points.columns.column(name), name, table.where)[0] for name in names
    }
    for name in algorithms:
        unique = name if name not in candidates else f"{name} algorithm"
        candidates[unique] = make_clusterer(name, clusters, run.trust.seed)
    comparison = compare_clusterings(points.X, candidates, scorer=make_scorer(run.trust, run.log))
    row, *_ = points.columns.column_names
    frame = comparison.frame(like=points.columns)
    whole = points.columns.drop_columns([row])
    output_names = free_names(whole.column_names, {name: name for name in frame.column_names})
    for name in frame.column_names:
        whole = whole.append_column(output_names[name], frame.column(name))
    firm = comparison.n_firm
    summary = {
        "rows": len(points.X),
        "best": comparison.best,
        "firm_in_all": int((firm == len(comparison.names)).sum()),
        "firm_in_none": int((firm == 0).sum()),
        "candidates": comparison.candidates().to_dict(orient="records"),
        "estimated_by": {name: result.summary().note for name, result in comparison.results.items()},
    }
    return finish_job(run, record, whole, len(points.X), summary, repr(comparison))
