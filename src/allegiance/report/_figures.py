"""The page's figures as one Bokeh document, their colors, and the map coordinates.

The page's scripts fill in points and colors. A source only contains the visible points: a few thousand dots, or the
pixels of a density.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from allegiance._core.validation import FloatArray, IntArray, Rows, dense, is_sparse, require, standardize
from allegiance.results import AffinityResult

from ._clusters import Groups
from ._inputs import Inputs
from ._points import STEPS

_CALLER = "report()"
#: Height of the map and of the histogram in pixels.
_MAP_HEIGHT, _HISTOGRAM_HEIGHT = 520, 220
#: Most columns for a full decomposition of the covariance matrix.
_MANY_COLUMNS = 1000
#: Most entries of a sparse matrix that is converted to dense.
_SMALL = 10_000_000
#: Rows for fitting discriminant axes, and principal components they are computed from.
_DISCRIMINANT_ROWS, _COMPONENTS = 20_000, 50
#: Share of points on either side that the map may clip, and the margin as a share of the remaining range.
_TAIL, _MARGIN = 0.03, 1.0
#: Cells per side of the grid on which axes are compared.
_GRID = 40
#: Colors of trust at equal steps from low to high: strong where a label is doubtful, calm where it is not.
_TRUST = ("#bd2f0c", "#cf5310", "#b07642", "#7f8794", "#6693cc")
#: Colors of the values of a column, from low to high.
_VALUES = ("#3d4fa8", "#2f86b8", "#4aa88f", "#a3b44a", "#e0a128")
_SIZE = 256
#: Colors of the verdicts: firm, borderline, doubtful, noise.
VERDICT_COLORS = ("#6693cc", "#b8791d", "#bd2f0c", "#7d8590")
#: Colors of clusters, the most distinct first, for light and dark pages.
_CLUSTERS = (
    "#3b7fc4", "#d2621a", "#3a9650", "#b5479c", "#97801f", "#7d68c8", "#1f97a3", "#c64b57", "#7f8a3a", "#8a6d5c",
    "#cd3737", "#6889d9", "#5f8b23", "#be2fac", "#279c88", "#ad722b", "#7859d6", "#2da028", "#d3507c", "#2976a3",
    "#899224", "#b852d4", "#207f4f", "#d46f54",
)  # fmt: skip


class Projection(NamedTuple):
    """The map coordinates of each point."""

    name: str
    """The name of the axes in the menu."""
    xy: FloatArray
    """(n, 2)"""
    labels: tuple[str, str]
    description: str
    """The caption of the map."""

    @property
    def limits(self) -> list[list[float]]:
        """The limits of both axes of the page's map, without extreme outliers."""
        low, high = self.xy.min(axis=0), self.xy.max(axis=0)
        inner_low, inner_high = np.quantile(self.xy, [_TAIL, 1 - _TAIL], axis=0)
        margin = _MARGIN * (inner_high - inner_low)
        robust = margin > 0
        low = np.where(robust, np.maximum(low, inner_low - margin), low)
        high = np.where(robust, np.minimum(high, inner_high + margin), high)
        air = np.where(high > low, 0.04 * (high - low), 0.04 * np.maximum(np.abs(low), 1.0))
        return np.column_stack([low - air, high + air]).tolist()


def project(result: AffinityResult, inputs: Inputs, groups: Groups) -> list[Projection]:
    """Return the axes of the map to choose from: the user's, discriminant axes, principal components.

    A single feature is drawn against trust, with noise at 0.
    """
    first = []
    if inputs.coordinates is not None:
        first.append(_of_columns(*inputs.coordinates))
    if inputs.features is not None:
        rows, names, subject = inputs.features.rows, inputs.features.names, "the columns"
    else:
        rows, subject = result._all_affinities(), "the affinities"
        names = [f"affinity to {name}" for name in result.classes.tolist()]
        if result.classes.size == 2:  # They sum to 1, so the second adds nothing.
            rows, names = rows[:, :1], names[:1]
    if rows.shape[1] == 1:
        rows, names = np.column_stack([dense(rows)[:, 0], np.nan_to_num(groups.values)]), [names[0], groups.word]
    if rows.shape[1] == 2 or rows.shape[0] < 4:
        return [*first, _of_columns(dense(rows[:, :2]), (names[0], names[1]))]
    if inputs.features is not None and result._measurement.influence.startswith("within"):  # it ignores units
        rows, subject = standardize(rows), f"{subject}, standardized"
    components, shares = _principal_components(rows, _COMPONENTS, result._measurement.seed)
    description = f"the first two principal components of {subject}"
    one, two = (f"principal component ({share:.0%} of the variance)" for share in shares[:2])
    choices = [Projection("principal components", components[:, :2], (f"first {one}", f"second {two}"), description)]
    if inputs.features is not None and (axes := _discriminant_axes(components, result)) is not None:
        labels = ("first discriminant axis", "second discriminant axis")
        caption = "the two directions in the columns that separate the clusters best"
        choices.append(Projection("discriminant axes", axes, labels, caption))
        # Discriminant axes may reduce clusters to a few places, for example if they are categories.
        if 4 * _count_cells(choices[1]) >= _count_cells(choices[0]):
            choices.reverse()
    return [*first, *choices]


