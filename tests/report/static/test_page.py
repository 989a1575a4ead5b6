"""The page as a whole: it opens from disk, asks for nothing, and can be read by everyone everywhere."""

import itertools
import re

import numpy as np
import pytest

from allegiance import affinity, trust
from browsing.accessibility import violations, walk
from browsing.colours import contrast, luminance

from .conftest import HOSTILE


def test_opens_from_disk_without_errors_or_requests(reader, scene):
    reader.open(scene.path)
    reader.screenshot("report-light")
    assert reader.console_errors() == []
    assert reader.requests() == [scene.path.as_uri()]
    assert reader.run("return document.querySelectorAll('#review img').length") == 25


def hexadecimal(colour):
    return "#" + "".join(f"{int(channel):02x}" for channel in re.findall(r"\d+", colour)[:3])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_read_on_either_theme_in_the_same_colours(theme, reader, scene):
    reader.open(scene.path, theme)
    paper, panel = (
        reader.run("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])", name)
        for name in ("--paper", "--panel")
    )
    assert (luminance(paper) < 0.1) == (theme == "dark")
    colours = reader.run(
        "const plots = Bokeh.documents[0].roots();"
        "const axes = plots.flatMap(plot => [...plot.below, ...plot.left]);"
        "return axes.flatMap(axis => [axis.axis_label_text_color, axis.major_label_text_color])"
    )
    assert len(colours) == 12
    assert min(contrast(colour, background) for colour in colours for background in (paper, panel)) >= 4.5
    first = reader.data("dots-data", "colour")
    keys = reader.run(
        "return ['supported', 'contested', 'contradicted'].map(name => "
        "getComputedStyle(document.querySelector(`#clusters .key.${name}`), '::before').backgroundColor)"
    )
    reader.screenshot(f"report-{theme}")
    reader.set_theme({"light": "dark", "dark": "light"}[theme])
    reader.settle()
    assert reader.data("dots-data", "colour") == first
    reader.choose("#colour", "verdict")
    assert {hexadecimal(key) for key in keys} == set(reader.data("dots-data", "colour"))


def test_the_figures_follow_a_change_of_theme(reader, scene):
    reader.open(scene.path, "light")
    colour = "return Bokeh.documents[0].roots()[0].below[0].axis_label_text_color"
    light = reader.run(colour)
    reader.set_theme("dark")
    reader.wait(f"{colour} !== '{light}'".replace("return ", "return ", 1))
    reader.run("dispatchEvent(new Event('beforeprint'))")
    assert reader.run(colour) == light
    reader.run("dispatchEvent(new Event('afterprint'))")
    assert reader.run(colour) != light


def test_hostile_names_stay_text(reader, hostile_scene):
    scene = hostile_scene
    reader.open(scene.path)
    row = scene.review[0]
    reader.click(f"[data-cluster='{scene.order.index(scene.result.label[row])}']")
    reader.click_figure("map", *scene.X[row])
    tooltip = reader.everywhere(".bk-tooltip-row-value")
    assert str(scene.result.label[row]) in tooltip
    assert reader.everywhere("[onerror], [onload], [src=x]") == []
    assert reader.run("return document.scripts.length") == 16
    assert reader.driver.title == HOSTILE[0]
    reader.choose("#colour", "cluster")
    for place in ("#review", "#point", "#cluster", "#legend", "#filter-status"):
        assert str(scene.result.label[row]) in reader.run(
            "return document.querySelector(arguments[0]).textContent", place
        )
    for said in (str(scene.result.rival[row]), f"{HOSTILE[0]}{row}", scene.texts[row].strip()):
        assert said in reader.run("return document.querySelector('#point').textContent")
    reader.search(HOSTILE[1])
    assert reader.looked_at() <= set(range(240))
    assert reader.run("return document.documentElement.scrollWidth <= innerWidth")
    reader.screenshot("report-hostile-names")
    assert reader.console_errors() == []
    assert reader.requests() == [scene.path.as_uri()]


