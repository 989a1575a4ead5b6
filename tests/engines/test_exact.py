"""Exact volumes against polytopes intersected one by one with Qhull."""

import numpy as np
import pytest

from allegiance.engines import Exact, Settings
from reference.volumes import box_affinity, default_box
from scenes import euclidean, make_scene, points_in_hull


def assert_equals_intersected_polytopes(centers, X, atol=1e-9):
    result = euclidean(X, centers=centers, engine="exact")
    lower, upper = default_box(X, centers)
    for x, alpha in zip(X, result.affinity, strict=True):
        np.testing.assert_allclose(alpha, box_affinity(centers, x, lower, upper), rtol=1e-9, atol=atol)
    assert (result.frame(details=True)["engine"] == "exact").all()
    assert (result.standard_error == 0).all()


@pytest.mark.parametrize(
    ("r", "k", "cases"),
    [(2, 3, 40), (2, 7, 40), pytest.param(2, 25, 20, marks=pytest.mark.slow), (3, 4, 40), (3, 8, 20), (4, 6, 30)],
)
def test_equals_intersected_polytopes(rng, r, k, cases):
    assert_equals_intersected_polytopes(rng.normal(size=(k, r)), rng.normal(size=(cases, r)) * 1.5, atol=1e-11)


LARGEST = [pytest.param(r, k, marks=pytest.mark.slow) for r, k in ((2, 500), (3, 200), (4, 40))]


@pytest.mark.parametrize(("r", "k"), [*((r, r + 3) for r in range(1, 6)), *LARGEST])
def test_sibson_identity(rng, r, k):
    """Sum alpha_i c_i = x for cells that no wall cuts, also with as many sites as auto measures exactly."""
    centers = rng.normal(size=(k, r))
    X = points_in_hull(rng, centers, 30)
    result = euclidean(X, centers=centers, engine="exact", domain="space")
    np.testing.assert_allclose(result.affinity @ centers, X, atol=1e-9)
    assert (result.frame(details=True)["engine"] == "exact").all()


@pytest.mark.parametrize(
    "wobble", [0.0, 1e-13, *(pytest.param(wobble, marks=pytest.mark.slow) for wobble in (1e-9, 1e-5))]
)
def test_nearly_cocircular_sites(rng, wobble):
    angle = np.linspace(0, 2 * np.pi, 13)[:-1]
    centers = np.column_stack([np.cos(angle), np.sin(angle)]) + wobble * rng.normal(size=(12, 2))
    assert_equals_intersected_polytopes(centers, rng.normal(size=(12, 2)) * 0.7)


@pytest.mark.parametrize("r", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_grid_of_sites(rng, r):
    centers = np.stack(np.meshgrid(*[np.arange(3.0)] * r), axis=-1).reshape(-1, r)
    X = rng.uniform(-0.3, 2.3, (10, r))
    assert_equals_intersected_polytopes(centers, X)
    middle = euclidean(np.full((1, r), 0.5), centers=centers, engine="exact", domain="space").affinity[0]
    corners = (centers <= 1).all(axis=1)
    np.testing.assert_allclose(middle[corners], 1 / 2**r, atol=1e-12)


def test_collinear_sites_are_one_dimensional(rng):
    direction = np.array([3.0, 4.0]) / 5
    along = np.array([0.0, 2.0, 5.0])
    X = rng.uniform(0, 4, (30, 2))
    result = euclidean(X, centers=np.outer(along, direction), engine="exact")
    assert result.summary().measurement.dim == 1
    line = euclidean((X @ direction)[:, None], centers=along[:, None], engine="exact")
    np.testing.assert_allclose(result.affinity, line.affinity, atol=1e-12)
    np.testing.assert_allclose(result.frame(details=True)["residual"], np.abs(X @ [-0.8, 0.6]), atol=1e-7)


def test_two_sites_almost_in_one_place(rng):
    """The bisector of sites 1e-12 apart is as accurate as their difference: their split equals that of the same sites
    with the pair 1e-3 apart, up to what 1e-3 changes."""
    base = rng.normal(size=(4, 2))
    step = np.array([0.6, 0.8])
    X = rng.normal(size=(20, 2))

    def scores(gap):
        return euclidean(X, centers=np.vstack([base, base[0] + gap * step]), engine="exact").affinity

    close, apart = scores(1e-12), scores(1e-6)
    np.testing.assert_allclose(close, apart, atol=2e-4)
    assert (close[:, [0, 4]].min(axis=1) > 1e-3).any(), "the pair must really share some point"
    single = euclidean(X, centers=base, engine="exact").affinity
    np.testing.assert_allclose(close[:, 0] + close[:, 4], single[:, 0], atol=1e-9)


def test_six_dimensions_tile_too(rng):
    """Qhull's own triangulation overlaps here; the engine notices and triangulates again."""
    centers = rng.normal(size=(7, 6))
    X = points_in_hull(rng, centers, 5)
    tessellation, queries = make_scene(centers, X)
    estimate = Exact().build(tessellation, Settings()).estimate(queries)
    sampled = euclidean(X, centers=centers, engine="shared", eps=0.01, random_state=0)
    assert np.abs(estimate.affinity - sampled.affinity).max() < 0.02
