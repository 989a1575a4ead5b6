"""Regions: what they contain, and that their samples are uniform."""

import numpy as np
import pytest
from scipy.stats import kstest

from allegiance import AffinityScorer, affinity
from allegiance.domains import Box, Polytope, Region
from reference.rejection import rejection
from reference.volumes import box_affinity
from scenes import users_coordinates


def regions(r):
    return [Region.box("box", np.zeros(r), np.ones(r)), Region.ball("ball", np.zeros(r), 2.0)]


def tessellation_in(domain, points):
    """The tessellation of the plane that a fit to some points builds over a domain; its axes are those of X."""
    centers = [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]
    scorer = AffinityScorer(centers=centers, domain=domain, influence="euclidean").fit(points)
    return scorer.fitted_.tessellation


def test_samples_are_uniform(rng):
    """Kolmogorov-Smirnov at level 1e-6 each: marginals of the box, radii of the ball, a marginal of the triangle."""
    box, ball = regions(3)
    for region in (box, ball, *regions(1)):
        z = region.sample(2000, rng)
        assert region.contains(z).all()
        assert np.abs(z).max() <= 1
        assert not region.contains(np.full((1, z.shape[1]), 1.5))[0]
    for c in range(3):
        assert kstest(box.sample(20_000, rng)[:, c], "uniform", args=(-1, 2)).pvalue > 1e-6
    radius = np.linalg.norm(ball.sample(20_000, rng), axis=1)
    assert kstest(radius**3, "uniform").pvalue > 1e-6
    triangle = tessellation_in(Polytope([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]], [0.0, 0.0, 1.0]), [[0.1, 0.1]])
    x = users_coordinates(triangle, triangle.region.sample(20_000, rng))[:, 0]
    assert kstest(x, lambda t: 1 - (1 - np.clip(t, 0, 1)) ** 2).pvalue > 1e-6


def test_thin_polytopes_are_sampled_by_a_walk(rng):
    """A needle along the diagonal, of which the bounding box holds 1e-4: level 1e-6 again."""
    along, across = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    needle = tessellation_in(Polytope([along, -along, across, -across], [1.0, 1.0, 5e-5, 5e-5]), [[0.0, 0.0]])
    y = users_coordinates(needle, needle.region.sample(4000, rng))
    assert kstest(y @ along, "uniform", args=(-1, 2)).pvalue > 1e-6
    assert kstest(y @ across / 5e-5, "uniform", args=(-1, 2)).pvalue > 1e-6


@pytest.mark.parametrize(("domain", "margin"), [("box", 0.1), (Box(), 0.1), (Box(margin=0.0), 0.0), (Box(0.5), 0.5)])
def test_box_has_the_stated_margin(domain, margin):
    box = tessellation_in(domain, [[0.0, -10.0], [1.0, 30.0]])
    corners = users_coordinates(box, np.array([[-1.0, -1.0], [1.0, 1.0]]))
    np.testing.assert_allclose(corners, [[-margin, -10 - 40 * margin], [1 + margin, 30 + 40 * margin]], atol=1e-12)
    walls, offsets = box.region.halfspaces()
    assert walls.shape == (4, 2)
    assert (offsets == 1).all()


def test_ball_is_centred_on_the_sites_and_holds_the_data():
    ball = tessellation_in("ball", [[3.0, 1.0]])
    middle = np.array([0.5, 0.5]) / 3
    np.testing.assert_allclose(users_coordinates(ball, np.zeros((1, 2))), [middle], atol=1e-12)
    rim = users_coordinates(ball, np.array([[1.0, 0.0], [0.0, -1.0]]))
    np.testing.assert_allclose(np.linalg.norm(rim - middle, axis=1), np.linalg.norm([3, 1] - middle), rtol=1e-12)


def test_a_box_ends_where_the_divergence_does():
    """Rows near zero: the margin would reach below, where KL means nothing."""
    X = np.array([[0.1, 0.1], [2.0, 1.0], [0.2, 3.0], [1.0, 2.0]])
    region = AffinityScorer(influence="kl").fit(X, [0, 1, 2, 1]).fitted_.tessellation.region
    np.testing.assert_allclose(region.center - region.scale, [0.0, 0.0])
    np.testing.assert_allclose(region.center + region.scale, X.max(axis=0) + 0.1 * (X.max(axis=0) - X.min(axis=0)))


def test_polytope_equals_the_same_box(rng):
    X, centers = rng.uniform(0, 1, (20, 2)), rng.uniform(0, 1, (4, 2))
    region = Polytope.box([0.0, 0.0], [1.0, 1.0])
    for engine in ("exact", "shared", "hit-and-run"):
        result = affinity(X, centers=centers, domain=region, engine=engine, random_state=0, influence="euclidean")
        for x, alpha in zip(X, result.affinity, strict=True):
            expected = box_affinity(centers, x, np.zeros(2), np.ones(2))
            np.testing.assert_allclose(alpha, expected, atol=1e-9 if engine == "exact" else 0.08)


def test_polytope_keeps_all_dimensions(rng):
    """Two sites span a line, but a triangle is not a product with a line: volume is measured in the plane."""
    centers = np.array([[0.2, 0.2], [0.6, 0.2]])
    region = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    result = affinity([[0.3, 0.2]], centers=centers, domain=region, influence="euclidean")
    assert result.summary().measurement.dim == 2
    y = rng.random((400_000, 2))
    expected, _ = rejection(centers, np.array([0.3, 0.2]), y[y.sum(axis=1) <= 1])
    np.testing.assert_allclose(result.affinity[0], expected, atol=0.005)


def test_walls_that_exclude_nothing_change_nothing():
    X, centers = [[0.2], [0.9]], [[-0.5], [0.5]]
    plain, padded = Polytope([[1.0], [-1.0]], [1.0, 1.0]), Polytope([[1.0], [-1.0], [0.0]], [1.0, 1.0, 5.0])
    assert repr(padded) == "Polytope(3 walls in 1 dimensions)"
    results = [
        affinity(X, centers=centers, domain=domain, influence="euclidean").affinity for domain in (plain, padded)
    ]
    np.testing.assert_array_equal(*results)
