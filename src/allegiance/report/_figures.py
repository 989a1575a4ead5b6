"""The three figures, as one Bokeh document. Their points and colours are filled in by the page's scripts.

A source holds what is drawn at the moment, not all points of the page: a few thousand dots, or the pixels of a density.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import IntArray, require

from ._counts import STEPS, Profile
from ._projection import Projection
from ._wording import shorten

_CALLER = "report()"
#: Height of map and profile: 26 pixels for a cluster, within these bounds.
_LOWEST, _HIGHEST, _BAND = 480, 720, 26
#: Pixels of a figure's height outside of its axes, and those that the name of a cluster needs.
_AROUND, _NAME_HEIGHT = 60, 13
_NAME_LENGTH = 18


class Figures(NamedTuple):
    """A Bokeh document ready to embed."""

    document: Any
    elements: dict[str, str]
    """Where each root goes: its id, and the id of the page's element."""


def draw_figures(counts: IntArray, names: list[str], projection: Projection, profile: Profile, word: str) -> Figures:
    """Draw the map, the histogram and the profile.

    Parameters
    ----------
    counts
        (STEPS,) how many of all labels lie in each bin of the histogram.
    names
        The name of each cluster.
    projection
        The extent of the map and the labels of its axes.
    profile
        The bands of the profile.
    word
        What ``trust`` is called on the page.
    """
    height = int(np.clip(_BAND * len(names) + _AROUND, _LOWEST, _HIGHEST))
    roots = {
        "map": draw_map(projection, word, height),
        "histogram": draw_histogram(counts, word),
        "profile": draw_profile(profile, names, word, height),
    }
    document = require("bokeh.document", "report", _CALLER).Document()
    for root in roots.values():
        document.add_root(root)
    return Figures(document, {root.id: f"figure-{name}" for name, root in roots.items()})


def _models() -> Any:
    return require("bokeh.models", "report", _CALLER)


def _figure(height: int, **settings: Any) -> Any:
    plot = require("bokeh.plotting", "report", _CALLER).figure(
        height=height,
        sizing_mode="stretch_width",
        tools=[],
        toolbar_location=None,
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        **settings,
    )
    plot.grid.grid_line_width = 0.5
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font_size = "13px"
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.minor_tick_line_color = None
    return plot


def _plain(text: str) -> Any:
    """Return text that Bokeh draws as it stands: names from the data may look like formulas."""
    return _models().PlainText(text=shorten(text, 60))


def _source(name: str, *columns: str) -> Any:
    return _models().ColumnDataSource({column: [] for column in columns}, name=f"{name}-data")


def _add_tools(plot: Any, *tools: Any) -> None:
    """Add tools; dragging with the first one is what a brush does."""
    plot.add_tools(*tools)
    plot.toolbar.active_drag = tools[0]
    plot.toolbar.active_scroll = None


def _extent(values: Any) -> Any:
    """Return a range around all values, with some air."""
    low, high = float(values.min()), float(values.max())
    air = 0.04 * (high - low) or max(abs(low), 1.0) * 0.04
    return _models().Range1d(low - air, high + air)


def draw_map(projection: Projection, word: str, height: int) -> Any:
    """Return the map: pixels of a density below, crosses for noise, dots, and rings around marked points."""
    models = _models()
    plot = _figure(
        height,
        name="map",
        x_range=_extent(projection.x),
        y_range=_extent(projection.y),
        x_axis_label=_plain(projection.x_label),
        y_axis_label=_plain(projection.y_label),
    )
    density = models.ColumnDataSource(
        {"image": [np.zeros((1, 1), np.uint32)], "x": [0.0], "y": [0.0], "dw": [0.0], "dh": [0.0]}, name="density-data"
    )
    plot.image_rgba("image", "x", "y", "dw", "dh", source=density, level="underlay")
    others = _source("others", "x", "y")
    plot.scatter("x", "y", source=others, size=5, fill_alpha=0.18, line_color=None, name="others")
    # Where points lie on each other, outlines would hide the colours: the scripts set their width.
    dots = plot.scatter(
        "x",
        "y",
        source=_source("dots", "x", "y", "colour", "row", "label", "value", "verdict", "rival"),
        size=7,
        fill_color="colour",
        fill_alpha=0.9,
        line_width=0.5,
        name="dots",
    )
    crosses = _source("crosses", "x", "y", "row", "label", "value", "verdict", "rival")
    noise = plot.scatter("x", "y", source=crosses, marker="x", size=6, line_alpha=0.8, name="crosses")
    plot.scatter("x", "y", source=_source("ring", "x", "y"), size=18, fill_color=None, line_width=3, name="ring")
    tooltips = [("row", "@row"), ("label", "@label"), (word, "@value"), ("verdict", "@verdict"), ("rival", "@rival")]
    plot.toolbar_location = "above"
    plot.toolbar.logo = None
    _add_tools(
        plot,
        models.BoxSelectTool(renderers=[]),
        models.LassoSelectTool(renderers=[], continuous=False),
        models.PanTool(),
        models.WheelZoomTool(),
        models.HoverTool(renderers=[dots, noise], tooltips=tooltips, limit=1),
        models.ResetTool(),
    )
    return plot


