"""Convex polygons against what is known of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allegiance.displays._polygons import HalfPlanes, area, clip, middle, rectangle, sides

SQUARE = rectangle(np.array([-1.0, -1.0]), np.array([1.0, 1.0]))


def inside(polygon, points):
    normals, offsets = sides(polygon)
    return (points @ normals.T <= offsets + 1e-12).all(axis=1)


def test_cut_of_a_square_is_a_triangle():
    corner = clip(SQUARE, HalfPlanes(np.array([[-1.0, -1.0]]), np.array([-1.0])))
    assert area(corner) == pytest.approx(0.5)
    np.testing.assert_allclose(middle(corner), [2 / 3, 2 / 3])


@given(st.integers(0, 10_000), st.integers(1, 25))
def test_a_point_is_left_exactly_if_it_satisfies_all_half_planes(seed, m):
    rng = np.random.default_rng(seed)
    cut = HalfPlanes(rng.normal(size=(m, 2)), rng.normal(size=m) + 0.5)
    points = rng.uniform(-1, 1, (500, 2))
    slack = cut.offsets - points @ cut.normals.T
    clear = (np.abs(slack) > 1e-9).all(axis=1)
    kept = clip(SQUARE, cut)
    expected = (slack > 0).all(axis=1)[clear]
    if kept.size:
        np.testing.assert_array_equal(inside(kept, points[clear]), expected)
    else:
        assert not expected.any()


def test_parts_on_both_sides_of_a_line_make_up_the_whole():
    cut = HalfPlanes(np.array([[0.3, -0.7]]), np.array([0.2]))
    other = HalfPlanes(-cut.normals, -cut.offsets)
    assert area(clip(SQUARE, cut)) + area(clip(SQUARE, other)) == pytest.approx(4.0)


def test_impossible_half_plane_leaves_nothing_and_empty_one_everything():
    assert clip(SQUARE, HalfPlanes(np.zeros((1, 2)), np.array([-1.0]))).shape == (0, 2)
    np.testing.assert_array_equal(clip(SQUARE, HalfPlanes(np.zeros((1, 2)), np.array([0.0]))), SQUARE)
    np.testing.assert_array_equal(clip(SQUARE, HalfPlanes(np.empty((0, 2)), np.empty(0))), SQUARE)


def test_polygon_without_corners_has_no_area():
    assert area(np.empty((0, 2))) == 0.0


def test_middle_of_a_flat_polygon_lies_between_its_corners():
    np.testing.assert_allclose(middle(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])), [1.0, 1.0])


@pytest.mark.parametrize("order", [1, -1])
def test_sides_face_outwards_in_either_order(order, rng):
    points = rng.uniform(-2, 2, (300, 2))
    np.testing.assert_array_equal(inside(SQUARE[::order], points), (np.abs(points) <= 1).all(axis=1))
