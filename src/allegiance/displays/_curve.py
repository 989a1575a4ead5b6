"""Trust above chance against the number of clusters, or any other parameter of a clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from ._canvas import ALARM, axes_to_draw_on, frame_of, look_of, set_title, text_color

#: Values of the parameter written along the axis at most.
_TICKS = 15


@dataclass(kw_only=True, repr=False, eq=False)
class StabilityCurveDisplay:
    """Trust above chance against a parameter of the clusterer: of the data, and of data without clusters.

    Where the two run together, labels replicate no better than those of data without any clusters.

    Parameters
    ----------
    values
        (m,) values of the parameter, such as numbers of clusters.
    above_chance, low, high
        (m,) trust above chance: median and quartiles over the subsamples that were clustered.
    reference, reference_high
        (m,) median and largest of that in data without clusters.
    suggestion
        The value to point out; None for none.
    name
        What the parameter is called.

    See Also
    --------
    allegiance.stability_curve : Computes it.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from allegiance import stability_curve
    >>> X, _ = make_blobs(200, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> curve = stability_curve(X, KMeans(n_init=2), range(2, 5), n_references=2)
    >>> curve.plot().suggestion
    3
    """

    values: AnyArray
    above_chance: FloatArray
    low: FloatArray
    high: FloatArray
    reference: FloatArray
    reference_high: FloatArray
    suggestion: Any = None
    name: str = "n_clusters"

    @classmethod
    def from_curve(cls, curve: Any, *, ax: Any = None) -> StabilityCurveDisplay:
        """Draw a curve.

        Parameters
        ----------
        curve
            What :func:`allegiance.stability_curve` returns.
        ax
            Axes to draw on; by default those of a new figure.
        """
        columns = dict(curve.columns())
        name = next(iter(columns))
        values = columns.pop(name)
        return cls(values=values, name=name, suggestion=curve.suggestion, **columns).plot(ax=ax)

    def plot(self, ax: Any = None) -> StabilityCurveDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        """
        ax = axes_to_draw_on(ax, "StabilityCurveDisplay.plot", (6.4, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        x, color = self.values, look_of(0).color
        grey: dict[str, Any] = {"color": text_color(ax), "linewidth": 1.2, "linestyle": "--"}
        band = ax.fill_between(x, self.reference, self.reference_high, color=grey["color"], alpha=0.12, linewidth=0)
        self.reference_ = [*ax.plot(x, self.reference, **grey, label="data without clusters"), band]
        self.band_ = ax.fill_between(x, self.low, self.high, color=color, alpha=0.25, linewidth=0)
        (self.line_,) = ax.plot(x, self.above_chance, color=color, marker="o", markersize=4, label="the data")
        self.suggestion_ = None
        if self.suggestion is not None:
            place = int(np.flatnonzero(x == self.suggestion)[0])
            style: dict[str, Any] = {"color": ALARM, "markersize": 9, "label": f"suggested: {self.suggestion}"}
            (self.suggestion_,) = ax.plot(x[place], self.above_chance[place], "o", **style)
        named = "number of clusters" if self.name == "n_clusters" else self.name.replace("_", " ")
        ax.set(xlabel=named, ylabel="trust above chance", ylim=(min(0.0, *ax.get_ylim()), 1.03))
        ax.set_xticks(x[:: -(-x.size // _TICKS)])
        ax.legend(frameon=False, loc="best")
        set_title(ax, "How far labels come back on subsamples", "bands: middle 50 %; median to largest")
        return self

    def frame(self) -> Any:
        """Return one row per value of the parameter."""
        columns: dict[str, AnyArray] = {self.name: self.values}
        names = ("above_chance", "low", "high", "reference", "reference_high")
        columns |= {name: getattr(self, name) for name in names}
        marked = np.zeros(self.values.size, bool) if self.suggestion is None else self.values == self.suggestion
        return frame_of(columns | {"suggested": marked})
