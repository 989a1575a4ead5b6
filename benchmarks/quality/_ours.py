"""The library's scores: the order of review as it is shipped, and the parts it is made of.

Ours in the comparison is the order of ``trust(X, labels).review()`` with its defaults. The others are ablations: trust,
which also knows the effects of clusters, the two scores that both are a map of, their mean, and the two readings of
affinity with plain Euclidean influence.
"""

from __future__ import annotations

from allegiance import affinity, trust

from ._case import Case
from ._clusterers import Floats

OURS = "order of review"
OUR_ABLATIONS = (
    "trust",
    "own affinity + closeness",
    "own affinity",
    "closeness",
    "own affinity euclidean",
    "confidence euclidean",
)


def our_scores(case: Case) -> dict[str, Floats]:
    """Return all of them, each (n,), more meaning more trusted."""
    result = trust(case.X, case.labels, n_jobs=1)
    plain = affinity(case.X, case.labels, n_jobs=1, influence="euclidean")
    return {
        OURS: -result.priority,
        "trust": result.trust,
        "own affinity + closeness": (result.own_affinity + result.frame(details=True)["closeness"]) / 2.0,
        "own affinity": result.own_affinity,
        "closeness": result.frame(details=True)["closeness"],
        "own affinity euclidean": plain.own_affinity,
        "confidence euclidean": plain.affinity.max(axis=1),
    }
