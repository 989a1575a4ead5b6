"""The page in Chromium: what it shows, what follows a click, a brush, a search, a key, and what it exports."""

import base64
import itertools
import re

import numpy as np
import pandas as pd
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from allegiance import affinity, trust
from allegiance.review import apply_decisions
from browsing.accessibility import violations, walk
from browsing.browser import browser  # noqa: F401
from browsing.colors import contrast, luminance
from browsing.reader import HOSTILE, hostile_scene, page, reader, scene  # noqa: F401

SLOW = pytest.mark.slow
# ruff: noqa: F811


def test_opens_from_disk_is_reviewed_and_exported(page, scene):
    """The smoke test of every day."""
    assert page.requests() == [scene.path.as_uri()]
    assert page.listed() == scene.review.tolist()[:15]
    page.click("#next")
    rows = scene.review[:4].tolist()
    for row, key in zip(rows, "kmnu", strict=True):
        assert page.open_row() == row
        page.press(key)
    records = page.table()
    assert [int(record["row"]) for record in records] == rows
    assert [record["decision"] for record in records] == ["keep", "move", "noise", "unsure"]
    assert records[1]["new_label"] == str(scene.result.rival[rows[1]])


@SLOW
def test_decisions_survive_a_reload_and_undo_is_right_after_a_second_decision(page, scene):
    assert page.text("#decision-status") == "No decisions yet."
    rows = scene.review[:2].tolist()
    page.click("#next")
    page.press("k")
    page.press("k")
    page.press(Keys.ARROW_LEFT)
    page.press(Keys.ARROW_LEFT)
    assert page.open_row() == rows[0]
    page.press("n")
    assert page.text("#decision-status") == "2 decided: 1 kept, 1 noise."
    page.open(scene.path)
    assert page.text("#decision-status") == "2 decided: 1 kept, 1 noise."
    page.press("z")  # Keys act while a point is open, unless they are switched off.
    assert page.text("#decision-status") == "2 decided: 1 kept, 1 noise."
    page.click("#next")
    page.click("#shortcuts")
    page.press("z")
    assert page.text("#decision-status") == "2 decided: 1 kept, 1 noise."
    page.click("#shortcuts")
    page.press("z")
    assert page.open_row() == rows[0]
    assert page.text("#decision-status") == "2 decided: 2 kept."
    page.click("#undo")
    assert page.open_row() == rows[1]
    page.press("z")
    assert page.text("#decision-status") == "No decisions yet."
    assert not page.find("#undo").is_enabled()


@SLOW
def test_two_tabs_and_another_render_share_their_decisions(page, scene, tmp_path):
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window("tab")
    try:
        page.open(scene.path)
        page.click("#next")
        page.press("k")
    finally:
        page.driver.close()
        page.driver.switch_to.window(first)
    page.wait("return document.getElementById('decision-status').textContent === '1 decided: 1 kept.'")
    page.click("#next")
    assert page.open_row() == scene.review[1]
    page.press("n")
    again = scene.result.report(scene.path.with_name("again.html"), scene.X, ids=pd.DataFrame({"height": scene.ids}))
    page.open(again)
    assert page.text("#decision-status") == "2 decided: 1 kept, 1 noise."


@SLOW
def test_escape_in_a_field_leaves_the_selection(page, scene):
    page.click("[data-cluster='0']")
    page.find("#cluster-name").send_keys("the sea", Keys.ESCAPE)
    assert page.looked_at() == scene.members(0)


