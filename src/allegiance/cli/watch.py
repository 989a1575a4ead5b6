"""``allegiance watch``: check whether later files have drifted from a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._inputs import check_file, load_model, model_plan, open_input
from ._messages import show
from ._options import READING_OPTIONS, RUN_OPTIONS, RUNNING, Command, option, options
from ._outputs import print_json
from ._program import DRIFTED, FAILED, Run, begin

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.drift import PeriodComparison
    from allegiance.io import FeaturePlan

EPILOG = """\b
Examples:
  allegiance score january.csv --clusters 8 --save january.model
  allegiance watch --model january.model february.csv march.csv
"""


@click.command(cls=Command, epilog=EPILOG, short_help="Check whether later files have drifted from a saved model.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options(
    [
        option(RUNNING, "--model", metavar="MODEL", required=True, help="Model written by `allegiance score --save`."),
        option(
            RUNNING, "--tolerance", metavar="SHARE", type=click.FloatRange(0, 1), default=0.05, show_default=True,
            help="Exit with code 4 if more than this share of the rows has changed. 0 counts every finding.",
        ),
    ],
    READING_OPTIONS,
    RUN_OPTIONS,
)  # fmt: skip
def watch(**values: Any) -> int:
    """Compare each FILE with the data that MODEL was fitted to, and report what changed.

    Files that cannot be read are reported, and the remaining files are compared. The exit code is 1 if a file failed,
    otherwise 4 if a file has drifted.
    """
    run = begin(values, where=values["files"])
    model, tolerance, log = values["model"], run.output.tolerance, run.log
    check_file(model, is_model=True)
    scorer, plan = load_model(run.trust, log)
    if scorer.fitted_.baseline is None:
        raise click.ClickException(
            f"{model} has no baseline to compare with. Save it again with `allegiance score DATA --save {model}`, or "
            "call keep_baseline(X) before save(path) in Python."
        )
    periods: dict[str, PeriodComparison | Exception] = {}
    for file in dict.fromkeys(values["files"]):
        try:
            periods[file] = _compare_file(run, scorer, plan, file)
        except (ValueError, OSError) as error:
            periods[file] = error
            log.write("error", str(error) if file in str(error) else f"{file}: {error}", file=file)
    failed = [file for file, period in periods.items() if isinstance(period, Exception)]
    beyond = [file for file, period in periods.items() if file not in failed and is_beyond(period, tolerance)]
    if run.json:
        lines = [
            {"file": file, "error": str(period)} if isinstance(period, Exception) else
            {"file": file, "beyond_tolerance": file in beyond, **period.to_dict()}
            for file, period in periods.items()
        ]  # fmt: skip
        print_json({"model": model, "tolerance": tolerance, "periods": lines, "notes": log.notes})
    elif not log.quiet:
        for file, period in periods.items():
            if isinstance(period, Exception):
                show(f"{file}: not compared, see the error.")
            elif period.drifted or log.verbose:
                first, *changes = repr(period).splitlines()
                show(f"{file}: {first}", bold=True)
                show(*changes, "")
            else:
                show(f"{file}: {period.headline()}.")
    if beyond:
        log.write("drift", f"Beyond --tolerance {tolerance:g}: {', '.join(beyond)}.")
    log.end()
    return FAILED if failed else DRIFTED if beyond else 0


def is_beyond(drift: Any, tolerance: float) -> bool:
    """Return whether the drift of a later file exceeds ``--tolerance``."""
    return bool(drift.drifted and (tolerance == 0 or drift.severity > tolerance))


def _compare_file(run: Run, scorer: AffinityScorer, saved: FeaturePlan | None, file: str) -> PeriodComparison:
    """Compare a later file with the baseline of the model."""
    from allegiance.drift import compare_profiles
    from allegiance.io import TableError
    from allegiance.io.batches import Rows, profile_table

    table = open_input(run.reading, (file,))
    plan = model_plan(scorer, saved, table)
    rows = Rows(table, plan, None)
    profile = profile_table(scorer.fitted_, rows)
    run.log.note(*(f"{file}: {note}" for note in (*plan.findings, *plan.describe_gaps(rows.gaps))))
    if not profile.n_points:
        raise TableError(f"{file} has no rows.")
    return compare_profiles(scorer, None, profile)
