"""Features whose values were multiplied by a constant between two periods: cents that became dollars."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray
from allegiance.results import LEVELS, Profile

from ._period_tests import ks_distance, ks_p_value

#: Factors closer to 1 are growth, not another unit.
_SMALLEST_FACTOR = 1.5
#: How far the distributions may lie apart once the factor is undone: clusters may have changed as well.
_STILL_APART = 0.15
#: How far the factor of the spread may be off the factor of the values.
_SPREAD = 1.3


class UnitChange(NamedTuple):
    """Whether a feature was multiplied by a constant."""

    factor: float
    """By which its values were multiplied; NaN if they were not."""
    p: float
    """Chance that the distributions lie so far apart if nothing changed; 1 without a factor."""


def unit_changes(then: Profile, now: Profile) -> list[UnitChange]:
    """Return for each feature whether its unit changed."""
    if then.quantiles is None or now.quantiles is None or then.n_values is None or now.n_values is None:
        return []
    found = []
    for before, after, n1, n2 in zip(then.quantiles.T, now.quantiles.T, then.n_values, now.n_values, strict=True):
        factor = _factor(before, after, float(n1), float(n2))
        p = 1.0 if np.isnan(factor) else ks_p_value(ks_distance(before, after), float(n1), float(n2))
        found.append(UnitChange(factor, p))
    return found


def _factor(before: FloatArray, after: FloatArray, n1: float, n2: float) -> float:
    """Return the constant that turns one distribution into the other, NaN if there is none, or it is close to 1."""
    known = np.abs(before) > 1e-12 * np.abs(before).max(initial=0.0)
    if not known.any() or min(n1, n2) < 20:
        return np.nan
    factor = _weighted_median(after[known] / before[known], np.abs(before[known]))
    if factor <= 0.0 or abs(np.log(factor)) < np.log(_SMALLEST_FACTOR):
        return np.nan
    spreads = [_spread(values) for values in (before, after)]
    if spreads[0] <= 0.0 or not 1 / _SPREAD < spreads[1] / spreads[0] / factor < _SPREAD:
        return np.nan
    by_chance = 1.63 * np.sqrt((n1 + n2) / (n1 * n2))
    return factor if ks_distance(before, after / factor) <= max(_STILL_APART, by_chance) else np.nan


def _weighted_median(values: FloatArray, weights: FloatArray) -> float:
    order = np.argsort(values)
    reached = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2.0)
    return float(values[order[min(reached, order.size - 1)]])


def _spread(quantiles: FloatArray) -> float:
    """Return how wide a distribution is: the middle half, or if that is a single value the middle 95 %."""
    for low in (0.25, 0.025):
        width = float(np.interp(1.0 - low, LEVELS, quantiles) - np.interp(low, LEVELS, quantiles))
        if width > 0.0:
            return width
    return 0.0
