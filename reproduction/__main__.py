"""``python -m reproduction``: the paper's tables and figures, compared with ours."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from reproduction import EXPERIMENTS, run_paper


def main(words: Sequence[str] | None = None) -> None:
    """Run the experiments that the command line names, and say what was skipped."""
    arguments = _parser().parse_args(words)
    outcomes = run_paper(
        arguments.output,
        only=arguments.only,
        n_seeds=arguments.seeds,
        fresh=arguments.fresh,
        announce=lambda name, done, total: print(f"[{done + 1}/{total}] {name}", file=sys.stderr, flush=True),
    )
    for outcome in outcomes:
        if outcome.skipped:
            print(f"Skipped {outcome.name}: {outcome.skipped}", file=sys.stderr)
    print(f"Wrote {arguments.output}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Run the paper's experiments and write one page about them, with pictures, into a folder. What "
        "finished before is kept, so that an interrupted run can go on.",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", default="out/paper", help="(default: %(default)s)")
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        choices=EXPERIMENTS,
        help=f"one experiment; repeatable; default all of: {', '.join(EXPERIMENTS)}",
    )
    parser.add_argument("--seeds", type=int, default=10, help="repetitions of random experiments (default: 10)")
    parser.add_argument("--fresh", action="store_true", help="run again what an earlier run finished")
    return parser


if __name__ == "__main__":
    main()
