"""Walks in all coordinates: against areas known in closed form, rejection, and a walk written out plainly."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.walks import shares_in_ball

#: Walks that start at the same point; their mean is compared.
COPIES = 400


def in_ball(centers, x, radius, *, one_sided, n_steps=300):
    X = np.tile(x, (COPIES, 1))
    rng = np.random.default_rng(0)
    return shares_in_ball(centers, X, radius, n_steps=n_steps, burn_in=100, one_sided=one_sided, rng=rng)


def assert_mean_is(walks, expected, error=0.0):
    """Within 4.5 standard errors of the walks' mean: three shares would leave that with a probability of 2e-5."""
    standard_error = walks.std(axis=0, ddof=1) / np.sqrt(len(walks))
    assert (np.abs(walks.mean(axis=0) - expected) <= 4.5 * (standard_error + error)).all()


def spread_out(d, k=3):
    """Centres whose mean is the origin, and a point off their span."""
    rng = np.random.default_rng(d)
    centers = rng.normal(size=(k, d))
    return centers - centers.mean(axis=0), rng.normal(size=d)


@pytest.mark.parametrize("d", [2, 3, 4, 6])
def test_whole_chords_in_a_ball_against_rejection(d):
    centers, x = spread_out(d)
    rng = np.random.default_rng(2)
    y = rng.normal(size=(1_000_000, d))
    y *= (4.0 * rng.random((len(y), 1)) ** (1 / d)) / np.linalg.norm(y, axis=1, keepdims=True)
    far = ((y[:, None] - centers) ** 2).sum(axis=2)
    stolen = ((y - x) ** 2).sum(axis=1) <= far.min(axis=1)
    expected = np.bincount(far[stolen].argmin(axis=1), minlength=3) / stolen.sum()
    assert_mean_is(in_ball(centers, x, 4.0, one_sided=False), expected, np.sqrt(0.25 / stolen.sum()))


def test_one_sided_chords_are_biased():
    centers, x = spread_out(2)
    whole, one_sided = (in_ball(centers, x, 4.0, one_sided=kind).mean(axis=0) for kind in (False, True))
    assert np.abs(whole - one_sided).max() > 0.02
