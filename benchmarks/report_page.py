"""A report of 100,000 points in Chromium: time until it can be used, a step of the slider, a click on a cluster.

Loading counts from the request for the file to the first complete drawing, as the page's own clock says. A step is the
time from a key on the slider until the next frame is drawn. The median of several is told, and the size of the file.
Needs the packages chromium and chromium-driver.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from _report import Row, limit_row
from allegiance import trust

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

N, CLUSTERS = 100_000, 12
LOAD_SECONDS, STEP_SECONDS, SIZE_BYTES = 3.0, 0.1, 15e6
#: Do something, and say how long it took until it was drawn.
_TIMED = """
    const [selector, value, done] = arguments;
    const started = performance.now();
    const element = document.querySelector(selector);
    if (value === null) element.click();
    else {
        element.value = value;
        element.dispatchEvent(new Event(element.type === "range" ? "input" : "change", {bubbles: true}));
    }
    requestAnimationFrame(() => setTimeout(() => done((performance.now() - started) / 1000)));
"""


def run(quick: bool) -> list[Row]:
    """Time a page in a browser."""
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        print("no browser", file=sys.stderr)
        return []
    from browsing.browser import Browser

    with tempfile.TemporaryDirectory() as folder:
        path = _page(Path(folder) / "report.html", N // 10 if quick else N)
        browser = Browser(folder)
        try:
            return _measure(browser, path, 2 if quick else 7)
        finally:
            browser.driver.quit()


def _page(path: Path, n: int) -> Path:
    rng = np.random.default_rng(4)
    labels = rng.integers(CLUSTERS, size=n)
    X = rng.normal(size=(n, 5)) + 2.2 * rng.normal(size=(CLUSTERS, 5))[labels]
    return trust(X, labels, eps=0.1).report(path, X)


def _measure(browser: Any, path: Path, turns: int) -> list[Row]:
    loads = []
    for _ in range(turns):
        browser.open(path)
        loads.append(browser.run("return performance.getEntriesByName('ready')[0].startTime / 1000"))
    steps = [_timed(browser, "#threshold", 30 + 5 * turn) for turn in range(turns)]
    clicks = [_timed(browser, f"[data-cluster='{turn % CLUSTERS}']") for turn in range(turns)]
    browser.click("#clear")
    colours = [_timed(browser, "#colour", ("cluster", "verdict", "trust")[turn % 3]) for turn in range(turns)]
    points = f"{browser.run('return allegianceReport.state.points.size'):,} points"
    return [
        limit_row(f"report of {points}: size", path.stat().st_size, "B", SIZE_BYTES),
        limit_row(f"report of {points}: load", statistics.median(loads), "s", LOAD_SECONDS, best=min(loads)),
        limit_row(f"report of {points}: slider step", statistics.median(steps), "s", STEP_SECONDS, best=min(steps)),
        limit_row(f"report of {points}: click a cluster", statistics.median(clicks), "s", 0.2, best=min(clicks)),
        limit_row(f"report of {points}: other colours", statistics.median(colours), "s", 0.2, best=min(colours)),
    ]


def _timed(browser: Any, selector: str, value: Any = None) -> float:
    """Return the seconds until a click, or a new value, is drawn."""
    return float(browser.driver.execute_async_script(_TIMED, selector, value))
