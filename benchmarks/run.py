"""Run the benchmarks and print one table: ``python benchmarks/run.py [--only NAME ...] [--quick]``.

Every ratio compares two things measured in turns in this very run, best of several turns each, so that it survives a
noisy machine. Constants measured elsewhere are marked as such in the table. Results with the machine and the commit go
to ``benchmarks/results/<name>.json``. ``--quick`` takes fewer turns and smaller jobs: a check that everything runs, not
a measurement.
"""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from _machine import describe_machine, machine_lines
from _report import Row, save, table

#: Cheap and disturbance-prone first; each module has a function ``run(quick) -> list[Row]``.
BENCHMARKS = ("cold_start", "speed", "real_data", "jobs", "report_page")


def main() -> None:
    """Run what the command line asks for."""
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
