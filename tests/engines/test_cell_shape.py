"""The axes of a cell against shapes that are known."""

import numpy as np
import pytest

from allegiance.domains import Region
from allegiance.engines._hit_and_run import cell_axes

SPACE = Region.everywhere("space", np.zeros(3), 1.0)


def _same_shape(axes, spread):
    """Compare the ellipsoid of ``axes`` with a covariance, up to size."""
    shape = axes.T @ axes
    np.testing.assert_allclose(shape / np.trace(shape), spread / np.trace(spread), rtol=0.02, atol=0.02 / len(shape))


def _simplex(rng, skew, r=3):
    """Return corners (r + 1, r) of a skewed simplex, and its walls."""
    corners = rng.normal(size=(r + 1, r)) * np.geomspace(1.0, skew, r) @ np.linalg.qr(rng.normal(size=(r, r)))[0]
    inverse = np.linalg.inv(np.vstack([corners.T, np.ones(r + 1)]))
    return corners, -inverse[:, :r], inverse[:, r]


@pytest.mark.parametrize("skew", [1.0, 1e-2, 1e-4])
def test_the_shape_of_a_simplex_is_that_of_its_corners(rng, skew):
    """Whatever the point inside it starts from. The ellipsoid of a simplex is affinely equivalent to a ball."""
    corners, slopes, offsets = _simplex(rng, skew)
    inside = rng.dirichlet(np.ones(4)) @ corners
    axes = cell_axes(slopes, offsets, SPACE, np.zeros(3), inside)
    around = corners - corners.mean(axis=0)
    whiten = np.linalg.inv(np.linalg.cholesky(around.T @ around))
    np.testing.assert_allclose(np.linalg.cond(axes @ whiten.T), 1.0, rtol=0.2)


def test_the_shape_of_a_region_alone(rng):
    """A wall infinitely far away counts for nothing, the cube and the ball are round, and a slab makes them flat."""
    absent = (np.ones((1, 3)), np.array([np.inf]))
    cube = Region.box("box", -np.ones(3), np.ones(3))
    ball = Region.ball("ball", np.zeros(3), 1.0)
    for region in (cube, ball):
        _same_shape(cell_axes(*absent, region, np.full(3, 0.3), np.zeros(3)), np.eye(3))
    slab = (np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]), np.full(2, 1e-3))
    axes = cell_axes(*slab, cube, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(np.sort(np.linalg.norm(axes, axis=1)), [1e-3, 1.0, 1.0], rtol=1e-3)


def test_a_point_on_a_wall_gives_some_axes():
    axes = cell_axes(np.eye(3), np.zeros(3), Region.box("box", -np.ones(3), np.ones(3)), np.zeros(3), np.zeros(3))
    np.testing.assert_array_equal(axes, np.eye(3))