@SLOW
def test_every_export_is_read_back(page, scene, tmp_path):
    rows = scene.review[:4].tolist()
    others = [name for name in scene.order if name not in (scene.result.label[rows[1]], scene.result.rival[rows[1]])]
    for row, value in zip(rows, ("keep", f"move {scene.order.index(others[0])}", "noise", "unsure"), strict=True):
        page.choose(f"#review select[aria-label='decision about width{row}']", value)
    expected = scene.result.label.copy()
    expected[rows[1]], expected[rows[2]] = others[0], "-1"
    page.click("[data-cluster='0']")
    page.find("#cluster-name").send_keys("first of all", Keys.ENTER)
    page.click("#clear")
    for name in ("decisions.csv", "table.csv"):
        path = tmp_path / name
        path.write_bytes(page.export(name))
        assert (apply_decisions(scene.result.label, path) == expected).all()
    table = pd.read_csv(tmp_path / "table.csv", dtype={"label": str}, float_precision="round_trip")
    np.testing.assert_allclose(table[["width"]].to_numpy(), scene.X[:, :1])
    assert table["label"].tolist() == expected.tolist()
    assert table["label_before"].tolist() == scene.result.label.tolist()
    assert set(table["cluster_name"][expected == scene.order[0]]) == {"first of all"}
    np.testing.assert_array_equal(table["trust"], scene.result.trust)
    assert table["height"].tolist() == [f"width{row}" for row in range(240)]


@SLOW
def test_a_browser_that_stores_nothing_says_so(page, scene):
    page.run("Storage.prototype.setItem = () => { throw new Error('not allowed') }")
    page.click("#next")
    page.press("k")
    assert "This browser does not store them" in page.text("#decision-status")
    assert len(page.table()) == 1


@SLOW
def test_a_point_tells_all_that_is_known_of_it(page, scene):
    row = scene.review[0]
    page.click_figure("map", *scene.X[row])
    card = page.find("#point")
    label, trust_of_row = str(scene.result.label[row]), f"{scene.result.trust[row]:.2f}"
    for message in (f"width{row}", label, trust_of_row, "Evidence for", "Nearest in"):
        assert message in card.text
    assert scene.texts[row][:60] in card.text
    assert page.run("return document.querySelector('#point .picture img').naturalWidth") == 6
    assert page.data("ring-data", "x") == [scene.X[row, 0]]
    page.run("document.querySelector('#point .whole details').open = true")
    assert repr(float(scene.X[row, 0])) in card.text
    page.choose("#point select.decision", "unsure")
    in_table = page.find(f"#review tr[data-point] select[aria-label='decision about width{row}']")
    assert in_table.get_attribute("value") == "unsure"
    assert page.run("return document.querySelector('[data-decide=unsure]').ariaPressed") == "true"
    near = page.find("#point .near button")
    near.click()
    assert page.open_row() != row
    page.screenshot("page-point")
    page.press(Keys.ESCAPE)
    assert not card.is_displayed()
    # Letters typed into a field are text, not decisions.
    page.find("#search").send_keys("k")
    assert page.text("#decision-status") == "1 decided: 1 unsure."


@SLOW
def test_a_cluster_filters_everything_and_can_be_named(page, scene):
    page.click("[data-cluster='0']")
    inside = scene.members(0)
    assert page.looked_at() == inside
    assert page.listed() == [row for row in scene.review.tolist() if row in inside][:15]
    assert page.text("#count-all") == "60"
    assert page.text("#count-below") == str((scene.result.trust[sorted(inside)] <= 0.5).sum())
    assert sum(page.data("bins-data", "chosen")) == 60
    assert "What sets it apart" in page.text("#cluster")
    members = page.run("return Array.from(document.querySelectorAll('#cluster button.member'), b => b.innerText)")
    assert len(members) == 6
    assert all("text number" in member for member in members)
    page.find("#cluster-name").send_keys("the sea", Keys.ENTER)
    page.settle()
    name = f"{scene.order[0]} · the sea"
    for place in ("#answer", "#clusters", "#cluster h3", "#filter-status", "#review"):
        assert name in page.run("return document.querySelector(arguments[0]).textContent", place)
    page.open(scene.path)
    assert name in page.text("#clusters")
    page.choose("#listed", "selection")
    page.find("[data-cluster='1']").send_keys(Keys.ENTER)
    button = page.find("[data-cluster='3']")
    ActionChains(page.driver).key_down(Keys.CONTROL).click(button).key_up(Keys.CONTROL).perform()
    assert page.looked_at() == scene.members(1) | scene.members(3)
    assert page.text("#review-status").startswith("120 points")
    page.press(Keys.ESCAPE)
    assert page.looked_at() == set(range(240))


