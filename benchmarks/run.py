"""Run the benchmarks and print one table: ``python benchmarks/run.py [--only NAME ...] [--quick]``.

A ratio compares two things that take turns in one run, each the best of several turns, so it survives a noisy machine.
Results go to ``benchmarks/results/<name>.json``. ``--quick`` takes fewer turns and smaller jobs: it checks that
everything runs and measures nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from _machine import describe_machine, machine_lines
from _report import Row, save, table

#: The cheap ones, which noise disturbs most, come first. Each module has a function ``run(quick) -> list[Row]``.
BENCHMARKS = ("cold_start", "speed", "real_data", "report_page")


def main() -> None:
    """Run the selected benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="fewer turns, smaller jobs")
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.only or BENCHMARKS:
        rows += _run(name, options.quick)
    print(machine_lines(describe_machine()))
    if options.quick:
        print("--quick: a check that everything runs, not a measurement")
    print()
    print(table(rows))
    missed = sum(row.met is False for row in rows)
    print(f"\n{sum(row.met is True for row in rows)} targets met, {missed} missed")


def _run(name: str, quick: bool) -> list[Row]:
    print(f"{name} ...", end=" ", file=sys.stderr, flush=True)
    started = time.perf_counter()
    machine = describe_machine()
    rows: list[Row] = import_module(name).run(quick)
    save(name, rows, {**machine, "quick": quick})
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    return rows


if __name__ == "__main__":
    main()
