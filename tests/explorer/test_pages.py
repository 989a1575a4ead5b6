"""How the page looks and whether everyone can use it: sizes, themes, many clusters, many points."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from allegiance import affinity, trust
from allegiance.explorer.state import DecisionLog, Question, Session, Subject
from browsing.accessibility import violations, walk
from explorer.conftest import overlapping


def wide(browser):
    """Tell whether something sticks out of the page to the right."""
    return browser.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth")


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("k", "theme", "width"),
    [pytest.param(12, "light", 1400, marks=SLOW), pytest.param(60, "dark", 1400, marks=SLOW), (60, "light", 390)],
)
def test_the_page_fits_any_screen_and_theme(browser, serving, k, theme, width):
    names = [f"segment {i}" if i % 7 else f"a rather long name of a segment, number {i}" for i in range(k)]
    X, labels = overlapping(n=1500, k=k, names=names)
    texts = [f"The customer wrote a note, number {row}, and it goes on for a while." for row in range(1500)]
    explorer = serving(trust(X, labels), X, texts=texts, title="Customers")
    browser.set_width(width, 1300)
    browser.open(explorer.url, theme)
    browser.redrawn_after(lambda: browser.choose("#colour-choice", "cluster"))
    browser.click("#cluster-table tbody tr:nth-child(2) button")
    browser.until(lambda: browser.all("#company"), "the points were clustered anew")
    browser.press("k")
    browser.until(lambda: "1 of" in browser.text(".progress-line"), "a label is reviewed")
    assert not wide(browser)
    browser.screenshot(f"explorer-{k}-{theme}-{width}")
    assert len(browser.all("#cluster-table tbody tr")) == k


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=SLOW)])
def test_everyone_can_use_the_page(browser, serving, theme):
    X, labels = overlapping()
    rng = np.random.default_rng(0)
    explorer = serving(
        trust(X, labels), X, images=rng.random((len(X), 6, 6)), texts=[f"text {i}" for i in range(len(X))]
    )
    browser.open(explorer.url, theme)
    browser.click("#cluster-table tbody tr:nth-child(1) button")
    browser.until(lambda: browser.all("#company"), "the cluster is shown")
    if theme == "dark":  # The slow one of the two also shows what takes a while.
        explorer._session.ask(Question("euclidean"))
        browser.until(lambda: browser.all("#found"), "what if is shown", seconds=120)
    browser.run("document.querySelector('.choose').open = true; document.getElementById('help-button').click()")
    assert violations(browser) == []
    browser.run("document.querySelector('.skip').focus()")
    # Enough steps for every stop of the page.
    reached = walk(browser, most=150)
    wanted = {"map-choice", "colour-choice", "decide-keep", "decide-move", "move-to", "ask-influence", "budget"}
    assert wanted <= {focus["id"] for focus in reached}
    assert all(focus["visible"] for focus in reached)
    unseen = [focus for focus in reached if not focus["outlined"] and focus["tag"] not in ("summary", "a")]
    assert not unseen


@SLOW
def test_the_picture_of_the_documentation(browser, serving, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digits = load_digits()
    labels = np.array(list("ABCDEFGHIJ"))[KMeans(10, n_init=10, random_state=0).fit_predict(digits.data)]
    names = [name.replace("_", " ") for name in digits.feature_names]
    shown = {"images": 16 - digits.images, "feature_names": names, "title": "Digits in ten clusters"}
    explorer = serving(trust(digits.data, labels), digits.data, **shown, decisions="digits.decisions.jsonl")
    browser.set_width(1400, 1000)
    browser.open(explorer.url)
    for key in "kmkk":
        row = browser.row()
        browser.press(key)
        browser.until(lambda row=row: browser.row() != row, "decided")
    browser.redrawn_after(lambda: browser.choose("#colour-choice", "cluster"))
    browser.click("#cluster-table tbody tr:nth-child(1) button")
    browser.until(lambda: browser.all("#company"), "the points were clustered anew")
    browser.screenshot("explorer-digits")


def many(n, k=8, d=6):
    """Return points of overlapping clusters and a result about them, without calibration."""
    rng = np.random.default_rng(5)
    centers = rng.normal(size=(k, d)) * 2.5
    labels = rng.integers(k, size=n)
    X = centers[labels] + rng.normal(size=(n, d))
    return X, affinity(X, labels, influence="within", calibration=4, top=2)


def test_many_points_are_density_that_refines_on_zoom(browser, serving):
    X, result = many(40_000)
    explorer = serving(result, X)
    browser.open(explorer.url)
    assert browser.run("return document.getElementById('map').dataset.kind") == "density"
    before = browser.text("#map-said")
    browser.wheel(0.5, 0.5, 4)
    browser.until(lambda: browser.run("return document.getElementById('map').dataset.kind") == "dots", "zoomed in")
    assert browser.text("#map-said") != before
    browser.screenshot("explorer-zoomed")


@SLOW
def test_a_million_points(browser, serving):
    X, result = many(1_000_000)
    explorer = serving(result, X)
    browser.open(explorer.url)
    assert "1,000,000 points in view, drawn as density" in browser.text("#map-said")
    browser.screenshot("explorer-million")
    browser.drag_map((0.4, 0.4), (0.6, 0.6))
    browser.until(lambda: "selected" in browser.text("#panel-selection strong"), "points are selected")
    assert explorer._session.selected.size > 10_000
    browser.redrawn_after(lambda: browser.choose("#colour-choice", "cluster"))
    browser.redrawn_after(lambda: browser.wheel(0.5, 0.5, 8))
    browser.press("k")
    browser.until(lambda: len(explorer.decisions) == 1, "a label is decided")


PROGRAM = """
import sys
import numpy as np
from allegiance.explorer import explore
from explorer.conftest import overlapping
from allegiance import trust
X, labels = overlapping()
print(explore(trust(X, labels), X, decisions=sys.argv[1], open_browser=False).url, flush=True)
sys.stdin.read()
"""


def start(path):
    """Start an explorer in a process of its own; return the process and its address."""
    tests = os.path.dirname(os.path.dirname(__file__))
    environment = os.environ | {"PYTHONPATH": tests}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    return process, process.stdout.readline().strip()


@SLOW
def test_a_server_killed_in_the_middle_of_a_review_loses_nothing(chromium, tmp_path):
    browser, path = chromium, tmp_path / "review.jsonl"
    browser.set_width(1400, 1300)
    process, url = start(path)
    try:
        browser.open(url)
        for number in range(1, 4):
            browser.press("k")
            browser.until(lambda number=number: f"{number} of" in browser.text(".progress-line"), "decided")
        stopped = browser.row()
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        browser.until(lambda: "connection to the server is lost" in browser.text("#status"), "the loss is told")
    finally:
        process.kill()
        process.communicate()
    assert [json.loads(line)["decision"] for line in path.read_text().splitlines()] == ["keep"] * 3
    process, url = start(path)
    try:
        browser.open(url)
        assert browser.row() == stopped
        assert browser.text(".progress-line").startswith("3 of")
        browser.press("z")
        browser.until(
            lambda: browser.text(".progress-line").startswith("2 of"), "what was decided before can be undone"
        )
    finally:
        process.kill()
        process.communicate()
        browser.driver.get("about:blank")


def test_two_explorers_do_not_write_one_log(serving, scored, tmp_path):
    X, result = scored
    serving(result, X)
    with pytest.raises(ValueError, match="in use by another explorer"):
        serving(result, X)


def test_closing_lets_go_of_port_and_log(serving, scored):
    X, result = scored
    explorer = serving(result, X)
    port, path = explorer.port, explorer.path
    with pytest.raises(OSError, match=f"port {port} of 127.0.0.1 cannot be used"):
        serving(result, X, port=port, decisions=f"{path}.other")
    explorer.close()
    assert repr(explorer).startswith("<Explorer: closed")
    time.sleep(0.05)
    again = serving(result, X, port=port)
    assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/\?token=[\w-]{{32}}", again.url)
    assert isinstance(again._session, Session)
    assert isinstance(again._session.log, DecisionLog)
    assert isinstance(again._session.subject, Subject)
