"""The three linked figures, as one Bokeh document. Their colours come from the page's style sheet, by script."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, IntArray, require

from ._counts import STEPS, Profile
from ._palettes import palettes
from ._projection import Projection
from ._wording import shorten

_CALLER = "report()"
#: Bands labelled at most; with more clusters every second, third, ... has a label.
_MAX_LABELS = 400
_LABEL_LENGTH = 18
#: Points up to which the map draws them large, with an outline.
_FEW = 2_000


class Figures(NamedTuple):
    """A Bokeh document ready to embed."""

    document: Any
    elements: dict[str, str]
    """Where each root goes: its id, and the id of the page's element."""
    palettes: dict[str, list[str]]


def draw_figures(
    columns: dict[str, AnyArray],
    counts: IntArray,
    names: list[str],
    projection: Projection,
    profile: Profile,
    word: str,
) -> Figures:
    """Draw the map, the histogram and the profile.

    Parameters
    ----------
    columns
        The points on the page: ``x``, ``y``, ``trust``, ``position`` and whatever the table shows.
    counts
        (STEPS,) how many of all labels lie in each bin of the histogram.
    names
        The name of each cluster.
    projection
        The labels of the map's axes.
    profile
        The bands of the profile.
    word
        What ``trust`` is called on the page.
    """
    models = require("bokeh.models", "report", _CALLER)
    points = models.ColumnDataSource(columns, name="points")
    marked = models.ColumnDataSource({name: [] for name in ("x", "y", "trust", "position")}, name="marked")
    scales = palettes()
    lowest = float(np.nanmin(columns["trust"], initial=0.5))
    colour = models.LinearColorMapper(scales["light"], low=np.floor(lowest * 10) / 10, high=1.0, name="colours")
    roots = {
        "map": _map(points, marked, colour, projection, word),
        "histogram": _histogram(counts, word),
        "profile": _profile(points, marked, colour, profile, names, word),
    }
    document = require("bokeh.document", "report", _CALLER).Document()
    for root in roots.values():
        document.add_root(root)
    return Figures(document, {root.id: f"figure-{name}" for name, root in roots.items()}, scales)


def _figure(height: int, tools: list[Any], **settings: Any) -> Any:
    plot = require("bokeh.plotting", "report", _CALLER).figure(
        height=height,
        sizing_mode="stretch_width",
        output_backend="webgl",
        tools=tools,
        toolbar_location="above",
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        **settings,
    )
    plot.toolbar.logo = None
    plot.grid.grid_line_width = 0.5
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font_size = "13px"
    plot.axis.major_label_text_font_size = "12px"
    plot.axis.minor_tick_line_color = None
    return plot


def _plain(text: str) -> Any:
    """Return text that Bokeh draws as it stands: names from the data may look like formulas."""
    return require("bokeh.models", "report", _CALLER).PlainText(text=shorten(text, 60))


def _add_labels(plot: Any, points: Any, marked: Any, colour: Any, x: str, y: str, size: int) -> Any:
    """Draw the points that have a label, and a ring around the marked one; return the renderer of the points."""
    # Where points lie on each other, outlines would hide the colours.
    outline = 0.5 if points.data[x].size <= _FEW else 0
    dots = plot.scatter(
        x,
        y,
        source=points,
        view=_view(~np.isnan(points.data["trust"])),
        size=size,
        fill_color={"field": "trust", "transform": colour},
        line_color="white",
        line_alpha=outline,
        line_width=0.5,
        fill_alpha=0.9,
        nonselection_fill_color="gray",
        nonselection_fill_alpha=0.08,
        nonselection_line_alpha=0,
        name="dots",
    )
    plot.scatter(x, y, source=marked, size=18, fill_color=None, line_width=3, name="ring")
    return dots


def _add_noise(plot: Any, points: Any, size: int) -> Any:
    """Draw the points of noise on the map as crosses, and return their renderer."""
    view = _view(np.isnan(points.data["trust"]))
    return plot.scatter(
        "x",
        "y",
        source=points,
        view=view,
        marker="x",
        size=size,
        line_alpha=0.8,
        nonselection_line_alpha=0.1,
        name="noise",
    )


def _view(chosen: BoolArray) -> Any:
    """Return a view of some of the points."""
    models = require("bokeh.models", "report", _CALLER)
    return models.CDSView(
        filter=models.AllIndices() if chosen.all() else models.IndexFilter(np.flatnonzero(chosen).tolist())
    )


def _point_tools(drawn: list[Any], word: str) -> list[Any]:
    models = require("bokeh.models", "report", _CALLER)
    tooltips = [
        ("row", "@row"),
        ("label", "@label_name"),
        (word, "@trust{0.00}"),
        ("verdict", "@verdict_name"),
        ("rival", "@rival_name"),
    ]
    return [
        models.BoxSelectTool(renderers=drawn),
        models.LassoSelectTool(renderers=drawn),
        models.TapTool(renderers=drawn),
        models.HoverTool(renderers=drawn, tooltips=tooltips, limit=1),
        models.PanTool(),
        models.WheelZoomTool(),
        models.ResetTool(),
    ]


