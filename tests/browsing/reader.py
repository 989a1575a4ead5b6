"""What a reader of the page sees and does, in Chromium."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from allegiance import trust
from browsing.browser import browser  # noqa: F401

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    r"$$\frac{1}{2}$$",
    '"><svg onload=alert(3)>' + "long" * 40,
]


class Scene:
    """Four overlapping clusters with images and texts, scored, and a report of them."""

    def __init__(self, folder, names, columns):
        rng = np.random.default_rng(3)
        codes = np.repeat(np.arange(4), 60)
        self.X = rng.normal(size=(240, 2)) + 2.2 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[codes]
        frame = pd.DataFrame(self.X, columns=columns)
        frame.index = pd.Index([f"{columns[0]}{i}" for i in range(240)], name=columns[1])
        self.ids = frame.index.tolist()
        self.result = trust(frame, np.array(names)[codes])
        self.texts = [f"{columns[0]} text number {i}, " + "with many words " * 20 for i in range(240)]
        self.path = self.result.report(
            folder / "report.html", frame, images=rng.random((240, 6, 6)), texts=self.texts, title=columns[0]
        )
        order = self.result.review().index
        self.review = frame.index.get_indexer(order)
        mean = {name: self.result.trust[self.result.label == name].mean() for name in names}
        self.order = sorted(mean, key=mean.get)

    def members(self, place):
        """Return the rows of the cluster in some place of the page."""
        return set(np.flatnonzero(self.result.label == self.order[place]).tolist())


@pytest.fixture(scope="session")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("scene"), ["east", "north", "south", "west"], ["width", "height"])


@pytest.fixture(scope="session")
def hostile_scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("hostile"), HOSTILE, HOSTILE[:2])


class Reader:
    """Reads and reviews a page."""

    def __init__(self, driven):
        self.driven = driven

    def __getattr__(self, name):
        return getattr(self.driven, name)

    def rows(self, points):
        """Return the row numbers of points given by a script."""
        return self.run(f"return Array.from({points}, p => allegianceReport.state.points.columns.row[p])")

    def listed(self):
        """Return the row numbers in the table."""
        return self.rows("Array.from(document.querySelectorAll('#review tr[data-point]'), row => +row.dataset.point)")

    def open_row(self):
        """Return the row under review; None if there is none."""
        return self.run(
            "const {marked, points} = allegianceReport.state;return marked === null ? null : points.columns.row[marked]"
        )

    def looked_at(self):
        """Return the row numbers of the points looked at."""
        return set(
            self.rows(
                "[...allegianceReport.state.points.columns.row.keys()].filter(p => allegianceReport.state.holds(p))"
            )
        )

    def data(self, source, column):
        """Return a column of what a figure draws."""
        return self.run(
            "return Array.from(Bokeh.documents[0].get_model_by_name(arguments[0]).data[arguments[1]])", source, column
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
        self.drag(first, [(one + other) // 2 for one, other in zip(first, last, strict=True)], last)

    def click_figure(self, figure, x, y):
        self.point_at(self.spot(figure, x, y), press=True)

    def click(self, selector):
        element = self.find(selector)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        self.settle()

    def search(self, text):
        self.find("#search").send_keys(text)
        self.wait("return allegianceReport.state.search === document.getElementById('search').value.trim()")
        self.settle()

    def export(self, name):
        """Press the button of an export, and return the bytes of the file."""
        self.click(f"[data-export='{name}']")
        return self.downloaded(name)

    def table(self, name="decisions.csv"):
        """Return an exported CSV as a list of dicts."""
        return list(csv.DictReader(io.StringIO(self.export(name).decode("utf-8"), newline="")))


@pytest.fixture
def reader(browser):  # noqa: F811
    """A reader, who sees no error of a script in the console."""
    browser.run("try { localStorage.clear() } catch {}")
    yield Reader(browser)
    browser.driver.switch_to.default_content()
    browser.set_width(None)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert browser.console_errors() == []


@pytest.fixture
def page(reader, scene):
    """The reader of the usual page, which is open."""
    reader.open(scene.path)
    return reader
