"""Trust above chance against the number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray

from ._canvas import axes_to_draw_on, frame_of, ink_of, set_title
from ._palette import ALARM, look_of

if TYPE_CHECKING:
    from allegiance.applications import StabilityCurve

#: Numbers of clusters written along the axis at most.
_TICKS = 15


class StabilityCurveDisplay:
    """Trust above chance against the number of clusters: of the data, and of data without clusters.

    Where the two run together, labels hold no better than those of data without any clusters.

    Parameters
    ----------
    n_clusters
        (m,) the numbers of clusters.
    above_chance, low, high
        (m,) trust above chance: median and quartiles over the halves that were clustered anew.
    reference, reference_high
        (m,) median and largest of that in data without clusters.
    suggestion
        The number of clusters to point out; None for none.

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

    def __init__(
        self,
        *,
        n_clusters: IntArray,
        above_chance: FloatArray,
        low: FloatArray,
        high: FloatArray,
        reference: FloatArray,
        reference_high: FloatArray,
        suggestion: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.above_chance = above_chance
        self.low = low
        self.high = high
        self.reference = reference
        self.reference_high = reference_high
        self.suggestion = suggestion

    @classmethod
    def from_curve(cls, curve: StabilityCurve, *, ax: Any = None, **kw: Any) -> StabilityCurveDisplay:
        """Draw a curve.

        Parameters
        ----------
        curve
            What :func:`allegiance.stability_curve` returns.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        return cls(**curve.columns(), suggestion=curve.suggestion).plot(ax=ax, **kw)

    def plot(self, ax: Any = None, *, show_reference: bool = True) -> StabilityCurveDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        show_reference
            Whether to draw data without clusters too.
        """
        ax = axes_to_draw_on(ax, "StabilityCurveDisplay.plot", (6.4, 4.0))
        self.ax_, self.figure_ = ax, ax.figure
        k, color = self.n_clusters, look_of(0).color
        self.reference_: list[Any] = []
        if show_reference:
            grey = {"color": ink_of(ax), "linewidth": 1.2, "linestyle": "--"}
            band = ax.fill_between(k, self.reference, self.reference_high, color=ink_of(ax), alpha=0.12, linewidth=0)
            self.reference_ = [*ax.plot(k, self.reference, **grey, label="data without clusters"), band]
        self.band_ = ax.fill_between(k, self.low, self.high, color=color, alpha=0.25, linewidth=0)
        (self.line_,) = ax.plot(k, self.above_chance, color=color, marker="o", markersize=4, label="the data")
        self.suggestion_ = None
        if self.suggestion is not None:
            place = int(np.flatnonzero(k == self.suggestion)[0])
            (self.suggestion_,) = ax.plot(
                k[place],
                self.above_chance[place],
                "o",
                color=ALARM,
                markersize=9,
                label=f"suggested: {self.suggestion}",
            )
        ax.set(xlabel="number of clusters", ylabel="trust above chance", ylim=(min(0.0, *ax.get_ylim()), 1.03))
        ax.set_xticks(k[:: -(-k.size // _TICKS)])
        ax.legend(frameon=False, loc="best")
        set_title(
            ax, "How far labels hold when halves are clustered anew", "bands: half of the halves; up to the largest"
        )
        return self

    def frame(self, like: Any = None) -> Any:
        """Return one row per number of clusters: what ``StabilityCurve.frame`` returns.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        """
        names = ("n_clusters", "above_chance", "low", "high", "reference", "reference_high")
        columns: dict[str, AnyArray] = {name: getattr(self, name) for name in names}
        return frame_of(columns | {"suggested": self.n_clusters == (self.suggestion or 0)}, like)
