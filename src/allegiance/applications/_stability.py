"""Which points are stable towards given centres, a block of points at a time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from allegiance._core import BoolArray, FloatArray, IntArray, Rows, check_choice, check_number
from allegiance._scorer import AffinityScorer
from allegiance.engines import METHODS, PrecisionWarning

from ._nearest import row_blocks


class Examined(NamedTuple):
    """What the affinities of n points come down to."""

    stable: BoolArray
    """(n,) whether one centre gives more than half of the point's territory."""
    confidence: FloatArray
    """(n,) the largest affinity."""
    owner: IntArray
    """(n,) number of the centre with the largest affinity."""


@dataclass(frozen=True)
class Examiner:
    """How stability is measured: the parameters of :class:`AffinityScorer` that do not change along the way."""

    method: str
    eps: float
    seed: int
    n_jobs: int | None

    def check(self) -> None:
        """Raise unless the parameters make sense."""
        check_choice(self.method, "method", METHODS)
        check_number(self.eps, "eps", low=0.0, high=1.0)

    def examine(self, X: Rows, centers: FloatArray, extremes: Rows) -> Examined:
        """Score rows of X (n, d) towards centres (k, d), in the box around the rows ``extremes``."""
        scorer = AffinityScorer(
            centers=centers, method=self.method, eps=self.eps, random_state=self.seed, n_jobs=self.n_jobs
        ).fit(extremes)
        n = X.shape[0]
        found = Examined(np.empty(n, dtype=bool), np.empty(n), np.empty(n, dtype=np.int64))
        with warnings.catch_warnings():
            # A few points measured less precisely than asked for matter to nobody who gets no affinities to see.
            warnings.simplefilter("ignore", PrecisionWarning)
            for part in row_blocks(n):
                result = scorer.affinity(X[part])
                found.stable[part], found.confidence[part], found.owner[part] = (
                    result.stable,
                    result.confidence,
                    result.owner,
                )
        return found
