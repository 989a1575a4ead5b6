"""One cell of the study: a data set, a seed and a clusterer, measured with every score."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._case import Case
from ._clusterers import CLUSTERERS
from ._datasets import LabeledSet
from ._measures import Bools, Floats, auroc, average_precision, kept_accuracy, precision_at
from ._misassigned import by_majority, by_matching
from ._scores import all_scores

#: With fewer misassigned points a cell says too little about finding them.
LEAST_WRONG = 5
PRECISION_SHARES = (0.05,)
COVERAGES = (0.1, 0.3, 0.5, 0.8, 0.9)


class Cell(NamedTuple):
    """What is stored of a cell."""

    about: dict[str, Any]
    """Size of the data, and how many points are misassigned."""
    scores: list[dict[str, Any]]
    """One row of measures for each score."""


def measured_cells(data: LabeledSet, seed: int, clusterers: Sequence[str]) -> Iterator[Cell]:
    """Measure the clusterings of one draw, sharing between them what depends on the data alone."""
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
    """Return how well a score (n,) finds the misassigned points; NaN if there are too few of them, or of the others."""
    if min(int(wrong.sum()), int((~wrong).sum())) < LEAST_WRONG:
        return dict.fromkeys(FINDING, float("nan"))
    accuracy = kept_accuracy(trust, wrong, np.array(COVERAGES))
    values = [
        auroc(trust, wrong),
        average_precision(trust, wrong),
        auroc(trust, unmatched),
        *(precision_at(trust, wrong, share) for share in PRECISION_SHARES),
        *accuracy.tolist(),
    ]
    return dict(zip(FINDING, values, strict=True))


#: The measures of finding misassigned points: by majority, but for the one that is named after the matching.
FINDING = (
    "auroc",
    "ap",
    "matched_auroc",
    *(f"p{100 * share:.0f}" for share in PRECISION_SHARES),
    *(f"keep{100 * share:.0f}" for share in COVERAGES),
)
