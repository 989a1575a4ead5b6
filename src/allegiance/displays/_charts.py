"""Trust in the labels of each cluster, which clusters are confused, and trust against a parameter of the clusterer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import FloatArray, check_choice, require
from allegiance.notebook import count
from allegiance.results import FIRM, FrameLike

from ._canvas import (
    ALARM,
    COLOR_SCALE,
    ResultDisplay,
    cluster_style,
    get_axes,
    measure_axes,
    outline,
    set_title,
    shorten,
    text_color,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allegiance.applications import StabilityCurve
    from allegiance.drivers import Drivers
    from allegiance.results import AffinityResult

#: Steps that a band is drawn with at most, and the share of the height that separates bands.
_STEPS, _GAP = 400, 0.14
#: Largest and smallest size of the texts, and the height in points that one line of text needs per point of size.
_LARGEST, _SMALLEST, _LINE = 9.0, 3.5, 1.25


class AffinityProfileDisplay(ResultDisplay):
    """One horizontal band per cluster, its labels sorted by trust, those that are not firm hatched.

    Read it like a silhouette plot: full bands are trusted clusters, tapering and hatched ones are not. Without
    calibration, own affinity takes the place of trust. Noise, which has no label to trust, has no band.

    Parameters
    ----------
    result
        The result of :func:`allegiance.trust` or :func:`allegiance.affinity`.
    names
        Names of clusters by label, which are shown with the labels.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.displays import AffinityProfileDisplay
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> AffinityProfileDisplay(result).frame()["own_affinity"].round(2).tolist()
    [1.0, 0.9, 0.6, 1.0, 0.9]
    """

    def __init__(self, result: AffinityResult, names: Mapping[Any, str] | None = None) -> None:
        super().__init__(result, names)
        doubtful = result._verdicts != FIRM
        self.rows = [rows[np.lexsort((-self.ranking[rows], doubtful[rows]))] for rows in self.members()]
        """One array per band: first the firm labels, then the others, the most trusted of each first."""

    def plot(self, ax: Any = None) -> AffinityProfileDisplay:
        """Draw the bands of the profile, by default in a new figure, and return the display.

        Bands are as high as clusters are large, if names fit.
        """
        names = [shorten(name, 32) for name in self.names]
        size = 6.7 + 0.07 * max(map(len, names)), float(np.clip(1.6 + 0.42 * len(names), 3.0, 11.0))
        ax = get_axes(ax, "AffinityProfileDisplay.plot", size)
        self.ax_, self.figure_ = ax, ax.figure
        subject = self.ranking_name.replace("_", " ")
        meaning = "replication of the label" if subject == "trust" else "share of its territory from its own cluster"
        ax.set(xlim=(0.0, 1.0), ylim=(1.0, 0.0), xlabel=f"{subject}: {meaning}")
        n_noise = int(self.result._noise.sum())
        noise = f"; {count(n_noise, 'noise point')} left out" if n_noise else ""
        set_title(ax, f"Labels of each cluster, sorted by {subject}", f"hatched: not firm{noise}")
        height = measure_axes(ax)[1]
        by_size = float(self._layout(by_size=True)[1].min()) * height >= _LARGEST * _LINE
        tops, heights = self._layout(by_size)
        font = float(np.clip(float(heights.min()) * height / _LINE, _SMALLEST, _LARGEST))
        self.bands_ = []
        for i, rows in enumerate(self.rows):
            firm = int((self.result._verdicts[rows] == FIRM).sum())
            self.bands_.extend(_draw_band(ax, self.ranking[rows], firm, tops[i], heights[i], cluster_style(i)[0]))
        self.threshold_ = None
        if self.ranking_name == "trust":
            self.threshold_ = ax.axvline(0.5, color=ALARM, linestyle="--", linewidth=1.5, path_effects=outline(ax, 3.0))
        self._name_bands(ax, names, tops + heights / 2.0, font)
        ax.set_ylabel("cluster (height shows its size)" if by_size else "cluster (equal heights)")
        return self

    def frame(self) -> Any:
        """Return one row per label, cluster by cluster: ``cluster``, ``rank``, ``row``, ``trust``, ``verdict``.

        Without calibration there is ``own_affinity`` instead of ``trust``.
        """
        row, result = np.concatenate(self.rows), self.result
        rank = np.concatenate([np.arange(rows.size) for rows in self.rows])
        ranked = {self.ranking_name: self.ranking[row], "verdict": result._verdicts[row]}
        return FrameLike().build({"cluster": result.label[row], "rank": rank, "row": row, **ranked})

    def _layout(self, by_size: bool) -> tuple[FloatArray, FloatArray]:
        """Return the top (m,) and the height (m,) of each band of the profile, between 0 at the top and 1."""
        sizes = np.array([rows.size for rows in self.rows], dtype=np.float64)
        gap = _GAP / sizes.size
        heights = (1.0 - _GAP) * (sizes / max(sizes.sum(), 1.0) if by_size else np.full_like(sizes, 1.0 / sizes.size))
        return np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]]) + gap / 2.0, heights

    def _name_bands(self, ax: Axes, names: list[str], middles: FloatArray, size: float) -> None:
        """Write the name of each cluster to its left; to its right how many labels it has, and the doubtful share."""
        ax.set_yticks(middles, names, fontsize=size)
        ax.tick_params(axis="y", length=0)
        style: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": min(size, 8.0)}
        self.labels_ = []
        for y, rows in zip(middles, self.rows, strict=True):
            doubtful = self.result._verdicts[rows] != FIRM
            text = f"{count(doubtful.size, 'point')}, {doubtful.mean():.0%} hatched" if doubtful.size else "no points"
            self.labels_.append(ax.text(1.01, y, text, color=text_color(ax), **style))


def _draw_band(ax: Axes, values: FloatArray, firm: int, top: float, height: float, color: str) -> list[Any]:
    """Fill one band of the profile from top to bottom: the first ``firm`` values plain, the others hatched."""
    artists = []
    for start, stop, hatch in ((0, firm, None), (firm, values.size, "/////")):
        if start == stop:
            continue
        edges = np.unique(np.linspace(start, stop, min(stop - start, _STEPS) + 1).round().astype(int))
        x = values[(edges[:-1] + edges[1:]) // 2]
        y = top + height * np.repeat(edges, 2)[1:-1] / values.size
        style: dict[str, Any] = {"facecolor": color, "alpha": 0.9, "linewidth": 0.0}
        if hatch:
            style = {"facecolor": (color, 0.3), "edgecolor": text_color(ax), "hatch": hatch, "linewidth": 0.4}
        artists.append(ax.fill_betweenx(y, 0.0, np.repeat(x, 2), **style))
    return artists


#: Width of a digit as a share of the font size, the share of a square that a number may fill, and sizes in points.
_DIGIT, _FILL, _LARGEST_NUMBER, _SMALLEST_NUMBER = 0.62, 0.85, 10.0, 3.5
#: Names longer than this are cut.
_LONG = 30


class FlowDisplay(ResultDisplay):
    """From label to rival, k x k: which clusters are confused, by the labels that are not firm or by all.

    The rival of a point is the best cluster other than its own; for noise, the best of all.

    Parameters
    ----------
    result
        The result of :func:`allegiance.trust` or :func:`allegiance.affinity`, with at least two clusters.
    which
        Count only "weak" points, which are noise and labels that are not firm, or "all".
    names
        Names of clusters by label, which are shown with the labels.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.displays import FlowDisplay
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> FlowDisplay(result, which="all").counts.tolist()
    [[0, 3], [2, 0]]
    """

    def __init__(self, result: AffinityResult, which: str = "weak", names: Mapping[Any, str] | None = None) -> None:
        super().__init__(result, names)
        check_choice(which, "which", ("weak", "all"))
        self.which = which
        k = result.classes.size
        if k < 2:
            raise ValueError("FlowDisplay needs at least two clusters: with one, no point has a rival.")
        m = k + bool(result._noise.any())
        row = np.where(result._codes < 0, k, result._codes)
        counted = slice(None) if which == "all" else result._verdicts != FIRM
        self.points = np.bincount(row, minlength=m)
        """(m,) all points of each label, noise last."""
        self.counts = np.bincount((row * k + result._ranks.rival)[counted], minlength=m * k).reshape(m, k)
        """(m, k) points of each label with each rival."""

    def plot(self, ax: Any = None, *, cmap: Any = None) -> FlowDisplay:
        """Draw the flow chart from label to rival, by default in a new figure, and return the display.

        In the default color map ``cmap``, small numbers are close to the color of the page.
        """
        side = float(np.clip(2.2 + 0.4 * self.counts.shape[1], 4.2, 13.0))
        room = 0.07 * min(max(map(len, self.names)), _LONG)
        ax = get_axes(ax, "FlowDisplay.plot", (side + 0.8 + room, side + 0.3))
        self.ax_, self.figure_ = ax, ax.figure
        values = self.counts.astype(np.float64)
        if cmap is None:
            is_dark = require("matplotlib.colors", "plot", "FlowDisplay.plot").to_rgb(text_color(ax))[1] > 0.5
            cmap = COLOR_SCALE if is_dark else "Blues"
        self.image_ = ax.imshow(
            np.ma.masked_equal(values, 0.0), cmap=cmap, vmin=0.0, vmax=max(float(values.max()), 1.0), aspect="auto"
        )
        self._draw_frame(ax)
        counted = "points that are not firm" if self.which == "weak" else "points"
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label=counted)
        k = self.counts.shape[1]
        n_counted, n_labels, n_noise = (int(part.sum()) for part in (self.counts[:k], self.points[:k], self.counts[k:]))
        note = f"{n_counted:,} of {count(n_labels, 'label')} are not firm"
        note = count(n_counted, "label") if self.which == "all" else note
        note += f"; {count(n_noise, 'noise point')}" if n_noise else ""
        set_title(ax, "Which clusters are confused: from label to rival", note)
        self.texts_ = self._write_numbers(ax, values)
        return self

    def frame(self) -> Any:
        """Return one row per pair: ``label``, ``rival``, ``points`` and their ``share`` of all points of the label."""
        m, k = self.counts.shape
        classes = self.result.classes
        labels = classes if m == k else np.array([*map(str, classes), "noise"])
        row, column = np.nonzero(~np.eye(m, k, dtype=bool))
        counts = self.counts[row, column]
        numbers = {"points": counts, "share": counts / np.maximum(self.points, 1)[row]}
        return FrameLike().build({"label": labels[row], "rival": classes[column], **numbers})

    def _draw_frame(self, ax: Axes) -> None:
        """Name rows and columns of the flow chart, draw a grid, and gray the diagonal, where nothing can be."""
        m, k = self.counts.shape
        names = [shorten(name, _LONG) for name in self.names]
        # Columns have the labels alone: their names are to the left of the rows.
        labels = [shorten(str(label), _LONG) for label in self.result.classes.tolist()]
        upright = max(map(len, labels)) * k > 40
        size = float(np.clip(220.0 / max(m, k), 5.0, 9.0))
        ax.set_xticks(range(k), labels, rotation=90 if upright else 0, fontsize=size)
        ax.set_yticks(range(m), [*names, *(["noise"] if m > k else [])], fontsize=size)
        ax.set(xlabel="rival: the best cluster other than the label", ylabel="label")
        ax.set(xlim=(-0.5, k - 0.5), ylim=(m - 0.5, -0.5))
        line: dict[str, Any] = {"color": text_color(ax), "linewidth": 0.3, "alpha": 0.4}
        ax.hlines(np.arange(m + 1) - 0.5, -0.5, k - 0.5, **line)
        ax.vlines(np.arange(k + 1) - 0.5, -0.5, m - 0.5, **line)
        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        for i in range(min(m, k)):
            ax.fill(*(corners + i).T, color=text_color(ax), alpha=0.12, linewidth=0)

    def _write_numbers(self, ax: Axes, values: FloatArray) -> list[Any]:
        """Write the numbers of the flow chart in the largest size at which all fit; none if they would be too small."""
        colors = require("matplotlib.colors", "plot", "FlowDisplay.plot")
        centered: dict[str, Any] = {"ha": "center", "va": "center"}
        rows, columns = np.nonzero(values)
        texts = [f"{value:.0f}" if value < 10_000 else f"{value / 1000:.0f}k" for value in values[rows, columns]]
        if not texts:
            return [ax.text(0.5, 0.5, "no such points", transform=ax.transAxes, color=text_color(ax), **centered)]
        width, height = np.divide(measure_axes(ax), values.shape[::-1])
        size = float(_FILL * min(width / (_DIGIT * max(map(len, texts))), height / 1.3))
        if size < _SMALLEST_NUMBER:
            return []
        artists = []
        for row, column, text in zip(rows.tolist(), columns.tolist(), texts, strict=True):
            red, green, blue = colors.to_rgb(self.image_.cmap(self.image_.norm(values[row, column])))
            color = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            artists.append(ax.text(column, row, text, fontsize=min(size, _LARGEST_NUMBER), color=color, **centered))
        return artists


#: Values of the parameter written along the axis at most.
_TICKS = 15


class StabilityCurveDisplay:
    """Chart of replication above chance against a parameter, for the data and for unclustered data.

    Where the two curves coincide, labels replicate no better than in unclustered data.

    Parameters
    ----------
    curve
        The result of :func:`allegiance.stability_curve`.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import stability_curve
    >>> X, _ = make_blobs(200, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> curve = stability_curve(X, KMeans(n_init=2), range(2, 5), n_references=2)
    >>> curve.plot().curve.suggestion
    3
    """

    def __init__(self, curve: StabilityCurve) -> None:
        self.curve = curve

    def plot(self, ax: Any = None) -> StabilityCurveDisplay:
        """Draw this display of a stability curve, by default in a new figure, and return it."""
        ax = get_axes(ax, "StabilityCurveDisplay.plot", (6.4, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        name = self.curve.param
        x, above_chance, low, high, reference, reference_high, *_ = self.curve._columns().values()
        color, _ = cluster_style(0)
        gray: dict[str, Any] = {"color": text_color(ax), "linewidth": 1.2, "linestyle": "--"}
        band = ax.fill_between(x, reference, reference_high, color=gray["color"], alpha=0.12, linewidth=0)
        self.reference_ = [*ax.plot(x, reference, **gray, label="unclustered data"), band]
        self.band_ = ax.fill_between(x, low, high, color=color, alpha=0.25, linewidth=0)
        (self.line_,) = ax.plot(x, above_chance, color=color, marker="o", markersize=4, label="the data")
        self.suggestion_, suggestion = None, self.curve.suggestion
        if suggestion is not None:
            place = int(np.flatnonzero(x == suggestion)[0])
            style: dict[str, Any] = {"color": ALARM, "markersize": 9, "label": f"suggested: {suggestion}"}
            (self.suggestion_,) = ax.plot(x[place], above_chance[place], "o", **style)
        named = "number of clusters" if name == "n_clusters" else name.replace("_", " ")
        ax.set(xlabel=named, ylabel="replication above chance", ylim=(min(0.0, *ax.get_ylim()), 1.03))
        ax.set_xticks(x[:: -(-x.size // _TICKS)])
        ax.legend(frameon=False, loc="best")
        set_title(ax, "Replication on subsamples", "bands: middle 50%; median to largest")
        return self

    def frame(self) -> Any:
        """Return the numbers behind this display of a stability curve: one row per value of the parameter."""
        return self.curve.frame()


def plot_shares(drivers: Drivers, ax: Any = None) -> Axes:
    """Draw the column shares of :class:`allegiance.drivers.Drivers` as a bar chart, and return the axes."""
    shares = list(drivers.shares.items())[:12][::-1]
    ax = get_axes(ax, "Drivers.plot()", (6.4, 1.2 + 0.3 * len(shares)))
    ax.barh([shorten(name, 40) for name, _ in shares], [100 * share for _, share in shares])
    ax.set_xlabel("share of the separation between clusters (%)")
    return ax
