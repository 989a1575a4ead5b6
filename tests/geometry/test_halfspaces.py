from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import ortho_group

from allegiance.geometry import (
    bounding_box,
    chebyshev_center,
    is_bounded,
    recession_direction,
    require_bounded,
    unit_rows,
)

quick = settings(max_examples=40, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)
dimensions = st.integers(1, 6)


def box(low, high):
    eye = np.eye(len(low))
    return np.vstack([eye, -eye]), np.concatenate([high, -np.asarray(low)])


def simplex(d):
    """Return {y >= 0, sum y <= 1}."""
    return np.vstack([-np.eye(d), np.ones((1, d))]), np.append(np.zeros(d), 1.0)


def random_body(rng, d):
    """Return a box around a random point, cut by random half-spaces that keep the point, and the point."""
    cuts = rng.normal(size=(rng.integers(1, 12), d))
    A = np.vstack([np.eye(d), -np.eye(d), cuts])
    inside = rng.normal(size=d)
    return A, A @ inside + rng.uniform(0.01, 1.0, len(A)) * np.linalg.norm(A, axis=1), inside


class TestUnitRows:
    def test_lengths_and_offsets(self):
        normals, offsets = unit_rows([[3.0, 4.0], [0.0, -2.0]], [10.0, 1.0])
        np.testing.assert_allclose(normals, [[0.6, 0.8], [0.0, -1.0]])
        np.testing.assert_allclose(offsets, [2.0, 0.5])

    def test_rows_that_exclude_nothing_are_dropped(self):
        normals, offsets = unit_rows([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [0.0, np.inf, 3.0])
        np.testing.assert_array_equal(normals, [[0.0, 1.0]])
        np.testing.assert_array_equal(offsets, [3.0])

    def test_rows_that_exclude_everything_are_marked(self):
        _, offsets = unit_rows([[0.0, 0.0], [1.0, 0.0]], [-1.0, -np.inf])
        np.testing.assert_array_equal(offsets, [-np.inf, -np.inf])

    @pytest.mark.parametrize("size", [1e-200, 1e-8, 1e8, 1e200])
    def test_any_row_length(self, size):
        normals, offsets = unit_rows(size * np.array([[3.0, 4.0]]), [size * 10.0])
        np.testing.assert_allclose(normals, [[0.6, 0.8]])
        np.testing.assert_allclose(offsets, [2.0])

    @pytest.mark.parametrize(
        ("A", "b", "error", "message"),
        [
            ([1.0, 2.0], [1.0], ValueError, "A must be 2-D"),
            (np.zeros((2, 0)), [1.0, 1.0], ValueError, "A must have at least one column"),
            ([[1.0]], [1.0, 2.0], ValueError, "b must have one entry for each of the 1 rows"),
            ([[1.0]], [[1.0]], ValueError, "b must be 1-D"),
            ([[np.nan]], [1.0], ValueError, "A contains NaN"),
            ([[np.inf]], [1.0], ValueError, "A contains an infinite entry"),
            ([[1.0]], [np.nan], ValueError, "b contains NaN"),
            ([["one"]], [1.0], TypeError, "A must be an array of real numbers"),
            ([[1.0]], [1.0j], TypeError, "b must be an array of real numbers"),
        ],
    )
    def test_bad_input(self, A, b, error, message):
        with pytest.raises(error, match=message):
            unit_rows(A, b)


class TestChebyshevCenter:
    @pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
    @pytest.mark.parametrize("d", [1, 2, 5, 12])
    def test_simplex(self, d, size):
        A, b = simplex(d)
        center, radius = chebyshev_center(A, size * b)
        expected = size / (d + np.sqrt(d))
        assert radius == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(center, expected, rtol=1e-12)

    @pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
    def test_rotated_box(self, size):
        turn = ortho_group.rvs(4, random_state=0)
        widths, middle = size * np.array([1.0, 2.0, 3.0, 4.0]), size * np.array([5.0, -6.0, 7.0, 8.0])
        A = np.vstack([turn, -turn])
        center, radius = chebyshev_center(A, np.tile(widths, 2) + A @ middle)
        assert radius == pytest.approx(size, rel=1e-12)
        assert abs(turn[0] @ (center - middle)) < 1e-12 * size
        assert (np.abs(turn @ (center - middle)) <= widths - 0.999 * size).all()

    @pytest.mark.parametrize("aspect", [1e3, 1e6, 1e9])
    def test_needle(self, aspect):
        turn = ortho_group.rvs(5, random_state=1)
        widths = np.geomspace(1.0, 1.0 / aspect, 5)
        _, radius = chebyshev_center(np.vstack([turn, -turn]), np.tile(widths, 2))
        assert radius == pytest.approx(1.0 / aspect, rel=1e-6)

    def test_mixed_units(self):
        units = np.array([1e-6, 1e-2, 1e3, 1e6])
        cuts = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, -2.0, 1.0, -1.0]])
        A, b = box(-np.ones(4), np.ones(4))
        A, b = np.vstack([A, cuts]) / units, np.append(b, [1.0, 1.0])
        center, radius = chebyshev_center(A, b)
        assert radius == pytest.approx(1e-6, rel=1e-4)
        assert (A @ center < b).all()

    @quick
    @given(seeds, dimensions)
    def test_is_the_largest_ball(self, seed, d):
        """Optimal exactly when the normals of the facets it touches have zero in their convex hull."""
        A, b, _ = random_body(np.random.default_rng(seed), d)
        center, radius = chebyshev_center(A, b)
        normals, offsets = unit_rows(A, b)
        slack = offsets - normals @ center
        assert radius == pytest.approx(slack.min(), rel=1e-9)
        assert radius > 0
        touched = normals[slack <= radius * (1 + 1e-7) + 1e-9]
        goal = np.append(np.zeros(d), 1.0)
        assert nnls(np.column_stack([touched, np.ones(len(touched))]).T, goal)[1] < 1e-6

    @quick
    @given(seeds, dimensions, st.sampled_from([1e-8, 1e-3, 1.0, 1e5, 1e8]))
    def test_moves_and_scales_with_the_body(self, seed, d, size):
        rng = np.random.default_rng(seed)
        A, b, _ = random_body(rng, d)
        radius = chebyshev_center(A, b)[1]
        order, lengths = rng.permutation(len(A)), rng.uniform(0.1, 10.0, len(A))
        moved = chebyshev_center((A * lengths[:, None])[order], (size * lengths * (b + A @ rng.normal(size=d)))[order])
        assert moved[1] == pytest.approx(size * radius, rel=1e-6)

    @quick
    @given(seeds, dimensions, st.floats(1e-6, 1e3), st.sampled_from([1e-8, 1.0, 1e8]))
    def test_empty_has_negative_radius(self, seed, d, gap, size):
        rng = np.random.default_rng(seed)
        A, b, _ = random_body(rng, d)
        row = rng.normal(size=d)
        row /= np.linalg.norm(row)
        A, b = np.vstack([A, row, -row]), np.append(b, [0.5, -0.5 - gap])
        center, radius = chebyshev_center(A, size * b)
        assert radius <= -0.49 * gap * size
        assert np.isfinite(center).all()

    @quick
    @given(seeds, st.integers(2, 6))
    def test_flat_has_radius_zero(self, seed, d):
        rng = np.random.default_rng(seed)
        A, b, inside = random_body(rng, d)
        row = rng.normal(size=d)
        A, b = np.vstack([A, row, -row]), np.append(b, [row @ inside, -row @ inside])
        assert chebyshev_center(A, b)[1] == 0.0

    def test_zero_rows(self):
        A, b = box([0.0, 0.0], [2.0, 2.0])
        extra = np.vstack([A, np.zeros((1, 2))])
        assert chebyshev_center(extra, np.append(b, 0.0))[1] == pytest.approx(1.0)
        assert chebyshev_center(extra, np.append(b, -1e-9))[1] == -np.inf

    def test_unbounded_bodies_give_a_finite_ball(self):
        for A, b in [
            ([[1.0, 1.0]], [3.0]),
            ([[0.0, 0.0]], [3.0]),
            ([[-1.0, 0.0], [0.0, -1.0]], [0.0, 0.0]),
            ([[-1.0, 0.0], [0.0, -1.0]], [-5.0, -7.0]),
        ]:
            center, radius = chebyshev_center(A, b)
            assert 0 < radius < np.inf
            assert (b - np.asarray(A) @ center >= 0).all()

    def test_slab(self):
        center, radius = chebyshev_center([[1.0, 1.0], [-1.0, -1.0]], [3.0, -1.0])
        assert radius == pytest.approx(1.0 / np.sqrt(2.0))
        assert center.sum() == pytest.approx(2.0)


