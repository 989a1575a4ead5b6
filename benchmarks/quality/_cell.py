"""One cell of the study: a data set, a seed and a clusterer, measured with every score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ._case import Case
from ._clusterers import CLUSTERERS
from ._datasets import LabelledSet
from ._measures import Bools, Floats, auroc, average_precision, kept_accuracy, precision_at
from ._misassigned import by_majority, by_matching
from ._scores import all_scores

#: With fewer misassigned points a cell says too little, and its scores are not measured.
LEAST_WRONG = 5
PRECISION_SHARES = (0.01, 0.05, 0.10)
COVERAGES = (0.1, 0.3, 0.5, 0.8, 0.9)


class Cell(NamedTuple):
    """What is stored of a cell."""

    about: dict[str, Any]
    """Size of the data and how many points are misassigned."""
    scores: list[dict[str, Any]]
    """One row of measures for each score; none if too few points are misassigned."""


def measured_cells(data: LabelledSet, seed: int, clusterers: Sequence[str]) -> Iterator[Cell]:
    """Measure the clusterings of one draw, sharing between them what depends on the data alone."""
    X, classes = data.draw(seed)
    k = int(classes.max()) + 1
    shared: dict[str, Any] = {}
    for name in clusterers:
        case = Case(X, k, seed, CLUSTERERS[name], shared)
        wrong, unmatched = by_majority(case.labels, classes), by_matching(case.labels, classes)
        key = {"set": data.name, "clusterer": name, "seed": seed}
        about = {
            **key,
            "kind": data.kind,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "clusters": k,
            "wrong": float(wrong.mean()),
            "unmatched": float(unmatched.mean()),
        }
        enough = min(int(wrong.sum()), int((~wrong).sum())) >= LEAST_WRONG
        scores = all_scores(case) if enough else {}
        yield Cell(
            about, [{**key, "score": score, **measures(trust, wrong, unmatched)} for score, trust in scores.items()]
        )


def measures(trust: Floats, wrong: Bools, unmatched: Bools) -> dict[str, float]:
    """Return how well a score (n,) finds the misassigned points, by majority and, the first, by matching."""
    accuracy = kept_accuracy(trust, wrong, np.array(COVERAGES))
    return {
        "auroc": auroc(trust, wrong),
        "ap": average_precision(trust, wrong),
        **{f"p{100 * share:.0f}": precision_at(trust, wrong, share) for share in PRECISION_SHARES},
        "matched_auroc": auroc(trust, unmatched),
        **{f"keep{100 * share:.0f}": float(value) for share, value in zip(COVERAGES, accuracy, strict=True)},
    }
