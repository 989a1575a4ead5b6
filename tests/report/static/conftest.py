"""A report in a real browser: four overlapping clusters with images and texts, and what a reader does with them."""

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
    """Clusters, scored, and a report of them."""

    def __init__(self, folder, names, columns):
        rng = np.random.default_rng(3)
        codes = np.repeat(np.arange(4), 60)
        self.X = rng.normal(size=(240, 2)) + 2.2 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[codes]
        frame = pd.DataFrame(self.X, columns=columns)
        frame.index = pd.Index([f"{columns[0]}{i}" for i in range(240)], name=columns[1])
        self.result = trust(frame, np.array(names)[codes])
        self.texts = [f"{columns[0]} text number {i}, " + "with many words " * 20 for i in range(240)]
        self.path = self.result.report(
            folder / "report.html", frame, images=rng.random((240, 6, 6)), texts=self.texts, title=columns[0]
        )
        self.review = np.flatnonzero(self.result.verdict != "supported")
        self.review = self.review[np.argsort(self.result.trust[self.review], kind="stable")]
        self.order = [line.name for line in self.result.tally().worst_first()]

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
    """What a reader of a report sees and does."""

    def __init__(self, driven):
        self.driven = driven

    def __getattr__(self, name):
        return getattr(self.driven, name)

    def listed(self):
        """Return the row numbers in the table."""
        return self.run("return Array.from(document.querySelectorAll('#review button.open'), b => +b.textContent)")

    def looked_at(self):
        """Return the row numbers of the points looked at."""
        return set(
            self.run(
                "const {points} = allegianceReport.state, rows = [];"
                "points.columns.row.forEach((row, point) => allegianceReport.state.holds(point) && rows.push(row));"
                "return rows"
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
        self.drag(self.spot(figure, *start), self.spot(figure, *end))

    def click_figure(self, figure, x, y):
        self.point_at(self.spot(figure, x, y), press=True)

    def search(self, text):
        self.find("#search").send_keys(text)
        self.wait("return allegianceReport.state.search === document.getElementById('search').value.trim()")
        self.settle()


@pytest.fixture
def reader(browser):  # noqa: F811
    browser.run("try { localStorage.clear() } catch {}")
    return Reader(browser)
