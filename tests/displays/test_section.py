"""Diagrams in planes against the definition of an owner, place by place."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from allegiance import KL, AffinityScorer, Box, Bregman, Mahalanobis, Polytope
from allegiance.displays._polygons import area, sides
from allegiance.displays._section import choose_view

COVARIANCE = np.array([[2.0, 0.8], [0.8, 1.0]])
WEIGHTS = np.array([0.5, 0.0, 1.0, -0.3])


def holds(polygon, points):
    if not polygon.size:
        return np.zeros(len(points), dtype=bool)
    normals, offsets = sides(polygon)
    return (points @ normals.T <= offsets).all(axis=1)


def distance_to_sides(polygons, points):
    """The distance of each point from the nearest line along any side."""
    lines = [sides(polygon) for polygon in polygons if polygon.size]
    normals, offsets = np.vstack([a for a, _ in lines]), np.concatenate([b for _, b in lines])
    return np.abs((points @ normals.T - offsets) / np.linalg.norm(normals, axis=1)).min(axis=1)


def check_owners(seen, owner_of, rng):
    """Polygons and owners agree at random places of the view, and the cells do not overlap."""
    places = rng.uniform(seen.lower, seen.upper, (2000, 2))
    cells = seen.section.cells
    places = places[distance_to_sides(cells, places) > 1e-6]
    held = np.array([holds(cell, places) for cell in cells])
    assert held.sum(axis=0).max() == 1
    within = held.any(axis=0)
    expected = owner_of(seen.plane.lift(places[within]))
    np.testing.assert_array_equal(held[:, within].argmax(axis=0), expected)
    np.testing.assert_array_equal(seen.section.owners(places[within]), expected)
    return within


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["voronoi", "power"])
@pytest.mark.parametrize("covariance", [None, COVARIANCE], ids=["euclidean", "mahalanobis"])
def test_cells_of_two_features(blobs, brute_owner, rng, weights, covariance):
    influence = "euclidean" if covariance is None else Mahalanobis(covariance)
    scorer = AffinityScorer(influence=influence, weights=weights).fit(*blobs)
    seen = choose_view(scorer, blobs[0], None, None, None, None)
    w = 0.0 if weights is None else weights
    within = check_owners(
        seen, lambda X: brute_owner(X, scorer.cluster_centers_, weights=w, covariance=covariance), rng
    )
    assert within.all() == (covariance is None)


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_cells_of_a_bregman_divergence(blobs, brute_owner, rng, smoothing):
    X, y = blobs
    scorer = AffinityScorer(influence=KL(smoothing=smoothing), weights=0.1 * np.arange(4)).fit(X, y)
    seen = choose_view(scorer, X, None, None, None, None)
    centers = np.array([X[y == i].mean(axis=0) for i in range(4)])
    within = check_owners(
        seen,
        lambda Z: brute_owner(Z + smoothing, centers + smoothing, "kl", 0.1 * np.arange(4)),
        rng,
    )
    assert within.all()


@pytest.mark.parametrize("choice", [{"features": (0, 2)}, {"features": (3, 1)}, {"projection": "pca"}, {}], ids=str)
@pytest.mark.parametrize("influence", ["euclidean", "kl"])
def test_cells_in_a_plane_of_four_features(brute_owner, rng, choice, influence):
    X, y = make_blobs(200, n_features=4, centers=6, center_box=(4, 9), cluster_std=0.6, random_state=2)
    scorer = AffinityScorer(influence=influence).fit(X, y)
    seen = choose_view(scorer, X, choice.get("features"), choice.get("projection"), None, None)
    within = check_owners(seen, lambda Z: brute_owner(Z, scorer.cluster_centers_, influence), rng)
    assert within.mean() > 0.5
    np.testing.assert_allclose(seen.plane.project(seen.plane.lift(np.eye(2))), np.eye(2), atol=1e-12)


def test_reduced_bregman_divergence_in_a_plane(brute_owner, rng):
    X, y = make_blobs(90, n_features=5, centers=3, center_box=(4, 9), cluster_std=0.6, random_state=2)
    scorer = AffinityScorer(influence="kl").fit(X, y)
    seen = choose_view(scorer, X, None, "pca", None, None)
    check_owners(seen, lambda Z: brute_owner(Z, scorer.cluster_centers_, "kl"), rng)


def test_divergence_of_the_users_own(rng, blobs):
    cube = Bregman(phi=lambda Y: (Y**3).sum(axis=1), gradient=lambda Y: 3 * Y**2, domain=(0.0, np.inf), name="cubes")
    scorer = AffinityScorer(influence=cube).fit(*blobs)
    centers = scorer.cluster_centers_

    def owner(Y):
        parts = [(Y**3 - c**3 - 3 * c**2 * (Y - c)).sum(axis=1) for c in centers]
        return np.argmin(parts, axis=0)

    check_owners(choose_view(scorer, blobs[0], None, None, None, None), owner, rng)


def test_cells_fill_the_domain(blobs):
    X, y = blobs
    scorer = AffinityScorer(domain=Box(margin=0.2)).fit(X, y)
    section = choose_view(scorer, X, None, None, None, None).section
    extent = np.ptp(X, axis=0) * 1.4
    assert sum(area(cell) for cell in section.cells) == pytest.approx(extent.prod())
    box = Polytope.box([-1.0, 0.0], [12.0, 11.0])
    section = choose_view(AffinityScorer(domain=box).fit(X, y), X, None, None, None, None).section
    assert sum(area(cell) for cell in section.cells) == pytest.approx(13 * 11)
    ball = AffinityScorer(domain="ball").fit(X, y)
    section = choose_view(ball, X, None, None, None, None).section
    center = ball.cluster_centers_.mean(axis=0)
    radius = np.linalg.norm(np.vstack([X, ball.cluster_centers_]) - center, axis=1).max()
    assert sum(area(cell) for cell in section.cells) == pytest.approx(np.pi * radius**2, rel=1e-4)


def test_ball_in_a_slice_is_smaller(scorer_4d):
    X, fitted = scorer_4d
    scorer = AffinityScorer(domain="ball", random_state=0).fit(X, fitted.labels_)
    center = scorer.cluster_centers_.mean(axis=0)
    radius = np.linalg.norm(X - center, axis=1).max()
    view = ((-99.0, 99.0), (-99.0, 99.0))
    away = np.array([0.0, 0.0, 0.6, 0.0]) * radius
    section = choose_view(scorer, X, (0, 1), None, center + away, view).section
    assert sum(area(cell) for cell in section.cells) == pytest.approx(np.pi * radius**2 * 0.64, rel=1e-3)
    beyond = choose_view(scorer, X, (0, 1), None, center + 2 * away, view).section
    assert all(not cell.size for cell in beyond.cells)


def test_view_can_be_chosen_and_cuts_the_cells(scorer, blobs):
    seen = choose_view(scorer, blobs[0], None, None, None, ((3.0, 5.0), (4.0, 5.0)))
    np.testing.assert_array_equal([*seen.lower, *seen.upper], [3.0, 4.0, 5.0, 5.0])
    assert sum(area(cell) for cell in seen.section.cells) == pytest.approx(2.0)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_of_the_data_do_not_matter(blobs, scale):
    X, y = blobs
    plain = choose_view(AffinityScorer().fit(X, y), X, None, None, None, None).section
    scaled = choose_view(AffinityScorer().fit(scale * X, y), scale * X, None, None, None, None).section
    for cell, other in zip(plain.cells, scaled.cells, strict=True):
        assert area(other) / scale**2 == pytest.approx(area(cell), rel=1e-9)


def test_coinciding_clusters_have_the_same_cell():
    scorer = AffinityScorer(centers=[[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]).fit(np.array([[-1.0, -1.0], [2.0, 2.0]]))
    cells = choose_view(scorer, None, None, None, None, None).section.cells
    np.testing.assert_array_equal(cells[0], cells[2])
    assert cells[0].size
    assert cells[1].size
