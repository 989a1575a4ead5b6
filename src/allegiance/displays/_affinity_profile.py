"""Sorted confidences, one band per cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray, check_choice
from allegiance.results import AffinityResult

from ._canvas import axes_to_draw_on, cased, frame_of, ink_of, set_title, settle
from ._inputs import check_result, names_as_array, points_by_label, shortened
from ._palette import ALARM, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Steps that a band is drawn with at most, and the share of the height that separates bands.
_STEPS, _GAP = 400, 0.14
#: Largest and smallest size of the texts, and the height in points that one line of text needs per point of size.
_LARGEST, _SMALLEST, _LINE = 9.0, 3.5, 1.25


class AffinityProfileDisplay:
    """One horizontal band per cluster, its points sorted by confidence, the unstable part hatched.

    To be read like a silhouette plot: full bands are trusted clusters, bands that taper below 1/2 are not.

    Parameters
    ----------
    clusters
        (m,) the label of each band, noise last.
    confidences
        One array per band, largest confidence first.
    rows
        One array per band: the row of each point in the data.
    n_clusters
        How many of the bands are clusters; one more is noise.

    See Also
    --------
    FlowDisplay : Which clusters the unstable points lean to.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.displays import AffinityProfileDisplay
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> AffinityProfileDisplay.from_result(result).frame()["confidence"].round(2).tolist()
    [1.0, 0.9, 0.6, 1.0, 0.9]
    """

    def __init__(
        self, *, clusters: AnyArray, confidences: tuple[FloatArray, ...], rows: tuple[IntArray, ...], n_clusters: int
    ) -> None:
        self.clusters = clusters
        self.confidences = confidences
        self.rows = rows
        self.n_clusters = n_clusters

    @classmethod
    def from_result(cls, result: AffinityResult, *, ax: Any = None, **kw: Any) -> AffinityProfileDisplay:
        """Sort the confidences of a result, and draw.

        Parameters
        ----------
        result
            What :func:`allegiance.affinity` returns.
        ax
            Axes to draw on; by default those of a new figure, as high as the number of clusters needs.
        **kw
            For :meth:`plot`.
        """
        result = check_result(result, "AffinityProfileDisplay")
        names, confidences, rows = [], [], []
        for name, members in points_by_label(result):
            order = members[np.argsort(-result.confidence[members], kind="stable")]
            names.append(name)
            rows.append(order)
            confidences.append(result.confidence[order])
        display = cls(
            clusters=names_as_array(names),
            confidences=tuple(confidences),
            rows=tuple(rows),
            n_clusters=result.n_clusters,
        )
        return display.plot(ax=ax, **kw)

    def plot(self, ax: Any = None, *, bands: str = "auto", alpha: float = 0.9) -> AffinityProfileDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        bands
            "size": bands as high as their clusters are large. "equal": all of one height. "auto": by size if every band
            has room for its name.
        alpha
            Opacity of the bands.
        """
        check_choice(bands, "bands", ("auto", "size", "equal"))
        m = len(self.confidences)
        ax = axes_to_draw_on(ax, "AffinityProfileDisplay.plot", (7.2, float(np.clip(1.6 + 0.42 * m, 3.0, 11.0))))
        self.ax_, self.figure_ = ax, ax.figure
        ax.set(xlim=(0.0, 1.0), ylim=(1.0, 0.0), xlabel="confidence: the largest affinity")
        set_title(
            ax, "Sorted confidence of the points of each cluster", "hatched: unstable, no cluster gives more than half"
        )
        by_size, size = self._choose(ax, bands)
        tops, heights = self._layout(by_size)
        self.bands_ = []
        for i, values in enumerate(self.confidences):
            color, opacity = (look_of(i).color, alpha) if i < self.n_clusters else (ink_of(ax), alpha / 2.0)
            self.bands_.extend(_draw_band(ax, values, tops[i], heights[i], color, opacity))
        self.threshold_ = ax.axvline(0.5, color=ALARM, linestyle="--", linewidth=1.5, path_effects=cased(ax, 3.0))
        self._name_bands(ax, tops + heights / 2.0, size)
        ax.set_ylabel("cluster (bands as high as it is large)" if by_size else "cluster (bands of equal height)")
        return self

    def frame(self, like: Any = None) -> Any:
        """Return one row per point, cluster by cluster: ``cluster``, ``rank``, ``row``, ``confidence``, ``stable``.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        """
        sizes = [values.size for values in self.confidences]
        confidence = np.concatenate(self.confidences)
        columns: dict[str, AnyArray] = {
            "cluster": np.repeat(self.clusters, sizes),
            "rank": np.concatenate([np.arange(size) for size in sizes]),
            "row": np.concatenate(self.rows),
            "confidence": confidence,
            "stable": confidence > 0.5,
        }
        return frame_of(columns, like)

    def _choose(self, ax: Axes, bands: str) -> tuple[bool, float]:
        """Return whether bands are drawn by size, and the size of their names in points."""
        settle(ax)
        height = ax.get_window_extent().height * 72.0 / ax.figure.figure.dpi
        narrow = {by_size: float(self._layout(by_size)[1].min()) * height for by_size in (True, False)}
        by_size = bands == "size" or (bands == "auto" and narrow[True] >= _LARGEST * _LINE)
        return by_size, float(np.clip(narrow[by_size] / _LINE, _SMALLEST, _LARGEST))

    def _layout(self, by_size: bool) -> tuple[FloatArray, FloatArray]:
        """Return the top (m,) and the height (m,) of each band, between 0 at the top and 1."""
        sizes = np.array([values.size for values in self.confidences], dtype=np.float64)
        m = sizes.size
        gap = _GAP / m
        heights = (1.0 - _GAP) * (sizes / sizes.sum() if by_size else np.full(m, 1.0 / m))
        tops = np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]]) + gap / 2.0
        return tops, heights

    def _name_bands(self, ax: Axes, middles: FloatArray, size: float) -> None:
        """Write the name of each cluster to its left; to its right how many points it has, and their unstable share."""
        ax.set_yticks(middles, [shortened(str(name), 24) for name in self.clusters], fontsize=size)
        ax.tick_params(axis="y", length=0)
        self.labels_ = []
        for y, values in zip(middles, self.confidences, strict=True):
            count = "1 point" if values.size == 1 else f"{values.size:,} points"
            text = f"{count}, {(values <= 0.5).mean():.0%} unstable" if values.size else "no points"
            self.labels_.append(
                ax.text(
                    1.01,
                    y,
                    text,
                    transform=ax.get_yaxis_transform(),
                    va="center",
                    fontsize=min(size, 8.0),
                    color=ink_of(ax),
                )
            )


def _draw_band(ax: Axes, values: FloatArray, top: float, height: float, color: str, alpha: float) -> list[Any]:
    """Fill the stable and the unstable part of one band, sorted confidences from top to bottom."""
    first_unstable = int((values > 0.5).sum())
    drawn = []
    for start, stop, hatch in ((0, first_unstable, None), (first_unstable, values.size, "/////")):
        if start == stop:
            continue
        edges = np.unique(np.linspace(start, stop, min(stop - start, _STEPS) + 1).round().astype(int))
        x = values[(edges[:-1] + edges[1:]) // 2]
        y = top + height * np.repeat(edges, 2)[1:-1] / values.size
        style: dict[str, Any] = {"facecolor": color, "alpha": alpha, "linewidth": 0.0}
        if hatch:
            style = {"facecolor": (color, alpha / 3.0), "edgecolor": ink_of(ax), "hatch": hatch, "linewidth": 0.4}
        drawn.append(ax.fill_betweenx(y, 0.0, np.repeat(x, 2), **style))
    return drawn
