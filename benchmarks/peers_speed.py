"""Speed and memory compared with what people use today: ``python benchmarks/peers_speed.py [--quick] [--fresh]``.

Every measurement runs in a process of its own, after a warm-up, and is stopped at 60 s or 8 GB. Results are added to
``docs/benchmarks/speed.csv`` one by one, and a run that was stopped continues where it was; tables and picture go to
``docs/benchmarks.md``. ``--quick`` stops at 10 s and 10,000 points and writes to ``benchmarks/results`` only: a check
that everything runs. ``--page`` measures nothing and writes the page again.
"""

import argparse
import json
from pathlib import Path

from _machine import ROOT, describe_machine, installed_version
from peers._campaign import run_campaign
from peers._tasks import SCENES, TASKS

LIMIT = 60.0
PEERS = ("scikit-learn", "hdbscan", "scikit-fuzzy", "cake-ensemble", "hopsy")
LIBRARIES = ("allegiance", *PEERS, "numpy", "scipy", "numba")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="10 s, 10,000 points, nothing kept in docs")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--page", action="store_true", help="write tables and picture from the results there are")
    parser.add_argument(
        "--limit", type=float, default=LIMIT, help="seconds allowed to each stage (default %(default)g)"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="TASK", choices=[task.name for task in TASKS], help="these tasks only"
    )
    options = parser.parse_args()
    folder = ROOT / "benchmarks" / "results" if options.quick else ROOT / "docs" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    path, about = folder / "speed.csv", folder / "speed.json"
    if options.fresh:
        path.unlink(missing_ok=True)
        about.unlink(missing_ok=True)
    if not options.page:
        _note_machine(about)
        tasks = [task for task in TASKS if options.only is None or task.name in options.only]
        scenes = [scene for scene in SCENES if not options.quick or scene.n <= 10_000]
        run_campaign(path, tasks, scenes, min(options.limit, 10.0) if options.quick else options.limit)
    from peers._page import write_page

    print(write_page(path, about, None if options.quick else ROOT / "docs"))


def _note_machine(path: Path) -> None:
    """Remember machine and versions of the first measurement."""
    if path.exists():
        return
    machine = describe_machine()
    kept = {name: machine[name] for name in ("cpu", "cores", "memory_gb", "load_average", "python")}
    versions = {name: installed_version(name) or "not installed" for name in LIBRARIES}
    path.write_text(json.dumps({**kept, "versions": versions}, indent=2) + "\n")


if __name__ == "__main__":
    main()
