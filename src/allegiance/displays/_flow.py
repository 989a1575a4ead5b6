"""Which cluster the points of each cluster would go to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import FloatArray, check_choice, require
from allegiance.notebook import count

from ._canvas import (
    COLOR_SCALE,
    NOISE,
    SUPPORTED,
    ResultDisplay,
    axes_to_draw_on,
    frame_of,
    run_layout,
    set_title,
    shortened,
    text_color,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allegiance.results import AffinityResult

#: Width of a digit as a share of the font size, the share of a square that a number may fill, and sizes in points.
_DIGIT, _FILL, _LARGEST, _SMALLEST = 0.62, 0.85, 10.0, 3.5
#: Names longer than this are cut, and from this many columns on they are written upright.
_LONG, _MANY = 30, 12


class FlowDisplay(ResultDisplay):
    """From label to rival, k x k: which clusters are confused, by the labels that are not supported or by all.

    The rival of a point is the best cluster other than its own; for noise, the best of all.

    Parameters
    ----------
    result
        What :func:`allegiance.trust` or :func:`allegiance.affinity` returns, of two clusters or more.
    which
        Count only "doubtful" points, which are noise and labels that are not supported, or "all".
    names
        Names of clusters by label, which are shown with the labels.

    See Also
    --------
    AffinityProfileDisplay : How many labels of each cluster are doubtful.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.displays import FlowDisplay
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> FlowDisplay(result, which="all").counts.tolist()
    [[0, 3], [2, 0]]
    """

    def __init__(self, result: AffinityResult, which: str = "doubtful", names: Mapping[Any, str] | None = None) -> None:
        super().__init__(result, names)
        check_choice(which, "which", ("doubtful", "all"))
        self.which = which
        k = result.n_clusters
        if k < 2:
            raise ValueError("FlowDisplay needs at least two clusters: with one, no point has a rival.")
        m = k + bool(result.noise.any())
        row = np.where(result.codes < 0, k, result.codes)
        counted = slice(None) if which == "all" else result.verdict != SUPPORTED
        self.points = np.bincount(row, minlength=m)
        """(m,) all points of each label, noise last."""
        self.counts = np.bincount((row * k + result.ranks.rival)[counted], minlength=m * k).reshape(m, k)
        """(m, k) points of each label with each rival."""

    def plot(self, ax: Any = None, *, cmap: Any = COLOR_SCALE) -> FlowDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        cmap
            Colour map.
        """
        side = float(np.clip(2.2 + 0.4 * self.counts.shape[1], 4.2, 13.0))
        # Names stand left of the picture and, upright, below it.
        room = 0.07 * min(max(map(len, self.names)), _LONG)
        ax = axes_to_draw_on(ax, "FlowDisplay.plot", (side + 0.5 + room, side + room))
        self.ax_, self.figure_ = ax, ax.figure
        values = self.counts.astype(np.float64)
        self.image_ = ax.imshow(
            np.ma.masked_equal(values, 0.0), cmap=cmap, vmin=0.0, vmax=max(float(values.max()), 1.0), aspect="auto"
        )
        self._draw_frame(ax)
        counted = "doubtful points" if self.which == "doubtful" else "points"
        self.colorbar_ = ax.figure.colorbar(self.image_, ax=ax, label=counted)
        set_title(ax, "Which clusters are confused: from label to rival", self._note)
        self.texts_ = self._write_numbers(ax, values)
        return self

    def frame(self) -> Any:
        """Return one row per pair: ``label``, ``rival``, ``points`` and their ``share`` of all points of the label."""
        m, k = self.counts.shape
        classes = self.result.classes
        labels = classes if m == k else np.array([*map(str, classes), NOISE])
        row, column = np.nonzero(~np.eye(m, k, dtype=bool))
        counts = self.counts[row, column]
        numbers = {"points": counts, "share": counts / np.maximum(self.points, 1)[row]}
        return frame_of({"label": labels[row], "rival": classes[column], **numbers})

    @property
    def _note(self) -> str:
        k = self.counts.shape[1]
        counted, labelled, noise = (int(part.sum()) for part in (self.counts[:k], self.points[:k], self.counts[k:]))
        labels = f"{counted:,} of {count(labelled, 'label')} are not supported"
        if self.which == "all":
            labels = count(counted, "label")
        return f"{labels}; {count(noise, 'noise point')}" if noise else labels

    def _draw_frame(self, ax: Axes) -> None:
        """Name rows and columns, draw a grid, and grey the diagonal, where nothing can be."""
        m, k = self.counts.shape
        names = [shortened(name, _LONG) for name in self.names]
        upright = k > _MANY or max(map(len, names)) * k > 40
        size = float(np.clip(220.0 / max(m, k), 5.0, 9.0))
        ax.set_xticks(range(k), names, rotation=90 if upright else 0, fontsize=size)
        ax.set_yticks(range(m), [*names, *([NOISE] if m > k else [])], fontsize=size)
        ax.set(xlabel="rival: the best cluster other than the label", ylabel="label")
        ax.set(xlim=(-0.5, k - 0.5), ylim=(m - 0.5, -0.5))
        line: dict[str, Any] = {"color": text_color(ax), "linewidth": 0.3, "alpha": 0.4}
        ax.hlines(np.arange(m + 1) - 0.5, -0.5, k - 0.5, **line)
        ax.vlines(np.arange(k + 1) - 0.5, -0.5, m - 0.5, **line)
        corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        for i in range(min(m, k)):
            ax.fill(*(corners + i).T, color=text_color(ax), alpha=0.12, linewidth=0)

    def _write_numbers(self, ax: Axes, values: FloatArray) -> list[Any]:
        """Write the numbers in the largest size at which all fit their squares; none if they would be too small."""
        colors = require("matplotlib.colors", "plot", "FlowDisplay.plot")
        centered: dict[str, Any] = {"ha": "center", "va": "center"}
        rows, columns = np.nonzero(values)
        texts = [f"{value:.0f}" if value < 10_000 else f"{value / 1000:.0f}k" for value in values[rows, columns]]
        if not texts:
            return [ax.text(0.5, 0.5, "no such points", transform=ax.transAxes, color=text_color(ax), **centered)]
        run_layout(ax)
        box = ax.get_window_extent()
        width, height = (box.width / values.shape[1], box.height / values.shape[0])
        points = 72.0 / ax.figure.figure.dpi
        size = _FILL * points * min(width / (_DIGIT * max(map(len, texts))), height / 1.3)
        if size < _SMALLEST:
            return []
        drawn = []
        for row, column, text in zip(rows.tolist(), columns.tolist(), texts, strict=True):
            red, green, blue = colors.to_rgb(self.image_.cmap(self.image_.norm(values[row, column])))
            color = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            drawn.append(ax.text(column, row, text, fontsize=min(size, _LARGEST), color=color, **centered))
        return drawn
