"""Comparison of scores over data sets: mean ranks, Friedman's test, Nemenyi's critical difference, wins and losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]


class Ranking(NamedTuple):
    """Scores compared over data sets."""

    mean_ranks: Floats
    """(scores,) 1 is best; equal values share their rank."""
    n_sets: int
    p_value: float
    """Of Friedman's test that all scores are alike."""
    critical_difference: float
    """Mean ranks closer than this may differ by chance: Nemenyi's test at 5 %."""


class Tally(NamedTuple):
    """One score beside another, over clusterings of data sets."""

    wins: int
    even: int
    losses: int
    mean_difference: float


def rank_scores(values: Floats) -> Ranking:
    """Rank scores by ``values`` (sets, scores), of which more is better."""
    n, m = values.shape
    ranks = stats.rankdata(-values, axis=1)
    return Ranking(ranks.mean(axis=0), n, friedman_p_value(ranks), critical_difference(m, n))


def friedman_p_value(ranks: Floats) -> float:
    """Return the chance of ranks (sets, scores) that differ as much if all scores were alike, corrected for ties."""
    n, m = ranks.shape
    between = n * ((ranks.mean(axis=0) - (m + 1) / 2.0) ** 2).sum()
    within = ((ranks - (m + 1) / 2.0) ** 2).sum() / (n * (m - 1))
    return 1.0 if within == 0.0 else float(stats.chi2.sf(between / within, m - 1))


def critical_difference(n_scores: int, n_sets: int, level: float = 0.05) -> float:
    """Return Nemenyi's critical difference of mean ranks."""
    quantile = stats.studentized_range.ppf(1.0 - level, n_scores, np.inf) / np.sqrt(2.0)
    return float(quantile * np.sqrt(n_scores * (n_scores + 1) / (6.0 * n_sets)))


def cliques(mean_ranks: Floats, difference: float) -> list[tuple[float, float]]:
    """Return the longest stretches of mean ranks, at least two scores each, that lie within the critical difference."""
    ordered = np.sort(mean_ranks)
    reach = np.searchsorted(ordered, ordered + difference, side="right") - 1
    found: list[tuple[float, float]] = []
    last = -1
    for first, end in enumerate(reach):
        if end > first and end > last:
            found.append((float(ordered[first]), float(ordered[end])))
        last = max(last, int(end))
    return found


def interval(values: Sequence[float] | Floats) -> tuple[float, float]:
    """Return mean and half-width of the 95 % interval of Student's t; the half-width of one value is NaN."""
    array = np.asarray(values, float)
    if array.size < 2:
        return float(array.mean()), float("nan")
    error = array.std(ddof=1) / np.sqrt(array.size)
    return float(array.mean()), float(stats.t.ppf(0.975, array.size - 1) * error)


def tally(differences: Sequence[Floats]) -> Tally:
    """Count clusterings where the differences over seeds are clearly above or below zero: their interval omits it."""
    wins = losses = 0
    for values in differences:
        mean, half = interval(values)
        wins += mean > 0 and not mean - half <= 0
        losses += mean < 0 and not mean + half >= 0
    mean = float(np.mean([values.mean() for values in differences]))
    return Tally(wins, len(differences) - wins - losses, losses, mean)
