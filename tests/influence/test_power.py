"""Weighted cells against polytopes intersected one by one, and the theorems about weights."""

import numpy as np
import pytest

from allegiance.domains import Region
from allegiance.engines import Tessellation
from allegiance.influence import LinearEmbedding, PowerDiagram
from reference.volumes import box_walls, polytope_volume
from scenes import measurer, points_in_hull, tessellate


def power_diagram(centers, weights, query_weight):
    return PowerDiagram(LinearEmbedding.of_sites(centers), np.asarray(weights, dtype=float), query_weight)


def square(half_width):
    """The square of this half-width around the origin."""
    return Region.box("box", np.full(2, -half_width), np.full(2, half_width))


def ahead_of(p, w, q, v):
    """Half-spaces {y: |y - p|² - w <= |y - q|² - v} for rows q and weights v, as unit rows."""
    normals = np.atleast_2d(q - p)
    offsets = (normals * (np.atleast_2d(q + p) / 2)).sum(axis=1) + (w - v) / 2
    norms = np.linalg.norm(normals, axis=1)
    return normals / norms[:, None], offsets / norms


def weighted_volumes(centers, weights, x, query_weight, lower, upper):
    volumes = np.zeros(len(centers))
    for i in range(len(centers)):
        others = np.arange(len(centers)) != i
        parts = [
            ahead_of(x, query_weight, centers, weights),
            ahead_of(centers[i], weights[i], centers[others], weights[others]),
            box_walls(lower, upper),
        ]
        volumes[i] = polytope_volume(np.vstack([n for n, _ in parts]), np.concatenate([o for _, o in parts]))
    return volumes


@pytest.mark.parametrize(("r", "k"), [(1, 4), (2, 6), (3, 5)])
def test_weighted_cells_equal_intersected_polytopes(rng, r, k):
    centers, X = rng.normal(size=(k, r)), rng.normal(size=(30, r))
    weights, query_weight = rng.uniform(0, 0.6, k), 0.2
    diagram = power_diagram(centers, weights, query_weight)
    position = diagram.locate(X).position
    tessellation = tessellate(diagram, position)
    estimate = measurer(tessellation, "exact").estimate(tessellation.queries(position))
    everything = np.vstack([X, centers])
    margin = 0.1 * (everything.max(axis=0) - everything.min(axis=0))
    lower, upper = everything.min(axis=0) - margin, everything.max(axis=0) + margin
    owning = 0
    for x, alpha, empty_cell in zip(X, estimate.affinity, estimate.empty_cell, strict=True):
        volumes = weighted_volumes(centers, weights, x, query_weight, lower, upper)
        assert empty_cell == (volumes.sum() < 1e-12)
        if not empty_cell:
            np.testing.assert_allclose(alpha, volumes / volumes.sum(), rtol=1e-8, atol=1e-10)
            owning += 1
    assert owning >= 10


@pytest.mark.parametrize("r", [2, 3])
def test_sibson_identity_with_weights(rng, r):
    centers = rng.normal(size=(r + 3, r))
    X = points_in_hull(rng, centers, 20)
    diagram = power_diagram(centers, rng.uniform(0, 0.2, r + 3), 0.2)
    tessellation = tessellate(diagram, diagram.positions, "space")
    estimate = measurer(tessellation, "exact").estimate(tessellation.queries(diagram.locate(X).position))
    np.testing.assert_allclose(estimate.affinity @ centers, X, atol=1e-8)


@pytest.mark.parametrize("r", [2, 3])
@pytest.mark.parametrize("query_weight", [0.5, -2.0])
def test_weights_do_nothing_for_independent_sites(rng, r, query_weight):
    """In a simplex of sites in the whole space affinities are barycentric, also where the cell is empty."""
    centers = rng.normal(size=(r + 1, r))
    shares = rng.dirichlet(np.ones(r + 1), 40)
    weights = rng.uniform(0, 0.5, r + 1)
    diagram = power_diagram(centers, weights, query_weight)
    tessellation = tessellate(diagram, diagram.positions, "space")
    queries = tessellation.queries(diagram.locate(shares @ centers).position)
    solved = measurer(tessellation, "auto").estimate(queries)
    measured = measurer(tessellation, "exact").estimate(queries)
    np.testing.assert_allclose(solved.affinity, shares, atol=1e-9)
    np.testing.assert_allclose(measured.affinity, shares, atol=1e-6)
    np.testing.assert_array_equal(solved.empty_cell, measured.empty_cell)
    assert solved.empty_cell.any() == (query_weight < 0)


def test_equal_weights_are_no_weights(rng):
    centers, X = rng.normal(size=(5, 2)), rng.normal(size=(10, 2))
    plain = PowerDiagram(LinearEmbedding.of_sites(centers))
    equal = plain.weighted(np.full(5, 3.0), 3.0)
    region = square(3.6)
    answers = []
    for diagram in (plain, equal):
        tessellation = Tessellation(diagram, region)
        queries = tessellation.queries(diagram.locate(X).position)
        answers.append(measurer(tessellation, "exact").estimate(queries).affinity)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-12)


def test_a_heavy_cluster_hides_a_point_next_to_it():
    """x stands on the site, but weighs less: it owns nothing, and wholly belongs there."""
    diagram = power_diagram(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]), [1.0, 0.0, 0.0], 0.0)
    tessellation = Tessellation(diagram, square(4.8))
    estimate = measurer(tessellation, "auto").estimate(tessellation.queries(diagram.locate(np.zeros((1, 2))).position))
    assert estimate.empty_cell[0]
    np.testing.assert_allclose(estimate.affinity[0], [1, 0, 0], atol=1e-9)
