"""Half-spaces: the largest ball, boundedness, and the bounding box."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import ortho_group

from allegiance.geometry import bounding_box, chebyshev_center, is_bounded, unit_rows
from scenes import simplex, walls_of_box

quick = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 6)


def random_body(rng, d):
    """Return a box around a random point, cut by random half-spaces that keep the point, and the point."""
    cuts = rng.normal(size=(rng.integers(1, 12), d))
    A = np.vstack([np.eye(d), -np.eye(d), cuts])
    inside = rng.normal(size=d)
    return A, A @ inside + rng.uniform(0.01, 1.0, len(A)) * np.linalg.norm(A, axis=1), inside


class TestLargestBall:
    @pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("d", [1, 2, 5, 12])
    def test_simplex(self, d, size):
        A, b = simplex(d)
        center, radius = chebyshev_center(A, size * b)
        expected = size / (d + np.sqrt(d))
        assert radius == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(center, expected, rtol=1e-12)

    @pytest.mark.parametrize("aspect", [1e3, 1e6, 1e9])
    def test_needle(self, aspect):
        turn = ortho_group.rvs(5, random_state=1)
        widths = np.geomspace(1.0, 1.0 / aspect, 5)
        _, radius = chebyshev_center(np.vstack([turn, -turn]), np.tile(widths, 2))
        assert radius == pytest.approx(1.0 / aspect, rel=1e-6)

    @quick
    @given(seeds, dimensions, st.sampled_from([1e-8, 1.0, 1e8]))
    def test_is_the_largest_ball(self, seed, d, size):
        """Optimal exactly when the normals of the facets it touches have zero in their convex hull."""
        A, b, _ = random_body(np.random.default_rng(seed), d)
        center, radius = chebyshev_center(A, size * b)
        normals, offsets = unit_rows(A, size * b)
        slack = offsets - normals @ center
        assert radius == pytest.approx(slack.min(), rel=1e-9)
        assert radius > 0
        touched = normals[slack <= radius * (1 + 1e-7) + 1e-9 * size]
        goal = np.append(np.zeros(d), 1.0)
        assert nnls(np.column_stack([touched, np.ones(len(touched))]).T, goal)[1] < 1e-6

    @quick
    @given(seeds, dimensions, st.floats(1e-6, 1e3))
    def test_empty_has_negative_radius(self, seed, d, gap):
        rng = np.random.default_rng(seed)
        A, b, _ = random_body(rng, d)
        row = rng.normal(size=d)
        row /= np.linalg.norm(row)
        center, radius = chebyshev_center(np.vstack([A, row, -row]), np.append(b, [0.5, -0.5 - gap]))
        assert radius <= -0.49 * gap
        assert np.isfinite(center).all()

    @quick
    @given(seeds, st.integers(2, 6))
    def test_flat_has_radius_zero(self, seed, d):
        rng = np.random.default_rng(seed)
        A, b, inside = random_body(rng, d)
        row = rng.normal(size=d)
        A, b = np.vstack([A, row, -row]), np.append(b, [row @ inside, -row @ inside])
        assert chebyshev_center(A, b)[1] == 0.0

    def test_unbounded_bodies_give_a_finite_ball(self):
        for A, b in [
            ([[1.0, 1.0]], [3.0]),
            ([[0.0, 0.0]], [3.0]),
            ([[-1.0, 0.0], [0.0, -1.0]], [-5.0, -7.0]),
            ([[1.0, 1.0], [-1.0, -1.0]], [3.0, -1.0]),
        ]:
            center, radius = chebyshev_center(A, b)
            assert 0 < radius < np.inf
            assert (b - np.asarray(A) @ center >= 0).all()
        assert chebyshev_center([[0.0, 0.0]], [-1e-9])[1] == -np.inf


class TestIsBounded:
    @pytest.mark.parametrize("d", [1, 2, 3, 8])
    def test_simplices_and_boxes(self, d):
        assert is_bounded(simplex(d)[0])
        assert is_bounded(np.vstack([simplex(d)[0], np.zeros((2, d))]))
        assert is_bounded(walls_of_box(-np.ones(d), np.ones(d))[0])
        assert not is_bounded(simplex(d)[0][:-1])
        assert not is_bounded(walls_of_box(-np.ones(d), np.ones(d))[0][1:])

    def test_cones_slabs_and_the_whole_space(self):
        assert not is_bounded([[1.0, 0.0], [-1.0, 0.0]])
        assert not is_bounded([[1.0, 0.0], [-1.0, 0.0], [1.0, 1e-3]])
        assert not is_bounded([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.5, 1.0]])
        assert not is_bounded(np.empty((0, 2)))

    @quick
    @given(seeds, st.integers(2, 5))
    def test_does_not_depend_on_coordinates(self, seed, d):
        rng = np.random.default_rng(seed)
        shape = ortho_group.rvs(d, random_state=rng) * np.geomspace(1.0, 1e3, d)
        A = rng.normal(size=(2 * d, d))
        assert is_bounded(A @ shape) == is_bounded(A)


class TestBoundingBox:
    @quick
    @given(seeds, dimensions)
    def test_simplex_with_known_corners(self, seed, d):
        rng = np.random.default_rng(seed)
        shape = 10.0 ** rng.uniform(-2.0, 2.0) * (rng.normal(size=(d, d)) + 3.0 * np.eye(d))
        corners = np.vstack([np.zeros(d), shape.T])
        A, b = simplex(d)
        low, high = bounding_box(A @ np.linalg.inv(shape), b)
        extent = np.ptp(corners, axis=0)
        np.testing.assert_allclose(low / extent, corners.min(axis=0) / extent, atol=1e-6)
        np.testing.assert_allclose(high / extent, corners.max(axis=0) / extent, atol=1e-6)

    def test_rotated_needle(self):
        turn = ortho_group.rvs(5, random_state=2)
        widths, middle = np.geomspace(1.0, 1e-6, 5), np.arange(5.0)
        A = np.vstack([turn, -turn])
        low, high = bounding_box(A, np.tile(widths, 2) + A @ middle)
        extent = np.abs(turn.T) @ widths
        np.testing.assert_allclose([low, high], [middle - extent, middle + extent], rtol=1e-9, atol=1e-9)

    def test_flat_and_a_single_point(self):
        low, high = bounding_box(*walls_of_box([0.0, 0.0, 2.0], [1.0, 3.0, 2.0]))
        np.testing.assert_allclose([low, high], [[0.0, 0.0, 2.0], [1.0, 3.0, 2.0]], atol=1e-12)
        np.testing.assert_allclose(bounding_box([[1.0], [-1.0]], [2.0, -2.0]), [[2.0], [2.0]])

    def test_empty_or_unbounded(self):
        with pytest.raises(ValueError, match="A y <= b has no solution"):
            bounding_box([[1.0], [-1.0]], [0.0, -1.0])
        with pytest.raises(ValueError, match="unbounded"):
            bounding_box([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 1.0])
