"""Make attacks and count: ``python -m attacks [--only NAME ...] [--short] [--seed N] [--write]``.

Every attack has random numbers of its own, drawn from the seed, so that it can be made again by itself. The counts of
a whole one go to ``attacks/results/<name>.json``; ``--write`` puts those of the last run of each into
``docs/reliability.md``. The exit status is 1 if a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from pathlib import Path

from ._common import MODULES, Attack, Tally, generator, load

_ROOT = Path(__file__).resolve().parents[1]
_RESULTS = Path(__file__).resolve().parent / "results"
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
    broken = 0
    for name in options.only or MODULES:
        attack = load(name)
        print(f"{attack.name} ...", end=" ", flush=True)
        started = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="attack-", ignore_cleanup_errors=True) as folder:
            wanted = options.attempts or (attack.short if options.short else attack.full)
            tally = attack.make(wanted, generator(options.seed, name), Path(folder))
        seconds = time.perf_counter() - started
        broken += len(tally.broken)
        print(_said(tally), f"({seconds:.0f} s)", flush=True)
        for text in tally.broken[:_TOLD]:
            print("   ", text)
        if wanted == attack.full:
            _save(name, attack, tally, options.seed, seconds)
    if options.write:
        _write()
    return int(broken > 0)


def _said(tally: Tally) -> str:
    if tally.skipped:
        return f"skipped: {tally.skipped}"
    held = ", ".join(f"{count:,} {what}" for what, count in sorted(tally.held.items()))
    return f"{tally.attempts:,} attempts, {len(tally.broken):,} broke a promise: {held}"


def _save(name: str, attack: Attack, tally: Tally, seed: int, seconds: float) -> None:
    _RESULTS.mkdir(exist_ok=True)
    found = {
        "name": attack.name,
        "attempts": tally.attempts,
        "held": dict(sorted(tally.held.items())),
        "broken": tally.broken,
        "skipped": tally.skipped,
        "seed": seed,
        "seconds": round(seconds),
        "with": f"Python {platform.python_version()} on {platform.system()}",
    }
    (_RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1))


def _write() -> None:
    """Put the last whole run of each attack into the page."""
    sys.path.insert(0, str(_ROOT / "benchmarks"))
    from _marked_page import write_parts

    lines = ["| attack | seed | attempts | broken | what happened |", "|---|---:|---:|---:|---|"]
    for name in MODULES:
        path = _RESULTS / f"{name}.json"
        if not path.exists():
            continue
        found = json.loads(path.read_text())
        happened = found["skipped"] or ", ".join(f"{what} {count:,}" for what, count in found["held"].items())
        cells = (found["name"], found["seed"], f"{found['attempts']:,}", f"{len(found['broken']):,}", happened)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    write_parts(_PAGE, {"counts": "\n".join(lines)})


if __name__ == "__main__":
    sys.exit(main())
