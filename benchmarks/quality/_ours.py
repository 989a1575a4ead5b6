"""The library's scores: four kinds of influence, each over three domains, all other settings as shipped.

The score of a point is ``confidence``, its largest affinity, as the documentation says. As ablations two readings at
the point's own cluster are kept too, for the two influences of the headline: its affinity ("own"), and that minus the
largest other affinity ("own margin"). They differ from confidence where the clustering and the largest affinity
disagree.
"""

from __future__ import annotations

from typing import Any

from allegiance import affinity

from ._case import Case
from ._clusterers import Floats

INFLUENCES: dict[str, dict[str, Any]] = {
    "euclidean": {},
    "within": {"divergence": "within"},
    "weighted": {"weights": "size", "weight_scale": "auto"},
    "rbf": {"kernel": "rbf"},
}
DOMAINS: dict[str, str | None] = {"box": "box", "ball": "ball", "none": None}
OUR_SCORES = (
    *(f"{influence} {domain}" for influence in INFLUENCES for domain in DOMAINS),
    *(f"{influence} box {reading}" for influence in ("euclidean", "within") for reading in ("own", "own margin")),
)


def our_scores(case: Case) -> dict[str, Floats]:
    """Return all of them, each (n,), more meaning more trusted."""
    scores = {}
    for influence, settings in INFLUENCES.items():
        for name, domain in DOMAINS.items():
            result = affinity(case.X, case.labels, domain=domain, random_state=case.seed, n_jobs=1, **settings)
            scores[f"{influence} {name}"] = result.confidence
            own = case.own(result.affinity)
            scores[f"{influence} {name} own"] = own
            scores[f"{influence} {name} own margin"] = own - case.largest_other(result.affinity)
    return {name: scores[name] for name in OUR_SCORES}
