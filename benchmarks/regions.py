"""Box, ball or whole space: in which region does low affinity find wrong labels? ``python benchmarks/regions.py``.

Takes the labelled sets and the clusterers of the study (``benchmarks/study.py``), one draw each, and prints the AUROC
of the largest affinity for misassigned points, by the domain in which volume is measured: the figures that
``python -m reproduction --only readings`` quotes.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from allegiance import affinity
from quality._case import Case
from quality._clusterers import CLUSTERERS
from quality._datasets import LabelledSet, UnavailableError, all_sets
from quality._measures import auroc
from quality._misassigned import by_majority

DOMAINS = ("box", "ball", "space")
#: Fewer misassigned points, or fewer others, say too little.
ENOUGH = 5


def measured(data: LabelledSet, seed: int) -> np.ndarray:
    """Return the AUROC of each domain (3,), mean over the clusterers; NaN if no clustering has enough wrong labels."""
    X, classes = data.draw(seed)
    found = []
    for clusterer in CLUSTERERS.values():
        labels = Case(X, int(classes.max()) + 1, seed, clusterer).labels
        wrong = by_majority(labels, classes)
        if min(wrong.sum(), (~wrong).sum()) >= ENOUGH:
            results = [affinity(X, labels, domain=domain, random_state=0, n_jobs=1) for domain in DOMAINS]
            found.append([auroc(result.affinity.max(axis=1), wrong) for result in results])
    return np.mean(found, axis=0) if found else np.full(len(DOMAINS), np.nan)


def main() -> None:
    """Print one row for each set, and the means."""
    parser = argparse.ArgumentParser(description="AUROC of the largest affinity by domain.")
    parser.add_argument("--folder", type=Path, help="more labelled sets: NAME.csv with the class in the last column")
    parser.add_argument("--seed", type=int, default=0, help="which draw (default: %(default)s)")
    options = parser.parse_args()
    print(f"| set | kind | {' | '.join(DOMAINS)} |\n|---|---|{'---|' * len(DOMAINS)}")
    kinds: dict[str, list[np.ndarray]] = {}
    for data in all_sets(options.folder):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = measured(data, options.seed)
        except UnavailableError as error:
            print(f"| {data.name} | skipped: {error} | | | |")
            continue
        print(f"| {data.name} | {data.kind} | {_cells(row)} |", flush=True)
        if not np.isnan(row).any():
            for kind in (data.kind, "all"):
                kinds.setdefault(kind, []).append(row)
    for kind, rows in kinds.items():
        print(f"| mean of {len(rows)} | {kind} | {_cells(np.mean(rows, axis=0))} |")


def _cells(row: np.ndarray) -> str:
    return " | ".join("-" if np.isnan(value) else f"{value:.3f}" for value in row)


if __name__ == "__main__":
    main()
