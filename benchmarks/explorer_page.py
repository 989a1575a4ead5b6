"""How long a person waits for the explorer, in headless Chromium, which draws without a graphics card.

Milliseconds from the question of the page to the answer on it, the median of several, for 10,000 to 1,000,000 points.
Beside it a Bokeh server that holds all points in the page, as its examples do: the time from a selection to the count
of the selected points, which Python writes.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from _report import Row

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from allegiance import affinity
from allegiance.explorer import explore
from browsing.explorer import ExplorerBrowser

D, K = 8, 12
#: What a person takes for at once.
_MOST_MILLISECONDS = 200.0
#: The number of points at which the limit must hold, and for what.
_LIMITED, _AT_ONCE = 100_000, ("hover", "select a box")


def run(quick: bool) -> list[Row]:
    """Measure the explorer at three sizes, and a Bokeh server at one."""
    sizes = (2_000, 20_000) if quick else (10_000, _LIMITED, 1_000_000)
    turns = 3 if quick else 9
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        browser = ExplorerBrowser(folder)
        browser.set_width(1400, 1000)
        try:
            for n in sizes:
                rows += _explorer_rows(browser, n, turns, Path(folder) / f"{n}.jsonl")
            rows.append(_bokeh_server_row(browser, sizes[1], turns))
        finally:
            browser.driver.quit()
    return rows


def _points(n: int) -> tuple[Any, Any]:
    """Return overlapping clusters and their labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=n)
    return 2.5 * rng.normal(size=(K, D))[labels] + rng.normal(size=(n, D)), labels


def _explorer_rows(browser: ExplorerBrowser, n: int, turns: int, log: Path) -> list[Row]:
    X, labels = _points(n)
    result = affinity(X, labels, influence="within", calibration=4, top=2)
    with explore(result, X, decisions=log, open_browser=False) as explorer:
        browser.open(explorer.url)
        # What is prepared once, when it is first asked for, is not what a person waits for all the time.
        _actions(browser)["hover"]()
        found = {name: median(act() for _ in range(turns)) for name, act in _actions(browser).items()}
        started = time.perf_counter()
        browser.open(explorer.url)
        found["open the page again"] = 1000 * (time.perf_counter() - started)
    return [_row(f"explorer, {n:,} points: {name}", value, n) for name, value in found.items()]


def _row(what: str, milliseconds: float, n: int) -> Row:
    limited = n == _LIMITED and what.endswith(_AT_ONCE)
    target = f"<= {_MOST_MILLISECONDS:g} ms" if limited else ""
    met = milliseconds <= _MOST_MILLISECONDS if limited else None
    return Row(what, milliseconds / 1000, "s", "", None, None, target, met)


def _actions(browser: ExplorerBrowser) -> dict[str, Callable[[], float]]:
    """Return what a person does, each a function that returns milliseconds until it is on the page."""
    rng = np.random.default_rng(1)

    def asked(name: str, script: str, *values: Any) -> float:
        browser.run(f"window.allegianceExplorer.timing = {{}}; {script}", *values)
        browser.until(lambda: browser.run("return window.allegianceExplorer.timing[arguments[0]]", name), name, 60)
        return float(browser.run("return window.allegianceExplorer.timing[arguments[0]]", name))

    def hover() -> float:
        x, y = rng.uniform(0.3, 0.7, 2)
        script = """
            const [x, y] = arguments, { map } = window.allegianceExplorer, [a, b, c, d] = map.window;
            map.hover({ x: a + x * (b - a), y: c + y * (d - c), sx: 100, sy: 100 });
        """
        return asked("hover", script, x, y)

    def view(colour: str) -> float:
        script = (
            "document.getElementById('colour-choice').value = arguments[0]; window.allegianceExplorer.map.refresh()"
        )
        return asked("view", script, colour)

    def select() -> float:
        low, high = np.sort(rng.uniform(0.3, 0.7, 2)).tolist()
        # A selection is on the page when the map that shows it is drawn.
        script = """
            const [low, high] = arguments, { map } = window.allegianceExplorer, [a, b, c, d] = map.window;
            const drawn = () => Number(document.getElementById("map").dataset.drawn), before = drawn();
            const started = performance.now();
            const look = () => {
                if (drawn() > before) window.allegianceExplorer.timing.select = performance.now() - started;
                else requestAnimationFrame(look);
            };
            map.select({ type: "rect", x0: a + low * (b - a), x1: a + high * (b - a), y0: c, y1: d });
            look();
        """
        return asked("select", script, low, high)

    return {
        "hover": hover,
        "colour by trust": lambda: view("trust"),
        "colour by cluster": lambda: view("cluster"),
        "select a box": select,
        "look at the next point": lambda: asked("step", "document.getElementById('following').click()"),
        "decide, written to the disk": lambda: asked("decide", "document.getElementById('decide-keep').click()"),
    }


def _bokeh_server_row(browser: ExplorerBrowser, n: int, turns: int) -> Row:
    """Measure a selection of a Bokeh server with all points in the page."""
    from bokeh.application import Application
    from bokeh.application.handlers.function import FunctionHandler
    from bokeh.layouts import column
    from bokeh.models import ColumnDataSource, Div
    from bokeh.plotting import figure
    from bokeh.server.server import Server
    from tornado.ioloop import IOLoop

    X, labels = _points(n)

    def page(document: Any) -> None:
        source = ColumnDataSource({"x": X[:, 0], "y": X[:, 1], "label": labels}, name="source")
        plot = figure(tools="box_select", output_backend="webgl", width=700, height=500)
        plot.scatter("x", "y", source=source, size=4, nonselection_fill_alpha=0.1)
        said = Div(text="", name="said")
        source.selected.on_change("indices", lambda _, __, new: said.update(text=f"{len(new)} selected"))
        document.add_root(column(plot, said))

    ports: list[int] = []
    started = threading.Event()

    def serve() -> None:
        server = Server({"/": Application(FunctionHandler(page))}, port=0, io_loop=IOLoop(make_current=True))
        ports.append(server.port)
        server.io_loop.add_callback(started.set)
        server.io_loop.start()

    threading.Thread(target=serve, daemon=True).start()
    started.wait(30)
    browser.driver.get(f"http://localhost:{ports[0]}/")
    browser.until(
        lambda: browser.run("return window.Bokeh?.documents?.[0]?.get_model_by_name('said') != null"), "page", 60
    )
    time.sleep(3)
    times = []
    for turn in range(turns):
        script = """
            const [share] = arguments, model = (name) => Bokeh.documents[0].get_model_by_name(name);
            const source = model("source"), xs = source.data.x, chosen = [];
            for (let i = 0; i < xs.length; i++) if (xs[i] > share && xs[i] < share + 1) chosen.push(i);
            window.said = null;
            const started = performance.now();
            const done = () => (window.said ??= performance.now() - started);
            const twice = () => requestAnimationFrame(() => requestAnimationFrame(done));
            model("said").properties.text.change.connect(twice);
            source.selected.indices = chosen;
        """
        browser.run(script, 0.1 * turn)
        browser.until(lambda: browser.run("return window.said"), "a selection", 60)
        times.append(float(browser.run("return window.said")))
    browser.driver.get("about:blank")
    return Row(
        f"Bokeh server, {n:,} points in the page: select a box", median(times) / 1000, "s", "", None, None, "", None
    )