@SLOW
def test_search_finds_rows_ids_clusters_and_texts(page, scene):
    for query, expected in (
        ("number 77,", {77}),
        ("WIDTH23", {23, *range(230, 240)}),
        (scene.order[2].upper(), scene.members(2)),
        ("nothing like it", set()),
    ):
        page.search(query)
        assert page.looked_at() == expected
        page.find("#search").send_keys(Keys.CONTROL, "a", Keys.DELETE)
        page.wait("return !allegianceReport.state.search")


@SLOW
def test_the_slider_changes_counts_and_queue_from_the_keyboard(page, scene):
    slider, trusted = page.find("#threshold"), scene.result.trust
    right, left = (Keys.ARROW_RIGHT * 3, 0.53), (Keys.ARROW_LEFT * 10, 0.43)
    for keys, threshold in (right, left, (Keys.END, 1.0), (Keys.HOME, 0)):
        slider.send_keys(keys)
        page.settle()
        below, above = int((trusted <= threshold).sum()), trusted[trusted > threshold]
        assert page.text("#threshold-value") == f"{threshold:.2f}"
        assert page.text("#count-below") == str(below)
        assert page.text("#back-above") == (f"{100 * above.mean():.0f}%" if above.size else "-")
        assert len(page.listed()) == min(below, 15)
        assert page.run("return Bokeh.documents[0].get_model_by_name('threshold').location") == threshold


@SLOW
def test_the_table_sorts_and_grows(page, scene):
    options = page.run("return Array.from(document.querySelector('#listed').options, o => o.value)")
    assert options == ["priority", "trust", "audit", "selection", "below", "decided"]
    page.choose("#listed", "selection")
    for number in (15, 115, 215, 240):
        assert page.listed() == scene.result.review(number).index.map(scene.ids.index).tolist()
        if number < 240:
            page.find("#more").send_keys(Keys.ENTER)
    page.click("th[data-key='id-0'] button")
    assert page.listed() == list(range(15))
    page.find("th[data-key='id-0'] button").send_keys(Keys.ENTER)
    assert page.listed() == list(range(239, 224, -1))
    assert page.run("return document.querySelector('th[data-key=id-0]').ariaSort") == "descending"
    page.click("th[data-key='trust'] button")
    assert page.listed()[0] == np.argmin(scene.result.trust)
    page.choose("#listed", "trust")
    assert page.listed() == scene.result.review(15, by="trust").index.map(scene.ids.index).tolist()
    assert page.text("#review tbody td[data-name='reason']") == scene.result.review(1, by="trust")["reason"].iloc[0]


