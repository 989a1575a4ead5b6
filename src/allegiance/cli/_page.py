"""The page of ``score --report`` and ``review``: its settings, from the options and the facts about the labels."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from ._inputs import Points, ids_of
from ._program import Run
from ._summary import Facts

if TYPE_CHECKING:
    from allegiance.io import FeaturePlan, Table
    from allegiance.results import AffinityResult


def check_page() -> None:
    """Raise unless the libraries for the page are installed."""
    for library in ("bokeh", "jinja2", "PIL"):
        if find_spec(library) is None:
            raise click.ClickException(f"the page needs {library}: pip install 'allegiance[report]'.")


def map_axes(text: str) -> list[str]:
    """Return the two columns of ``--map X,Y``."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise click.UsageError(f"--map {text} does not name two columns: write --map X,Y.")
    return names


def write_page(run: Run, result: AffinityResult, points: Points, plan: FeaturePlan, table: Table, facts: Facts) -> None:
    """Write the page, if a file is named."""
    if run.output.report is None:
        return
    from allegiance.io.files import write_whole
    from allegiance.report import render_report

    page = render_report(result, points.X, **page_settings(run, result, points, plan, table, facts))
    write_whole(run.output.report, page.encode("utf-8", "replace"), force=run.output.replaces)
    run.log.wrote(run.output.report)


def page_settings(
    run: Run, result: AffinityResult, points: Points, plan: FeaturePlan, table: Table, facts: Facts
) -> dict[str, Any]:
    """Return the settings of the page."""
    row, ids = points.columns.column_names[0], ids_of(run.features, plan, table)
    short = {label: each.name for label, each in zip(result.classes.tolist(), facts.descriptions, strict=True)}
    where = table.where.partition("?")[0] if "://" in table.where else table.where
    columns = [line.strip() for line in plan.describe(findings=False)[1:]]
    columns += [str(finding) for finding in plan.findings if finding.level == "note"]
    axes = None if run.output.map is None else tuple(table.check_columns(map_axes(run.output.map)))
    return {
        "data": points.typed,
        "describe_by": list(plan.used),
        # Labels that are words need no names.
        "names": short if result.classes.dtype.kind in "iuf" else None,
        "ids": points.columns.select(ids) if ids else None,
        "texts": None if run.features.text is None else points.columns.column(run.features.text),
        "feature_names": list(plan.names),
        "row_numbers": points.columns.column(row).to_numpy(),
        "title": f"Clusters of {where.rstrip('/').replace(os.sep, '/').rpartition('/')[2] or where}",
        "map": axes,
        "drivers": facts.drivers,
        "notes": facts.findings,
        "provenance": {
            "columns used": f"{len(plan.used):,} of {len(points.typed.column_names):,}: {', '.join(plan.used)}",
            **{name: str(text) for name, text in facts.source.items()},
            "columns": "\n".join(columns),
        },
    }
