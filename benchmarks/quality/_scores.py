"""All scores of the study, and which of them are compared in the headline."""

from __future__ import annotations

import warnings

import numpy as np

from ._case import Case
from ._clusterers import Floats
from ._ours import OUR_SCORES, our_scores
from ._peers import PEER_SCORES
from ._whitened import WHITENED_SCORES, whitened_scores

#: Ours in the comparison with the peers, fixed before any result was seen: the default, and what the documentation
#: recommends for real tables. All others of ours are ablations.
OUR_HEADLINE = ("euclidean box", "within box")
HEADLINE = (*OUR_HEADLINE, *PEER_SCORES)
ABLATIONS = (*OUR_SCORES, *WHITENED_SCORES)
SCORES = (*ABLATIONS, *PEER_SCORES)


def all_scores(case: Case) -> dict[str, Floats]:
    """Return every score of a clustering, (n,) each, more meaning more trusted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # samples that ran out, mixtures that did not converge: part of "as shipped"
        peers = {name: score(case) for name, score in PEER_SCORES.items()}
        scores = our_scores(case) | whitened_scores(case) | peers
    for name, values in scores.items():
        if values.shape != (case.X.shape[0],) or not np.isfinite(values).all():
            raise AssertionError(f"{name} gives {values.shape} with {np.isnan(values).sum()} NaN")
    return scores
