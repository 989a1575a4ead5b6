"""Logistic regression of the company kept on two scores, with the error of its coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from allegiance._core import FloatArray

from ._company import Company

#: Ridge on the coefficients (intercept, sum, difference) beside the mean loss: the difference is held near zero.
_PENALTY = np.array([0.0, 1e-4, 0.03])
#: One observation of an even chance, so that company that is always kept does not send the intercept to infinity.
_PRIOR = 1.0
#: Standard deviations below this do not count as variation.
_CONSTANT = 1e-9


class Standardisation(NamedTuple):
    """Sum and difference of two scores, brought to mean 0 and standard deviation 1."""

    center: FloatArray
    """(2,)"""
    scale: FloatArray
    """(2,)"""

    @classmethod
    def of(cls, own_affinity: FloatArray, closeness: FloatArray) -> Standardisation:
        """Take means and standard deviations of the points given."""
        both = np.stack([own_affinity + closeness, own_affinity - closeness])
        spread = both.std(axis=1)
        return cls(both.mean(axis=1), np.where(spread > _CONSTANT, spread, 1.0))

    def design(self, own_affinity: FloatArray, closeness: FloatArray) -> FloatArray:
        """Return the columns (n, 3) of the regression: one, sum, difference."""
        total = (own_affinity + closeness - self.center[0]) / self.scale[0]
        difference = (own_affinity - closeness - self.center[1]) / self.scale[1]
        return np.column_stack([np.ones(total.size), total, difference])


class Logistic(NamedTuple):
    """A fitted regression."""

    coefficients: FloatArray
    """(3,) intercept, sum, difference."""
    covariance: FloatArray
    """(3, 3) of the coefficients: over the draw of the halves and over the draw of the points."""


def fit_logistic(design: FloatArray, company: Company) -> Logistic:
    """Fit the chance of keeping company to the columns (m, 3)."""
    kept, seen = company.kept.sum(axis=0), company.seen.sum(axis=0)
    total = float(seen.sum()) + _PRIOR

    def loss(b: FloatArray) -> float:
        eta = design @ b
        data = (np.logaddexp(0.0, eta) * seen - kept * eta).sum() + _PRIOR * (np.logaddexp(0.0, b[0]) - b[0] / 2.0)
        return float(data / total + (_PENALTY * b * b).sum())

    def slope(b: FloatArray) -> FloatArray:
        result = design.T @ (seen * expit(design @ b) - kept)
        result[0] += _PRIOR * (expit(b[0]) - 0.5)
        return result / total + 2.0 * _PENALTY * b

    def curvature(b: FloatArray) -> FloatArray:
        chance = expit(design @ b)
        result = design.T @ (design * (seen * chance * (1.0 - chance))[:, None])
        result[0, 0] += _PRIOR * expit(b[0]) * expit(-b[0])
        return result / total + 2.0 * np.diag(_PENALTY)

    best = minimize(loss, np.zeros(3), jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-10}).x
    return Logistic(best, _covariance(design, company, expit(design @ best), curvature(best) * total))


def _covariance(design: FloatArray, company: Company, chance: FloatArray, curvature: FloatArray) -> FloatArray:
    """Return the sandwich covariance (3, 3), clustered by resamples and by points.

    It is what a bootstrap of both would give, to first order and without its noise: residuals of one resample are
    related, since they share a clustering, and so are those of one point.
    """
    residuals = company.kept - company.seen * chance
    by_resample = residuals @ design
    by_point = design * residuals.sum(axis=0)[:, None]
    n_resamples, n_points = residuals.shape
    middle = _scatter(by_resample) * n_resamples / max(n_resamples - 1, 1)
    middle += _scatter(by_point) * n_points / max(n_points - 1, 1)
    bread = np.linalg.inv(curvature)
    return bread @ middle @ bread


def _scatter(scores: FloatArray) -> FloatArray:
    """Return the sum (3, 3) of the products of centred scores (r, 3)."""
    centred = scores - scores.mean(axis=0)
    return centred.T @ centred
