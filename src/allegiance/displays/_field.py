"""Affinity on a grid over a plane."""

from __future__ import annotations

import warnings

import numpy as np

from allegiance._core import FloatArray
from allegiance._scorer import AffinityScorer
from allegiance.results import AffinityResult

from ._section import View, divergence_bounds


def middles(low: float, high: float, m: int) -> FloatArray:
    """Return the middles (m,) of equal parts of an interval."""
    return low + (high - low) * (np.arange(m) + 0.5) / m


def grid_of(lower: FloatArray, upper: FloatArray, m: int) -> FloatArray:
    """Return the middles (m * m, 2) of the squares of a grid over a view, row by row from the bottom."""
    x, y = np.meshgrid(middles(lower[0], upper[0], m), middles(lower[1], upper[1], m))
    return np.column_stack([x.ravel(), y.ravel()])


def values_of(result: AffinityResult, which: str | int) -> FloatArray:
    """Return "trust" or "confidence" (n,), or the affinity to the cluster with this number."""
    if isinstance(which, int):
        return result.affinity[:, which]
    return result.trust if which == "trust" else result.ranks.largest


def score_grid(scorer: AffinityScorer, seen: View, m: int, which: str | int) -> FloatArray:
    """Score the places of a grid (m, m) over a view, as the points of the space that they are.

    NaN where the divergence is not defined. What is asked for is as in :func:`values_of`.
    """
    places = seen.plane.lift(grid_of(seen.lower, seen.upper, m))
    low, high = divergence_bounds(scorer)
    defined = ((places > low) & (places < high)).all(axis=1)
    if not defined.any():
        raise ValueError("view lies outside the domain of the divergence: choose another one.")
    values = np.full(places.shape[0], np.nan)
    values[defined] = values_of(score_rows(scorer, places[defined]), which)
    return values.reshape(m, m)


def score_rows(scorer: AffinityScorer, rows: FloatArray) -> AffinityResult:
    """Score places (n, d) of a plane, which have no names of columns whatever those of the fit are called."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return scorer.affinity(rows)
