"""Which files of the package a call really enters, in order: ``python benchmarks/walks.py [NAME ...] [--count]``.

A file counts when one of its functions is called; what runs while modules are imported does not. Every walk has a
process of its own, so that nothing is cached. CONTRIBUTING.md shows what this prints, and ``GOALS`` says how many files
each walk may enter at most.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

GOALS = {
    "affinity": 25,
    "affinity, shared samples": 25,
    "trust": 28,
    "score --report": 60,
    "compare_clusterings": 30,
    "consensus": 30,
    "incremental": 30,
    "compare_periods": 30,
}


def main() -> int:
    """Print the walks asked for; return how many enter more files than they may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(GOALS))
    parser.add_argument("--count", action="store_true", help="print only how many files each walk enters")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        warnings.simplefilter("ignore")  # the clusterings here are made up
        print(json.dumps(walk(options.names[0])))
        return 0
    too_long = 0
    for name in options.names or GOALS:
        command = [sys.executable, __file__, name, "--here"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        entered = found["entered"]
        too_long += len(entered) > GOALS[name]
        print(f"{name}: {len(entered)} files (goal {GOALS[name]}), {found['imported']} modules imported")
        if not options.count:
            print("\n".join(f"  {calls:>7,}  {file}" for file, calls in entered.items()) + "\n")
    return too_long


def walk(name: str) -> dict[str, Any]:
    """Do one walk in this process; return the files entered with their calls, and how many modules are imported."""
    import allegiance

    package = str(Path(allegiance.__file__).parent)
    entered: dict[str, int] = {}
    importing = threading.local()

    def note(frame: Any, event: str, _argument: Any) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            importing.depth = getattr(importing, "depth", 0) + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not getattr(importing, "depth", 0) and code.co_filename.startswith(package):
            file = code.co_filename[len(package) + 1 :]
            entered[file] = entered.get(file, 0) + 1

    task = _tasks()[name]
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        task()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return {"entered": entered, "imported": sum(module.startswith("allegiance") for module in sys.modules)}


def _tasks() -> dict[str, Callable[[], object]]:
    """Return the walks: three clusters of customers, in a plane and in many dimensions."""
    import allegiance

    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 40)
    plane, wide = (rng.normal(4.0 * labels[:, None], 1.0, (120, d)) for d in (2, 12))
    many = np.arange(120) % 12
    return {
        "affinity": lambda: allegiance.affinity(plane, labels),
        "affinity, shared samples": lambda: allegiance.affinity(wide, many),
        "trust": lambda: allegiance.trust(wide, labels),
        "score --report": lambda: _score(wide),
        "compare_clusterings": lambda: allegiance.compare_clusterings(wide, {"a": labels, "b": labels % 2}),
        "consensus": lambda: _consensus(wide, [labels, many % 3, many % 4]),
        "incremental": lambda: allegiance.IncrementalKMeans(3, random_state=0).partial_fit(wide).finalize(),
        "compare_periods": lambda: _compare_periods(wide, labels),
    }


def _score(X: Any) -> None:
    from allegiance.cli import main

    with tempfile.TemporaryDirectory() as folder:
        table, scored, page = (str(Path(folder) / name) for name in ("t.csv", "scored.parquet", "report.html"))
        header = ",".join(f"x{i}" for i in range(X.shape[1]))
        np.savetxt(table, X, delimiter=",", header=header, comments="")
        sys.argv = ["allegiance", "score", table, "--clusters", "3", "-o", scored, "--report", page, "--quiet"]
        try:
            main()
        except SystemExit as stop:
            if stop.code:
                raise
        assert Path(page).stat().st_size > 1000


def _consensus(X: Any, clusterings: list[Any]) -> None:
    import allegiance

    consensus = allegiance.ConsensusClustering(clusterings, n_clusters=3, random_state=0).fit(X)
    allegiance.validate_consensus(X, clusterings, consensus.labels_)


def _compare_periods(X: Any, labels: Any) -> None:
    import allegiance
    from allegiance.drift import compare_periods

    scorer = allegiance.AffinityScorer(calibration=20).fit(X, labels)
    compare_periods(scorer, X, X[::2] + 1.0)


if __name__ == "__main__":
    sys.exit(main())
