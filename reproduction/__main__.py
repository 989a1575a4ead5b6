"""``python -m reproduction``: reproduce the paper's tables and figures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from reproduction import EXPERIMENTS, run_paper


def main(words: Sequence[str] | None = None) -> None:
    """Run the selected experiments."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction",
        description="Run the paper's experiments and write one page with pictures. Finished experiments are cached "
        "until the code changes.",
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", default="out/paper", help="(default: %(default)s)")
    every = f"run one experiment; repeatable (default: all of {', '.join(EXPERIMENTS)})"
    parser.add_argument("--only", metavar="NAME", action="append", choices=EXPERIMENTS, help=every)
    parser.add_argument("--seeds", type=int, default=10, help="seeds of random experiments (default: 10)")
    jobs = "experiments at a time (default: all cores)"
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help=jobs)
    arguments = parser.parse_args(words)
    run_paper(arguments.output, only=arguments.only, n_seeds=arguments.seeds, jobs=arguments.jobs)
    print(f"Wrote {arguments.output}", file=sys.stderr)


if __name__ == "__main__":
    main()
