"""A report of 100,000 points in Chromium: time until it can be used, a step of the slider, a click on a cluster.

Loading counts from the request for the file to the first complete drawing, as the page's own clock says. A step is the
time from a new value of the slider until the next frame is drawn. The median of several is told, and the size of the
file. On a busy machine these are times of waiting: beside them stands the work, the seconds that the page's thread had
the processor. Needs the packages chromium and chromium-driver.
"""

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
LOAD_SECONDS, STEP_SECONDS, CLICK_SECONDS, SIZE_BYTES = 3.0, 0.1, 0.2, 20e6
#: The most work that follows from a step or a click.
WORK_SECONDS = 0.1
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


class Clock:
    """Seconds of waiting and of work."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser
        browser.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})

    def work(self) -> float:
        """Return the seconds that the page's thread had the processor so far."""
        metrics = self.browser.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration"))

    def load(self, path: Path) -> tuple[float, float]:
        """Open the page."""
        before = self.work()
        self.browser.open(path)
        waited = self.browser.run("return performance.getEntriesByName('ready')[0].startTime / 1000")
        # A new page may have a new process, whose clock starts at 0.
        after = self.work()
        return float(waited), after - before if after > before else after

    def act(self, selector: str, value: Any = None) -> tuple[float, float]:
        """Click, or give a control a new value, and wait until that is drawn."""
        before = self.work()
        waited = float(self.browser.driver.execute_async_script(_TIMED, selector, value))
        return waited, self.work() - before


def _measure(browser: Any, path: Path, turns: int) -> list[Row]:
    clock = Clock(browser)
    loads = [clock.load(path) for _ in range(turns)]
    steps = [clock.act("#threshold", 30 + 5 * turn) for turn in range(turns)]
    clicks = [clock.act(f"[data-cluster='{turn % CLUSTERS}']") for turn in range(turns)]
    browser.click("#clear")
    colors = [clock.act("#color", ("cluster", "verdict", "trust")[turn % 3]) for turn in range(turns)]
    points = f"{browser.run('return allegianceReport.state.points.size'):,} points"
    return [
        limit_row(f"report of {points}: size", path.stat().st_size, "B", SIZE_BYTES),
        *_rows(f"report of {points}: load", loads, LOAD_SECONDS, LOAD_SECONDS),
        *_rows(f"report of {points}: slider step", steps, STEP_SECONDS),
        *_rows(f"report of {points}: click a cluster", clicks, CLICK_SECONDS),
        *_rows(f"report of {points}: other colors", colors, CLICK_SECONDS),
    ]


def _rows(what: str, times: list[tuple[float, float]], limit: float, work: float = WORK_SECONDS) -> list[Row]:
    waited, worked = (statistics.median(kind) for kind in zip(*times, strict=True))
    best = min(waited for waited, _ in times)
    return [limit_row(what, waited, "s", limit, best=best), limit_row(f"{what}, work", worked, "s", work)]
