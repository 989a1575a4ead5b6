"""Brushes, clicks and colours in the figures."""

import time

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from allegiance.report import VERDICT_COLOURS, cluster_colours, trust_palette


def test_brushing_the_map_looks_at_the_points_in_the_box(reader, scene):
    reader.open(scene.path)
    low, high = np.array([0.6, -1.0]), np.array([1.8, 3.4])
    reader.brush("map", low, high)
    inside = set(np.flatnonzero((np.clip(scene.X, low, high) == scene.X).all(axis=1)).tolist())
    assert 20 < len(inside) < 200
    # A box is drawn in whole pixels: points on its edge may fall on either side.
    looked_at = reader.looked_at()
    assert len(looked_at ^ inside) <= 3
    listed = set(reader.listed())
    assert listed <= looked_at & set(scene.review.tolist())
    assert 0 < len(listed) < scene.review.size
    assert f"Looking at a selection: {len(looked_at)} points." in reader.text("#filter-status")
    assert len(reader.data("dots-data", "x")) == len(looked_at)
    assert len(reader.data("others-data", "x")) == 240 - len(looked_at)
    reader.screenshot("report-brushed")
    reader.click("#clear")
    assert reader.looked_at() == set(range(240))
    assert reader.console_errors() == []


def test_a_lasso_looks_at_the_points_inside_it(reader, scene):
    reader.open(scene.path)
    reader.run(
        "const {tools} = Bokeh.documents[0].get_model_by_name('map').toolbar;"
        "tools.find(tool => tool.type === 'LassoSelectTool').active = true"
    )
    reader.settle()
    corners = [(-0.5, -0.5), (1.0, 1.8), (2.6, -0.5)]
    reader.lasso([reader.spot("map", *corner) for corner in corners])
    (x0, y0), (x1, y1), (x2, y2) = corners
    sides = [
        (xb - xa) * (scene.X[:, 1] - ya) - (yb - ya) * (scene.X[:, 0] - xa)
        for xa, ya, xb, yb in ((x0, y0, x1, y1), (x1, y1, x2, y2), (x2, y2, x0, y0))
    ]
    inside = set(np.flatnonzero(np.all([side < 0 for side in sides], axis=0)).tolist())
    assert len(inside) > 20
    assert len(reader.looked_at() ^ inside) <= 4


def test_brushing_the_profile_and_a_click_on_a_band(reader, scene):
    reader.open(scene.path)
    reader.brush("profile", (0.05, 1.02), (1.0, 1.98))
    inside = scene.members(1)
    assert reader.looked_at() == inside
    edges = np.arange(101) / 100
    trust = np.sort(scene.result.trust[sorted(inside)])
    expected = np.diff(np.searchsorted(trust, edges, side="right"))
    assert reader.data("bins-data", "chosen") == expected.tolist()
    reader.click("#clear")
    reader.click_figure("profile", 0.3, 2.5)
    assert reader.looked_at() == scene.members(2)
    assert reader.run("return document.querySelector('[data-cluster=\"2\"]').ariaPressed") == "true"
    alpha = reader.data("bands-data", "alpha")
    assert alpha[2] == 1
    assert max(alpha[:2] + alpha[3:]) < 0.5
    # Not a double click.
    time.sleep(1.0)
    reader.click_figure("profile", 0.3, 2.5)
    assert reader.looked_at() == set(range(240))


def test_brushing_the_histogram_looks_at_the_labels_of_its_bins(reader, scene):
    reader.open(scene.path)
    reader.brush("histogram", (0.402, 1), (0.478, 2))
    trust = scene.result.trust
    expected = set(np.flatnonzero((trust > 0.40) & (trust <= 0.48)).tolist())
    assert len(expected) > 3
    assert reader.looked_at() == set(reader.listed()) == expected
    assert reader.text("#count-all") == str(len(expected))
    reader.run("document.body.focus()")
    reader.press(Keys.ESCAPE)
    assert reader.looked_at() == set(range(240))
    assert sum(reader.data("bins-data", "chosen")) == 0


def test_a_click_on_a_point_tells_all_that_is_known_of_it(reader, scene):
    reader.open(scene.path)
    row = scene.review[0]
    reader.click_figure("map", *scene.X[row])
    card = reader.find("#point")
    assert card.is_displayed()
    assert f"Row {row}" in card.text
    assert scene.texts[row][:60] in card.text
    for said in (f"width{row}", str(scene.result.label[row]), f"{scene.result.trust[row]:.2f}", "sd"):
        assert said in card.text
    assert reader.run("return document.querySelector('#point img').naturalWidth") == 6
    assert reader.data("ring-data", "x") == [scene.X[row, 0]]
    reader.screenshot("report-point")
    reader.press(Keys.ESCAPE)
    assert not card.is_displayed()
    assert reader.data("ring-data", "x") == []


def test_a_point_under_the_mouse_is_named(reader, scene):
    reader.open(scene.path)
    row = scene.review[0]
    reader.point_at(reader.spot("map", *scene.X[row]))
    tooltip = reader.everywhere(".bk-tooltip-row-value")
    assert str(row) in tooltip
    assert str(scene.result.label[row]) in tooltip


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("trust", trust_palette()), ("cluster", cluster_colours(4)), ("verdict", list(VERDICT_COLOURS))],
)
def test_points_are_coloured_by(kind, expected, reader, scene):
    reader.open(scene.path)
    reader.choose("#colour", kind)
    drawn = dict(zip(reader.data("dots-data", "row"), reader.data("dots-data", "colour"), strict=True))
    assert set(drawn.values()) <= set(expected)
    result = scene.result
    for row, colour in drawn.items():
        place = {
            "cluster": scene.order.index(result.label[row]),
            "verdict": ["supported", "contested", "contradicted"].index(result.verdict[row]),
        }.get(kind)
        if place is not None:
            assert colour == expected[place]
    if kind == "trust":
        trusted = sorted(drawn, key=lambda row: result.trust[row])
        places = [expected.index(drawn[row]) for row in trusted]
        assert places == sorted(places)
        assert places[-1] - places[0] > 100
    legend = reader.text("#legend")
    names = {"trust": "trust", "cluster": str(scene.order[0]), "verdict": "contested"}
    assert names[kind] in legend


def test_both_figures_have_the_same_height(reader, scene):
    reader.open(scene.path)
    heights = reader.run("return ['map', 'profile'].map(n => document.getElementById(`figure-${n}`).offsetHeight)")
    assert heights[0] == heights[1]
