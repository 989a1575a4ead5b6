"""Sorted trust, one band per cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import FloatArray
from allegiance.notebook import count

from ._canvas import (
    ALARM,
    SUPPORTED,
    ResultDisplay,
    axes_to_draw_on,
    frame_of,
    look_of,
    outlined,
    run_layout,
    set_title,
    shortened,
    text_color,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allegiance.results import AffinityResult

#: Steps that a band is drawn with at most, and the share of the height that separates bands.
_STEPS, _GAP = 400, 0.14
#: Largest and smallest size of the texts, and the height in points that one line of text needs per point of size.
_LARGEST, _SMALLEST, _LINE = 9.0, 3.5, 1.25


class AffinityProfileDisplay(ResultDisplay):
    """One horizontal band per cluster, its labels sorted by trust, those that are not supported hatched.

    Read it like a silhouette plot: full bands are trusted clusters, tapering and hatched ones are not. Without
    calibration, own affinity takes the place of trust. Noise, which has no label to trust, has no band.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
    names
        Names of clusters by label, which are shown with the labels.

    See Also
    --------
    FlowDisplay : Which clusters the labels that are not supported are confused with.

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
        doubtful = result.verdict != SUPPORTED
        self.rows = [rows[np.lexsort((-self.ranking[rows], doubtful[rows]))] for rows in self.members()]
        """One array per band: first the supported labels, then the others, the most trusted of each first."""

    def plot(self, ax: Any = None) -> AffinityProfileDisplay:
        """Draw, and return the display. Bands are as high as their clusters are large, if all have room for names.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        """
        names = [shortened(name, 32) for name in self.names]
        size = 6.7 + 0.07 * max(map(len, names)), float(np.clip(1.6 + 0.42 * len(names), 3.0, 11.0))
        ax = axes_to_draw_on(ax, "AffinityProfileDisplay.plot", size)
        self.ax_, self.figure_ = ax, ax.figure
        subject = self.ranked_by.replace("_", " ")
        meaning = "replication of the label" if subject == "trust" else "share of its territory from its own cluster"
        ax.set(xlim=(0.0, 1.0), ylim=(1.0, 0.0), xlabel=f"{subject}: {meaning}")
        n_noise = int(self.result.noise.sum())
        noise = f"; {count(n_noise, 'noise point')} left out" if n_noise else ""
        set_title(ax, f"Labels of each cluster, sorted by {subject}", f"hatched: not supported{noise}")
        by_size, font = self._choose(ax)
        tops, heights = self._layout(by_size)
        self.bands_ = []
        for i, rows in enumerate(self.rows):
            supported = int((self.result.verdict[rows] == SUPPORTED).sum())
            self.bands_.extend(_draw_band(ax, self.ranking[rows], supported, tops[i], heights[i], look_of(i)[0]))
        self.threshold_ = None
        if self.ranked_by == "trust":
            self.threshold_ = ax.axvline(
                0.5, color=ALARM, linestyle="--", linewidth=1.5, path_effects=outlined(ax, 3.0)
            )
        self._name_bands(ax, names, tops + heights / 2.0, font)
        ax.set_ylabel("cluster (bands as high as it is large)" if by_size else "cluster (bands of equal height)")
        return self

    def frame(self) -> Any:
        """Return one row per label, cluster by cluster: ``cluster``, ``rank``, ``row``, ``trust``, ``verdict``.

        Without calibration there is ``own_affinity`` instead of ``trust``.
        """
        row, result = np.concatenate(self.rows), self.result
        rank = np.concatenate([np.arange(rows.size) for rows in self.rows])
        ranked = {self.ranked_by: self.ranking[row], "verdict": result.verdict[row]}
        return frame_of({"cluster": result.label[row], "rank": rank, "row": row, **ranked})

    def _choose(self, ax: Axes) -> tuple[bool, float]:
        """Return whether bands are drawn by size, and the size of their names in points."""
        run_layout(ax)
        height = ax.get_window_extent().height * 72.0 / ax.figure.figure.dpi
        narrow = {by_size: float(self._layout(by_size)[1].min()) * height for by_size in (True, False)}
        by_size = narrow[True] >= _LARGEST * _LINE
        return by_size, float(np.clip(narrow[by_size] / _LINE, _SMALLEST, _LARGEST))

    def _layout(self, by_size: bool) -> tuple[FloatArray, FloatArray]:
        """Return the top (m,) and the height (m,) of each band, between 0 at the top and 1."""
        sizes = np.array([rows.size for rows in self.rows], dtype=np.float64)
        m = sizes.size
        gap = _GAP / m
        heights = (1.0 - _GAP) * (sizes / max(sizes.sum(), 1.0) if by_size else np.full(m, 1.0 / m))
        tops = np.concatenate([[0.0], np.cumsum(heights + gap)[:-1]]) + gap / 2.0
        return tops, heights

    def _name_bands(self, ax: Axes, names: list[str], middles: FloatArray, size: float) -> None:
        """Write the name of each cluster to its left; to its right how many labels it has, and the doubtful share."""
        ax.set_yticks(middles, names, fontsize=size)
        ax.tick_params(axis="y", length=0)
        style: dict[str, Any] = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": min(size, 8.0)}
        self.labels_ = []
        for y, rows in zip(middles, self.rows, strict=True):
            doubtful = self.result.verdict[rows] != SUPPORTED
            text = f"{count(doubtful.size, 'point')}, {doubtful.mean():.0%} hatched" if doubtful.size else "no points"
            self.labels_.append(ax.text(1.01, y, text, color=text_color(ax), **style))


def _draw_band(ax: Axes, values: FloatArray, supported: int, top: float, height: float, color: str) -> list[Any]:
    """Fill one band from top to bottom: the first ``supported`` values plain, the others hatched."""
    drawn = []
    for start, stop, hatch in ((0, supported, None), (supported, values.size, "/////")):
        if start == stop:
            continue
        edges = np.unique(np.linspace(start, stop, min(stop - start, _STEPS) + 1).round().astype(int))
        x = values[(edges[:-1] + edges[1:]) // 2]
        y = top + height * np.repeat(edges, 2)[1:-1] / values.size
        style: dict[str, Any] = {"facecolor": color, "alpha": 0.9, "linewidth": 0.0}
        if hatch:
            style = {"facecolor": (color, 0.3), "edgecolor": text_color(ax), "hatch": hatch, "linewidth": 0.4}
        drawn.append(ax.fill_betweenx(y, 0.0, np.repeat(x, 2), **style))
    return drawn