@SLOW
def test_box_lasso_pair_and_histogram_select(page, scene):
    low, high = np.array([0.6, -1.0]), np.array([1.8, 3.4])
    page.brush("map", low, high)
    inside = set(np.flatnonzero((np.clip(scene.X, low, high) == scene.X).all(axis=1)).tolist())
    # A box is drawn in whole pixels: points on its edge may fall on either side.
    looked_at = page.looked_at()
    assert len(looked_at ^ inside) <= 3
    assert f"Selected: a selection ({len(looked_at)} points)." in page.text("#filter-status")
    assert len(page.data("others-data", "x")) == 240 - len(looked_at)
    page.click("#clear")
    page.run(
        "const {tools} = Bokeh.documents[0].get_model_by_name('map').toolbar;"
        "tools.find(tool => tool.type === 'LassoSelectTool').active = true"
    )
    page.settle()
    corners = [(-0.5, -0.5), (1.0, 1.8), (2.6, -0.5)]
    page.drag(*(page.spot("map", *corner) for corner in [*corners, corners[0]]))
    sides = [
        (xb - xa) * (scene.X[:, 1] - ya) - (yb - ya) * (scene.X[:, 0] - xa)
        for (xa, ya), (xb, yb) in itertools.pairwise([*corners, corners[0]])
    ]
    assert len(page.looked_at() ^ set(np.flatnonzero(np.all([s < 0 for s in sides], axis=0)).tolist())) <= 4
    page.click("#clear")
    row = scene.review[0]
    label, rival = scene.result.label[row], scene.result.rival[row]
    page.click(f"[data-pair='{scene.order.index(label)} {scene.order.index(rival)}']")
    weak = (scene.result.label == label) & (scene.result.rival == rival) & (scene.result.verdict != "firm")
    assert page.looked_at() == set(np.flatnonzero(weak).tolist())
    page.click("#clear")
    trusted = scene.result.trust
    low = np.floor(100 * np.quantile(trusted, 0.3)) / 100
    page.brush("histogram", (low + 0.002, 1), (low + 0.078, 2))
    assert page.looked_at() == set(np.flatnonzero((trusted > low) & (trusted <= low + 0.08)).tolist())
    page.press(Keys.ESCAPE)
    assert page.looked_at() == set(range(240))


@SLOW
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_use_it_on_either_theme(theme, reader, scene):
    reader.open(scene.path, theme)
    paper, panel = (
        reader.run("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])", name)
        for name in ("--paper", "--panel")
    )
    assert (luminance(paper) < 0.1) == (theme == "dark")
    colors = reader.run(
        "const plots = Bokeh.documents[0].roots();"
        "const axes = plots.flatMap(plot => [...plot.below, ...plot.left]);"
        "return axes.flatMap(axis => [axis.axis_label_text_color, axis.major_label_text_color])"
    )
    assert min(contrast(color, background) for color in colors for background in (paper, panel)) >= 4.5
    reader.click("[data-cluster='0']")
    reader.click("#next")
    reader.press("k")
    reader.run("document.querySelector('#point .whole details').open = true")
    reader.screenshot(f"page-{theme}")
    assert violations(reader) == []
    axis = "return Bokeh.documents[0].roots()[0].below[0].axis_label_text_color"
    first = reader.run(axis)
    reader.run("dispatchEvent(new Event('beforeprint'))")
    assert (reader.run(axis) != first) == (theme == "dark")
    reader.run("dispatchEvent(new Event('afterprint'))")


@SLOW
def test_everything_can_be_reached_by_keyboard_and_shows_its_focus(page, scene):
    stops = walk(page)
    assert {"search", "color", "axes", "threshold", "listed", "next", "more"} <= {focus["id"] for focus in stops}
    assert {"0", "1", "2", "3", "id-0", "trust", "open", "decision"} <= {focus["name"] for focus in stops}
    assert all(focus["outlined"] and focus["visible"] for focus in stops)


