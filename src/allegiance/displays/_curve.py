"""Trust above chance against the number of clusters, or any other parameter of a clusterer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._canvas import ALARM, axes_to_draw_on, look_of, set_title, text_color

if TYPE_CHECKING:
    from allegiance.applications import StabilityCurve

#: Values of the parameter written along the axis at most.
_TICKS = 15


class StabilityCurveDisplay:
    """Trust above chance against a parameter of the clusterer: of the data, and of data without clusters.

    Where the two run together, labels replicate no better than those of data without any clusters.

    Parameters
    ----------
    curve
        What :func:`allegiance.stability_curve` returns.

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
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        """
        ax = axes_to_draw_on(ax, "StabilityCurveDisplay.plot", (6.4, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        (name, x), (_, above_chance), *others = self.curve.columns().items()
        low, high, reference, reference_high = (column for _, column in others)
        color, _ = look_of(0)
        grey: dict[str, Any] = {"color": text_color(ax), "linewidth": 1.2, "linestyle": "--"}
        band = ax.fill_between(x, reference, reference_high, color=grey["color"], alpha=0.12, linewidth=0)
        self.reference_ = [*ax.plot(x, reference, **grey, label="data without clusters"), band]
        self.band_ = ax.fill_between(x, low, high, color=color, alpha=0.25, linewidth=0)
        (self.line_,) = ax.plot(x, above_chance, color=color, marker="o", markersize=4, label="the data")
        self.suggestion_, suggestion = None, self.curve.suggestion
        if suggestion is not None:
            place = int(np.flatnonzero(x == suggestion)[0])
            style: dict[str, Any] = {"color": ALARM, "markersize": 9, "label": f"suggested: {suggestion}"}
            (self.suggestion_,) = ax.plot(x[place], above_chance[place], "o", **style)
        named = "number of clusters" if name == "n_clusters" else name.replace("_", " ")
        ax.set(xlabel=named, ylabel="trust above chance", ylim=(min(0.0, *ax.get_ylim()), 1.03))
        ax.set_xticks(x[:: -(-x.size // _TICKS)])
        ax.legend(frameon=False, loc="best")
        set_title(ax, "How far labels come back on subsamples", "bands: middle 50 %; median to largest")
        return self

    def frame(self) -> Any:
        """Return one row per value of the parameter."""
        return self.curve.frame()
