"""What a review says about the labels that were not reviewed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit, ndtr

from allegiance._core import BoolArray, FloatArray

#: Trust may be off by this much, as a standard deviation of its logit, before anything was reviewed. Over whole
#: clusterings it is off by 0.13 on average (docs/benchmarks.md), which is a logit of 0.8 where trust is 0.8.
_PRIOR_DEVIATION = 1.0
#: Shifts of the logit that are considered, at equal steps.
_SHIFTS = np.linspace(-8.0, 8.0, 641)
#: Trust is rounded to one of these many values, so that millions of labels cost as much as thousands.
_STEPS = 4000
_LOW, _HIGH = 0.025, 0.975


class Unreviewed(NamedTuple):
    """How many of the labels that were not reviewed can be expected to be wrong."""

    labels: int
    wrong: float
    low: float
    """Lower end of a 95 % interval of their number."""
    high: float
    expected_before: float
    """The same as ``wrong`` by trust alone, before the review."""
    shift: float
    """What the review adds to the logit of trust: positive if labels were right more often than trust said."""


def wrong_among_unreviewed(trust: FloatArray, right: BoolArray, rest: FloatArray) -> Unreviewed:
    """Estimate how many of the other labels are wrong, given a review of some.

    Reviews begin with the least trusted labels, so that the share of wrong ones says little about the rest. What it
    says is whether trust was right about the labels it ranked: the logit of trust is shifted by a number, normal around
    zero before the review, and the labels reviewed are independent given their trust. The interval holds what is not
    known of the shift, and that labels are right or wrong by chance.

    Parameters
    ----------
    trust
        (m,) of the labels reviewed, in any order.
    right
        (m,) whether each of them was right.
    rest
        (r,) trust of the labels not reviewed.
    """
    values, counts = _rounded(rest)
    reviewed = logit(_inside(trust))[:, None] + _SHIFTS
    log_posterior = -0.5 * (_SHIFTS / _PRIOR_DEVIATION) ** 2
    log_posterior = log_posterior + np.where(right[:, None], log_expit(reviewed), log_expit(-reviewed)).sum(axis=0)
    posterior = np.exp(log_posterior - log_posterior.max())
    posterior /= posterior.sum()
    chance = expit(logit(values)[:, None] + _SHIFTS)
    wrong, variance = counts @ (1.0 - chance), counts @ (chance * (1.0 - chance))
    low, high = (_quantile(level, posterior, wrong, variance) for level in (_LOW, _HIGH))
    return Unreviewed(
        labels=rest.size,
        wrong=float(posterior @ wrong),
        low=max(low, 0.0),
        high=min(high, float(rest.size)),
        expected_before=float((1.0 - rest).sum()),
        shift=float(posterior @ _SHIFTS),
    )


def _inside(trust: FloatArray) -> FloatArray:
    """Keep trust away from 0 and 1, which no observation could ever correct."""
    return np.clip(trust, 0.5 / _STEPS, 1.0 - 0.5 / _STEPS)


def _rounded(trust: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values of trust after rounding, and how often each occurs."""
    bins = np.bincount(np.minimum((trust * _STEPS).astype(np.int64), _STEPS - 1), minlength=_STEPS)
    occurs = np.flatnonzero(bins)
    return (occurs + 0.5) / _STEPS, bins[occurs].astype(np.float64)


def _quantile(level: float, weight: FloatArray, mean: FloatArray, variance: FloatArray) -> float:
    """Return a quantile of a mixture of normal distributions, by bisection."""
    deviation = np.sqrt(np.maximum(variance, 1e-12))
    low, high = float((mean - 9 * deviation).min()), float((mean + 9 * deviation).max())
    for _ in range(60):
        middle = (low + high) / 2
        below = float(weight @ ndtr((middle - mean) / deviation))
        low, high = (middle, high) if below < level else (low, middle)
    return (low + high) / 2
