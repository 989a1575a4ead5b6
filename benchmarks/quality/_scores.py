"""All scores of the study, and which of them are compared in the headline."""

from __future__ import annotations

import warnings

import numpy as np

from ._case import Case
from ._clusterers import Floats
from ._ours import OUR_ABLATIONS, OURS, our_scores
from ._peers import PEER_SCORES
from ._whitened import WHITENED_SCORES, whitened_scores

HEADLINE = (OURS, *PEER_SCORES)
ABLATIONS = (*OUR_ABLATIONS, *WHITENED_SCORES)
SCORES = (*HEADLINE, *ABLATIONS)


def all_scores(case: Case) -> dict[str, Floats]:
    """Score a clustering in every way; (n,) each, more meaning more trusted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that ran out, mixtures that did not converge: part of "as shipped"
        found = our_scores(case) | whitened_scores(case) | {name: score(case) for name, score in PEER_SCORES.items()}
    for name, values in found.items():
        if values.shape != (case.X.shape[0],) or not np.isfinite(values).all():
            raise AssertionError(f"{name} gives {values.shape} with {np.isnan(values).sum()} NaN")
    return {name: found[name] for name in SCORES}
