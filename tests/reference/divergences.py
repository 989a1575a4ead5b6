"""Bregman divergences as users would write them, without the forms that keep digits."""

import numpy as np
from scipy.special import expit, logit, xlogy

from allegiance.influence import KL, Bregman, ItakuraSaito, Logistic

POSITIVE = (0.0, np.inf)


def entropy(Y):
    return (xlogy(Y, Y) - Y).sum(axis=1)


def burg(Y):
    return -np.log(Y).sum(axis=1)


def binary_entropy(Y):
    return (xlogy(Y, Y) + xlogy(1 - Y, 1 - Y)).sum(axis=1)


def reciprocal(Y):
    return -1 / Y


PLAIN = {
    "kl": Bregman(entropy, np.log, np.exp, domain=POSITIVE),
    "itakura-saito": Bregman(burg, reciprocal, reciprocal, domain=POSITIVE),
    "logistic": Bregman(binary_entropy, logit, expit, domain=(0.0, 1.0)),
}
DIVERGENCES = {"kl": KL(), "itakura-saito": ItakuraSaito(), "logistic": Logistic()}


def quadratic_form(A):
    """The squared Mahalanobis distance with the matrix A."""
    inverse = np.linalg.inv(A)
    return Bregman(lambda Y: np.einsum("ni,ij,nj->n", Y, A, Y), lambda Y: 2.0 * Y @ A.T, lambda G: 0.5 * G @ inverse.T)


def draw(rng, divergence, shape):
    """Draw points in the domain of a divergence."""
    low, high = divergence.domain
    return rng.uniform(max(low, -1.5) + 0.02, min(high, 2.5) - 0.02, shape)
