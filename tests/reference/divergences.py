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