@SLOW
@pytest.mark.parametrize("width", [360, 390, 600, 1000, 1366, 2560])
def test_nothing_is_cut_overlaps_or_sticks_out(width, reader, scene, hostile_scene):
    reader.set_width(width)
    for which in (scene, hostile_scene):
        reader.open(which.path)
        reader.run("for (const section of document.querySelectorAll('details.section')) section.open = true")
        reader.settle()
        reader.click("[data-cluster='0']")
        reader.click("#review button.open")
        assert reader.run("return document.documentElement.scrollWidth <= innerWidth")
        cut = reader.run(
            "const parts = Array.from(document.querySelectorAll(arguments[0]));"
            "const sticksOut = e => e.getBoundingClientRect().right > innerWidth;"
            "const isCut = e => e.offsetWidth && (e.scrollWidth > e.clientWidth + 2 || sticksOut(e));"
            "return parts.filter(isCut).map(e => [e.outerHTML.slice(0, 200), e.scrollWidth, e.clientWidth])",
            # Between a telephone and a desk, and with names as long as these, the table of labels may scroll.
            "#clusters, #clusters :is(td, th)"
            if width == 1000 or (width > 800 and which is hostile_scene)
            else "#clusters, #review, :is(#clusters, #review) :is(td, th)",
        )
        assert cut == []
    reader.run("scrollTo(0, 0)")
    boxes = reader.run(
        "return Array.from(document.querySelectorAll(arguments[0]), part => {"
        "const box = part.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]})",
        ".controls :is(label, input, select, output), #counts, #filter-status, #clear, figure",
    )
    for one, other in itertools.combinations(boxes, 2):
        assert max(one[0], other[0]) >= min(one[2], other[2]) or max(one[1], other[1]) >= min(one[3], other[3])


@SLOW
def test_colors_axes_and_distributions_by_any_column(reader, scene, tmp_path):
    frame = pd.DataFrame(scene.X, columns=["width", "height"])
    reader.open(scene.result.report(tmp_path / "columns.html", frame, ids=scene.ids))
    assert set(reader.data("names-data", "text")) == set(scene.order)
    palette = reader.run("return allegianceReport.state.points.page.colors")
    colors = dict(zip(reader.data("dots-data", "row"), reader.data("dots-data", "color"), strict=True))
    firm = np.flatnonzero(scene.result.verdict == "firm")
    assert all(colors[scene.ids[row]] == palette["cluster"][scene.order.index(scene.result.label[row])] for row in firm)
    assert len(reader.data("weak-data", "x")) == 240 - firm.size
    reader.choose("#color", "column 0")
    colors = dict(zip(reader.data("dots-data", "row"), reader.data("dots-data", "color"), strict=True))
    number = [palette["values"].index(colors[scene.ids[row]]) for row in firm[np.argsort(scene.X[firm, 0])]]
    assert number == sorted(number)
    assert "width" in reader.text("#legend")
    reader.choose("#axes", "columns")
    reader.choose("#axis-x", "1")
    reader.choose("#axis-y", "0")
    assert "height and width" in reader.text("#map-caption")
    row = scene.review[0]
    reader.click_figure("map", *scene.X[row, ::-1])
    assert reader.open_row() == row
    reader.click("#heat button[data-column='0'][data-of='2']")
    text = reader.text("#distribution")
    values = np.sort(scene.X[scene.result.label == scene.order[2], 0])
    assert f"median {values[round(0.5 * 59)]:.2f}" in text
    assert "width by cluster" in text
    assert violations(reader) == []


@SLOW
def test_sections_are_closed_on_a_phone(reader, scene):
    reader.set_width(390)
    reader.open(scene.path)
    assert reader.run("return document.documentElement.scrollHeight") < 3_000
    reader.click("#review-section > summary")
    assert reader.find("#next").is_displayed()


@SLOW
def test_prints_to_two_pages(page, scene):
    settings = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True, "preferCSSPageSize": True}
    pdf = base64.b64decode(page.driver.execute_cdp_cmd("Page.printToPDF", settings)["data"])
    assert max(map(int, re.findall(rb"/Count (\d+)", pdf))) <= 2
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.find("#heat td button").is_displayed()
    edges = "return ['map', 'histogram'].map(name => byName(name))"
    box = "const byName = name => document.getElementById(`figure-${name}`).getBoundingClientRect();"
    left, right = page.run(box + edges)
    assert left["right"] <= right["left"]


