"""The map as a Bokeh figure: empty when the page is loaded, filled and painted by its scripts."""

from __future__ import annotations

from typing import Any

from allegiance._core import require

_CALLER = "explore()"


def map_figure() -> dict[str, Any]:
    """Return the figure as a document that BokehJS embeds, with where it goes on the page."""
    models = require("bokeh.models", "explorer", _CALLER)
    plot = require("bokeh.plotting", "explorer", _CALLER).figure(
        name="map",
        height=520,
        sizing_mode="stretch_width",
        output_backend="webgl",
        x_range=models.Range1d(0, 1),
        y_range=models.Range1d(0, 1),
        tools=[],
        toolbar_location="above",
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
    )
    plot.toolbar.logo = None
    plot.grid.grid_line_width = 0.5
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.minor_tick_line_color = None
    _add_layers(plot, models)
    # Points are found on the server, however many there are: tools only say where.
    none: dict[str, Any] = {"renderers": []}
    tools = [
        models.PanTool(),
        models.BoxSelectTool(**none),
        models.LassoSelectTool(**none),
        models.WheelZoomTool(),
        models.BoxZoomTool(),
        models.ResetTool(),
    ]
    plot.add_tools(*tools)
    plot.toolbar.active_drag, plot.toolbar.active_scroll = tools[1], tools[3]
    document = require("bokeh.document", "explorer", _CALLER).Document()
    document.add_root(plot)
    return {
        "documents": {"map": document.to_json(deferred=False)},
        "items": [{"docid": "map", "roots": {plot.id: "map"}, "root_ids": [plot.id]}],
    }


def _add_layers(plot: Any, models: Any) -> None:
    """Add, from bottom to top: how dense points lie, points, rings around two of them, names of clusters."""

    def source(name: str, *columns: str) -> Any:
        return models.ColumnDataSource({column: [] for column in columns}, name=name)

    colours = models.LinearColorMapper(["#808080"], low=0, high=1, name="colours")
    plot.image_rgba(
        "image", x="x", y="y", dw="dw", dh="dh", source=source("density", "image", "x", "y", "dw", "dh"), name="density"
    )
    plot.scatter(
        "x",
        "y",
        source=source("dots", "x", "y", "value"),
        size=7,
        fill_color={"field": "value", "transform": colours},
        line_color=None,
        fill_alpha=0.85,
        nonselection_fill_color="gray",
        nonselection_fill_alpha=0.12,
        name="dots",
    )
    for name, size, width in (("pointed", 14, 2), ("marked", 18, 3)):
        plot.scatter("x", "y", source=source(name, "x", "y"), size=size, fill_color=None, line_width=width, name=name)
    plot.text(
        "x",
        "y",
        text="name",
        source=source("names", "x", "y", "name"),
        text_align="center",
        text_baseline="middle",
        text_font_size="13px",
        text_font_style="bold",
        background_fill_alpha=0.75,
        padding=3,
        border_radius=4,
        name="names",
    )
