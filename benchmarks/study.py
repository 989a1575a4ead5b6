"""Do low scores find wrong labels? ``python benchmarks/study.py [--quick] [--fresh]``.

Clusters labeled data without looking at the labels, scores every point in every way, and measures how well low scores
point at the points whose class is not that of their cluster. ``docs/benchmarks/quality_*.csv`` has a row for each
clustering, and one for each clustering and score; ``python benchmarks/replication.py --only order`` writes the table.
Finished sets are cached, so an interrupted run continues. ``--folder`` adds labeled tables that the project does not
have. ``--quick`` takes two seeds of a few sets and writes to ``benchmarks/results``: a check that everything runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import joblib
import pandas as pd

from _machine import ROOT, installed_version, usable_cores
from _report import RESULTS
from quality._cell import Cell, measured_cells
from quality._clusterers import CLUSTERERS
from quality._datasets import UnavailableError, all_sets

SEEDS = 5
QUICK_SETS = ("iris", "wine", "soybean", "blobs", "imbalance-5", "stretch-common", "clusters-2", "moons")
LIBRARIES = ("allegiance", "scikit-learn", "hdbscan", "scikit-fuzzy", "cake-ensemble", "numpy", "scipy", "numba")
KEY = ["set", "clusterer", "seed"]


def main() -> None:
    """Measure the selected sets and write both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds of a few sets, nothing kept in docs")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--folder", type=Path, help="more labeled sets: NAME.csv with the class in the last column")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these sets only")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="draws of each set (default %(default)s)")
    parser.add_argument("--processes", type=int, default=usable_cores(), help="default: all cores")
    options = parser.parse_args()
    folder = RESULTS if options.quick else ROOT / "docs" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    versions = {name: installed_version(name) or "not installed" for name in LIBRARIES}
    names = available_sets(options.folder, options.only or (QUICK_SETS if options.quick else None))
    memory = joblib.Memory(RESULTS / "cache", verbose=0)
    measure = memory.cache(measure_set)
    if options.fresh:
        measure.clear(warn=False)
    # Seed by seed, so that an interrupted run has seen all sets.
    jobs = [
        (options.folder, name, seed, versions)
        for seed in range(2 if options.quick else options.seeds)
        for name in names
    ]
    cells: list[Cell] = []
    started = time.perf_counter()
    with joblib.parallel_config("loky", n_jobs=options.processes, inner_max_num_threads=1):
        results = joblib.Parallel(return_as="generator_unordered")(joblib.delayed(measure)(*job) for job in jobs)
        for number, new in enumerate(results, 1):
            cells += new
            about, seconds = new[-1].about, time.perf_counter() - started
            print(f"{number}/{len(jobs)}  {seconds:.0f} s  {about['set']}, seed {about['seed']}", file=sys.stderr)
    write_rows(folder / "quality_cells.csv", KEY, (cell.about for cell in cells), options.fresh)
    scores = (row for cell in cells for row in cell.scores)
    write_rows(folder / "quality_scores.csv", [*KEY, "score"], scores, options.fresh)
    (folder / "quality.json").write_text(json.dumps(versions, indent=2) + "\n")


def available_sets(folder: Path | None, only: Sequence[str] | None) -> list[str]:
    """Return the names of the selected sets whose data are on this machine."""
    sets = {data.name: data for data in all_sets(folder)}
    if unknown := set(only or ()) - set(sets):
        sys.exit(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(sets)}")
    names = []
    for name in only or sets:
        try:
            sets[name].draw(0)
        except UnavailableError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        names.append(name)
    return names


def measure_set(folder: Path | None, name: str, seed: int, versions: dict[str, str]) -> list[Cell]:
    """Measure all clusterings of one draw. The versions are part of the cache key."""
    data = next(data for data in all_sets(folder) if data.name == name)
    return list(measured_cells(data, seed, tuple(CLUSTERERS)))


def write_rows(path: Path, key: list[str], rows: Iterable[dict[str, object]], fresh: bool) -> None:
    """Write sorted rows to a file, with those rows of the file that were not measured again."""
    frames = [pd.read_csv(path)] if path.exists() and not fresh else []
    frame = pd.concat([*frames, pd.DataFrame(list(rows))])
    frame = frame.drop_duplicates(key, keep="last").sort_values(key)
    frame.to_csv(path, index=False, float_format="%.4f", lineterminator="\n")


if __name__ == "__main__":
    main()
