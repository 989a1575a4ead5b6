"""Cells that own nothing, and the deepest points of those that do."""

import numpy as np
import pytest

from allegiance import AffinityScorer, affinity
from allegiance.engines import Queries
from allegiance.engines._hit_and_run import deepest_point
from scenes import make_scene


@pytest.mark.parametrize("domain", ["box", "ball"])
def test_queries_far_outside_are_hidden(rng, domain):
    X = rng.normal(size=(50, 3))
    scorer = AffinityScorer(centers=rng.normal(size=(5, 3)), domain=domain, random_state=0, influence="euclidean").fit(
        X
    )
    result = scorer.affinity(50 * rng.normal(size=(10, 3)))
    assert result.empty_cell.all()
    assert set(result.engine) == {"limit"}
    np.testing.assert_allclose(result.affinity.sum(axis=1), 1, atol=1e-12)
    assert (result.standard_error == 0).all()


@pytest.mark.parametrize("r", [2, 3])
def test_affinity_is_continuous_where_the_cell_vanishes(rng, r):
    """Moving a query outwards until its cell in the box is empty: the last measured affinities tend to the limit."""
    X = rng.uniform(-1, 1, (100, r))
    centers = rng.uniform(-1, 1, (6, r))
    scorer = AffinityScorer(centers=centers, engine="exact", influence="euclidean").fit(X)
    direction = rng.normal(size=r)
    direction /= np.linalg.norm(direction)

    def hidden_at(distance):
        return bool(scorer.affinity((distance * direction)[None]).empty_cell[0])

    low, high = 1.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if hidden_at(middle) else (middle, high)
    before = scorer.affinity((low * (1 - 1e-4) * direction)[None])
    after = scorer.affinity((high * direction)[None])
    assert not before.empty_cell[0]
    assert after.empty_cell[0]
    np.testing.assert_allclose(before.affinity, after.affinity, atol=0.01)


def test_deepest_point_is_in_the_cell(rng):
    for domain in ("box", "ball"):
        tessellation, queries = make_scene(rng.normal(size=(6, 3)), rng.normal(size=(10, 3)), domain)
        for row in range(10):
            query = queries.take(slice(row, row + 1))
            deepest = deepest_point(tessellation, query)
            slack = (tessellation.functions.b - query.b) - (tessellation.functions.a - query.a) @ deepest.position
            assert deepest.depth > 0
            assert slack.min() == pytest.approx(deepest.depth, rel=1e-4, abs=1e-6)
            assert np.abs(deepest.position).max() <= 1 + 1e-9


def test_multipliers_are_barycentric_for_a_shrinking_cell(rng):
    """A function with a constant so large that it owns nothing, its slope in the hull: the limit of its affinities is
    the barycentric coordinate vector of the slope."""
    tessellation, _ = make_scene(rng.normal(size=(4, 3)), 20 * rng.normal(size=(10, 3)))
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    slope = shares @ tessellation.functions.a
    height = shares @ tessellation.functions.b
    deepest = deepest_point(tessellation, Queries(slope[None], np.array([height + 1e-3]), np.zeros((1, 3))))
    assert deepest.depth < 0
    np.testing.assert_allclose(deepest.multipliers, shares, atol=1e-9)


@pytest.mark.parametrize("domain", ["box", "ball"])
@pytest.mark.parametrize("weight", [1e20, 1e300])
def test_a_cluster_of_any_weight_owns_everything(domain, weight):
    """Numbers beyond 1e20 are infinite to the solver, which refused them."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    result = affinity(X, [0, 1, 2] * 4, weights=[weight, 1.0, 1.0], domain=domain, influence="euclidean")
    np.testing.assert_allclose(result.affinity, [[1.0, 0.0, 0.0]] * 12, atol=1e-12)
