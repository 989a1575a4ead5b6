"""The named Bregman divergences. Each is a sum over coordinates."""

from __future__ import annotations

from functools import cache

import numpy as np

from allegiance._core import FloatArray

from ._divergence import BregmanDivergence, Coordinatewise, Potential, RowMap


def _log_ratio(y: FloatArray, c: FloatArray) -> FloatArray:
    """Return log(y / c), to full accuracy also where y is close to c."""
    relative = (y - c) / c
    ratio = y / c
    logs = np.log(ratio)
    # The rounding of the ratio enters its logarithm and the ratio less one alike, and cancels between them.
    ratio -= 1.0
    equal = ratio == 0.0
    np.divide(logs, ratio, out=logs, where=~equal)
    np.copyto(logs, 1.0, where=equal)
    logs *= relative
    return logs


def _kl_phi(Y: FloatArray) -> FloatArray:
    return (Y * np.log(Y) - Y).sum(axis=1)


def _kl_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    return y * _log_ratio(y, c) - (y - c)


def _kl_point(u: FloatArray, c: FloatArray) -> FloatArray:
    points = np.exp(u)
    points *= c
    return points


def _kl_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return y


def _kl_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    potential = np.expm1(u)
    potential -= u
    potential *= c
    return potential


def _saito_phi(Y: FloatArray) -> FloatArray:
    return -np.log(Y).sum(axis=1)


def _saito_gradient(Y: FloatArray) -> FloatArray:
    return -1.0 / Y


def _saito_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    return (y - c) / c - _log_ratio(y, c)


def _saito_slope(y: FloatArray, c: FloatArray) -> FloatArray:
    return (y - c) / c / y


def _saito_point(u: FloatArray, c: FloatArray) -> FloatArray:
    return c / (1.0 - c * u)


def _saito_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return y * y


def _saito_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return -np.log1p(-c * u) - c * u


def _logistic_phi(Y: FloatArray) -> FloatArray:
    return (Y * np.log(Y) + (1.0 - Y) * np.log1p(-Y)).sum(axis=1)


def _logistic_gradient(Y: FloatArray) -> FloatArray:
    return np.log(Y) - np.log1p(-Y)


def _logistic_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    # Each as a generalised Kullback-Leibler divergence: what that adds to one side it takes from the other.
    return _kl_divergence(y, c) + _kl_divergence(1.0 - y, 1.0 - c)


def _logistic_slope(y: FloatArray, c: FloatArray) -> FloatArray:
    return _log_ratio(y, c) - _log_ratio(1.0 - y, 1.0 - c)


def _logistic_point(u: FloatArray, c: FloatArray) -> FloatArray:
    return c / (c + (1.0 - c) * np.exp(-u))


def _logistic_inverse(A: FloatArray) -> FloatArray:
    return 1.0 / (1.0 + np.exp(-A))


def _logistic_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return y * _logistic_point(-u, 1.0 - c)


def _logistic_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    # The same for 1 - y, so that the exponential does not overflow.
    side = np.where(u > 0, 1.0 - c, c)
    down = -np.abs(u)
    return np.log1p(side * np.expm1(down)) - side * down


def _squared_phi(Y: FloatArray) -> FloatArray:
    return (Y * Y).sum(axis=1)


def _squared_gradient(Y: FloatArray) -> FloatArray:
    return 2.0 * Y


def _squared_divergence(y: FloatArray, c: FloatArray) -> FloatArray:
    return (y - c) ** 2


def _squared_slope(y: FloatArray, c: FloatArray) -> FloatArray:
    return 2.0 * (y - c)


def _squared_point(u: FloatArray, c: FloatArray) -> FloatArray:
    return c + 0.5 * u


def _squared_inverse(A: FloatArray) -> FloatArray:
    return 0.5 * A


def _squared_spread(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return np.full_like(y, 0.5)


def _squared_potential(y: FloatArray, u: FloatArray, c: FloatArray) -> FloatArray:
    return 0.25 * u * u


#: phi, its gradient and the inverse of that, the domain, and the accurate forms.
_BUILT_IN: dict[str, tuple[tuple[Potential, RowMap, RowMap, tuple[float, float]], Coordinatewise]] = {
    "kl": (
        (_kl_phi, np.log, np.exp, (0.0, np.inf)),
        Coordinatewise(_kl_divergence, _log_ratio, _kl_point, _kl_spread, _kl_potential),
    ),
    "itakura-saito": (
        (_saito_phi, _saito_gradient, _saito_gradient, (0.0, np.inf)),
        Coordinatewise(_saito_divergence, _saito_slope, _saito_point, _saito_spread, _saito_potential),
    ),
    "logistic": (
        (_logistic_phi, _logistic_gradient, _logistic_inverse, (0.0, 1.0)),
        Coordinatewise(_logistic_divergence, _logistic_slope, _logistic_point, _logistic_spread, _logistic_potential),
    ),
    "squared": (
        (_squared_phi, _squared_gradient, _squared_inverse, (-np.inf, np.inf)),
        Coordinatewise(_squared_divergence, _squared_slope, _squared_point, _squared_spread, _squared_potential),
    ),
}
#: What :func:`divergence_by_name` knows.
DIVERGENCES = tuple(_BUILT_IN)


@cache
def divergence_by_name(name: str) -> BregmanDivergence:
    """Return a named divergence.

    ================  ==============================================  ===========
    name              phi, summed over coordinates                    domain
    ================  ==============================================  ===========
    "kl"              y log y - y (generalised Kullback-Leibler)      y > 0
    "itakura-saito"   -log y                                          y > 0
    "logistic"        y log y + (1 - y) log(1 - y)                    0 < y < 1
    "squared"         y²                                              all y
    ================  ==============================================  ===========
    """
    if name not in _BUILT_IN:
        raise ValueError(f"divergence must be one of {', '.join(map(repr, DIVERGENCES))}, got {name!r}.")
    (phi, gradient, inverse, domain), forms = _BUILT_IN[name]
    return BregmanDivergence(phi, gradient, domain=domain, inverse_gradient=inverse, name=name, coordinatewise=forms)
