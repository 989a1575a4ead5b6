"""``allegiance paper``: the paper's tables and figures, ours beside theirs."""

from __future__ import annotations

import click

from ._console import print_json, progress_bar, say
from ._options import RunOptions, run_options

EPILOG = """\b
Examples:
  allegiance paper -o paper
  allegiance paper -o paper --only consensus --only active --seeds 3
"""


@click.command(epilog=EPILOG, short_help="Reproduce the paper's tables and figures.")
@click.option("-o", "--output", metavar="FOLDER", default="paper", show_default=True, help="Folder to write to.")
@click.option("--only", metavar="NAME", multiple=True, help="An experiment; repeatable.  [default: all]")
@click.option("--seeds", type=click.IntRange(min=1), default=10, show_default=True, help="Runs of random experiments.")
@click.option("--fresh", is_flag=True, help="Run again what an earlier run finished.")
@run_options
def paper(output: str, only: tuple[str, ...], seeds: int, fresh: bool, run: RunOptions) -> None:
    """Run the paper's experiments and write one page about them, with pictures, into a folder.

    What finished before is kept, so that an interrupted run can go on.
    """
    from allegiance.paper import EXPERIMENTS, run_paper

    with progress_bar(run, "paper", len(set(only)) or len(EXPERIMENTS), rate=False) as advance:

        def announce(name: str, done: int, total: int) -> None:
            say(run, f"[{done + 1}/{total}] {name}")
            advance(done)

        outcomes = run_paper(output, only=only or None, n_seeds=seeds, fresh=fresh, announce=announce)
    for outcome in outcomes:
        if outcome.skipped:
            say(run, f"Skipped {outcome.name}: {outcome.skipped}")
    if run.json:
        finished = {outcome.name: outcome.seconds for outcome in outcomes if not outcome.skipped}
        print_json(
            {"folder": output, "seconds": finished, "skipped": {o.name: o.skipped for o in outcomes if o.skipped}}
        )
    say(run, f"Wrote {output}")
