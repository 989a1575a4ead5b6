"""Which points are stable with respect to given centres, a block of points at a time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from allegiance._core import BoolArray, FloatArray, IntArray, Rows, check_jobs, check_number
from allegiance._scorer import AffinityScorer
from allegiance.engines import ENGINES, LEAST_EPS, Engine, PrecisionWarning

from ._nearest_centers import row_blocks


class Stability(NamedTuple):
    """What is kept of the affinities of n points."""

    stable: BoolArray
    """(n,) whether one centre gives more than half of the point's territory."""
    confidence: FloatArray
    """(n,) the largest affinity."""
    owner: IntArray
    """(n,) number of the centre with the largest affinity."""


@dataclass(frozen=True)
class StabilityTest:
    """How stability is measured: the parameters of :class:`AffinityScorer` that stay the same for all centres."""

    engine: Engine
    eps: float
    seed: int
    n_jobs: int | None

    @classmethod
    def of(cls, model: Any, seed: int) -> StabilityTest:
        """Check the parameters that an estimator has under these names."""
        return cls(
            ENGINES.resolve(model.engine),
            check_number(model.eps, "eps", low=LEAST_EPS, high=1.0, closed=True),
            seed,
            check_jobs(model.n_jobs),
        )

    def measure(self, X: Rows, centers: FloatArray, extremes: Rows) -> Stability:
        """Score rows of X (n, d) with respect to centres (k, d), in the box around the rows ``extremes``."""
        scorer = AffinityScorer(
            centers=centers, engine=self.engine, eps=self.eps, random_state=self.seed, n_jobs=self.n_jobs
        ).fit(extremes)
        n = X.shape[0]
        found = Stability(np.empty(n, dtype=bool), np.empty(n), np.empty(n, dtype=np.int64))
        with warnings.catch_warnings():
            # Affinities are not returned, so precision warnings are irrelevant.
            warnings.simplefilter("ignore", PrecisionWarning)
            for part in row_blocks(n):
                result = scorer.affinity(X[part])
                found.stable[part], found.confidence[part], found.owner[part] = (
                    result.stable,
                    result.ranks.largest,
                    result.owner,
                )
        return found
