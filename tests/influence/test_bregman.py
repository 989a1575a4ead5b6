"""Bregman divergences, named and of the user's own, and their diagrams."""

import numpy as np
import pytest
from scipy.special import kl_div, rel_entr

from allegiance import affinity
from allegiance.domains import Region
from allegiance.engines import Exact, Settings, Tessellation
from allegiance.influence import (
    AffineFunctions,
    Bregman,
    BregmanDiagram,
    LinearEmbedding,
    PowerDiagram,
)
from reference.divergences import DIVERGENCES, PLAIN


def coupled(Y):
    """A convex function that is not a sum over coordinates: log-sum-exp, made strictly convex."""
    return np.logaddexp.reduce(Y, axis=1) + 0.5 * (Y * Y).sum(axis=1)


def softmax(Y):
    share = np.exp(Y - Y.max(axis=1, keepdims=True))
    return share / share.sum(axis=1, keepdims=True)


def coupled_gradient(Y):
    return softmax(Y) + Y


def coupled_inverse(G):
    """Solve y = g - softmax(y), where each step halves the error."""
    Y = G
    for _ in range(80):
        Y = G - softmax(Y)
    return Y


def quadratic_form(d):
    A = np.eye(d) + 0.4
    inverse = np.linalg.inv(A)
    return Bregman(
        lambda Y: np.einsum("ni,ij,nj->n", Y, A, Y),
        lambda Y: 2 * np.einsum("ni,ij->nj", Y, A),
        lambda G: 0.5 * np.einsum("ni,ij->nj", G, inverse),
    )


def draw(rng, divergence, shape):
    low, high = divergence.domain
    return rng.uniform(max(low, -1.5) + 0.02, min(high, 2.5) - 0.02, shape)


def squares(Y):
    return (Y * Y).sum(axis=1)


ALL = [*DIVERGENCES.values(), Bregman(coupled, coupled_gradient, coupled_inverse)]
SHORT = {"ids": lambda divergence: divergence.title}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("divergence", ALL, **SHORT)
def test_cells_are_those_of_the_divergence(rng, divergence, weighted):
    """200,000 points. They may differ only where two sites are equally close up to rounding."""
    sites = draw(rng, divergence, (7, 3))
    weights = rng.uniform(0, 0.3, 7) if weighted else np.zeros(7)
    diagram = BregmanDiagram.of_sites(sites, divergence).weighted(weights, 0.0)
    a, b = diagram.functions
    assert diagram.dim == 3
    for _ in range(2):
        Y = draw(rng, divergence, (100_000, 3))
        expected = divergence.between(Y, sites) - weights
        owner = (b - Y @ a.T).argmin(axis=1)
        lead = expected[np.arange(len(Y)), owner] - expected.min(axis=1)
        assert lead.max() <= 1e-12 * (1 + expected.max())


@pytest.mark.parametrize("divergence", ALL, **SHORT)
def test_the_users_axes_are_kept(rng, divergence):
    sites, X = draw(rng, divergence, (6, 3)), draw(rng, divergence, (10, 3))
    diagram = BregmanDiagram.of_sites(sites, divergence)
    np.testing.assert_array_equal(diagram.locate(X).position, X)
    assert (diagram.locate(X).residual == 0).all()
    np.testing.assert_array_equal(diagram.bounds, np.repeat(divergence.domain, 3).reshape(2, 3))
    few = sites[:2]
    assert BregmanDiagram.of_sites(few, divergence).dim == 1
    assert BregmanDiagram.of_sites(few, divergence, keep_axes=True).dim == 3
    assert np.isinf(BregmanDiagram.of_sites(few, divergence).bounds).all()


def reduced(rng, divergence, n=40, k=4, d=12):
    sites, X = draw(rng, divergence, (k, d)), draw(rng, divergence, (n, d))
    return sites, X, BregmanDiagram.of_sites(sites, divergence)


@pytest.mark.parametrize("divergence", [*ALL, quadratic_form(12), PLAIN["kl"], PLAIN["logistic"]], **SHORT)
def test_projection_keeps_differences_and_pythagoras(rng, divergence):
    sites, X, diagram = reduced(rng, divergence)
    assert diagram.dim == 3
    located = diagram.locate(X)
    full = divergence.between(X, sites)
    a, b = diagram.functions
    values = b - located.position @ a.T
    np.testing.assert_allclose(values - values[:, :1], full - full[:, :1], atol=1e-10)
    each = np.column_stack([diagram.divergences(located, np.full(len(X), i)) for i in range(4)])
    np.testing.assert_allclose(each, full, rtol=1e-9, atol=1e-10)
    queries = diagram.query_functions(located.position)
    inside = diagram.clearance(queries, located.position)
    np.testing.assert_allclose(located.residual[:, None] + inside, full, rtol=1e-9, atol=1e-10)
    assert (inside > -1e-12).all()


