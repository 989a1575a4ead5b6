"""Regions: what they contain, and that their samples are uniform."""

import numpy as np
import pytest
from allegiance.domains._base import contains, halfspaces, is_polyhedral
from scipy.stats import kstest

from allegiance import Polytope, affinity
from allegiance.domains import BallDomain, BoxDomain, PolytopeDomain, UnboundedDomain
from reference.volumes import box_affinity


def _triangle():
    return PolytopeDomain(np.array([[-1.0, 0.0], [0.0, -1.0], [1.0, 1.0]]), np.array([0.0, 0.0, 1.0]))


def _domains(r):
    return [BoxDomain(np.zeros(r), np.ones(r), 0.1), BallDomain(np.zeros(r), 2.0)]


@pytest.mark.parametrize("r", [1, 2, 5])
def test_samples_are_inside_and_in_unit_coordinates(rng, r):
    for domain in _domains(r):
        z = domain.sample(2000, rng)
        assert contains(domain, z).all()
        assert np.abs(z).max() <= 1
        assert not contains(domain, 1.5 * np.ones((1, r)) * np.sqrt(r))[0]


def test_samples_are_uniform(rng):
    """Kolmogorov-Smirnov at level 1e-6 each: marginals of the box, radii of the ball, a marginal of the triangle."""
    box, ball = _domains(3)
    for c in range(3):
        assert kstest(box.sample(20_000, rng)[:, c], "uniform", args=(-1, 2)).pvalue > 1e-6
    radius = np.linalg.norm(ball.sample(20_000, rng), axis=1)
    assert kstest(radius**3, "uniform").pvalue > 1e-6
    triangle = _triangle()
    x = triangle.sample(20_000, rng)[:, 0] * triangle.scale[0] + triangle.center[0]
    assert kstest(x, lambda t: 1 - (1 - np.clip(t, 0, 1)) ** 2).pvalue > 1e-6


def test_thin_polytopes_are_sampled_by_a_walk(rng):
    """A needle along the diagonal, of which the bounding box holds 1e-4: level 1e-6 again."""
    along, across = np.array([1.0, 1.0]) / np.sqrt(2), np.array([1.0, -1.0]) / np.sqrt(2)
    needle = PolytopeDomain(np.array([along, -along, across, -across]), np.array([1.0, 1.0, 5e-5, 5e-5]))
    z = needle.sample(4000, rng) * needle.scale + needle.center
    assert kstest(z @ along, "uniform", args=(-1, 2)).pvalue > 1e-6
    assert kstest(z @ across / 5e-5, "uniform", args=(-1, 2)).pvalue > 1e-6


def test_box_has_the_stated_margin():
    box = BoxDomain(np.array([0.0, 10.0]), np.array([1.0, 30.0]), 0.1)
    np.testing.assert_allclose(box.center - box.scale, [-0.1, 8.0])
    np.testing.assert_allclose(box.center + box.scale, [1.1, 32.0])
    walls, offsets = halfspaces(box)
    assert walls.shape == (4, 2)
    assert (offsets == 1).all()


def test_flat_walls():
    assert is_polyhedral(BoxDomain(np.zeros(2), np.ones(2), 0.1))
    assert not is_polyhedral(BallDomain(np.zeros(2), 1.0))
    assert is_polyhedral(BallDomain(np.zeros(1), 1.0)), "in one dimension a ball is an interval"
    assert is_polyhedral(UnboundedDomain(np.eye(2)))


def test_polytope_equals_the_same_box(rng):
    X, centers = rng.uniform(0, 1, (20, 2)), rng.uniform(0, 1, (4, 2))
    region = Polytope.box([0.0, 0.0], [1.0, 1.0])
    for method in ("exact", "shared", "hit-and-run"):
        result = affinity(X, centers=centers, domain=region, method=method, random_state=0)
        for x, alpha in zip(X, result.affinity, strict=True):
            expected = box_affinity(centers, x, np.zeros(2), np.ones(2))
            np.testing.assert_allclose(alpha, expected, atol=1e-9 if method == "exact" else 0.08)


def test_polytope_keeps_all_dimensions(rng):
    """Two sites span a line, but a triangle is not a product with a line: volume is measured in the plane."""
    centers = np.array([[0.2, 0.2], [0.6, 0.2]])
    region = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 1])
    result = affinity([[0.3, 0.2]], centers=centers, domain=region)
    assert result.how.dim == 2
    y = rng.random((400_000, 2))
    y = y[y.sum(axis=1) <= 1]
    mine = ((y - [0.3, 0.2]) ** 2).sum(axis=1)
    theirs = ((y[:, None] - centers) ** 2).sum(axis=2)
    stolen = mine <= theirs.min(axis=1)
    expected = np.bincount(theirs[stolen].argmin(axis=1), minlength=2) / stolen.sum()
    np.testing.assert_allclose(result.affinity[0], expected, atol=0.005)


def test_polytope_repr_and_zero_rows():
    region = Polytope([[1.0], [-1.0], [0.0]], [1.0, 1.0, 5.0])
    assert repr(region) == "Polytope(2 walls in 1 dimensions)"
