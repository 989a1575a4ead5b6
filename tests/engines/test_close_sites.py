"""Sites and queries that are close together in a wide domain, against rational arithmetic."""

import warnings

import numpy as np
import pytest

from allegiance import affinity
from allegiance.domains import Region
from allegiance.engines import Exact, PrecisionWarning, Settings, Tessellation
from allegiance.influence import Bregman, BregmanDiagram, Kernel, Weights
from reference import rational
from reference.volumes import default_box
from scenes import euclidean

EPS = np.finfo(float).eps
#: Positions in a domain of size one are rounded to EPS, so shares of cells of this size to EPS / spacing; this many
#: times as much is allowed. The largest seen in 1 to 4 dimensions was 5 times, but for queries next to a site.
ROUNDINGS = 40


def _close_sites(rng, r, spacing, n):
    """Sites in a cluster of size ``spacing``, two elsewhere, and queries: between them, and two corners of the box."""
    near = rng.uniform(0.3, 0.7, r) + spacing * rng.normal(size=(r + 2, r))
    centers = np.vstack([near, rng.random((2, r))])
    X = np.vstack([rng.dirichlet(np.full(r + 2, 2.0), n) @ near, np.zeros((1, r)), np.ones((1, r))])
    return centers, X


@pytest.mark.parametrize("spacing", [7e-5, 1e-6, 1e-7, 1e-9])
@pytest.mark.parametrize(("r", "n"), [(1, 40), (2, 6)])
@pytest.mark.parametrize("weighted", [False, True])
def test_shares_keep_their_digits(rng, r, n, spacing, weighted):
    """Weights are as large as the squared spacing, so that they matter and hide no more than some of the queries."""
    spacing *= 10 if weighted else 1
    centers, X = _close_sites(rng, r, spacing, n)
    weights, query_weight = 0.1 * spacing**2 * rng.random(len(centers)) * weighted, 0.1 * spacing**2 * weighted
    lower, upper = default_box(X, centers)
    settings = {"weights": Weights(weights, query=query_weight)} if weighted else {}
    result = euclidean(X, centers=centers, engine="exact", **settings)
    measured = result.frame(details=True)["engine"][:n] == "exact"
    assert measured.any() if weighted else measured.all()
    for row in np.flatnonzero(measured):
        expected = rational.affinity(centers, X[row], lower, upper, weights, query_weight)
        np.testing.assert_allclose(result.affinity[row], expected, atol=ROUNDINGS * EPS / spacing)


@pytest.mark.parametrize("domain", ["box", pytest.param("space", marks=pytest.mark.slow)])
def test_ratios_of_distances_on_a_line_of_two_thousand_sites(rng, domain):
    """Between neighbours the affinities are ratios of distances, whatever the walls: exactly, for 2,000 random sites of
    which the closest two are some 1e-7 apart."""
    centers = np.sort(rng.random(2000))
    right = rng.integers(1, 2000, 300)
    x = centers[right] - rng.uniform(0.1, 0.9, 300) * (centers[right] - centers[right - 1])
    result = euclidean(x[:, None], centers=centers[:, None], engine="exact", domain=domain)
    assert set(result.frame(details=True)["engine"]) == {"exact"}
    spacing = centers[right] - centers[right - 1]
    error = np.abs(result.affinity[np.arange(300), right - 1] - (centers[right] - x) / spacing)
    assert (error <= ROUNDINGS * EPS / spacing).all()
    assert np.median(error) < 1e-12


