"""``allegiance curve``: replication against the number of clusters."""

from __future__ import annotations

from typing import Any

import click

from . import _options as opt
from ._clustering import make_clusterer
from ._inputs import load_points, plan_or_raise
from ._outputs import finish_job, open_job
from ._program import begin

EPILOG = """\b
Examples:
  allegiance curve flowers.csv --drop species
  allegiance curve flowers.csv --drop species --clusters 2-12 --algorithm gmm -o curve.csv
"""


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Measure replication for several numbers of clusters.")
@opt.options(
    opt.DATA,
    [
        opt.option(
            opt.CLUSTERING, "--clusters", metavar="FROM-TO", type=opt.whole_numbers, default="2-10", show_default=True,
            help="Numbers of clusters to try: a range such as 2-10, or a list such as 2,3,5.",
        ),
        opt.option(
            opt.CLUSTERING, "--algorithm", default="kmeans", show_default=True,
            type=click.Choice([name for name in opt.ALGORITHMS if name not in opt.WITHOUT_K]),
            help="Clustering algorithm.",
        ),
    ],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    [
        opt.option(
            opt.TRUST, "--resamples", metavar="N", type=click.IntRange(min=2),
            help="Number of subsamples to re-cluster for each number of clusters.  [default: 20]",
        ),
        opt.option(
            opt.TRUST, "--references", metavar="N", type=click.IntRange(min=2), default=10, show_default=True,
            help="Number of random reference tables; each takes half as long as DATA.",
        ),
        opt.SEED_OPTION,
    ],
    opt.OUTPUT_OPTIONS,
    opt.RUN_OPTIONS,
)  # fmt: skip
def curve(**values: Any) -> int:
    """Try several numbers of clusters on DATA, and recommend one.

    Replication above chance is compared with that of random tables without clusters.
    """
    numbers, algorithm = values.pop("clusters"), values["algorithm"]
    if min(numbers) < 2:
        raise click.UsageError(f"--clusters must be at least 2, got {min(numbers)}: one cluster always replicates.")
    run = begin(values)
    table, record, _ = open_job(run, clusters=numbers, references=values["references"])
    if (code := record.skip_if_up_to_date()) is not None:
        return code
    plan = plan_or_raise(run, table)
    from allegiance import stability_curve

    points = load_points(table, plan)
    if max(numbers) > len(points.X):
        raise ValueError(f"--clusters {max(numbers)} is more than the {len(points.X):,} rows of {table.where}.")
    result = stability_curve(
        points.X,
        lambda k: make_clusterer(algorithm, k, run.trust.seed),
        numbers,
        n_resamples=run.trust.resamples or 20,
        n_references=values["references"],
        n_jobs=run.trust.n_jobs,
        random_state=run.trust.seed,
        verbose=run.log.progress,
    )
    frame = result.frame(like=points.columns)
    summary = {"recommendation": result.recommendation, "best": result.best, "suggested": result.suggestion}
    summary |= {"caveat": result.caveat, "curve": frame.to_pylist()}
    return finish_job(run, record, frame, len(points.X), summary, repr(result))
