"""Run attacks and count outcomes: ``python -m attacks [--only NAME ...] [--short] [--seed N] [--write]``.

Every attack has its own random numbers, derived from the seed, so each can be repeated alone. A full attack writes its
counts to ``attacks/results/<name>.json``; ``--write`` copies the latest counts to ``docs/reliability.md``. The exit
status is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

from reproduction.framework import commit

from ._common import MODULES, Attack, Tally, generator, load

_ROOT = Path(__file__).resolve().parents[1]
_RESULTS = Path(__file__).resolve().parent / "results"
_PAGE = _ROOT / "docs" / "reliability.md"
#: Broken promises to print; there may be thousands of one kind.
MAX_PRINTED = 20


def main() -> int:
    """Run the selected attacks."""
    parser = argparse.ArgumentParser(prog="python -m attacks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=MODULES, metavar="NAME", help=", ".join(MODULES))
    parser.add_argument("--short", action="store_true", help="make as few attempts as the slow tests")
    parser.add_argument("--attempts", type=int, help="attempts per attack")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help=f"write the table to {_PAGE.relative_to(_ROOT)}")
    options = parser.parse_args()
    broken = 0
    for name in options.only or MODULES:
        attack = load(name)
        print(f"{attack.name} ...", end=" ", flush=True)
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
            attempts = options.attempts or (attack.short if options.short else attack.full)
            tally = attack.make(attempts, generator(options.seed, name), Path(folder))
        seconds = time.perf_counter() - started
        broken += len(tally.broken)
        print(_describe(tally), f"({seconds:.0f} s)", flush=True)
        for text in tally.broken[:MAX_PRINTED]:
            print("   ", text)
        if attempts == attack.full:
            _save(name, attack, tally, options.seed, seconds)
    if options.write:
        _write()
    return int(broken > 0)


def _describe(tally: Tally) -> str:
    if tally.skipped:
        return f"skipped: {tally.skipped}"
    held = ", ".join(f"{count:,} {what}" for what, count in sorted(tally.held.items()))
    return f"{tally.attempts:,} attempts, {len(tally.broken):,} broke a promise: {held}"


def _save(name: str, attack: Attack, tally: Tally, seed: int, seconds: float) -> None:
    _RESULTS.mkdir(exist_ok=True)
    record = {
        "name": attack.name,
        "attempts": tally.attempts,
        "held": dict(sorted(tally.held.items())),
        "broken": tally.broken,
        "skipped": tally.skipped,
        "seed": seed,
        "seconds": round(seconds),
        "commit": commit(),
        "with": f"Python {platform.python_version()} on {platform.system()}",
    }
    (_RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1))


def _write() -> None:
    """Write the latest full run of each attack to the page."""
    sys.path.insert(0, str(_ROOT / "benchmarks"))
    from _marked_page import write_parts

    lines = ["| attack | commit | seed | attempts | broken | outcomes |", "|---|---|---:|---:|---:|---|"]
    for name in MODULES:
        path = _RESULTS / f"{name}.json"
        if not path.exists():
            continue
        record = json.loads(path.read_text())
        outcomes = record["skipped"] or ", ".join(f"{what} {count:,}" for what, count in record["held"].items())
        attempts, broken = f"{record['attempts']:,}", f"{len(record['broken']):,}"
        cells = (record["name"], record["commit"], record["seed"], attempts, broken, outcomes)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    write_parts(_PAGE, {"counts": "\n".join(lines)})


if __name__ == "__main__":
    sys.exit(main())