@pytest.mark.parametrize("divergence", [*ALL[:-1], quadratic_form(12)], **SHORT)
def test_projections_have_the_position(rng, divergence):
    _, X, diagram = reduced(rng, divergence)
    located = diagram.locate(X)
    theta, constants = diagram.query_functions(located.position)
    projected = divergence.points(theta @ diagram.axes, diagram.origin)
    np.testing.assert_allclose((projected - diagram.origin) @ diagram.axes.T, located.position, atol=1e-11)
    np.testing.assert_allclose(divergence.rowwise(X, projected), located.residual, atol=1e-10)
    np.testing.assert_allclose(divergence.rowwise(diagram.origin, projected), constants, atol=1e-12)


@pytest.mark.parametrize("name", ["kl", "itakura-saito", "logistic"])
@pytest.mark.parametrize("edge", [1e-3, 1e-8, 1e-14])
def test_near_the_edge_of_the_domain(rng, name, edge):
    """Also with hardly fewer sites than columns, so that projections come close to the edge themselves."""
    divergence = DIVERGENCES[name]
    for k, d in [(3, 30), (6, 6)]:
        sites, X, diagram = reduced(rng, divergence, k=k, d=d)
        X[rng.random(X.shape) < 0.4] = edge
        if name == "logistic":
            X[rng.random(X.shape) < 0.3] = 1 - edge
        located = diagram.locate(X)
        full = divergence.between(X, sites)
        each = np.column_stack([diagram.divergences(located, np.full(len(X), i)) for i in range(k)])
        np.testing.assert_allclose(each, full, rtol=1e-9)
        theta, _ = diagram.query_functions(located.position)
        with np.errstate(over="ignore"):
            projected = divergence.points(theta @ diagram.axes, diagram.origin)
        residual = (projected - diagram.origin) @ diagram.axes.T - located.position
        assert np.abs(residual).max() <= 1e-11 * np.abs(projected).max()


def test_a_position_that_no_row_has(rng):
    _, X, diagram = reduced(rng, DIVERGENCES["kl"], d=6)
    beyond = diagram.locate(np.full((1, 6), 1e-9)).position * 40.0
    with pytest.raises(ValueError, match=r"X: .* was not found for 1 of 2 rows.*'kl'"):
        diagram.query_functions(np.vstack([diagram.locate(X[:1]).position, beyond]))


@pytest.mark.parametrize("divergence", [ALL[0], ALL[-1]], **SHORT)
@pytest.mark.parametrize("d", [2, 3, 9])
def test_functions_of_sites_queries_and_bisectors_agree_in_any_order(rng, divergence, d):
    sites, X = draw(rng, divergence, (5, d)), draw(rng, divergence, (8, d))
    plain = BregmanDiagram.of_sites(sites, divergence)
    queries = plain.query_functions(plain.locate(sites).position)
    for ours, theirs in zip(queries, plain.functions, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15, atol=1e-15)
    order = rng.permutation(5)
    renumbered = BregmanDiagram.of_sites(sites[order], divergence)
    np.testing.assert_array_equal(renumbered.locate(X).position, plain.locate(X).position)
    np.testing.assert_array_equal(renumbered.functions.a, plain.functions.a[order])
    weighted = plain.weighted(rng.random(5), 0.2)
    a, b = weighted.functions
    for site in range(5):
        normals, offsets = weighted.bisectors(site)
        np.testing.assert_allclose(normals, a - a[site], atol=1e-11)
        np.testing.assert_allclose(offsets, b - b[site], atol=1e-11)
        assert not normals[site].any()
        assert offsets[site] == 0


def test_one_site(rng):
    diagram = BregmanDiagram.of_sites(rng.uniform(1, 2, (1, 4)), DIVERGENCES["kl"])
    X = rng.uniform(1, 2, (6, 4))
    located = diagram.locate(X)
    assert located.position.shape == (6, 0)
    expected = DIVERGENCES["kl"].between(X, diagram.sites)[:, 0]
    np.testing.assert_allclose(located.residual, expected)
    np.testing.assert_allclose(diagram.divergences(located, np.zeros(6, dtype=int)), expected)


