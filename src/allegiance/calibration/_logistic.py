"""Penalized logistic regression with an effect for each cluster, for the trust map and the audit."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from allegiance._core.validation import FloatArray, IntArray

#: Newton steps; ten are enough unless rates are all 0 or 1. Largest change of a coefficient in one step.
_MAX_STEPS, _MAX_CHANGE = 50, 3.0


def fit_logistic(
    F: FloatArray,
    codes: IntArray,
    y: FloatArray,
    *,
    weights: FloatArray,
    offset: FloatArray,
    penalty: FloatArray,
    effect_precision: FloatArray,
    nonnegative: tuple[int, ...] = (),
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients (p,) and cluster effects (k,) of logit P(y) = offset + F b + effects[codes].

    Minimizes the weighted deviance plus half of b' penalty b and of the sum of effect_precision effects^2. Newton's
    method on both blocks at once: rounding in the features moves the optimum by rounding only. Coefficients in
    ``nonnegative`` that would be negative are 0.
    """
    k, active = effect_precision.size, np.arange(F.shape[1])
    while True:
        A, P = F[:, active], penalty[np.ix_(active, active)]
        b, effects = np.zeros(active.size), np.zeros(k)
        for _ in range(_MAX_STEPS):
            p = expit(offset + A @ b + effects[codes])
            w, residual = weights * p * (1.0 - p), weights * (p - y)
            across = np.array([np.bincount(codes, w * column, k) for column in A.T])
            inverse = 1.0 / (np.bincount(codes, w, k) + effect_precision)
            slope = A.T @ residual + P @ b
            effect_slope = np.bincount(codes, residual, k) + effect_precision * effects
            schur = A.T @ (A * w[:, None]) + P - (across * inverse) @ across.T
            try:
                change = np.linalg.solve(schur, slope - across @ (inverse * effect_slope))
            except np.linalg.LinAlgError:  # all rates are 0 or 1: no curvature left
                break
            effect_change = inverse * (effect_slope - change @ across)
            largest = max(np.abs(change).max(initial=0.0), np.abs(effect_change).max(initial=0.0))
            if not np.isfinite(largest):
                break
            step = min(1.0, _MAX_CHANGE / max(largest, 1e-300))
            b, effects = b - step * change, effects - step * effect_change
            if largest < 1e-12:
                break
        negative = [i for i, column in enumerate(active) if column in nonnegative and b[i] < 0.0]
        if not negative:
            full = np.zeros(F.shape[1])
            full[active] = b
            return full, effects
        active = np.delete(active, min(negative, key=lambda i: b[i]))


def fit_rates(
    F: FloatArray, codes: IntArray, rate: FloatArray, weights: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Fit rates (m,) with weights; return intercept and slopes (3,), which are not negative, and cluster effects (k,).

    Slopes and effects have standard normal priors, against which all observations of a row count as one. One
    observation with probability one half keeps the intercept finite.
    """
    prior = (weights.sum() + 1.0) / rate.size
    penalty = prior * np.diag([0.0, 1.0, 1.0])
    precision = np.append(np.full(k, prior), 1e9)
    b, effects = fit_logistic(
        np.column_stack([np.append(np.ones(len(F)), 1.0), np.vstack([F, np.zeros(2)])]),
        np.append(codes, k),
        np.append(rate, 0.5),
        weights=np.append(weights, 1.0),
        offset=np.zeros(len(F) + 1),
        penalty=penalty,
        effect_precision=precision,
        nonnegative=(1, 2),
    )
    return b, effects[:k]
