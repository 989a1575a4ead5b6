"""Run the benchmarks and print one table: ``python benchmarks/run.py [--only NAME ...] [--quick]``.

A ratio compares two things that take turns in one run, each the best of several turns, so it survives a noisy machine.
Results go to ``benchmarks/results/<name>.json``, and most of them to ``docs/benchmarks.md``. ``--quick`` takes fewer
turns and smaller jobs: it checks that everything runs, measures nothing and writes no page.
"""

import argparse
import sys
import time
from importlib import import_module

from _machine import ROOT, describe_machine, machine_lines
from _marked_page import write_parts
from _report import Row, page_table, save, table

#: The cheap ones, which noise disturbs most, come first. Each module has a function ``run(quick) -> list[Row]``.
BENCHMARKS = ("cold_start", "speed", "real_data", "report_page")
#: Those with a part in ``docs/benchmarks.md``.
ON_PAGE = ("speed", "real_data", "report_page")


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
    if name in ON_PAGE and not quick:
        load, commit = machine["load_average"][0], machine["commit"][:12]
        where = f"{machine['cpu']}, {machine['cores']} cores, load {load} at the start, commit {commit}."
        part = f"`python benchmarks/run.py --only {name}`: {where}\n\n{page_table(rows)}"
        write_parts(ROOT / "docs" / "benchmarks.md", {f"run-{name}": part})
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)
    return rows


if __name__ == "__main__":
    main()