def test_sites_at_almost_one_place(rng):
    """The bisector of two sites 1e-12 apart has the digits of their difference."""
    sites = rng.uniform(1, 2, (4, 2))
    step = np.array([0.6, -0.8])
    answers = []
    for gap in (1e-5, 1e-11):
        diagram = BregmanDiagram.of_sites(np.vstack([sites, sites[0] + gap * step]), DIVERGENCES["kl"])
        normals, offsets = diagram.bisectors(0)
        real_gap = np.linalg.norm(diagram.sites[4] - diagram.sites[0])
        answers.append(np.append(normals[4], offsets[4]) / real_gap)
    np.testing.assert_allclose(*answers, rtol=1e-4)


def shares(diagram, X, lower, upper):
    tessellation = Tessellation(diagram, Region.box("box", lower, upper))
    engine = Exact().build(tessellation, Settings())
    queries = tessellation.queries(diagram.locate(X).position)
    return engine.estimate(queries).affinity, ~engine.reaches_walls(queries)


@pytest.mark.parametrize("query_weight", [None, 0.01])
@pytest.mark.parametrize("d", [2, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("divergence", ALL, **SHORT)
def test_shares_of_an_uncut_cell_give_back_the_gradient(rng, divergence, d, query_weight):
    """Sum alpha_i ∇phi(c_i) = ∇phi(x), with more sites than needed, on all sides of x."""
    low, high = max(divergence.domain[0], -1.0), min(divergence.domain[1], 2.0)
    lower, upper = np.full(d, low), np.full(d, high)
    sites = low + (high - low) * rng.uniform(0.03, 0.97, (25 * d, d))
    diagram = BregmanDiagram.of_sites(sites, divergence)
    if query_weight is not None:
        diagram = diagram.weighted(rng.uniform(0, 0.01, 25 * d), query_weight)
    X = low + (high - low) * rng.uniform(0.35, 0.65, (40, d))
    alpha, uncut = shares(diagram, X, lower, upper)
    measured = uncut & (alpha.sum(axis=1) > 0.5)
    assert measured.sum() >= 10
    expected = divergence.gradients(X[measured])
    np.testing.assert_allclose(alpha[measured] @ divergence.gradients(sites), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("k", "d"), [(8, 2), (9, 3), (4, 10)])
def test_squares_equal_the_power_diagram(rng, k, d):
    divergence = Bregman(squares, lambda Y: 2 * Y, lambda G: G / 2)
    sites, X = rng.normal(size=(k, d)), rng.normal(size=(30, d))
    weights = rng.uniform(0, 0.3, k)
    power = PowerDiagram(LinearEmbedding.of_sites(sites)).weighted(weights, 0.1)
    bregman = BregmanDiagram.of_sites(sites, divergence).weighted(weights, 0.1)
    affinities = []
    for diagram in (power, bregman):
        points = np.vstack([diagram.locate(X).position, diagram.positions])
        affinities.append(shares(diagram, X, points.min(axis=0), points.max(axis=0))[0])
    np.testing.assert_allclose(*affinities, atol=1e-9)
    np.testing.assert_allclose(bregman.locate(X).residual, power.locate(X).residual ** 2, atol=1e-9)


def test_clearance_counts_weights(rng):
    _, X, diagram = reduced(rng, DIVERGENCES["kl"])
    weights = rng.random(4)
    position = diagram.locate(X).position
    without = diagram.clearance(diagram.query_functions(position), position)
    diagram = diagram.weighted(weights, 0.3)
    queries = diagram.query_functions(position)
    assert isinstance(queries, AffineFunctions)
    np.testing.assert_allclose(diagram.clearance(queries, position), without - weights + 0.3, atol=1e-12)


def test_non_separable(rng):
    divergence = quadratic_form(2)
    Y, C = rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
    away = Y[:, None] - C
    expected = np.einsum("nmi,ij,nmj->nm", away, np.eye(2) + 0.4, away)
    np.testing.assert_allclose(divergence.between(Y, C), expected, atol=1e-12)
    divergence.check_functions(2)
    with pytest.raises(ValueError, match=r"operand|gradient of divergence|phi of divergence"):
        divergence.check_functions(5)


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
