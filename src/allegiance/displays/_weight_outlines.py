"""Weights as lines around the representatives: circles of radius sqrt(weight) for Euclidean distance."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray
from allegiance._scorer import AffinityScorer

from ._plane import Plane

_CORNERS = 128
#: Halvings of the interval in which the line must lie, and doublings to find one.
_HALVINGS, _DOUBLINGS = 60, 200


def weight_outlines(scorer: AffinityScorer, sites: FloatArray, plane: Plane) -> tuple[FloatArray, ...]:
    """Return for each site (k, d) the line (m, 2) where the divergence from it is its weight.

    A divergence grows along every ray from its site, so each corner is found by bisection, the same way for all of
    them. There is no line, so no corner, for a weight of zero or less, and none at all in a slice of more features,
    where the line around a site that is not in the plane would mislead.
    """
    weights = getattr(scorer.fitted_.diagram, "weights", None)
    if weights is None or not plane.whole:
        return ()
    angles = 2.0 * np.pi * np.arange(_CORNERS) / _CORNERS
    rays = np.column_stack([np.cos(angles), np.sin(angles)]) @ plane.axes
    heavy = np.flatnonzero(weights > 0)
    codes = np.repeat(heavy, _CORNERS)
    starts, rays = sites[codes], np.tile(rays, (heavy.size, 1))
    length = _reach(scorer, starts, rays, codes, weights[codes])
    corners = plane.project(starts + length[:, None] * rays).reshape(-1, _CORNERS, 2)
    outlines = [np.empty((0, 2)) for _ in weights]
    for site, line in zip(heavy, corners, strict=True):
        outlines[site] = line
    return tuple(outlines)


def _reach(
    scorer: AffinityScorer, starts: FloatArray, rays: FloatArray, codes: AnyArray, weights: FloatArray
) -> FloatArray:
    """Return how far (n,) along each ray the divergence stays below the weight, inside the domain of the divergence."""
    end = _room(scorer, starts, rays)
    low = np.zeros(codes.size)
    high = np.minimum(np.ones(codes.size), end / 2.0)
    for _ in range(_DOUBLINGS):
        short = (_divergence(scorer, starts + high[:, None] * rays, codes) < weights) & (high < (1.0 - 1e-12) * end)
        if not short.any():
            break
        high[short] = np.where(np.isfinite(end), (high + end) / 2.0, 2.0 * high)[short]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        below = _divergence(scorer, starts + middle[:, None] * rays, codes) < weights
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def _divergence(scorer: AffinityScorer, X: FloatArray, codes: AnyArray) -> FloatArray:
    diagram, influence = scorer.fitted_.diagram, scorer.fitted_.influence
    return diagram.divergences(diagram.locate(influence.prepare(X)), codes)


def _room(scorer: AffinityScorer, starts: FloatArray, rays: FloatArray) -> FloatArray:
    """Return how far (n,) each ray stays inside the domain of the divergence."""
    low, high = scorer.fitted_.influence.limits
    with np.errstate(divide="ignore"):
        ahead = np.where(rays > 0, (high - starts) / np.abs(rays), (starts - low) / np.abs(rays))
    return np.asarray(np.where(rays == 0, np.inf, ahead).min(axis=1))
