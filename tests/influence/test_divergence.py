"""Bregman divergences, named and of the user's own."""

import numpy as np
import pytest
from scipy.special import kl_div, rel_entr

from allegiance import affinity
from allegiance.influence import Bregman
from reference.divergences import DIVERGENCES, PLAIN, draw, quadratic_form

BY_HAND = {
    "kl": kl_div,
    "itakura-saito": lambda y, c: y / c - np.log(y / c) - 1,
    "logistic": lambda y, c: rel_entr(y, c) + rel_entr(1 - y, 1 - c),
}


@pytest.mark.parametrize("name", DIVERGENCES)
def test_named_divergences_equal_the_textbook(rng, name):
    divergence = DIVERGENCES[name]
    Y, C = draw(rng, divergence, (30, 4)), draw(rng, divergence, (5, 4))
    expected = BY_HAND[name](Y[:, None], C).sum(axis=2)
    np.testing.assert_allclose(divergence.between(Y, C), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(divergence.rowwise(Y[:5], C), np.diag(expected[:5]), rtol=1e-12)
    plain = PLAIN[name]
    plain.check_functions(4)
    np.testing.assert_allclose(divergence.gradients(Y), plain.gradients(Y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(plain.between(Y, C), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plain.rowwise(C[0], Y), divergence.rowwise(C[0], Y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_forms_of_a_named_divergence_agree(rng, name):
    divergence = DIVERGENCES[name]
    Y, c = draw(rng, divergence, (50, 3)), draw(rng, divergence, 3)
    slopes = divergence.slopes(Y, c)
    np.testing.assert_allclose(slopes, divergence.gradients(Y) - divergence.gradients(c[None]), atol=1e-12)
    np.testing.assert_allclose(divergence.points(slopes, c), Y, rtol=1e-10)
    step = 1e-5
    curvature = (divergence.slopes(Y + step, c) - divergence.slopes(Y - step, c)) / (2 * step)
    np.testing.assert_allclose(divergence.spread(Y, slopes, c), 1 / curvature, rtol=1e-4)
    np.testing.assert_allclose(divergence.potentials(Y, slopes, c), divergence.rowwise(c, Y), rtol=1e-9)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_close_points_keep_their_digits(rng, name):
    """To second order D(y || c) is half of <∇phi(y) - ∇phi(c), y - c>, whose digits are those of y - c."""
    divergence = DIVERGENCES[name]
    c = draw(rng, divergence, (20, 3))
    y = c + 1e-7 * rng.normal(size=(20, 3))
    slopes = np.array([divergence.slopes(row[None], own)[0] for row, own in zip(y, c, strict=True)])
    second_order = 0.5 * (slopes * (y - c)).sum(axis=1)
    np.testing.assert_allclose(divergence.rowwise(y, c), second_order, rtol=1e-4)
    assert (divergence.rowwise(c, c) == 0).all()


def test_non_separable(rng):
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    divergence = quadratic_form(A)
    Y, C = rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
    away = Y[:, None] - C
    expected = np.einsum("nmi,ij,nmj->nm", away, A, away)
    np.testing.assert_allclose(divergence.between(Y, C), expected, atol=1e-12)
    divergence.check_functions(2)
    with pytest.raises(ValueError, match=r"operand|gradient of divergence|phi of divergence"):
        divergence.check_functions(5)


def squares(Y):
    return (Y**2).sum(axis=1)


SCALE = np.linspace(1, 2, 40)
WRONG = np.where(np.arange(40) == 17, 1.1, 1.0) * SCALE


@pytest.mark.parametrize(
    ("phi", "gradient", "inverse", "d", "match"),
    [
        (lambda Y: (Y**4).sum(axis=1), lambda Y: 1.01 * 4 * Y**3, np.cbrt, 2, "gradient .* wrong in coordinate"),
        (lambda Y: (Y**4).sum(axis=1), lambda Y: -4 * Y**3, np.cbrt, 2, "gradient .* wrong in coordinate"),
        (lambda Y: (SCALE * Y**2).sum(axis=1), lambda Y: 2 * WRONG * Y, np.array, 40, "wrong along a direction"),
        (lambda Y: np.sin(3 * Y).sum(axis=1), lambda Y: 3 * np.cos(3 * Y), np.array, 2, "not convex"),
        (lambda Y: Y.sum(axis=1), np.ones_like, np.array, 2, "strictly convex"),
        (squares, lambda Y: 2 * Y, lambda G: G, 2, "inverse_gradient .* does not undo"),
        (lambda Y: Y**2, lambda Y: 2 * Y, lambda G: G / 2, 4, r"phi .* must map rows \(12, 4\) to \(12,\)"),
    ],
)
def test_wrong_functions_are_found(phi, gradient, inverse, d, match):
    with pytest.raises(ValueError, match=match):
        Bregman(phi, gradient, inverse).check_functions(d)


def test_wrong_functions_are_found_in_use(rng):
    wrong = Bregman(squares, lambda Y: 3 * Y, lambda G: G / 3)
    with pytest.raises(ValueError, match="gradient of divergence 'squares'"):
        affinity(rng.normal(size=(20, 3)), np.arange(20) % 2, influence=wrong)


@pytest.mark.parametrize("domain", [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0)])
def test_empty_domain(domain):
    with pytest.raises(ValueError, match="low < high"):
        Bregman(squares, lambda Y: 2 * Y, lambda G: G / 2, domain=domain).check()


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("kl", 0.0, "smoothing="),
        ("itakura-saito", 0.0, "smoothing="),
        ("kl", -1.0, "another influence"),
        ("logistic", 1.0, "another influence"),
        ("logistic", 0.0, "another influence"),
        ("itakura-saito", 1e-310, "scale the data"),
    ],
)
def test_rows_outside_are_named(name, value, remedy):
    X = np.full((3000, 700), 0.5)
    X[2500:, 300] = value
    X[2500, 650] = value
    DIVERGENCES[name].prepare(X[:2500])
    message = f"X does not fit influence '{name}': row 2500, column 300 is {value:g}.*{remedy}"
    with pytest.raises(ValueError, match=message):
        DIVERGENCES[name].prepare(X)
    with pytest.raises(ValueError, match="centers does not fit"):
        DIVERGENCES[name].prepare(X[2500:2501], "centers")
