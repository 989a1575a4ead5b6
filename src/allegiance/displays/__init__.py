"""Pictures of affinities, as displays of scikit-learn: ``plot`` draws, ``frame`` returns the numbers."""

from __future__ import annotations

from typing import Any

from ._canvas import COLOR_SCALE
from ._charts import AffinityProfileDisplay, FlowDisplay, StabilityCurveDisplay
from ._charts import plot_shares as plot_shares
from ._gallery import GalleryDisplay
from ._map import AffinityFieldDisplay, AffinityMapDisplay

__all__ = [
    "AffinityFieldDisplay",
    "AffinityMapDisplay",
    "AffinityProfileDisplay",
    "FlowDisplay",
    "GalleryDisplay",
    "ResultPlots",
    "StabilityCurveDisplay",
]


class ResultPlots:
    """Plots of a result: calling ``result.plot`` draws the profile, its methods draw the others.

    Each takes axes to draw on, a color map where there is one, and the parameters of the display that it returns.

    Parameters
    ----------
    result
        The result of :func:`allegiance.trust` or :func:`allegiance.affinity`.

    Examples
    --------
    >>> from allegiance import affinity
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> result.plot().frame()["row"].tolist()
    [0, 1, 2, 4, 3]
    """

    def __init__(self, result: Any) -> None:
        self._result = result

    def profile(self, *, ax: Any = None, **settings: Any) -> AffinityProfileDisplay:
        """Draw the labels of each cluster, sorted by trust."""
        return AffinityProfileDisplay(self._result, **settings).plot(ax=ax)

    __call__ = profile

    def map(self, X: Any = None, *, ax: Any = None, cmap: Any = COLOR_SCALE, **settings: Any) -> AffinityMapDisplay:
        """Draw the points on a map, colored by trust."""
        return AffinityMapDisplay(self._result, X, **settings).plot(ax=ax, cmap=cmap)

    def flow(self, *, ax: Any = None, cmap: Any = None, **settings: Any) -> FlowDisplay:
        """Draw which clusters are confused: labels that are not firm, by label and rival."""
        return FlowDisplay(self._result, **settings).plot(ax=ax, cmap=cmap)

    def gallery(self, X: Any, *, ax: Any = None, cmap: Any = "gray", **settings: Any) -> GalleryDisplay:
        """Draw the most and the least trusted rows of X as images; ``cmap`` is for images without colors."""
        return GalleryDisplay(self._result, X, **settings).plot(ax=ax, cmap=cmap)

    def __repr__(self) -> str:
        return "pictures of a result: plot(), plot.profile(), plot.map(X), plot.flow(), plot.gallery(X)"
