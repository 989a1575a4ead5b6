"""``allegiance check``: show how a table is read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from . import _options as opt
from ._inputs import open_input, plan_features
from ._messages import show
from ._outputs import print_json
from ._program import FAILED, NOTED, begin


@click.command(cls=opt.Command, short_help="Show how a table is read, without clustering it.")
@opt.options(
    opt.DATA,
    opt.CLUSTERING_OPTIONS[:1],
    opt.COLUMN_OPTIONS,
    opt.READING_OPTIONS,
    [
        opt.option(
            opt.RUNNING, "--fail-on-notes", is_flag=True,
            help="Exit with code 5 if there are problems that would change the answer.",
        ),
    ],
    opt.LOG_OPTIONS,
)  # fmt: skip
def check(**values: Any) -> int:
    """Show the role of each column of DATA (feature, identifier or left out), and all problems."""
    run = begin(values)
    table = open_input(run.reading, run.data)
    plan = plan_features(run.features, table, labels=run.features.labels)
    if run.json:
        findings = [asdict(finding) for finding in plan.findings]
        notes = [str(finding) for finding in plan.findings if finding.level != "error"]
        problems = list(plan.problems)
        print_json({"plan": plan.to_dict(), "notes": notes, "problems": problems, "findings": findings})
    else:
        show(*plan.describe())
        if plan.remedy:
            show(f"To change this, add: {plan.remedy}")
    if plan.problems:
        return FAILED
    return NOTED if run.output.fail_on_notes and any(one.level == "warning" for one in plan.findings) else 0