@pytest.mark.parametrize("spacing", [1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("seed", range(3))
def test_half_way_between_two_sites_with_a_long_territory(seed, spacing):
    """The cell of the midpoint is a slab across the box: rational arithmetic gives each of the two sites one half."""
    rng = np.random.default_rng(seed)
    centers, direction, X = rng.normal(size=(6, 2)), rng.normal(size=2), rng.normal(size=(40, 2))
    centers[1] = centers[0] + spacing * direction
    X[0] = (centers[0] + centers[1]) / 2
    result = euclidean(X, centers=centers)
    expected = rational.affinity(centers, X[0], *default_box(X, centers))
    tolerance = ROUNDINGS * EPS / spacing if result.frame(details=True)["engine"][0] == "exact" else 0.06
    np.testing.assert_allclose(result.affinity[0], expected, atol=tolerance)


@pytest.mark.parametrize("scale", [1e3, 1e7, 1e9])
def test_a_wide_column_does_not_hide_a_narrow_one(scale):
    """The two sites on the side of each point share it like the ends of a line."""
    centers = np.array([[-scale, 0.0], [-scale, 1.0], [scale, 0.0], [scale, 1.0]])
    result = euclidean([[scale, 0.3], [-scale, 0.9], [scale, 1.0]], centers=centers)
    np.testing.assert_allclose(result.affinity, [[0, 0, 0.7, 0.3], [0.1, 0.9, 0, 0], [0, 0, 0, 1]], atol=1e-7)
    assert list(result.frame(details=True)["engine"]) == ["exact", "exact", "closed-form"]


@pytest.mark.parametrize("engine", ["auto", "hit-and-run"])
def test_the_unit_of_a_kernel_does_not_matter(rng, engine):
    """Powers of two change no bit of a precomputed kernel's affinities; a tolerance that is not relative would."""
    X, labels = rng.normal(size=(60, 3)), np.arange(60) % 6
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    one, tiny = (
        affinity(gram * unit, labels, influence=Kernel("precomputed"), engine=engine) for unit in (1.0, 2.0**-60)
    )
    assert "closed-form" not in set(one.frame(details=True)["engine"])
    np.testing.assert_array_equal(one.affinity, tiny.affinity)


def _half_square(Y):
    return (Y * Y).sum(axis=1) / 2


@pytest.mark.parametrize(("spacing", "found"), [(7e-5, True), (1e-6, False), (3e-7, False)])
def test_a_clearance_from_functions_is_not_trusted_beyond_their_rounding(rng, spacing, found):
    """Half the square is a Bregman divergence like any other, whose clearance is a difference of functions: where their
    rounding would show there is no answer instead of a wrong one."""
    centers, X = _close_sites(rng, 2, spacing, 6)
    lower, upper = default_box(X, centers)
    diagram = BregmanDiagram.of_sites(centers, Bregman(_half_square, np.array, np.array))
    tessellation = Tessellation(diagram, Region.box("box", lower, upper))
    estimate = Exact().build(tessellation, Settings()).estimate(tessellation.queries(X))
    assert (estimate.has_answer[:6] == found).all()
    for row in np.flatnonzero(estimate.has_answer[:6]):
        expected = rational.affinity(centers, X[row], lower, upper)
        np.testing.assert_allclose(estimate.affinity[row], expected, atol=1e-6)


def test_rational_volumes_are_right():
    """The oracle itself: a corner of a cube, and the whole of it."""
    cube = rational.box(np.zeros(3), np.ones(3))
    assert rational.volume(cube) == 1
    corner = ([rational.Fraction(1)] * 3, rational.Fraction(1))
    assert rational.volume([*cube, corner]) == rational.Fraction(1, 6)


@pytest.mark.parametrize("copies", [1, 6])
@pytest.mark.parametrize("ratio", [1e6, 1e8])
def test_shared_samples_warn_where_rounding_hides_a_column(ratio, copies):
    """Few sites, and enough of them for banks. Pairs of sites differ in the narrow column only."""
    wide = ratio * np.linspace(-1, 1, 2 * copies)
    centers = np.array([[x, y] for x in wide for y in (0.0, 1.0)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = euclidean([[ratio, 0.3]], centers=centers, engine="shared")
    is_right = abs(result.affinity[0, -2] - 0.69) < 0.04
    assert is_right == (ratio == 1e6)
    assert [each.category for each in caught] == ([] if is_right else [PrecisionWarning])