def draw_histogram(counts: IntArray, word: str) -> Any:
    """Return the histogram: bars of all labels, and in front of them those that are looked at."""
    models = _models()
    edges = np.arange(STEPS + 1) / STEPS
    first = int(np.flatnonzero(counts)[0]) if counts.any() else 0
    start = float(min(np.floor(first / 10) / 10, 0.4))
    bins = models.ColumnDataSource(
        {"left": edges[:-1], "right": edges[1:], "count": counts.astype(np.int32), "chosen": np.zeros(STEPS)},
        name="bins-data",
    )
    plot = _figure(
        220,
        name="histogram",
        x_range=models.Range1d(start - 0.005, 1.005),
        y_range=models.Range1d(0, 1.05 * max(int(counts.max()), 1)),
        x_axis_label=word,
        y_axis_label="labels",
    )
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0")
    _add_threshold(plot, "histogram")
    bars = plot.quad(left="left", right="right", top="count", bottom=0, source=bins, line_width=0.5, name="bars")
    plot.quad(left="left", right="right", top="chosen", bottom=0, source=bins, line_width=0.5, name="chosen")
    tooltips = [(word, "@left{0.00} to @right{0.00}"), ("labels", "@count{0,0}"), ("looked at", "@chosen{0,0}")]
    _add_tools(
        plot,
        models.BoxSelectTool(dimensions="width", renderers=[]),
        models.HoverTool(renderers=[bars], tooltips=tooltips),
    )
    return plot


def draw_profile(profile: Profile, names: list[str], word: str, height: int) -> Any:
    """Return the profile: one band for each cluster, and dots on their edges where there is room for them."""
    models = _models()
    groups = len(names)
    plot = _figure(
        height,
        name="profile",
        x_range=models.Range1d(0, 1.01),
        y_range=models.Range1d(groups, 0),
        x_axis_label=word,
        y_axis_label="cluster, its labels sorted",
    )
    every = max(1, int(np.ceil(_NAME_HEIGHT * groups / (height - _AROUND))))
    ticks = range(0, groups, every)
    plot.yaxis.ticker = models.FixedTicker(ticks=[group + 0.5 for group in ticks])
    plot.yaxis.major_label_overrides = {group + 0.5: _plain(shorten(names[group], _NAME_LENGTH)) for group in ticks}
    plot.yaxis.major_tick_line_color = None
    plot.ygrid.grid_line_color = None
    _add_threshold(plot, "profile")
    bands = models.ColumnDataSource(
        {
            "xs": [xs.round(4).tolist() for xs, _ in profile.bands],
            "ys": [ys.round(4).tolist() for _, ys in profile.bands],
            "colour": ["gray"] * groups,
            "alpha": [1.0] * groups,
        },
        name="bands-data",
    )
    plot.patches("xs", "ys", source=bands, fill_color="colour", fill_alpha="alpha", line_color=None, name="bands")
    dots = _source("edge", "x", "y", "colour")
    plot.scatter("x", "y", source=dots, size=4, fill_color="colour", line_color=None, name="edge")
    ring = _source("edge-ring", "x", "y")
    plot.scatter("x", "y", source=ring, size=18, fill_color=None, line_width=3, name="ring")
    _add_tools(plot, models.BoxSelectTool(renderers=[]))
    return plot


def _add_threshold(plot: Any, where: str) -> None:
    """Shade what lies at or below the threshold, with a line at its edge."""
    models = _models()
    plot.add_layout(
        models.BoxAnnotation(
            right=0.5, fill_alpha=0.12, line_color=None, level="annotation", name=f"below-{where}", editable=False
        )
    )
    plot.add_layout(
        models.Span(location=0.5, dimension="height", line_width=1.5, line_dash="dashed", name=f"threshold-{where}")
    )
