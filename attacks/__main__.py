"""Make attacks and count: ``python -m attacks [--only NAME ...] [--short] [--seed N] [--write]``.

Every attack has random numbers of its own, drawn from the seed, so that a run can be made again. The exit status is 1
if a promise was broken. ``--write`` puts the table into ``docs/reliability.md``.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from pathlib import Path

import allegiance

from ._attack import MODULES, Attack, Tally, generator, load

_ROOT = Path(__file__).resolve().parents[1]
_PAGE = _ROOT / "docs" / "reliability.md"
#: Broken promises told in full; there may be thousands of one kind.
_TOLD = 20


def main() -> int:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m attacks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=MODULES, metavar="NAME", help=", ".join(MODULES))
    parser.add_argument("--short", action="store_true", help="as few attempts as the slow tests make")
    parser.add_argument("--attempts", type=int, help="so many of each instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"put the table into {_PAGE.relative_to(_ROOT)}")
    options = parser.parse_args()
    rows: list[tuple[Attack, Tally, float]] = []
    for module in options.only or MODULES:
        attack = load(module)
        print(f"{attack.name} ...", end=" ", flush=True)
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
            wanted = options.attempts or (attack.short if options.short else attack.full)
            tally = attack.make(wanted, generator(options.seed, module), Path(folder))
        rows.append((attack, tally, time.perf_counter() - started))
        print(_said(tally), f"({rows[-1][2]:.0f} s)", flush=True)
        for text in tally.broken[:_TOLD]:
            print("   ", text)
    if options.write:
        _write(rows, options.seed)
    return int(any(tally.broken for _, tally, _ in rows))


def _said(tally: Tally) -> str:
    if tally.skipped:
        return f"skipped: {tally.skipped}"
    held = ", ".join(f"{count:,} {what}" for what, count in sorted(tally.held.items()))
    return f"{tally.attempts:,} attempts, {len(tally.broken):,} broke a promise: {held}"


def _write(rows: list[tuple[Attack, Tally, float]], seed: int) -> None:
    sys.path.insert(0, str(_ROOT / "benchmarks"))
    from _marked_page import markdown_table, write_parts

    cells = []
    for attack, tally, _ in rows:
        outcomes = ", ".join(f"{what} {count:,}" for what, count in sorted(tally.held.items()))
        counts = ["skipped", "-"] if tally.skipped else [f"{tally.attempts:,}", f"{len(tally.broken):,}"]
        cells.append([attack.name, *counts, tally.skipped or outcomes])
    minutes = sum(seconds for *_, seconds in rows) / 60.0
    machine = f"Python {platform.python_version()}, {platform.system()}, allegiance {allegiance.__version__}"
    table = markdown_table(["attack", "attempts", "broken", "what happened"], cells)
    # The last column is text.
    table = table.replace("---: |\n", "--- |\n", 1)
    write_parts(_PAGE, {"counts": f"Seed {seed}, {minutes:.0f} minutes, {machine}.\n\n{table}"})


if __name__ == "__main__":
    sys.exit(main())
