"""One cell of the study: a data set, a seed and a clusterer, measured with every score."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, roc_auc_score

from ._case import Case
from ._clusterers import CLUSTERERS
from ._datasets import LabeledSet
from ._misassigned import by_majority, by_matching
from ._scores import all_scores

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: With fewer misassigned points a cell says too little about finding them.
LEAST_WRONG = 5


class Cell(NamedTuple):
    """The results of a cell."""

    about: dict[str, Any]
    """Size of the data, and how many points are misassigned."""
    scores: list[dict[str, Any]]
    """One row of measures for each score."""


def measured_cells(data: LabeledSet, seed: int, clusterers: Sequence[str]) -> Iterator[Cell]:
    """Measure the clusterings of one draw, sharing values that depend only on the data."""
    X, classes = data.draw(seed)
    k = int(classes.max()) + 1
    shared: dict[str, Any] = {}
    for name in clusterers:
        started = time.process_time()
        case = Case(X, k, seed, CLUSTERERS[name], shared)
        wrong, unmatched = by_majority(case.labels, classes), by_matching(case.labels, classes)
        scored = all_scores(case)
        key = {"set": data.name, "clusterer": name, "seed": seed}
        scores = [{**key, "score": score, **measures(trust, wrong, unmatched)} for score, trust in scored.items()]
        about = {
            **key,
            "kind": data.kind,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "clusters": k,
            "wrong": float(wrong.mean()),
            "unmatched": float(unmatched.mean()),
            "seconds": time.process_time() - started,
        }
        yield Cell(about, scores)


def measures(trust: Floats, wrong: Bools, unmatched: Bools) -> dict[str, float]:
    """Return how well low scores (n,) find misassigned points; NaN with too few of them, or too few of the others."""
    if min(int(wrong.sum()), int((~wrong).sum())) < LEAST_WRONG:
        return dict.fromkeys(("auroc", "ap", "matched_auroc"), float("nan"))
    return {
        "auroc": float(roc_auc_score(wrong, -trust)),
        "ap": float(average_precision_score(wrong, -trust)),
        "matched_auroc": float(roc_auc_score(unmatched, -trust)),
    }