def _of_columns(xy: FloatArray, names: tuple[str, str]) -> Projection:
    """Return two columns as axes of the page's map."""
    return Projection(", ".join(names), xy, names, " and ".join(names))


def _count_cells(projection: Projection) -> int:
    """Return the number of cells of a grid over the map figure that contain points."""
    low, high = np.array(projection.limits).T
    cells = np.clip((_GRID * (projection.xy - low) / (high - low)).astype(int), 0, _GRID - 1)
    return int(np.unique(cells @ [1, _GRID]).size)


def _principal_components(values: Rows, most: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return coordinates (n, m) on the page's map, at least two principal components, and shares of variance (m,)."""
    n, d = values.shape
    if is_sparse(values) and (n <= 3 or n * d <= _SMALL):
        values = dense(values)
    number = max(2, min(most, n - 1, d - 1 if is_sparse(values) else d))
    solver = "covariance_eigh" if d <= _MANY_COLUMNS else "arpack" if is_sparse(values) else "randomized"
    pca = PCA(number, svd_solver=solver, random_state=seed % 2**32)
    with np.errstate(divide="ignore", invalid="ignore"):  # All points may be equal.
        coordinates = pca.fit_transform(values)
    return np.asarray(coordinates, dtype=np.float64), np.nan_to_num(pca.explained_variance_ratio_)


def _discriminant_axes(components: FloatArray, result: AffinityResult) -> FloatArray | None:
    """Return the map figure's axes (n, 2) that separate the clusters best; None if there are fewer than three."""
    members = np.flatnonzero(~result._noise)
    members = members[:: max(1, members.size // _DISCRIMINANT_ROWS)]
    codes = result._codes[members]
    if np.unique(codes).size < 3 or members.size <= 2 * np.unique(codes).size:
        return None
    # Components without variance have no scale.
    used = components[:, components.std(axis=0) > 1e-9 * max(float(components.std()), 1e-300)]
    if used.shape[1] < 2:
        return None
    axes = LinearDiscriminantAnalysis(n_components=2).fit(used[members], codes).transform(used)
    return np.asarray(axes, dtype=np.float64) if axes.shape[1] == 2 and np.isfinite(axes).all() else None


def draw_figures(levels: IntArray, groups: Groups, projection: Projection) -> dict[str, Any]:
    """Return the map, and the histogram of all labels by level (k, STEPS + 1), as Bokeh embeds them."""
    roots = {
        "map": _draw_map(projection, groups.word),
        "histogram": _draw_histogram(counts_in_bins(levels.sum(axis=0)), groups.word),
    }
    document = require("bokeh.document", "report", _CALLER).Document()
    for root in roots.values():
        document.add_root(root)
    elements = {root.id: f"figure-{name}" for name, root in roots.items()}
    return {
        "documents": {"report": document.to_json(deferred=False)},
        "items": [{"docid": "report", "roots": elements, "root_ids": list(elements)}],
    }


def _figure(height: int, **settings: Any) -> Any:
    """Return an empty Bokeh figure in the page's style."""
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


def _source(name: str, *columns: str) -> Any:
    """Return the empty data source of a figure, which the page's scripts fill."""
    models = require("bokeh.models", "report", _CALLER)
    return models.ColumnDataSource({column: [] for column in columns}, name=f"{name}-data")


def _add_tools(plot: Any, *tools: Any) -> None:
    """Add tools to a figure; the first one is active for dragging."""
    plot.add_tools(*tools)
    plot.toolbar.active_drag = tools[0]
    plot.toolbar.active_scroll = None


def _draw_map(projection: Projection, word: str) -> Any:
    """Return the map figure: a density, crosses for noise, dots, weak labels, cluster names, and a ring."""
    models = require("bokeh.models", "report", _CALLER)
    (left, right), (bottom, top) = projection.limits
    plot = _figure(
        _MAP_HEIGHT,
        name="map",
        x_range=models.Range1d(left, right),
        y_range=models.Range1d(bottom, top),
    )
    density = models.ColumnDataSource(
        {"image": [np.zeros((1, 1), np.uint32)], "x": [0.0], "y": [0.0], "dw": [0.0], "dh": [0.0]}, name="density-data"
    )
    plot.image_rgba("image", "x", "y", "dw", "dh", source=density, level="underlay")
    others = _source("others", "x", "y")
    plot.scatter("x", "y", source=others, size=5, fill_alpha=0.18, line_color=None, name="others")
    columns = ("x", "y", "color", "row", "label", "value", "verdict", "rival")
    # Outlines of overlapping points would hide the colors, so the scripts set their width.
    dots = plot.scatter(
        "x", "y", source=_source("dots", *columns), size=7, fill_color="color", fill_alpha=0.85, line_width=0.5,
        name="dots",
    )  # fmt: skip
    crosses = _source("crosses", *columns)
    noise = plot.scatter("x", "y", source=crosses, marker="x", size=6, line_alpha=0.8, name="crosses")
    weak = plot.scatter(
        "x", "y", source=_source("weak", *columns, "edge", "width"), size=7, fill_color="color", fill_alpha=0.9,
        line_color="edge", line_width="width", name="weak",
    )  # fmt: skip
    plot.scatter("x", "y", source=_source("ring", "x", "y"), size=18, fill_color=None, line_width=3, name="ring")
    plot.text(
        "x", "y", "text", source=_source("names", "x", "y", "text", "align"), text_align={"field": "align"},
        text_baseline="middle", text_font_size="12px", text_font_style="bold", background_fill_alpha=0.75, padding=3,
        border_radius=3, name="names",
    )  # fmt: skip
    tooltips = [("", "@row"), ("cluster", "@label"), (word, "@value"), ("verdict", "@verdict"), ("rival", "@rival")]
    plot.toolbar_location = "above"
    plot.toolbar.logo = None
    _add_tools(
        plot,
        models.BoxSelectTool(renderers=[]),
        models.LassoSelectTool(renderers=[], continuous=False),
        models.PanTool(),
        models.WheelZoomTool(),
        models.HoverTool(renderers=[dots, noise, weak], tooltips=tooltips, limit=1),
        models.ResetTool(),
    )
    return plot


def _draw_histogram(counts: IntArray, word: str) -> Any:
    """Return the histogram figure: bars of all labels, and in front of them the selected labels."""
    models = require("bokeh.models", "report", _CALLER)
    edges = np.arange(STEPS + 1) / STEPS
    first = int(np.flatnonzero(counts)[0]) if counts.any() else 0
    start = float(min(np.floor(first / 10) / 10, 0.4))
    bins = models.ColumnDataSource(
        {"left": edges[:-1], "right": edges[1:], "count": counts.astype(np.int32), "chosen": np.zeros(STEPS)},
        name="bins-data",
    )
    plot = _figure(
        _HISTOGRAM_HEIGHT,
        name="histogram",
        x_range=models.Range1d(start - 0.005, 1.005),
        y_range=models.Range1d(0, 1.05 * max(int(counts.max()), 1)),
        x_axis_label=word,
        y_axis_label="labels",
    )
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0")
    shaded = {"right": 0.5, "fill_alpha": 0.12, "line_color": None, "level": "annotation", "editable": False}
    plot.add_layout(models.BoxAnnotation(**shaded, name="below"))
    plot.add_layout(models.Span(location=0.5, dimension="height", line_width=1.5, line_dash="dashed", name="threshold"))
    bars = plot.quad(left="left", right="right", top="count", bottom=0, source=bins, line_width=0.5, name="bars")
    plot.quad(left="left", right="right", top="chosen", bottom=0, source=bins, line_width=0.5, name="chosen")
    tooltips = [(word, "@left{0.00} to @right{0.00}"), ("labels", "@count{0,0}"), ("selected", "@chosen{0,0}")]
    _add_tools(
        plot,
        models.BoxSelectTool(dimensions="width", renderers=[]),
        models.HoverTool(renderers=[bars], tooltips=tooltips),
    )
    return plot


def counts_in_bins(levels: IntArray) -> IntArray:
    """Return the bars (STEPS,) of the histogram from counts by level; only the first bin includes its left end."""
    return np.append(levels[0] + levels[1], levels[2:])


def palettes(k: int) -> dict[str, list[str]]:
    """Return the colors of the page's figures: trust, clusters (repeated after the last one), verdicts and values."""
    interpolate = require("bokeh.palettes", "report", _CALLER).interp_palette
    return {
        "trust": list(interpolate(_TRUST, _SIZE)),
        "values": list(interpolate(_VALUES, _SIZE)),
        "cluster": [*(_CLUSTERS[place % len(_CLUSTERS)] for place in range(k)), VERDICT_COLORS[-1]],
        "verdict": list(VERDICT_COLORS),
        "levels": [*_CLUSTERS[:10], VERDICT_COLORS[-1]],
    }