@SLOW
def test_hostile_names_stay_text(reader, hostile_scene):
    scene = hostile_scene
    reader.open(scene.path)
    row = scene.review[0]
    scripts = reader.run("return document.scripts.length")
    reader.click(f"[data-cluster='{scene.order.index(scene.result.label[row])}']")
    reader.find("#cluster-name").send_keys(HOSTILE[1], Keys.ENTER)
    reader.click_figure("map", *scene.X[row])
    reader.choose("#color", "cluster")
    assert reader.everywhere("[onerror], [onload], [src=x]") == []
    assert reader.run("return document.scripts.length") == scripts
    assert reader.driver.title == HOSTILE[0]
    for place in ("#review", "#point", "#cluster", "#legend", "#filter-status"):
        assert str(scene.result.label[row]) in reader.run(
            "return document.querySelector(arguments[0]).textContent", place
        )
    reader.run("document.activeElement.blur()")
    reader.press("m")
    (record,) = reader.table()
    assert (record["label"], record["new_label"]) == (str(scene.result.label[row]), str(scene.result.rival[row]))
    assert reader.run("return document.documentElement.scrollWidth <= innerWidth")
    assert reader.requests() == [scene.path.as_uri()]


@SLOW
def test_noise_is_on_the_map_but_has_no_trust(reader, tmp_path, scene):
    labels = np.where(np.arange(240) % 6 == 0, "-1", scene.result.label)
    result = trust(scene.X, labels)
    reader.open(result.report(tmp_path / "noise.html", scene.X))
    noise = np.flatnonzero(result.label == "-1")
    assert len(reader.data("crosses-data", "row")) == noise.size
    reader.click("[data-cluster='4']")
    reader.choose("#listed", "selection")
    assert reader.listed() == noise.tolist()[:15]
    reader.click("#next")
    assert reader.open_row() == 0
    assert "Keep as noise" in reader.text("#point")
    reader.press("n")
    assert reader.text("#decision-status") == "No decisions yet."
    reader.press("m")
    (record,) = reader.table()
    assert (record["row"], record["label"], record["new_label"]) == ("0", "-1", str(result.rival[0]))
    reader.click("#clear")
    reader.find("#threshold").send_keys(Keys.END)
    assert reader.text("#count-below") == str(240 - noise.size)


@SLOW
def test_without_calibration_own_affinity_takes_the_place_of_trust(reader, tmp_path, scene):
    result = affinity(scene.X, scene.result.label)
    reader.open(result.report(tmp_path / "plain.html", scene.X))
    expected = [row for row in result.review(240).index.to_numpy() if result.own_affinity[row] < 0.8]
    assert reader.listed() == expected[:15]
    assert "hold up" not in reader.text("#counts")


@SLOW
@pytest.mark.parametrize("k", [12, 60])
def test_many_clusters_worst_first(k, reader, tmp_path):
    rng = np.random.default_rng(k)
    labels = rng.integers(k, size=1_500)
    X = rng.normal(size=(1_500, 4)) + 3 * rng.normal(size=(k, 4))[labels]
    result = trust(X, labels, eps=0.1)
    reader.open(result.report(tmp_path / "many.html", X))
    listed = (
        "return Array.from(document.querySelectorAll('#clusters [data-cluster]'))"
        ".filter(button => button.offsetWidth).map(button => button.innerText)"
    )
    order = [str(name) for name in sorted(range(k), key=lambda name: result.trust[labels == name].mean())]
    assert reader.run(listed) == order[:15]
    if k > 15:
        reader.click("#all-clusters")
        assert reader.run(listed) == order
    assert reader.run("return document.querySelectorAll('#rivals tbody tr').length") == min(k, 15)


