"""All scores of the study, which of them are compared in the headline, and which of them can be read as a chance."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ._case import Case
from ._clusterers import Floats
from ._ours import OUR_ABLATIONS, OURS, our_scores
from ._peers import PEER_SCORES
from ._whitened import WHITENED_SCORES, whitened_scores

HEADLINE = (OURS, *PEER_SCORES)
ABLATIONS = (*OUR_ABLATIONS, *WHITENED_SCORES)
SCORES = (*HEADLINE, *ABLATIONS)

#: Between -1 and 1.
_SIGNED = ("silhouette", "simplified silhouette", "whitened silhouette")
#: Without a scale of their own.
_NOT_CHANCES = ("distance ratio", "distance gap", "whitened distance ratio", "whitened distance gap")
CHANCES = tuple(name for name in SCORES if name not in _NOT_CHANCES)


class Scored(NamedTuple):
    """What was computed of a clustering."""

    scores: dict[str, Floats]
    """(n,) each, more meaning more trusted."""
    replication: tuple[float, float]
    """The 95 % interval that comes with trust."""


def all_scores(case: Case) -> Scored:
    """Score a clustering in every way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that ran out, mixtures that did not converge: part of "as shipped"
        ours, replication = our_scores(case)
        found = ours | whitened_scores(case) | {name: score(case) for name, score in PEER_SCORES.items()}
    for name, values in found.items():
        if values.shape != (case.X.shape[0],) or not np.isfinite(values).all():
            raise AssertionError(f"{name} gives {values.shape} with {np.isnan(values).sum()} NaN")
    return Scored({name: found[name] for name in SCORES}, replication)


def as_chance(name: str, values: Floats) -> Floats:
    """Read a score as the chance that the label is right; silhouettes s as (s + 1) / 2."""
    return np.clip((values + 1.0) / 2.0 if name in _SIGNED else values, 0.0, 1.0)