def _finish_tools(plot: Any, tools: list[Any]) -> None:
    """Add tools; dragging with the first one is what a brush does."""
    plot.add_tools(*tools)
    plot.toolbar.active_drag = tools[0]
    plot.toolbar.active_scroll = None


def _map(points: Any, marked: Any, colour: Any, projection: Projection, word: str) -> Any:
    models = require("bokeh.models", "report", _CALLER)
    plot = _figure(470, [], x_axis_label=_plain(projection.x_label), y_axis_label=_plain(projection.y_label))
    size = 8 if points.data["x"].size <= _FEW else 6 if points.data["x"].size <= 15_000 else 4
    drawn = [_add_noise(plot, points, size - 1), _add_labels(plot, points, marked, colour, "x", "y", size)]
    bar = models.ColorBar(color_mapper=colour, title=word, width=10, background_fill_alpha=0, padding=8)
    bar.title_text_font_style, bar.title_text_font_size, bar.major_label_text_font_size = "normal", "13px", "12px"
    plot.add_layout(bar, "right")
    _finish_tools(plot, _point_tools(drawn, word))
    return plot


def _histogram(counts: IntArray, word: str) -> Any:
    models = require("bokeh.models", "report", _CALLER)
    edges = np.arange(STEPS + 1) / STEPS
    first = int(np.flatnonzero(counts)[0]) if counts.any() else 0
    start = float(min(np.floor(first / 10) / 10, 0.4))
    bins = models.ColumnDataSource(
        {
            "left": edges[:-1],
            "right": edges[1:],
            "count": counts.astype(np.int32),
            "selected": np.zeros(STEPS),
        },
        name="bins",
    )
    plot = _figure(
        250,
        [],
        x_range=models.Range1d(start - 0.005, 1.005),
        y_range=models.DataRange1d(start=0, range_padding=0.05),
        x_axis_label=word,
        y_axis_label="labels",
    )
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0")
    _add_threshold(plot, "histogram")
    same = {"nonselection_fill_alpha": 1.0, "nonselection_line_alpha": 1.0}
    bars = plot.quad(
        left="left", right="right", top="count", bottom=0, source=bins, line_width=0.5, name="bars", **same
    )
    plot.quad(left="left", right="right", top="selected", bottom=0, source=bins, line_width=0.5, name="chosen", **same)
    tooltips = [(word, "@left{0.00} to @right{0.00}"), ("labels", "@count{0,0}")]
    tools = [
        models.BoxSelectTool(dimensions="width", renderers=[bars]),
        models.TapTool(renderers=[bars]),
        models.HoverTool(renderers=[bars], tooltips=tooltips),
        models.WheelZoomTool(dimensions="height"),
        models.ResetTool(),
    ]
    _finish_tools(plot, tools)
    return plot


def _profile(points: Any, marked: Any, colour: Any, profile: Profile, names: list[str], word: str) -> Any:
    models = require("bokeh.models", "report", _CALLER)
    groups = len(names)
    plot = _figure(
        int(np.clip(28 * groups, 150, 8000)) + 80,
        [],
        x_range=models.Range1d(0, 1.01),
        y_range=models.Range1d(groups, 0),
        x_axis_label=word,
        y_axis_label="cluster, its labels sorted",
    )
    ticks = list(range(0, groups, -(-groups // _MAX_LABELS)))
    plot.yaxis.ticker = models.FixedTicker(ticks=[group + 0.5 for group in ticks])
    plot.yaxis.major_label_overrides = {group + 0.5: _plain(shorten(names[group], _LABEL_LENGTH)) for group in ticks}
    plot.yaxis.major_tick_line_color = None
    plot.ygrid.grid_line_color = None
    _add_threshold(plot, "profile")
    bands = [band for band in profile.bands if band[0].size]
    plot.patches([xs.tolist() for xs, _ in bands], [ys.tolist() for _, ys in bands], line_color=None, name="bands")
    dots = _add_labels(plot, points, marked, colour, "trust", "position", 5)
    _finish_tools(plot, _point_tools([dots], word))
    return plot


def _add_threshold(plot: Any, where: str) -> None:
    """Shade what lies at or below the threshold, with a line at its edge."""
    models = require("bokeh.models", "report", _CALLER)
    plot.add_layout(
        models.BoxAnnotation(
            right=0.5, fill_alpha=0.12, line_color=None, level="annotation", name=f"below-{where}", editable=False
        )
    )
    plot.add_layout(
        models.Span(location=0.5, dimension="height", line_width=1.5, line_dash="dashed", name=f"threshold-{where}")
    )
