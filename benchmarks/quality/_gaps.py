"""What uneven distances between clusters do: three clusters on a line, unit deviation, known truth."""

from __future__ import annotations

import numpy as np

from allegiance import trust

from ._case import Case
from ._clusterers import Clustering
from ._measures import auroc
from ._peers import distance_gap, distance_ratio, silhouette

GAPS = ((2.5, 2.5), (2.5, 4.0), (2.5, 6.0))
_EACH = 1000


def gap_rows(seed: int = 0) -> list[tuple[tuple[float, float], dict[str, float]]]:
    """Return the AUROC of some scores for each pair of distances between neighbours."""
    rng = np.random.default_rng(seed)
    classes = np.repeat([0, 1, 2], _EACH)
    rows = []
    for gaps in GAPS:
        centers = np.cumsum([0.0, *gaps])
        X = (centers[classes] + rng.normal(size=classes.size))[:, None]
        labels = np.abs(X - centers).argmin(axis=1)
        clustering = Clustering(labels, lambda rows: rows, None)
        case = Case(X, 3, seed, lambda X, k, seed, made=clustering: made)
        ours = trust(X, labels)
        scores = {"trust": ours.trust, "own affinity": ours.own_affinity, "d2 - d1": distance_gap(case)}
        scores |= {"d1/d2": distance_ratio(case), "silhouette": silhouette(case)}
        rows.append((gaps, {name: auroc(values, labels != classes) for name, values in scores.items()}))
    return rows
