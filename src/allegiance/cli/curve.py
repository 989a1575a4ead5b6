"""``allegiance curve``: replication of labels against the number of clusters."""

from __future__ import annotations

import re
from typing import Any

import click

from . import _options as opt
from ._app import begin, print_json, show
from ._inputs import clusterer, load_points, open_input, plan_or_raise, run_fingerprint
from ._outputs import check_inputs, check_outputs, earlier_exit, write_record, write_rows

EPILOG = """\b
Examples:
  allegiance curve flowers.csv --drop species
  allegiance curve flowers.csv --drop species --clusters 2-12 --algorithm gmm -o curve.csv
"""


class Numbers(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """Whole numbers such as 2-10 or 2,3,5."""

    name = "numbers"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers."""
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


@click.command(cls=opt.Command, epilog=EPILOG, short_help="Measure replication for several numbers of clusters.")
@opt.options(
    opt.DATA,
    [
        opt.option(
            opt.CLUSTERING, "--clusters", metavar="FROM-TO", type=Numbers(), default="2-10", show_default=True,
            help="Numbers of clusters to try: a range such as 2-10, or a list such as 2,3,5.",
        ),
        opt.option(
            opt.CLUSTERING, "--algorithm", type=click.Choice([name for name in opt.ALGORITHMS if name != "hdbscan"]),
            default="kmeans", show_default=True, help="Algorithm that makes the clusterings.",
        ),
    ],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    [
        opt.RESAMPLES_NEEDED,
        opt.option(
            opt.TRUST, "--references", metavar="N", type=click.IntRange(min=2), default=10, show_default=True,
            help="Tables without clusters to compare DATA with; each takes half as long as DATA.",
        ),
        opt.SEED_OPTION,
    ],
    opt.OUTPUT_OPTIONS,
    opt.RUN_OPTIONS,
)  # fmt: skip
def curve(**values: Any) -> None:
    """Cluster DATA into several numbers of clusters, and say for which the labels come back most.

    Replication is measured above chance, and compared with that in tables without clusters: points drawn uniformly
    from the box of DATA.
    """
    o, log = begin(values | {"centers": None, "labels": None, "influence": None}, where=values["data"])
    check_outputs(o)
    table = open_input(o)
    check_inputs(table.files, o.output)
    run = run_fingerprint(o, table)
    if earlier_exit(o, run, log) is not None:
        return
    plan = plan_or_raise(o, table, log)
    from allegiance import stability_curve

    points = load_points(table, plan, None, typed=True)
    measured = stability_curve(
        points.X,
        lambda k: clusterer(o.algorithm, k, o.seed),
        o.clusters,
        n_resamples=20 if o.resamples is None else o.resamples,
        n_references=o.references,
        n_jobs=o.n_jobs,
        random_state=o.seed,
        verbose=log.progress,
    )
    found = measured.frame(like=points.columns)
    write_rows(o.output, found, o, log)
    if o.json:
        summary = {"suggested": measured.suggestion, "caveat": measured.caveat, "curve": found.to_pylist()}
        print_json({**summary, "output": o.output})
    elif not o.quiet:
        show(*repr(measured).splitlines(), err=o.output == "-")
    write_record(o, run)
    log.end()
