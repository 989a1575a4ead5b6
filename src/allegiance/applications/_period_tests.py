"""Tests of whether two periods differ by more than chance, and more than would matter."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from allegiance._core import FloatArray
from allegiance.engines import Z95

#: Beyond so many points the hypergeometric distribution is replaced by its limits.
_MOST_EXACT = 1_000_000
#: Up to so many cases the limit is the binomial distribution, beyond them the normal one.
_FEW_CASES = 10_000


class Change(NamedTuple):
    """How figures changed: each field is an array of one shape."""

    then: FloatArray
    now: FloatArray
    low: FloatArray
    """Of the 95 % interval of ``now - then``."""
    high: FloatArray
    p: FloatArray
    """Chance of a change this far beyond what is allowed for, if there is none; NaN counts as 1."""


def means_differ(
    n: tuple[FloatArray, FloatArray],
    mean: tuple[FloatArray, FloatArray],
    variance: tuple[FloatArray, FloatArray],
    allowed: tuple[FloatArray | float, FloatArray | float],
) -> Change:
    """Compare means by Welch's test; ``allowed`` are the changes from and to which nothing is found.

    Parameters
    ----------
    n, mean, variance
        Of then and of now.
    allowed
        The largest fall (0 or less) and rise (0 or more) that is not looked at.
    """
    (n1, n2), (m1, m2), (v1, v2) = n, mean, variance
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = v1 / n1, v2 / n2
        error = np.sqrt(parts[0] + parts[1])
        freedom = (parts[0] + parts[1]) ** 2 / (
            parts[0] ** 2 / np.maximum(n1 - 1.0, 1.0) + parts[1] ** 2 / np.maximum(n2 - 1.0, 1.0)
        )
        change = m2 - m1
        excess = np.maximum(np.maximum(change - allowed[1], allowed[0] - change), 0.0)
        t = np.where(error > 0.0, excess / error, np.where(excess > 0.0, np.inf, 0.0))
        p = 2.0 * stats.t.sf(t, np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1.0))
        # Two values without spread say nothing about a third.
        p = np.where((n1 < 2) | (n2 < 2), 1.0, np.minimum(p, 1.0))
        half = Z95 * error
    return Change(m1, m2, change - half, change + half, p)


def shares_differ(
    cases: tuple[FloatArray, FloatArray],
    n: tuple[FloatArray, FloatArray],
    allowed: tuple[FloatArray | float, FloatArray | float],
) -> Change:
    """Compare shares by Fisher's exact test, with the cases of then moved by the change that is allowed.

    Parameters
    ----------
    cases, n
        Of then and of now: how many points, and out of how many.
    allowed
        As in :func:`means_differ`.
    """
    (x1, x2), (n1, n2) = cases, n
    with np.errstate(invalid="ignore", divide="ignore"):
        then, now = x1 / n1, x2 / n2
        more = np.minimum(np.ceil(x1 + n1 * allowed[1] - 1e-9), n1)
        fewer = np.maximum(np.floor(x1 + n1 * allowed[0] + 1e-9), 0.0)
        rise = _more_cases(more, n1, x2, n2)
        fall = _more_cases(n1 - fewer, n1, n2 - x2, n2)
    p = np.minimum(2.0 * np.fmin(rise, fall), 1.0)
    low, high = _newcombe(then, n1, now, n2)
    return Change(then, now, low, high, np.where((n1 > 0) & (n2 > 0), p, 1.0))


def _more_cases(x1: FloatArray, n1: FloatArray, x2: FloatArray, n2: FloatArray) -> FloatArray:
    """Return the chance of ``x2`` or more cases among ``n2``, given all cases, if both shares are the same."""
    x1, n1, x2, n2 = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (x1, n1, x2, n2)))
    total, cases = n1 + n2, x1 + x2
    exact = total <= _MOST_EXACT
    rare = ~exact & (np.minimum(cases, total - cases) <= _FEW_CASES)
    result = np.ones(total.shape)
    if exact.any():
        sizes = (total[exact], cases[exact], n2[exact])
        result[exact] = stats.hypergeom.sf(x2[exact] - 1.0, *sizes)
    if rare.any():
        result[rare] = stats.binom.sf(x2[rare] - 1.0, cases[rare], n2[rare] / total[rare])
    normal = ~exact & ~rare
    if normal.any():
        share = cases[normal] / total[normal]
        error = np.sqrt(share * (1.0 - share) * (1.0 / n1[normal] + 1.0 / n2[normal]))
        result[normal] = stats.norm.sf((x2[normal] / n2[normal] - x1[normal] / n1[normal]) / error)
    return result


def _newcombe(then: FloatArray, n1: FloatArray, now: FloatArray, n2: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % interval of a difference of shares, from Wilson's intervals of both."""
    (low1, high1), (low2, high2) = _wilson(then, n1), _wilson(now, n2)
    below = np.hypot(now - low2, high1 - then)
    above = np.hypot(high2 - now, then - low1)
    return now - then - below, now - then + above


def _wilson(share: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(invalid="ignore", divide="ignore"):
        center = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 / (1 + Z95**2 / n) * np.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    return center - half, center + half


def holm(*families: FloatArray) -> list[FloatArray]:
    """Return p-values adjusted for the number of all of them together, by Holm's procedure, in the same shapes."""
    flat = np.concatenate([np.nan_to_num(family, nan=1.0).ravel() for family in families])
    order = np.argsort(flat, kind="stable")
    factor = flat.size - np.arange(flat.size)
    adjusted = np.empty(flat.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(flat[order] * factor), 1.0)
    ends = np.cumsum([family.size for family in families])
    return [part.reshape(family.shape) for part, family in zip(np.split(adjusted, ends[:-1]), families, strict=True)]


def ks_distance(first: FloatArray, second: FloatArray) -> float:
    """Return how far two distributions lie apart, both given by quantiles (q,) at the same levels.

    It is a lower bound: quantiles tell the distribution function to within one step.
    """
    places = np.concatenate([first, second])
    apart = 0.0
    for side in ("left", "right"):
        shares = [np.searchsorted(values, places, side=side) / values.size for values in (first, second)]
        apart = max(apart, float(np.abs(shares[0] - shares[1]).max()))
    return max(apart - 2.0 / first.size, 0.0)


def ks_p_value(distance: float, n1: float, n2: float) -> float:
    """Return the chance of such a distance between samples of these sizes from one distribution."""
    if min(n1, n2) < 1:
        return 1.0
    return float(stats.kstwobign.sf(distance * np.sqrt(n1 * n2 / (n1 + n2))))
