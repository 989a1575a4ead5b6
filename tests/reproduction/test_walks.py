"""Walks in all coordinates: against areas known in closed form, rejection, and a walk written out plainly."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.walks import shares_in_ball, shares_in_box

#: Walks that start at the same point; their mean is compared.
COPIES = 400


def in_box(centers, x, lower, upper, n_sweeps):
    X = np.tile(x, (COPIES, 1))
    rng = np.random.default_rng(0)
    return shares_in_box(centers, X, lower, upper, n_sweeps=n_sweeps, burn_in=20, rng=rng)


def in_ball(centers, x, radius, *, one_sided, n_steps=300):
    X = np.tile(x, (COPIES, 1))
    rng = np.random.default_rng(0)
    return shares_in_ball(centers, X, radius, n_steps=n_steps, burn_in=100, one_sided=one_sided, rng=rng)


def assert_mean_is(walks, expected, error=0.0):
    """Within 4.5 standard errors of the walks' mean: three shares would leave that with a probability of 2e-5."""
    standard_error = walks.std(axis=0, ddof=1) / np.sqrt(len(walks))
    assert (np.abs(walks.mean(axis=0) - expected) <= 4.5 * (standard_error + error)).all()


def test_a_point_off_the_line_of_two_centres():
    """The cell is {v >= 1 - u and ...} of a square; its part on the left is found by hand: 0.370 of it."""
    centers = np.array([[-1.0, 0.0], [1.0, 0.0]])
    walls = np.array([3.0, 3.0])
    v = np.linspace(-3, 3, 2001)
    place = np.stack(np.meshgrid(v, v), axis=-1).reshape(-1, 2)
    far = ((place[:, None] - centers) ** 2).sum(axis=2)
    stolen = ((place - [0.5, 2.0]) ** 2).sum(axis=1) <= far.min(axis=1)
    expected = np.bincount(far[stolen].argmin(axis=1), minlength=2) / stolen.sum()
    assert expected[1] == pytest.approx(0.630, abs=1e-3)
    assert_mean_is(in_box(centers, np.array([0.5, 2.0]), -walls, walls, 200), expected, 3e-4)


def test_a_coordinate_without_extent_stays():
    centers = np.array([[-1.0, 0.0, 7.0], [1.0, 0.0, 7.0]])
    lower, upper = np.array([-3.0, -3.0, 7.0]), np.array([3.0, 3.0, 7.0])
    flat = in_box(centers[:, :2], np.array([0.5, 2.0]), lower[:2], upper[:2], 50)
    np.testing.assert_array_equal(in_box(centers, np.array([0.5, 2.0, 7.0]), lower, upper, 50), flat)


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


def plain_walks(centers, x, radius, n_steps, burn_in, rng):
    """One-sided chords in all coordinates, one walk after the other."""
    shares = np.zeros((COPIES, len(centers)))
    for walk in shares:
        z = x.copy()
        for step in range(burn_in + n_steps):
            u = rng.normal(size=x.size)
            slack = ((z - centers) ** 2).sum(axis=1) - ((z - x) ** 2).sum()
            speed = 2 * (centers - x) @ u
            to_the_ball = (-(z @ u) + np.sqrt((z @ u) ** 2 + (u @ u) * (radius**2 - z @ z))) / (u @ u)
            z = z + rng.random() * min(np.min(slack[speed > 0] / speed[speed > 0], initial=np.inf), to_the_ball) * u
            if step >= burn_in:
                walk[((z - centers) ** 2).sum(axis=1).argmin()] += 1 / n_steps
    return shares


@pytest.mark.parametrize("d", [2, 6])
def test_few_coordinates_walk_like_all(d):
    """Early shares depend on every step, so a short walk shows any difference of its steps."""
    centers, x = spread_out(d)
    plain = plain_walks(centers, x, 4.0, 40, 10, np.random.default_rng(3))
    X = np.tile(x, (4000, 1))
    few = shares_in_ball(centers, X, 4.0, n_steps=40, burn_in=10, one_sided=True, rng=np.random.default_rng(4))
    errors = np.sqrt(plain.var(axis=0, ddof=1) / len(plain) + few.var(axis=0, ddof=1) / len(few))
    assert (np.abs(plain.mean(axis=0) - few.mean(axis=0)) <= 4.5 * errors).all()
    np.testing.assert_allclose(few.std(axis=0), plain.std(axis=0), rtol=0.25)


def test_one_sided_chords_are_biased():
    centers, x = spread_out(2)
    whole, one_sided = (in_ball(centers, x, 4.0, one_sided=kind).mean(axis=0) for kind in (False, True))
    assert np.abs(whole - one_sided).max() > 0.02
