"""Do low scores find wrong labels? ``python benchmarks/study.py [--quick] [--fresh]``.

Clusters labeled data without looking at the labels, scores every point in every way, and measures how well low scores
point at the points whose class is not that of their cluster. Raw results go to ``docs/benchmarks/quality_*.csv`` as
they come, and a run that was stopped continues where it was; ``python benchmarks/replication.py --only order`` writes
the table. ``--folder`` adds labeled tables that the project does not hold. ``--quick`` takes two seeds of a few sets
and writes to ``benchmarks/results`` only: a check that everything runs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from _machine import ROOT, installed_version, usable_cores
from quality._cell import Cell, measured_cells
from quality._clusterers import CLUSTERERS
from quality._datasets import UnavailableError, all_sets
from quality._store import Store

SEEDS = 5
QUICK_SETS = ("iris", "wine", "soybean", "blobs", "imbalance-5", "stretch-common", "clusters-2", "moons")
LIBRARIES = ("allegiance", "scikit-learn", "hdbscan", "scikit-fuzzy", "cake-ensemble", "numpy", "scipy", "numba")
Job = tuple[str, int, tuple[str, ...]]


def main() -> None:
    """Run what the command line asks for."""
    options = _options()
    folder = ROOT / "benchmarks" / "results" if options.quick else ROOT / "docs" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder, "quality")
    if options.fresh:
        store.clear()
    _note_versions(store)
    names = options.only or (QUICK_SETS if options.quick else None)
    _run(store, _jobs(store, names, options.folder, 2 if options.quick else options.seeds), options)
    store.tidy()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds of a few sets, nothing kept in docs")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--folder", type=Path, help="more labeled sets: NAME.csv with the class in the last column")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these sets only")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="draws of each set (default %(default)s)")
    parser.add_argument("--processes", type=int, default=usable_cores(), help="default: all cores")
    return parser.parse_args()


def _jobs(store: Store, names: Sequence[str] | None, folder: Path | None, seeds: int) -> list[Job]:
    """Return what is still to be measured, seed by seed, so that an interrupted run has seen all sets."""
    done = store.finished()
    known = [data.name for data in all_sets(folder)]
    unknown = set(names or ()) - set(known)
    if unknown:
        sys.exit(f"no such set: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    jobs = []
    for data in all_sets(folder):
        if names is not None and data.name not in names:
            continue
        try:
            data.draw(0)
        except UnavailableError as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        for seed in range(seeds):
            missing = tuple(name for name in CLUSTERERS if (data.name, name, seed) not in done)
            if missing:
                jobs.append((data.name, seed, missing))
    return sorted(jobs, key=lambda job: job[1])


def _run(store: Store, jobs: Sequence[Job], options: argparse.Namespace) -> None:
    started = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    os.environ["OMP_NUM_THREADS"] = "1"  # one thread a process; read by the processes started below
    with ProcessPoolExecutor(options.processes, mp_context=context) as pool:
        waiting: set[Future[list[Cell]]] = {pool.submit(_measure, options.folder, *job) for job in jobs}
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                cells = future.result()
                for cell in cells:
                    store.append(cell)
                _progress(len(jobs) - len(waiting), len(jobs), time.perf_counter() - started, cells[-1])


def _measure(folder: Path | None, name: str, seed: int, clusterers: tuple[str, ...]) -> list[Cell]:
    data = next(data for data in all_sets(folder) if data.name == name)
    return list(measured_cells(data, seed, clusterers))


def _progress(done: int, total: int, seconds: float, cell: Cell) -> None:
    left = seconds / done * (total - done)
    what = f"{cell.about['set']}, seed {cell.about['seed']}"
    print(f"{done}/{total}  {seconds:.0f} s, about {left:.0f} s left  {what}", file=sys.stderr, flush=True)


def _note_versions(store: Store) -> None:
    """Remember what makes the results, and say so if earlier ones were made with something else."""
    now = {name: installed_version(name) or "not installed" for name in LIBRARIES}
    if store.note_versions(now) > 1:
        print("note: earlier results were made with other versions; --fresh starts again", file=sys.stderr)


if __name__ == "__main__":
    main()
