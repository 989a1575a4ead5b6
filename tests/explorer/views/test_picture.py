import numpy as np
import pytest
from matplotlib.path import Path

from allegiance.explorer.views import Colouring, Density, Dots, Finder, Window, channels, picture, whole
from allegiance.explorer.views._picture import MAX_DOTS
from allegiance.report import Projection

RED, BLUE, GREY = "#ff0000", "#0000ff", "#808080"


def scattered(rng, n):
    return Projection(rng.normal(size=n), rng.normal(size=n), "x", "y", "at random")


def two_colours(values):
    return Colouring(np.asarray(values, dtype=float), 0.0, 1.0, [RED, BLUE], [], "half", GREY)


def window(*ends, width=400, height=300):
    return Window.of([*ends, width, height])


def test_few_points_are_dots_with_the_least_trusted_on_top(rng):
    places, order = scattered(rng, 1000), rng.random(1000)
    order[:10] = np.nan
    found = picture(places, window(-1, 1, -1, 1), two_colours(order), order, None)
    assert isinstance(found, Dots)
    inside = (np.abs(places.x) <= 1) & (np.abs(places.y) <= 1)
    assert set(found.rows) == set(np.flatnonzero(inside))
    known = found.rows[~np.isnan(order[found.rows])]
    assert (np.diff(order[known]) <= 0).all()
    assert np.isnan(order[found.rows[: found.rows.size - known.size]]).all()


def test_many_points_are_counted_and_their_colours_mixed(rng):
    n = MAX_DOTS + 5000
    places, values = scattered(rng, n), rng.integers(2, size=n)
    part = window(-2, 2, -2, 2)
    found = picture(places, part, two_colours(values), values, None)
    assert isinstance(found, Density)
    assert found.pixels.shape == (150, 200, 4)
    inside = part.holds(places.x, places.y)
    assert found.n_points == inside.sum()
    # One cell, counted point by point.
    line, column = 80, 90
    left, bottom = -2 + 4 * column / 200, -2 + 4 * line / 150
    here = (places.x >= left) & (places.x < left + 4 / 200) & (places.y >= bottom) & (places.y < bottom + 4 / 150)
    expected = np.mean([channels(BLUE if v else RED) for v in values[here]], axis=0)
    np.testing.assert_allclose(found.pixels[line, column, :3], expected, atol=1)
    empty = found.pixels[..., 3] == 0
    assert (found.pixels[empty] == 0).all()
    assert (found.pixels[~empty, 3] >= 63).all()


def test_selected_points_keep_their_colour_and_others_fade(rng):
    n = MAX_DOTS + 5000
    places = scattered(rng, n)
    chosen = places.x > 0.5
    found = picture(places, window(-2, 2, -2, 2), two_colours(np.zeros(n)), np.zeros(n), chosen)
    left, right = found.pixels[:, :120], found.pixels[:, 130:]
    assert (left[left[..., 3] > 0, :3] == 128).all()
    assert (left[..., 3] <= 64).all()
    assert (right[right[..., 3] > 0][:, 0] == 255).any()


def test_points_without_a_number_are_grey(rng):
    n = MAX_DOTS + 5000
    found = picture(scattered(rng, n), window(-3, 3, -3, 3), two_colours(np.full(n, np.nan)), np.zeros(n), None)
    assert (found.pixels[found.pixels[..., 3] > 0, :3] == 128).all()


def test_the_nearest_point_is_that_on_the_screen(rng):
    places = Projection(rng.normal(size=5000), 1000 * rng.normal(size=5000), "x", "y", "of different scales")
    finder, part = Finder(places), window(-1, 1, -800, 800)
    for _ in range(200):
        x, y = rng.uniform(-1, 1), rng.uniform(-800, 800)
        away = np.hypot((places.x - x) * 400 / 2, (places.y - y) * 300 / 1600)
        expected = int(away.argmin()) if away.min() <= 8 else None
        assert finder.nearest(x, y, part) == expected


def test_a_lasso_holds_what_a_drawing_library_says(rng):
    places = scattered(rng, 3000)
    # Of a star around the centre all rules say the same.
    angle = np.sort(rng.uniform(0, 2 * np.pi, 12))
    star = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(0.5, 2, (12, 1))
    found = Finder(places).inside(star[:, 0].tolist(), star[:, 1].tolist())
    expected = Path(star).contains_points(np.column_stack([places.x, places.y]))
    assert set(found) == set(np.flatnonzero(expected))
    assert set(Finder(places).in_box(-1, 0, 0, 1)) == set(
        np.flatnonzero((places.x >= -1) & (places.x <= 0) & (places.y >= 0) & (places.y <= 1))
    )


def test_windows_that_make_no_sense_are_refused():
    for numbers in ([0, 0, 0, 1, 9, 9], [0, 1, 1, 0, 9, 9], [0, np.nan, 0, 1, 9, 9], [0, 1, 0, 1, 9]):
        with pytest.raises(ValueError, match=r"window|unpack"):
            Window.of(numbers)
    assert Window.of([0, 1, 0, 1, 1e9, -5])[4:] == (4096, 16)
    alike = Projection(np.zeros(3), np.ones(3), "x", "y", "all alike")
    assert whole(alike)[:4] == (-1, 1, 0, 2)
