"""The library's scores: trust as it is shipped, and the parts it is made of.

Ours in the comparison is ``trust(X, labels)`` with its defaults. The others are ablations: trust without the prior on
large and wide clusters, the two scores that trust is a map of, their mean, and the two readings of affinity with plain
Euclidean influence, of which ``confidence`` was the headline before trust.
"""

from __future__ import annotations

from allegiance import affinity, trust

from ._case import Case
from ._clusterers import Floats

OURS = "trust"
OUR_ABLATIONS = (
    "trust without crowding",
    "own affinity + closeness",
    "own affinity",
    "closeness",
    "own affinity euclidean",
    "confidence euclidean",
)


def our_scores(case: Case) -> tuple[dict[str, Floats], tuple[float, float]]:
    """Return all of them, each (n,), more meaning more trusted; and the interval of the share expected to be right."""
    result = trust(case.X, case.labels, n_jobs=1)
    plain = affinity(case.X, case.labels, n_jobs=1, influence="euclidean")
    scores = {
        OURS: result.trust,
        "trust without crowding": trust(case.X, case.labels, crowding=0.0, n_jobs=1).trust,
        "own affinity + closeness": (result.own_affinity + result.closeness) / 2.0,
        "own affinity": result.own_affinity,
        "closeness": result.closeness,
        "own affinity euclidean": plain.own_affinity,
        "confidence euclidean": plain.affinity.max(axis=1),
    }
    return scores, result.replication_interval
