"""The page in a real browser: it opens from disk, asks for nothing, and its parts move together.

Screenshots go to the folder named by ``ALLEGIANCE_SCREENSHOTS``, by default ``out/screenshots``.
"""

import itertools
import json
import os
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from allegiance import affinity, trust
from allegiance.report._palettes import palettes
from report.colours import contrast, luminance

CHROMIUM, CHROMEDRIVER = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
SCREENSHOTS = Path(os.environ.get("ALLEGIANCE_SCREENSHOTS") or Path(__file__).parents[2] / "out" / "screenshots")
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    r"$$\frac{1}{2}$$",
    '"><svg onload=alert(3)>',
]

#: Figures live in shadow trees, which a query does not enter by itself.
EVERYWHERE = """
    const everywhere = (selector) => {
        const roots = [document];
        for (const root of roots)
            for (const element of root.querySelectorAll("*")) if (element.shadowRoot) roots.push(element.shadowRoot);
        return roots.flatMap((root) => Array.from(root.querySelectorAll(selector)));
    };
"""

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or CHROMEDRIVER is None, reason="needs Chromium: install the packages chromium and chromium-driver"
)


class Browser:
    """Chromium without a window, and what a reader of a report does with it."""

    def __init__(self):
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1366,1000"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(CHROMEDRIVER))

    def open(self, path, theme="light"):
        self.set_theme(theme)
        for log in ("browser", "performance"):  # Reading a log empties it.
            self.driver.get_log(log)
        self.driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready === 'true'")
        # The last paint of the figures.
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def wait(self, script):
        WebDriverWait(self.driver, 30, poll_frequency=0.05).until(lambda driver: driver.execute_script(script))

    def set_theme(self, theme):
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector).text

    def click(self, selector):
        self.driver.find_element(By.CSS_SELECTOR, selector).click()

    def listed_rows(self):
        return self.run(
            "return Array.from(document.querySelectorAll('#review tr[data-point] button'), b => +b.textContent)"
        )

    def selected_rows(self):
        return self.run(
            "const points = Bokeh.documents[0].get_model_by_name('points');"
            "return Array.from(points.selected.indices, i => points.data.row[i])"
        )

    def spot(self, figure, x, y):
        """Return where in the window a point of a figure's axes lies, after scrolling it into view."""
        place = self.run(
            "const element = document.getElementById(arguments[0]);"
            "element.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const view = Bokeh.index.roots.find(view => element.contains(view.el));"
            "const box = view.canvas_view.el.getBoundingClientRect();"
            "const {x_scale, y_scale} = view.frame;"
            "return [box.x + x_scale.compute(arguments[1]), box.y + y_scale.compute(arguments[2])]",
            f"figure-{figure}",
            float(x),
            float(y),
        )
        return [round(value) for value in place]

    def brush(self, figure, start, end):
        first, last = self.spot(figure, *start), self.spot(figure, *end)
        actions = ActionChains(self.driver, duration=30)
        pointer = actions.w3c_actions.pointer_action
        pointer.move_to_location(*first)
        pointer.pointer_down()
        pointer.move_to_location((first[0] + last[0]) // 2, (first[1] + last[1]) // 2)
        pointer.move_to_location(*last)
        pointer.pointer_up()
        actions.perform()

    def point_at(self, figure, x, y, press=False):
        actions = ActionChains(self.driver, duration=30)
        place = self.spot(figure, x, y)
        actions.w3c_actions.pointer_action.move_to_location(place[0] - 3, place[1])
        actions.w3c_actions.pointer_action.move_to_location(*place)
        if press:
            actions.w3c_actions.pointer_action.click()
        actions.perform()

    def screenshot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        height = self.run("return document.documentElement.scrollHeight")
        size = {"width": self.run("return innerWidth"), "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        self.driver.save_screenshot(str(SCREENSHOTS / f"{name}.png"))
        self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def console_errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def requests(self):
        """Return the addresses asked for since the page was opened; images inside the page are none."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]


@pytest.fixture(scope="module")
def browser():
    browser = Browser()
    try:
        yield browser
    finally:
        browser.driver.quit()


class Scene:
    """Four overlapping clusters, scored, and a report of them."""

    def __init__(self, folder, names, columns):
        rng = np.random.default_rng(3)
        codes = np.repeat(np.arange(4), 60)
        self.X = rng.normal(size=(240, 2)) + 2.2 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[codes]
        frame = pd.DataFrame(self.X, columns=columns)
        frame.index = pd.Index([f"{columns[0]}{i}" for i in range(240)], name=columns[1])
        self.result = trust(frame, np.array(names)[codes])
        self.images = rng.random((240, 6, 6))
        self.path = self.result.report(folder / "report.html", frame, images=self.images, title=columns[0])
        self.review = np.flatnonzero(self.result.verdict != "supported")
        #: The clusters in the order of the page.
        self.order = [line.name for line in self.result.tally().worst_first()]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    scene = Scene(tmp_path_factory.mktemp("plain"), list("ABCD"), ["width", "height"])
    assert 20 < scene.review.size < 100
    return scene


@pytest.fixture(scope="module")
def hostile_scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("hostile"), HOSTILE, HOSTILE[:2])


def test_opens_from_disk_without_errors_or_requests(browser, scene):
    browser.open(scene.path)
    browser.screenshot("report-light")
    assert browser.console_errors() == []
    assert browser.requests() == [scene.path.as_uri()]
    assert browser.run("return document.querySelectorAll('img').length") == scene.review.size


def test_lists_the_labels_to_review_least_trusted_first(browser, scene):
    browser.open(scene.path)
    expected = scene.review[np.argsort(scene.result.trust[scene.review], kind="stable")]
    assert browser.listed_rows() == expected.tolist()
    assert browser.text("#review-status").startswith(f"{expected.size} labels that are not supported.")
    row = expected[0]
    cells = browser.run("return Array.from(document.querySelector('#review tbody tr').cells, c => c.innerText)")
    result = scene.result
    assert cells[1:5] == [str(row), f"width{row}", str(result.label[row]), f"{result.trust[row]:.2f}"]
    assert cells[5:8] == [result.verdict[row], str(result.rival[row]), f"{result.own_affinity[row]:.2f}"]
    assert cells[8] == f"{result.typicality[row]:.2f}"


def test_other_lists_can_be_chosen(browser, scene):
    browser.open(scene.path)
    choice = Select(browser.driver.find_element(By.ID, "listed"))
    options = [option.get_attribute("value") for option in choice.options]
    assert options == ["doubtful", "contradicted", "below", "all"]
    choice.select_by_value("contradicted")
    contradicted = np.flatnonzero(scene.result.verdict == "contradicted")
    assert set(browser.listed_rows()) == set(contradicted)
    choice.select_by_value("all")
    assert browser.listed_rows() == scene.result.least_trusted(100).tolist()
    assert browser.text("#review-status").startswith("240 points.")


def test_brushing_the_map_filters_the_table(browser, scene):
    browser.open(scene.path)
    low, high = np.array([0.6, -1.0]), np.array([1.8, 3.4])
    browser.brush("map", low, high)
    inside = (np.clip(scene.X, low, high) == scene.X).all(axis=1)
    assert 20 < inside.sum() < 200
    # A box is drawn in whole pixels: points on its edge may fall on either side.
    differing = set(browser.selected_rows()) ^ set(np.flatnonzero(inside))
    assert len(differing) <= 3
    listed = set(browser.listed_rows())
    assert listed == set(browser.selected_rows()) & set(scene.review)
    assert 0 < len(listed) < scene.review.size
    assert f"{len(browser.selected_rows())} selected." in browser.text("#selection-status")
    browser.screenshot("report-brushed")
    browser.click("#clear")
    assert len(browser.listed_rows()) == scene.review.size
    assert browser.console_errors() == []


def test_brushing_the_profile_selects_a_cluster_everywhere(browser, scene):
    browser.open(scene.path)
    browser.brush("profile", (0.05, 1.02), (1.0, 1.98))
    inside = np.flatnonzero(scene.result.label == scene.order[1])
    assert set(browser.selected_rows()) == set(inside)
    assert set(browser.listed_rows()) == set(inside) & set(scene.review)
    selected = browser.run("return Array.from(Bokeh.documents[0].get_model_by_name('bins').data.selected)")
    edges = np.arange(101) / 100
    expected = np.diff(np.searchsorted(np.sort(scene.result.trust[inside]), edges, side="right"))
    assert selected == expected.tolist()


def test_brushing_the_histogram_selects_the_points_of_its_bins(browser, scene):
    browser.open(scene.path)
    browser.brush("histogram", (0.402, 1), (0.478, 2))
    expected = np.flatnonzero((scene.result.trust > 0.40) & (scene.result.trust <= 0.48))
    assert expected.size > 3
    assert set(browser.selected_rows()) == set(browser.listed_rows()) == set(expected)
    browser.run("document.body.focus()")
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert browser.selected_rows() == []
    assert len(browser.listed_rows()) == scene.review.size


def test_the_slider_changes_counts_and_table_from_the_keyboard(browser, scene):
    browser.open(scene.path)
    slider = browser.driver.find_element(By.ID, "threshold")
    values = scene.result.trust
    for keys, threshold in (
        (Keys.ARROW_RIGHT * 3, 0.53),
        (Keys.ARROW_LEFT * 10, 0.43),
        (Keys.END, 1.0),
        (Keys.HOME, 0),
    ):
        slider.send_keys(keys)
        below = int((values <= threshold).sum())
        assert browser.text("#threshold-value") == f"{threshold:.2f}"
        assert browser.text("#count-below") == str(below)
        assert browser.text("#count-above") == str(240 - below)
        assert browser.text("#share-below") == f"{100 * below / 240:.1f} %"
        of_first = (values[scene.result.label == scene.order[0]] > threshold).mean()
        assert browser.text("[data-above='0']") == f"{100 * of_first:.1f} %"
        assert len(browser.listed_rows()) == min(below, 100)
        assert browser.run("return Bokeh.documents[0].get_model_by_name('threshold-profile').location") == threshold
    assert "No label is at or below the threshold." in browser.text("#review")


def test_scrolling_brings_the_rest_of_the_table(browser, scene):
    browser.open(scene.path)
    browser.driver.find_element(By.ID, "threshold").send_keys(Keys.END)
    for _ in range(10):
        browser.run("const s = document.getElementById('review-scroll'); s.scrollTop = s.scrollHeight")
        time.sleep(0.05)
    assert browser.listed_rows() == scene.result.least_trusted(240).tolist()


def test_the_table_sorts_by_its_headings(browser, scene):
    browser.open(scene.path)
    browser.click("th[data-key='row'] button")
    assert browser.listed_rows() == scene.review.tolist()
    browser.click("th[data-key='row'] button")
    assert browser.listed_rows() == scene.review[::-1].tolist()
    assert browser.run("return document.querySelector('th[data-key=row]').ariaSort") == "descending"
    browser.click("th[data-key='label'] button")
    labels = [str(scene.result.label[row]) for row in browser.listed_rows()]
    assert labels == sorted(labels)
    browser.click("th[data-key='id'] button")
    assert browser.listed_rows() == scene.review.tolist()


def test_a_row_number_marks_its_point_in_the_figures(browser, scene):
    browser.open(scene.path)
    row = scene.review[scene.result.trust[scene.review].argmin()]
    button = browser.driver.find_element(By.CSS_SELECTOR, "#review td button")
    button.send_keys(Keys.ENTER)
    marked = browser.run("const d = Bokeh.documents[0].get_model_by_name('marked').data; return [d.x[0], d.y[0]]")
    assert marked == scene.X[row].tolist()
    assert browser.run("return document.querySelectorAll('tr.marked').length") == 1
    button.send_keys(Keys.ENTER)
    assert browser.run("return document.querySelectorAll('tr.marked').length") == 0


def hexadecimal(colour):
    return "#" + "".join(f"{int(channel):02x}" for channel in re.findall(r"\d+", colour)[:3])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_reads_on_either_theme(theme, browser, scene):
    browser.open(scene.path, theme)
    paper, panel = (
        browser.run("return getComputedStyle(document.documentElement).getPropertyValue(arguments[0])", name)
        for name in ("--paper", "--panel")
    )
    assert (luminance(paper) < 0.1) == (theme == "dark")
    colours = browser.run(
        "const plots = Bokeh.documents[0].roots();"
        "const axes = plots.flatMap(plot => [...plot.below, ...plot.left]);"
        "return axes.flatMap(axis => [axis.axis_label_text_color, axis.major_label_text_color])"
    )
    assert len(colours) == 12
    assert min(contrast(colour, background) for colour in colours for background in (paper, panel)) >= 4.5
    palette = browser.run("return Bokeh.documents[0].get_model_by_name('colours').palette")
    assert palette == palettes()[theme]
    words = browser.run(
        "return Array.from(document.querySelectorAll('.verdict, .warning, .note, #review td, select'),"
        "part => getComputedStyle(part).color)"
    )
    assert min(contrast(hexadecimal(colour), paper) for colour in set(words)) >= 4.5
    browser.screenshot(f"report-{theme}")


def test_the_figures_follow_a_change_of_theme(browser, scene):
    browser.open(scene.path, "light")
    colour = "return Bokeh.documents[0].roots()[0].below[0].axis_label_text_color"
    light = browser.run(colour)
    browser.set_theme("dark")
    browser.wait(f"{colour} !== '{light}'")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(colour) == light
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(colour) != light


def test_hostile_names_stay_text(browser, hostile_scene):
    scene = hostile_scene
    browser.open(scene.path)
    row = scene.review[scene.result.trust[scene.review].argmin()]
    browser.point_at("map", *scene.X[row], press=True)
    browser.wait("return document.querySelectorAll('#review tr[data-point]').length < 20")
    tooltip = browser.run(EVERYWHERE + "return everywhere('.bk-tooltip-row-value').map(e => e.textContent.trim())")
    assert str(scene.result.label[row]) in tooltip
    assert browser.run(EVERYWHERE + "return everywhere('[onerror], [onload], [src=x]').length") == 0
    assert browser.run("return document.scripts.length") == 9
    assert browser.driver.title == HOSTILE[0]
    for shown in (HOSTILE[0], str(scene.result.label[row]), str(scene.result.rival[row]), f"{HOSTILE[0]}{row}"):
        assert shown in browser.run("return document.querySelector('#review').textContent")
    browser.screenshot("report-hostile-names")
    assert browser.console_errors() == []
    assert browser.requests() == [scene.path.as_uri()]


@pytest.mark.parametrize("width", [500, 600, 1000, 1100, 1600])
def test_nothing_overlaps_or_sticks_out(width, browser, scene):
    browser.driver.set_window_size(width, 1000)
    try:
        browser.open(scene.path)
        browser.screenshot(f"report-{width}-wide")
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        parts = ".threshold label, .threshold input, .threshold output, #counts, #selection-status, #clear, figure"
        boxes = browser.run(
            "return Array.from(document.querySelectorAll(arguments[0]), part => {"
            "const box = part.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]})",
            parts,
        )
        assert len(boxes) == 9
        for one, other in itertools.combinations(boxes, 2):
            apart = max(one[0], other[0]) >= min(one[2], other[2]) or max(one[1], other[1]) >= min(one[3], other[3])
            assert apart
    finally:
        browser.driver.set_window_size(1366, 1000)


def test_noise_is_on_the_map_but_has_no_trust(browser, tmp_path, scene):
    labels = np.where(np.arange(240) % 6 == 0, "-1", scene.result.label)
    result = trust(scene.X, labels)
    path = result.report(tmp_path / "noise.html", scene.X)
    noise = np.flatnonzero(result.noise)
    browser.open(path)
    Select(browser.driver.find_element(By.ID, "listed")).select_by_value("noise")
    assert browser.listed_rows() == noise.tolist()
    cells = browser.run("return Array.from(document.querySelector('#review tbody tr').cells, c => c.innerText)")
    assert cells[:6] == ["0", "noise", "-", "noise", str(result.rival[0]), "-"]
    browser.point_at("map", *scene.X[0], press=True)
    browser.wait("return document.querySelectorAll('#review tr[data-point]').length < 20")
    assert 0 in browser.selected_rows()
    browser.driver.find_element(By.ID, "threshold").send_keys(Keys.END)
    assert browser.text("#count-below") == str(240 - noise.size)
    browser.screenshot("report-noise")
    assert browser.console_errors() == []


def test_without_calibration_own_affinity_takes_the_place_of_trust(browser, tmp_path, scene):
    result = affinity(scene.X, scene.result.label)
    browser.open(result.report(tmp_path / "plain.html", scene.X))
    headings = browser.run("return Array.from(document.querySelectorAll('#review th'), c => c.innerText.trim())")
    assert headings[:5] == ["row", "label", "verdict", "rival", "own affinity"]
    expected = np.flatnonzero(result.verdict != "supported")
    expected = expected[np.argsort(result.own_affinity[expected], kind="stable")]
    assert browser.listed_rows() == expected[:100].tolist()
    browser.driver.find_element(By.ID, "threshold").send_keys(Keys.HOME)
    below = int((result.own_affinity == 0).sum())
    assert browser.text("#count-below") == str(below)
    assert browser.console_errors() == []


def test_a_point_unlike_its_cluster_is_called_so(browser, tmp_path):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(400, 2)) + np.repeat([[0, 0], [6, 0]], 200, axis=0), [[3.0, 60.0]]])
    result = trust(X, np.repeat([0, 1, 0], [200, 200, 1]))
    assert result.typicality[400] < 0.01
    browser.open(result.report(tmp_path / "far.html", X))
    Select(browser.driver.find_element(By.ID, "listed")).select_by_value("all")
    browser.click("th[data-key='typicality'] button")
    assert browser.listed_rows()[0] == 400
    assert "unlike anything in its cluster" in browser.text("#review tbody tr")


def test_a_large_page_selects_and_filters(browser, tmp_path):
    rng = np.random.default_rng(4)
    labels = rng.integers(12, size=100_000)
    X = rng.normal(size=(100_000, 5)) + 2.2 * rng.normal(size=(12, 5))[labels]
    result = trust(X, labels, eps=0.1)
    path = result.report(tmp_path / "large.html", X)
    doubtful = result.verdict != "supported"
    assert 10_000 < doubtful.sum() < 50_000
    browser.open(path)
    assert browser.text("#count-below") == f"{(result.trust <= 0.5).sum():,}"
    browser.brush("profile", (0.02, 3.02), (1.0, 3.98))
    name = result.tally().worst_first()[3].name
    listed = browser.run("return document.getElementById('review-status').textContent")
    expected = int(((labels == name) & doubtful).sum())
    selected = browser.selected_rows()
    assert listed.startswith(f"{expected:,} labels that are not supported among {len(selected):,} selected points")
    assert set(labels[selected]) == {name}
    browser.screenshot("report-large")
    assert browser.console_errors() == []
