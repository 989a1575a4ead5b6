"""``allegiance watch``: whether data has drifted since a model was made, as ``score --model`` tells it, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ._app import DRIFTED, FAILED, Log, begin, print_json, show
from ._inputs import check_model_file, load_model, model_plan, open_input
from ._options import READING_OPTIONS, RUN_OPTIONS, RUNNING, Command, option, options

if TYPE_CHECKING:
    from allegiance import AffinityScorer
    from allegiance.fitting import Fitted
    from allegiance.io import FeaturePlan

EPILOG = """\b
Examples:
  allegiance score january.csv --clusters 8 --save january.model
  allegiance watch --model january.model february.csv march.csv
"""
#: Findings shown of one file.
SHOWN = 12


class Profiler:
    """Adds up the profile of the rows that go by, in the units of the file."""

    def __init__(self, fitted: Fitted, plan: FeaturePlan) -> None:
        self._fitted, self._plan = fitted, plan
        self.total: Any = None

    def add(self, X: Any, start: int) -> None:
        """Add rows (m, d), prepared; ``start`` is the number of the first one."""
        if not len(X) or self._fitted.members is None:
            return
        from allegiance.io.saved import profile_matrix

        part = profile_matrix(self._fitted, self._plan, X, start)
        self.total = part if self.total is None else self.total + part

    def reset(self, rows: Any) -> None:
        """Read all rows again: an earlier run had scored some of them."""
        from allegiance.io.tables import BATCH_ROWS

        self.total, rows.tap = None, None
        for batch in rows.batches(BATCH_ROWS):
            self.add(batch.X, batch.first)


def compare_with_baseline(scorer: AffinityScorer, profiler: Profiler) -> Any:
    """Return how the rows differ from those of the model; None without a baseline."""
    from allegiance.drift import compare_profiles

    baseline = scorer.fitted_.baseline
    if profiler.total is None or baseline is None:
        return None
    return compare_profiles(scorer.fitted_, baseline, profiler.total)


@click.command(cls=Command, epilog=EPILOG, short_help="Say whether later files have drifted from a saved model.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options(
    [
        option(RUNNING, "--model", metavar="MODEL", required=True, help="What `allegiance score --save` wrote."),
        option(
            RUNNING, "--tolerance", metavar="SHARE", type=click.FloatRange(0, 1), default=0.05, show_default=True,
            help="Exit with code 4 if more than this share of the rows must have changed. With 0 any finding counts.",
        ),
    ],
    READING_OPTIONS,
    RUN_OPTIONS,
)  # fmt: skip
def watch(**values: Any) -> int:
    """Compare each FILE with the data that MODEL was made from, and say what changed.

    A file that cannot be read is reported and the others are compared. The exit code is 1 if a file failed, else 4 if
    one drifted.
    """
    o, log = begin(values | {"eps": None, "resamples": None}, where=values["files"])
    check_model_file(o.model)
    scorer, plan = load_model(o, log)
    if scorer.fitted_.baseline is None:
        raise click.ClickException(
            f"{o.model} has no baseline to compare with: make it again with `allegiance score DATA --save {o.model}`, "
            "or in Python with scorer.keep_baseline(X) before scorer.save(path)."
        )
    periods: dict[str, Any] = {}
    for file in dict.fromkeys(o.files):
        try:
            periods[file] = _compared(o, scorer, plan, file, log)
        except (ValueError, OSError) as error:
            periods[file] = error
            log.write("error", str(error) if file in str(error) else f"{file}: {error}", file=file)
    failed = [file for file, found in periods.items() if isinstance(found, Exception)]
    beyond = [file for file, found in periods.items() if file not in failed and _is_beyond(found, o.tolerance)]
    if o.json:
        lines = [
            {"file": file, "error": str(found)} if file in failed else
            {"file": file, "beyond_tolerance": file in beyond, **found.to_dict()}
            for file, found in periods.items()
        ]  # fmt: skip
        print_json({"model": o.model, "tolerance": o.tolerance, "periods": lines})
    elif not o.quiet:
        for file, found in periods.items():
            if file in failed:
                show(f"{file}: not compared, see the error.")
            elif found.drifted or o.verbose:
                first, *changes = repr(found).splitlines()
                show(f"{file}: {first}", bold=True)
                show(*changes, "")
            else:
                show(f"{file}: {found.headline()}.")
    if beyond:
        log.write("drift", f"Beyond --tolerance {o.tolerance:g}: {', '.join(beyond)}.")
    log.end()
    return FAILED if failed else DRIFTED if beyond else 0


def _is_beyond(found: Any, tolerance: float) -> bool:
    return bool(found.drifted and (tolerance == 0 or found.severity > tolerance))


def _compared(o: Any, scorer: AffinityScorer, saved_plan: FeaturePlan | None, file: str, log: Log) -> Any:
    """Read a file and compare it with the baseline of the model."""
    from allegiance.io import TableError
    from allegiance.io.batches import Rows

    table = open_input(o, [file])
    scorer, plan, notes = model_plan(scorer, saved_plan, table)
    for note in notes:
        log.note(f"{file}: {note}")
    profiler = Profiler(scorer.fitted_, plan)
    profiler.reset(Rows(table, plan, None))
    if profiler.total is None:
        raise TableError(f"{file} has no rows.")
    return compare_with_baseline(scorer, profiler)