@pytest.mark.parametrize("width", [360, 480, 600, 1000, 1366])
def test_nothing_is_cut_overlaps_or_sticks_out(width, reader, scene, hostile_scene):
    reader.set_width(width)
    try:
        for which in (scene, hostile_scene):
            reader.open(which.path)
            reader.click("[data-cluster='0']")
            reader.click("#review button.open")
            reader.settle()
            assert reader.run("return document.documentElement.scrollWidth <= innerWidth")
            cut = reader.run(
                "const parts = Array.from(document.querySelectorAll(arguments[0]));"
                "const sticksOut = e => e.getBoundingClientRect().right > innerWidth;"
                "const isCut = e => e.offsetWidth && (e.scrollWidth > e.clientWidth + 2 || sticksOut(e));"
                "return parts.filter(isCut).map(e => [e.outerHTML.slice(0, 200), e.scrollWidth, e.clientWidth])",
                # Between a telephone and a desk, and with names as long as these, the table of labels may scroll.
                "#clusters, #clusters :is(td, th)"
                if width == 1000 or (width > 800 and which is hostile_scene)
                else ".wide-table, table, td, th",
            )
            assert cut == []
        reader.run("scrollTo(0, 0)")
        parts = ".controls :is(label, input, select, output), #counts, #filter-status, #clear, figure"
        boxes = reader.run(
            "return Array.from(document.querySelectorAll(arguments[0]), part => {"
            "const box = part.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]})",
            parts,
        )
        assert len(boxes) == 13
        for one, other in itertools.combinations(boxes, 2):
            assert max(one[0], other[0]) >= min(one[2], other[2]) or max(one[1], other[1]) >= min(one[3], other[3])
    finally:
        reader.set_width(None)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_use_it(theme, reader, scene):
    reader.open(scene.path, theme)
    reader.click("[data-cluster='0']")
    reader.click_figure("map", *scene.X[min(scene.members(0))])
    reader.click("#review button.open")
    reader.find("#review button.open").send_keys("k")
    reader.settle()
    assert violations(reader) == []


def test_everything_can_be_reached_by_keyboard_and_shows_its_focus(reader, scene):
    reader.open(scene.path)
    reached = walk(reader)
    assert {"search", "colour", "threshold", "listed", "export-list", "more"} <= {focus["id"] for focus in reached}
    names = [focus["name"] for focus in reached]
    assert {"0", "1", "2", "3", "row", "trust", "open", "decision"} <= set(names)
    assert all(focus["outlined"] and focus["visible"] for focus in reached)


def many_clusters(k, n, rng):
    labels = rng.integers(k, size=n)
    return rng.normal(size=(n, 4)) + 3 * rng.normal(size=(k, 4))[labels], labels


@pytest.mark.parametrize("k", [12, 60])
def test_many_clusters_worst_first_without_a_box_that_scrolls(k, reader, tmp_path):
    X, labels = many_clusters(k, 1_500, np.random.default_rng(k))
    result = trust(X, labels, eps=0.1)
    reader.open(result.report(tmp_path / "many.html", X))
    listed = (
        "return Array.from(document.querySelectorAll('#clusters [data-cluster]'))"
        ".filter(button => button.offsetWidth).map(button => button.innerText)"
    )
    order = [str(line.name) for line in result.tally().worst_first()]
    assert reader.run(listed) == order[:15]
    if k > 15:
        reader.click("#all-clusters")
        assert reader.run(listed) == order
    reader.click(f"[data-cluster='{k - 1}']")
    assert {str(labels[row]) for row in reader.looked_at()} == {order[-1]}
    assert reader.run("return document.getElementById('clusters').parentElement.scrollHeight") > 0
    heights = reader.run("return ['map', 'profile'].map(n => document.getElementById(`figure-${n}`).offsetHeight)")
    assert heights[0] == heights[1] <= 720
    reader.choose("#colour", "cluster")
    reader.screenshot(f"report-{k}-clusters")
    assert reader.console_errors() == []