class TestIsBounded:
    @pytest.mark.parametrize("d", [1, 2, 3, 8, 12])
    def test_simplices_and_boxes(self, d):
        assert is_bounded(simplex(d)[0])
        assert is_bounded(box(-np.ones(d), np.ones(d))[0])
        assert not is_bounded(simplex(d)[0][:-1])
        assert not is_bounded(box(-np.ones(d), np.ones(d))[0][1:])

    def test_cones_slabs_and_the_whole_space(self):
        assert not is_bounded([[1.0, 0.0], [-1.0, 0.0]])
        assert not is_bounded([[1.0, 0.0], [-1.0, 0.0], [1.0, 1e-3]])
        assert not is_bounded([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.5, 1.0]])
        assert not is_bounded([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        assert not is_bounded(np.empty((0, 2)))

    def test_zero_rows_do_not_count(self):
        A = simplex(3)[0]
        assert is_bounded(np.vstack([A, np.zeros((2, 3))]))
        assert not is_bounded(np.vstack([A[:-1], np.zeros((2, 3))]))

    @quick
    @given(seeds, st.integers(2, 5), st.sampled_from([1e3, 1e6]))
    def test_does_not_depend_on_coordinates(self, seed, d, aspect):
        rng = np.random.default_rng(seed)
        shape = ortho_group.rvs(d, random_state=rng) * np.geomspace(1.0, aspect, d)
        A = rng.normal(size=(2 * d, d))
        assert is_bounded(A @ shape) == is_bounded(A)

    @quick
    @given(seeds, st.integers(1, 4), st.integers(1, 8))
    def test_unbounded_exactly_when_a_direction_exists(self, seed, d, m):
        A = np.random.default_rng(seed).integers(-2, 3, size=(m, d)).astype(float)
        direction = recession_direction(A)
        assert is_bounded(A) == (direction is None)
        if direction is not None:
            assert np.linalg.norm(direction) == pytest.approx(1.0)
            assert (A @ direction < 1e-9).all()

    def test_require_bounded_names_a_direction(self):
        require_bounded(simplex(2)[0])
        with pytest.raises(ValueError, match=r"unbounded\. It runs to infinity along \[-?0\. +1\. ?\]"):
            require_bounded([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])


class TestBoundingBox:
    @quick
    @given(seeds, dimensions, st.floats(0.0, 6.0))
    def test_simplex_with_known_corners(self, seed, d, decades):
        rng = np.random.default_rng(seed)
        shape = 10.0 ** rng.uniform(-decades, decades, (d, 1)) * (rng.normal(size=(d, d)) + 3.0 * np.eye(d))
        corners = np.vstack([np.zeros(d), shape.T])
        A, b = simplex(d)
        low, high = bounding_box(A @ np.linalg.inv(shape), b)
        extent = np.ptp(corners, axis=0)
        np.testing.assert_allclose(low / extent, corners.min(axis=0) / extent, atol=1e-7)
        np.testing.assert_allclose(high / extent, corners.max(axis=0) / extent, atol=1e-7)

    @quick
    @given(seeds, st.integers(2, 6))
    def test_units_do_not_matter(self, seed, d):
        rng = np.random.default_rng(seed)
        A, b, _ = random_body(rng, d)
        units = 10.0 ** rng.uniform(-6.0, 6.0, d)
        np.testing.assert_allclose(np.array(bounding_box(A / units, b)) / units, bounding_box(A, b), atol=1e-8)

    def test_rotated_needle(self):
        turn = ortho_group.rvs(5, random_state=2)
        widths, middle = np.geomspace(1.0, 1e-6, 5), np.arange(5.0)
        A = np.vstack([turn, -turn])
        low, high = bounding_box(A, np.tile(widths, 2) + A @ middle)
        extent = np.abs(turn.T) @ widths
        np.testing.assert_allclose([low, high], [middle - extent, middle + extent], rtol=1e-9, atol=1e-9)

    def test_flat_body(self):
        A, b = box([0.0, 0.0, 2.0], [1.0, 3.0, 2.0])
        low, high = bounding_box(A, b)
        np.testing.assert_allclose([low, high], [[0.0, 0.0, 2.0], [1.0, 3.0, 2.0]], atol=1e-12)

    def test_single_point(self):
        low, high = bounding_box([[1.0], [-1.0]], [2.0, -2.0])
        np.testing.assert_allclose([low, high], [[2.0], [2.0]])

    def test_empty(self):
        with pytest.raises(ValueError, match="A y <= b has no solution"):
            bounding_box([[1.0], [-1.0]], [0.0, -1.0])

    def test_unbounded(self):
        with pytest.raises(ValueError, match="unbounded"):
            bounding_box([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 1.0])
