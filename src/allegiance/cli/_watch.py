"""``allegiance watch``: whether data has drifted since a model was made."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from ._console import console, note, print_line, print_table, say, shows_progress
from ._models import load_model, open_by_model
from ._options import INPUT_FORMATS, DataOptions, RunOptions, run_options
from ._outputs import print_result
from ._program import DRIFTED

if TYPE_CHECKING:
    from allegiance.drift import PeriodComparison
    from allegiance.io.models import Model

EPILOG = """\b
Examples:
  allegiance score jan.csv --clusters 8 --id customer --save jan.model
  allegiance watch --model jan.model feb.csv mar.csv
  allegiance watch --model jan.model feb.csv --tolerance 0.02
"""
_MEASURES = ("share", "atypical")
#: Lines of findings shown for one file.
_MOST_FINDINGS = 12


@click.command(epilog=EPILOG, short_help="Say whether later files have drifted from a saved model.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--model", metavar="MODEL", required=True, help="What `allegiance score --save` wrote, with its baseline."
)
@click.option(
    "--tolerance",
    metavar="SHARE",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Exit with code 4 if a finding is more severe: the least share of the rows that must have changed. With 0 any "
    "finding counts.",
)
@click.option(
    "--input-format",
    type=click.Choice(INPUT_FORMATS),
    help="Format of the files, if the endings of their names do not say.",
)
@click.option(
    "--batch-rows",
    metavar="N",
    type=click.IntRange(min=1),
    default=65_536,
    show_default=True,
    help="How many rows to hold in memory at a time.",
)
@run_options
def watch(
    files: tuple[str, ...],
    model: str,
    tolerance: float,
    input_format: str | None,
    batch_rows: int,
    run: RunOptions,
) -> int:
    """Compare each FILE with the data that MODEL was made from, and say what changed.

    Every file is a period of its own, prepared and scored as MODEL says, and read in batches of --batch-rows.
    """
    known = load_model(model)
    assert known is not None
    comparisons = {}
    for file in dict.fromkeys(files):
        comparisons[file] = _compared(known, model, file, input_format, batch_rows, run)
    beyond = [file for file, comparison in comparisons.items() if comparison.severity > tolerance]
    if run.json:
        periods = [
            {"file": file, "beyond_tolerance": file in beyond, **comparison.to_dict()}
            for file, comparison in comparisons.items()
        ]
        print_result({"model": model, "tolerance": tolerance, "periods": periods})
    elif not run.quiet:
        for file, comparison in comparisons.items():
            _print(file, comparison, verbose=run.verbose)
    if beyond and not run.json:
        say(run, f"Beyond --tolerance {tolerance:g}: {', '.join(beyond)}.")
    return DRIFTED if beyond else 0


def _compared(
    model: Model, path: str, file: str, input_format: str | None, batch_rows: int, run: RunOptions
) -> PeriodComparison:
    """Read a file and compare it with the baseline of the model."""
    from allegiance.drift import baseline_of, compare_profiles
    from allegiance.io._old_tables import PreparedSource
    from allegiance.io.streams import profile_stream

    fitted = model.scorer.fitted_
    baseline = baseline_of(fitted)
    if baseline is None:
        raise click.ClickException(
            f"{path} has no baseline to compare with: make it anew with `allegiance score DATA --save {path}`, or "
            "in Python with scorer.keep_baseline(X) before scorer.save(path)."
        )
    data = replace(_NO_OPTIONS, data=(file,), input_format=input_format)
    opened = open_by_model(model, data, None, lambda text: note(run, f"{file}: {text}"))
    source = PreparedSource(opened.source, opened.features, number=True)
    now = profile_stream(
        source, fitted, columns=opened.features.names, batch_rows=batch_rows, verbose=shows_progress(run)
    )
    return compare_profiles(fitted, baseline, now)


#: A table as the model knows it.
_NO_OPTIONS = DataOptions(
    data=(),
    input_format=None,
    id=(),
    features=(),
    drop=(),
    one_hot=(),
    categorical=None,
    impute=None,
    missing=(),
    decimal=None,
    cycles=(),
    standardize=False,
)


def _print(file: str, comparison: PeriodComparison, *, verbose: bool) -> None:
    """Print what changed in a file; the figures of its clusters if something did."""
    out = console(err=False)
    print_line(out, f"{file}: {comparison.now.n_points:,} rows. {comparison.headline()}.", bold=comparison.drifted)
    for finding in comparison.findings[:_MOST_FINDINGS]:
        print_line(out, f"  - {finding.sentence}.")
    left = len(comparison.findings) - _MOST_FINDINGS
    if left > 0:
        print_line(out, f"  ... and {left} more: see --json.")
    if comparison.drifted or verbose:
        print_table(out, "", ("cluster", *_MEASURES), _rows(comparison), left=("cluster",))


def _rows(comparison: PeriodComparison) -> list[list[str]]:
    return [
        [str(row["cluster"])]
        + [
            " to ".join(
                "-" if row[f"{name}_{when}"] is None else f"{row[f'{name}_{when}']:.1%}" for when in ("then", "now")
            )
            for name in _MEASURES
        ]
        for row in comparison.to_dict()["clusters"]
    ]