def test_noise_is_on_the_map_but_has_no_trust(reader, tmp_path, scene):
    labels = np.where(np.arange(240) % 6 == 0, "-1", scene.result.label)
    result = trust(scene.X, labels)
    reader.open(result.report(tmp_path / "noise.html", scene.X))
    noise = np.flatnonzero(result.noise)
    assert set(reader.data("crosses-data", "row")) == set(noise.tolist())
    reader.choose("#listed", "noise")
    assert reader.listed() == noise.tolist()[:25]
    cells = reader.run("return Array.from(document.querySelector('#review tbody tr').cells, c => c.innerText)")
    assert cells[:6] == ["0", "noise", "-", "noise", str(result.rival[0]), "-"]
    reader.click_figure("map", *scene.X[0])
    assert "noise" in reader.text("#point")
    reader.find("#review button.open").send_keys("m")
    reader.click("#export-decisions")
    content = reader.downloaded("decisions.csv").decode()
    assert content.splitlines()[1].startswith(f"0,-1,move,{result.rival[0]},")
    reader.click("[data-cluster='4']")
    assert reader.looked_at() == set(noise.tolist())
    reader.click("#clear")
    reader.find("#threshold").send_keys("\ue010")  # End
    assert reader.text("#count-below") == str(240 - noise.size)
    reader.screenshot("report-noise")
    assert reader.console_errors() == []


def test_without_calibration_own_affinity_takes_the_place_of_trust(reader, tmp_path, scene):
    result = affinity(scene.X, scene.result.label)
    reader.open(result.report(tmp_path / "plain.html", scene.X))
    headings = reader.run("return Array.from(document.querySelectorAll('#review th'), c => c.innerText.trim())")
    assert [heading.split()[0] for heading in headings[:5]] == ["row", "label", "verdict", "rival", "own"]
    expected = np.flatnonzero(result.verdict != "supported")
    expected = expected[np.argsort(result.own_affinity[expected], kind="stable")]
    assert reader.listed() == expected[:25].tolist()
    assert "expected to be right" not in reader.text("#counts")
    assert reader.console_errors() == []


def test_a_point_unlike_its_cluster_is_called_so(reader, tmp_path):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(400, 2)) + np.repeat([[0, 0], [6, 0]], 200, axis=0), [[3.0, 60.0]]])
    result = trust(X, np.repeat([0, 1, 0], [200, 200, 1]))
    assert result.typicality[400] < 0.01
    reader.open(result.report(tmp_path / "far.html", X))
    reader.choose("#listed", "all")
    reader.click("th[data-key='typicality'] button")
    assert reader.listed()[0] == 400
    assert "unlike anything in its cluster" in reader.text("#review tbody tr")


def test_own_coordinates_place_the_points(reader, tmp_path, scene):
    circle = np.column_stack([np.cos(np.arange(240)), np.sin(np.arange(240))])
    reader.open(scene.result.report(tmp_path / "circle.html", scene.X, coordinates=circle))
    rows, x = (reader.data("dots-data", name) for name in ("row", "x"))
    np.testing.assert_array_equal(x, circle[rows, 0])


@pytest.mark.slow
def test_a_large_page_is_a_density_with_exact_counts(reader, tmp_path):
    rng = np.random.default_rng(4)
    labels = rng.integers(12, size=100_000)
    X = rng.normal(size=(100_000, 5)) + 2.2 * rng.normal(size=(12, 5))[labels]
    result = trust(X, labels, eps=0.1)
    reader.open(result.report(tmp_path / "large.html", X))
    assert reader.run("return document.documentElement.dataset.map") == "density"
    assert reader.data("dots-data", "x") == []
    assert reader.text("#count-below") == f"{(result.trust <= 0.5).sum():,}"
    reader.brush("profile", (0.02, 3.02), (1.0, 3.98))
    name = result.tally().worst_first()[3].name
    inside = labels == name
    assert reader.text("#count-all") == f"{inside.sum():,}"
    expected = np.histogram(result.trust[inside], np.arange(101) / 100)[0]
    # No hole anywhere; values on an edge may fall on either side.
    assert np.abs(np.array(reader.data("bins-data", "chosen")) - expected).max() <= 2
    doubtful = int((inside & (result.verdict != "supported")).sum())
    assert reader.text("#review-status").startswith(f"{doubtful:,} labels that are not supported among")
    reader.screenshot("report-large")
    reader.click("#clear")
    reader.run(
        "const {x_range, y_range} = Bokeh.documents[0].get_model_by_name('map');"
        "x_range.setv({start: 0, end: 0.2}); y_range.setv({start: 0, end: 0.2})"
    )
    reader.settle()
    assert reader.run("return document.documentElement.dataset.map") == "dots"
    assert reader.console_errors() == []
