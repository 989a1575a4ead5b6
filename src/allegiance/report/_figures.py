"""The three figures as one Bokeh document, their colours, and where points lie on the map.

The page's scripts fill in points and colours. A source holds what is drawn at the moment, not all points of the page:
a few thousand dots, or the pixels of a density.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.decomposition import PCA

from allegiance._core.validation import FloatArray, IntArray, Rows, dense, is_sparse, require, standardised
from allegiance.results import AffinityResult

from ._data import STEPS, Groups, Profile, all_affinities
from ._inputs import Inputs, shorten

_CALLER = "report()"
#: Height of map and profile: 26 pixels for a cluster, within these bounds.
_LOWEST, _HIGHEST, _BAND = 480, 720, 26
#: Pixels of a figure's height outside of its axes, and those that the name of a cluster needs.
_AROUND, _NAME_HEIGHT = 60, 13
_NAME_LENGTH = 18
#: Columns up to which the covariance matrix is decomposed; above, only its two largest directions are searched.
_MANY_COLUMNS = 1000
#: Entries up to which a sparse matrix is made dense.
_SMALL = 10_000_000
#: Colours of trust at equal steps from low to high: strong where a label is doubtful, calm where it is not.
_TRUST = ("#bd2f0c", "#cf5310", "#b07642", "#7f8794", "#6693cc")
_SIZE = 256
#: Colours of the verdicts: firm, borderline, doubtful, noise.
VERDICT_COLOURS = ("#6693cc", "#b8791d", "#bd2f0c", "#7d8590")
#: Colours of clusters, those that are told apart most easily first. All of them show on light and on dark pages.
_CLUSTERS = (
    "#3b7fc4", "#d2621a", "#3a9650", "#b5479c", "#97801f", "#7d68c8", "#1f97a3", "#c64b57", "#7f8a3a", "#8a6d5c",
    "#cd3737", "#6889d9", "#5f8b23", "#be2fac", "#279c88", "#ad722b", "#7859d6", "#2da028", "#d3507c", "#2976a3",
    "#899224", "#b852d4", "#207f4f", "#d46f54",
)  # fmt: skip


class Projection(NamedTuple):
    """Two coordinates for each point."""

    xy: FloatArray
    """(n, 2)"""
    labels: tuple[str, str]
    description: str
    """What the map shows, for the reader of the page."""


def project(result: AffinityResult, inputs: Inputs, groups: Groups) -> Projection:
    """Place the points where the user says, or by two principal components of their features or affinities.

    A single feature is drawn against trust; noise, which has none, lies at 0.
    """
    if inputs.coordinates is not None:
        xy, labels = inputs.coordinates
        return Projection(xy, labels, f"{labels[0]} and {labels[1]}, as given")
    if inputs.features is not None:
        rows, names, subject = inputs.features.rows, inputs.features.names, "the features"
    else:
        rows, subject = all_affinities(result), "the affinities"
        names = [f"affinity to {name}" for name in result.classes.tolist()]
        if result.classes.size == 2:  # They sum to 1, so the second adds nothing.
            rows, names = rows[:, :1], names[:1]
    if rows.shape[1] == 1:
        xy = np.column_stack([dense(rows)[:, 0], np.nan_to_num(groups.values)])
        return Projection(xy, (names[0], groups.word), f"{names[0]}, against {groups.word}")
    if rows.shape[1] == 2 or rows.shape[0] == 1:
        return Projection(dense(rows[:, :2]), (names[0], names[1]), f"{names[0]} and {names[1]}, as they are")
    if inputs.features is not None and result._how.influence.startswith("within"):  # which takes no notice of units
        rows, subject = standardised(rows), f"{subject}, standardised"
    components, shares = _principal_components(rows, result._how.seed)
    first, second = (f"principal component ({share:.0%} of the variance)" for share in shares)
    description = f"the first two principal components of {subject}"
    return Projection(components, (f"first {first}", f"second {second}"), description)


def _principal_components(values: Rows, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return coordinates (n, 2) and the shares (2,) of the variance."""
    n, d = values.shape
    if is_sparse(values) and (n <= 3 or n * d <= _SMALL):
        values = dense(values)
    solver = "covariance_eigh" if d <= _MANY_COLUMNS else "arpack" if is_sparse(values) else "randomized"
    pca = PCA(2, svd_solver=solver, random_state=seed % 2**32)
    with np.errstate(divide="ignore", invalid="ignore"):  # All points may be equal, without any variance.
        coordinates = pca.fit_transform(values)
    return np.asarray(coordinates, dtype=np.float64), np.nan_to_num(pca.explained_variance_ratio_)


def draw_figures(counts: IntArray, groups: Groups, projection: Projection, profile: Profile) -> dict[str, Any]:
    """Return the map, the histogram of counts (STEPS,) and the profile, as Bokeh embeds them."""
    names, word = groups.labels, groups.word
    height = int(np.clip(_BAND * len(names) + _AROUND, _LOWEST, _HIGHEST))
    roots = {
        "map": _draw_map(projection, word, height),
        "histogram": _draw_histogram(counts, word),
        "profile": _draw_profile(profile, names, word, height),
    }
    document = require("bokeh.document", "report", _CALLER).Document()
    for root in roots.values():
        document.add_root(root)
    elements = {root.id: f"figure-{name}" for name, root in roots.items()}
    return {
        "documents": {"report": document.to_json(deferred=False)},
        "items": [{"docid": "report", "roots": elements, "root_ids": list(elements)}],
    }


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
    return _models().PlainText(text=shorten(" ".join(text.split()), 60))


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


def _draw_map(projection: Projection, word: str, height: int) -> Any:
    """Return the map: pixels of a density below, crosses for noise, dots, and rings around marked points."""
    models = _models()
    plot = _figure(
        height,
        name="map",
        x_range=_extent(projection.xy[:, 0]),
        y_range=_extent(projection.xy[:, 1]),
        x_axis_label=_plain(projection.labels[0]),
        y_axis_label=_plain(projection.labels[1]),
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
    tooltips = [("", "@row"), ("label", "@label"), (word, "@value"), ("verdict", "@verdict"), ("rival", "@rival")]
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


def _draw_histogram(counts: IntArray, word: str) -> Any:
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


def _draw_profile(profile: Profile, names: list[str], word: str, height: int) -> Any:
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
    shown = {group + 0.5: shorten(names[group].strip(), _NAME_LENGTH) for group in ticks}
    plot.yaxis.major_label_overrides = {height: _plain(name) for height, name in shown.items()}
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


def trust_palette() -> list[str]:
    """Return the colours of trust from low to high."""
    return list(require("bokeh.palettes", "report", _CALLER).interp_palette(_TRUST, _SIZE))


def cluster_colours(k: int) -> list[str]:
    """Return a colour for each of k clusters; they recur, since more of them cannot be told apart."""
    return [_CLUSTERS[place % len(_CLUSTERS)] for place in range(k)]
