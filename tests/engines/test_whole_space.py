"""The whole space: barycentric coordinates in the hull, limits of growing balls outside."""

import numpy as np
import pytest

from allegiance.engines import engine_names
from reference.rejection import rejection
from reference.volumes import box_affinity, direction_shares
from scenes import euclidean, make_scene, measurer, points_in_hull


@pytest.mark.parametrize(
    ("r", "engine"), [*((r, "closed-form") for r in (1, 2, 3, 5, 9)), *((r, "exact") for r in (1, 2, 3))]
)
def test_shares_in_a_simplex_of_sites_are_barycentric(rng, r, engine):
    centers = rng.normal(size=(r + 1, r))
    shares = rng.dirichlet(np.ones(r + 1), 50)
    result = euclidean(shares @ centers, centers=centers, domain="space", engine=engine)
    np.testing.assert_allclose(result.affinity, shares, atol=1e-9)
    assert set(result.frame(details=True)["engine"]) == {engine}


@pytest.mark.parametrize("r", [2, 3])
def test_bounded_cells_equal_a_huge_box(rng, r):
    centers = rng.normal(size=(8, r))
    X = points_in_hull(rng, centers, 10)
    result = euclidean(X, centers=centers, domain="space")
    for x, alpha in zip(X, result.affinity, strict=True):
        expected = box_affinity(centers, x, np.full(r, -300.0), np.full(r, 300.0))
        np.testing.assert_allclose(alpha, expected, atol=1e-7)


@pytest.mark.parametrize("r", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_outside_is_the_limit_of_growing_balls(rng, r):
    """Shares in balls of growing radius approach the result: brute force with 400,000 points, three radii. The noise of
    the largest is below 0.01 (four standard errors of some 20,000 points inside a cell)."""
    centers = rng.normal(size=(6, r))
    X = centers.mean(axis=0) + 4 * np.linalg.qr(rng.normal(size=(r, r)))[0]
    result = euclidean(X, centers=centers, domain="space", eps=0.01, random_state=0)
    y = rng.normal(size=(400_000, r))
    y *= (rng.random((400_000, 1)) ** (1 / r)) / np.linalg.norm(y, axis=1, keepdims=True)
    for x, alpha in zip(X, result.affinity, strict=True):
        errors = [np.abs(rejection(centers, x, radius * y)[0] - alpha).max() for radius in (5, 50, 5000)]
        assert errors[-1] < (0.01 if r == 2 else 0.02)
        assert errors[-1] <= errors[0] + 0.01


def test_plane_directions_are_exact(rng):
    """Arcs against the shares of a million evenly spaced directions."""
    centers = rng.normal(size=(7, 2))
    X = rng.normal(size=(20, 2)) * 4
    tessellation, queries = make_scene(centers, X, domain="space")
    estimate = measurer(tessellation, "auto").estimate(queries)
    angle = np.linspace(0, 2 * np.pi, 1_000_001)[:-1]
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    checked = 0
    for x, alpha in zip(X, estimate.affinity, strict=True):
        shares, count = direction_shares(centers, x, directions)
        if count > 100_000:
            np.testing.assert_allclose(alpha, shares, atol=5e-5)
            checked += 1
    assert checked >= 5
    assert set(engine_names(estimate.engine)) == {"exact"}


@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("simplex", [True, False])
def test_continuous_across_the_hull(rng, r, simplex):
    """Just inside and just outside a facet of the hull the affinities agree."""
    centers = np.vstack([np.eye(r), -np.ones((1, r))])
    if not simplex:
        centers = np.vstack([centers, np.full((1, r), 0.05)])
    shares = np.array([0.2, 0.8]) if r == 2 else np.array([0.2, 0.3, 0.5])
    on_facet = shares @ centers[:r]
    outwards = np.ones(r) / np.sqrt(r)
    X = np.array([on_facet - 1e-5 * outwards, on_facet + 1e-5 * outwards, on_facet])
    result = euclidean(X, centers=centers, domain="space", random_state=0)
    expected = np.append(shares, np.zeros(len(centers) - r))
    np.testing.assert_allclose(result.affinity[0], expected, atol=1e-3)
    np.testing.assert_allclose(result.affinity[1:], [expected] * 2, atol=1e-3 if r == 2 else 0.05)


def test_one_dimension():
    centers = np.array([[0.0], [1.0], [3.0]])
    result = euclidean([[-5.0], [0.25], [2.0], [9.0]], centers=centers, domain="space")
    np.testing.assert_allclose(result.affinity, [[1, 0, 0], [0.75, 0.25, 0], [0, 0.5, 0.5], [0, 0, 1]], atol=1e-12)


def test_hull_of_many_sites_in_many_dimensions(rng):
    """k > r + 1 in eight dimensions: hull membership point by point, walks inside, directions outside."""
    centers = rng.normal(size=(14, 8))
    inside = points_in_hull(rng, centers, 5)
    outside = 10 * rng.normal(size=(5, 8))
    result = euclidean(np.vstack([inside, outside]), centers=centers, domain="space", random_state=0)
    assert set(result.frame(details=True)["engine"][:5]) == {"hit-and-run"}
    assert "shared" in set(result.frame(details=True)["engine"][5:])
    np.testing.assert_allclose(result.affinity[:5] @ centers, inside, atol=0.2)
    assert (1.96 * result.standard_error <= 0.03).all()


@pytest.mark.parametrize(
    ("engine", "where", "match"),
    [("shared", "inside", "inside the hull"), ("exact", "outside", "outside the hull"),
     ("closed-form", "outside", "outside the hull")],
)  # fmt: skip
def test_engines_that_cannot_serve_say_why(rng, engine, where, match):
    centers = rng.normal(size=(4, 3))
    X = points_in_hull(rng, centers, 3) if where == "inside" else 10 + rng.normal(size=(3, 3))
    with pytest.raises(ValueError, match=match):
        euclidean(X, centers=centers, domain="space", engine=engine)
