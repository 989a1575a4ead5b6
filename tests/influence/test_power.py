"""Weighted cells against polytopes intersected one by one, and the theorems about weights."""

import numpy as np
import pytest

from allegiance.domains import Region
from allegiance.engines import Tessellation
from allegiance.influence import LinearEmbedding, PowerDiagram
from reference.volumes import default_box, stolen_volumes
from scenes import measurer, points_in_hull, tessellate


def power_diagram(centers, weights, query_weight):
    return PowerDiagram(LinearEmbedding.of_sites(centers), np.asarray(weights, dtype=float), query_weight)


def estimate(diagram, X, engine):
    """Measure points over a square around the origin."""
    tessellation = Tessellation(diagram, Region.box("box", np.full(2, -4.8), np.full(2, 4.8)))
    return measurer(tessellation, engine).estimate(tessellation.queries(diagram.locate(X).position))


@pytest.mark.parametrize(("r", "k"), [(1, 4), (2, 6), (3, 5)])
def test_weighted_cells_equal_intersected_polytopes(rng, r, k):
    centers, X = rng.normal(size=(k, r)), rng.normal(size=(30, r))
    weights, query_weight = rng.uniform(0, 0.6, k), 0.2
    diagram = power_diagram(centers, weights, query_weight)
    position = diagram.locate(X).position
    tessellation = tessellate(diagram, position)
    estimate = measurer(tessellation, "exact").estimate(tessellation.queries(position))
    lower, upper = default_box(X, centers)
    owning = 0
    for x, alpha, empty_cell in zip(X, estimate.affinity, estimate.empty_cell, strict=True):
        volumes = stolen_volumes(centers, x, lower, upper, weights, query_weight)
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
    answers = [estimate(diagram, X, "exact").affinity for diagram in (plain, plain.weighted(np.full(5, 3.0), 3.0))]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-12)


def test_a_heavy_cluster_hides_a_point_next_to_it():
    """x stands on the site, but weighs less: it owns nothing, and wholly belongs there."""
    diagram = power_diagram(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]), [1.0, 0.0, 0.0], 0.0)
    hidden = estimate(diagram, np.zeros((1, 2)), "auto")
    assert hidden.empty_cell[0]
    np.testing.assert_allclose(hidden.affinity[0], [1, 0, 0], atol=1e-9)