@SLOW
def test_a_large_page_is_a_density_with_exact_counts(reader, tmp_path):
    rng = np.random.default_rng(4)
    labels = rng.integers(12, size=100_000)
    X = rng.normal(size=(100_000, 5)) + 2.2 * rng.normal(size=(12, 5))[labels]
    result = trust(X, labels, eps=0.1)
    reader.open(result.report(tmp_path / "large.html", X))
    assert reader.run("return document.documentElement.dataset.map") == "density"
    assert reader.text("#count-below") == f"{(result.trust <= 0.5).sum():,}"
    place = reader.run("return document.querySelector('[data-cluster=\"3\"]').innerText")
    reader.click("[data-cluster='3']")
    inside = labels == int(place.split()[0])
    assert reader.text("#count-all") == f"{inside.sum():,}"
    expected = np.histogram(result.trust[inside], np.arange(101) / 100)[0]
    # Values on an edge may fall on either side.
    assert np.abs(np.array(reader.data("bins-data", "chosen")) - expected).max() <= 2
    reader.click("#clear")
    reader.run(
        "const {x_range, y_range} = Bokeh.documents[0].get_model_by_name('map');"
        "x_range.setv({start: 0, end: 0.2}); y_range.setv({start: 0, end: 0.2})"
    )
    reader.settle()
    assert reader.run("return document.documentElement.dataset.map") == "dots"


@SLOW
def test_scaled_counts_where_the_page_holds_a_sample(reader, tmp_path, scene, monkeypatch):
    for name, limit in (("POINTS", 100), ("LISTED", 20), ("DOUBTFUL", 20), ("FIRM", 40)):
        monkeypatch.setattr(f"allegiance.report._points.MAX_{name}", limit)
    reader.open(scene.result.report(tmp_path / "sample.html", scene.X))
    assert "a random sample of" in reader.text("#shown-note")
    reader.click("[data-cluster='0']")
    assert reader.text("#count-all") == "60"
    reader.click("#clear")
    reader.brush("map", scene.X.min(axis=0) - 0.1, scene.X.max(axis=0) + 0.1)
    assert reader.text("#count-all") == "about 240"
    np.testing.assert_allclose(np.sum(reader.data("bins-data", "chosen")), 240)


@SLOW
def test_works_in_the_frame_of_a_notebook(reader, scene, tmp_path):
    page = scene.result.report(X=scene.X, texts=scene.texts, title="Inside")
    cell = tmp_path / "cell.html"
    cell.write_text(f"<!doctype html><p>before{page._repr_html_()}<p>after", encoding="utf-8")
    reader.driver.get_log("browser")
    reader.driver.get(cell.as_uri())
    reader.driver.switch_to.frame(0)
    reader.wait("return document.documentElement.dataset.ready === 'true'")
    assert reader.listed() == scene.review.tolist()[:15]
    assert reader.run("return origin") == "null"


@SLOW
def test_the_audit_is_counted_as_it_goes(page, scene):
    """Wilson's interval of the labels drawn at random, and the least trusted as they were found."""
    page.choose("#listed", "audit")
    sample = scene.result.audit_sample(60)
    assert set(page.rows("allegianceReport.table.listed")) == set(sample.rows.tolist())
    random = set(sample.rows[sample.origin == "random"].tolist())
    order = page.rows("allegianceReport.table.listed")
    assert not random & set(order[:30])
    page.click("#next")
    for place in range(45):
        assert page.open_row() == order[place]
        page.press("m" if place % 3 == 0 else "k")
    right, m = 10 / 15, 15
    z = 1.959964
    center = (right + z * z / (2 * m)) / (1 + z * z / m)
    half = z / (1 + z * z / m) * np.sqrt(right * (1 - right) / m + z * z / (4 * m * m))
    share, low, high = (100 * (20 + value * 210) / 240 for value in (right, center - half, center + half))
    assert page.text("#audit").startswith("Audit: 45 of 60 checked, 15 of them drawn at random.")
    answer = page.text("#audit-answer")
    assert answer.startswith(f"Right: {share:.0f}% of 240 labels (95% interval: {low:.0f}-{high:.0f}%), from 15 labels")
    assert f"About {240 - 20 - right * 210 - 15:.0f} wrong labels are left" in answer
    page.press("u")
    assert "15 of them drawn" in page.text("#audit")
    assert page.text("#audit-answer") == answer
