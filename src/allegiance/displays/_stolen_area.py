"""The territory of one point, and whom it is taken from."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import FloatArray
from allegiance._scorer import AffinityScorer

from ._canvas import axes_to_draw_on, cased, frame_of, ink_of, set_title
from ._draw_plane import draw_cells, draw_sites, fill_polygon, frame_axes, in_view, size_for
from ._field import score_rows
from ._inputs import check_plotted_rows, check_query, check_scorer, require_cells
from ._labels import place_labels
from ._palette import look_of
from ._polygons import area, middle
from ._section import PlaneDiagram, choose_view

#: Shares below this get no label in the picture.
_SMALL = 0.005


class StolenAreaDisplay:
    """The territory that one point would own as a cluster of its own, coloured by the clusters it is taken from.

    The percentages are the point's affinities. With two features they are the areas that are seen. In a slice of more
    features the areas are those of the slice only, and the percentages still those of the whole territory.

    Parameters
    ----------
    diagram
        Cells and representatives in the plane.
    query
        (2,) the point, in the coordinates of the plane.
    parts
        One polygon (m, 2) per cluster: what is taken from it; without corners if nothing is.
    affinity
        (k,) affinities of the point.

    See Also
    --------
    SamplesDisplay : The same territory, sampled.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import AffinityScorer
    >>> from allegiance.displays import StolenAreaDisplay
    >>> scorer = AffinityScorer(centers=[[0.0, 0.0], [4.0, 0.0]]).fit(np.array([[-1.0, -1.0], [5.0, 1.0]]))
    >>> StolenAreaDisplay.from_estimator(scorer, [1.0, 0.0]).frame()[["cluster", "affinity"]]
       cluster  affinity
    0        0      0.75
    1        1      0.25
    """

    def __init__(
        self, *, diagram: PlaneDiagram, query: FloatArray, parts: tuple[FloatArray, ...], affinity: FloatArray
    ) -> None:
        self.diagram = diagram
        self.query = query
        self.parts = parts
        self.affinity = affinity

    @classmethod
    def from_estimator(
        cls,
        scorer: AffinityScorer,
        query: Any,
        X: Any = None,
        *,
        features: Any = None,
        projection: Any = None,
        view: Any = None,
        ax: Any = None,
        **kw: Any,
    ) -> StolenAreaDisplay:
        """Cut the territory of one point into what it takes from each cluster, and draw.

        Parameters
        ----------
        scorer
            A fitted :class:`~allegiance.AffinityScorer` without a kernel.
        query
            (d,) the point.
        X
            (n, d) data, for the view and the principal axes; by default those of the representatives.
        features
            With more than two features: a slice along two of them, by number or name, through the point.
        projection
            "pca": the plane through the point along two principal axes. The default of more than two features.
        view
            ((left, right), (bottom, top)) in the coordinates of the plane; by default the domain or the data.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        scorer, X, query = check_scorer(scorer, "StolenAreaDisplay", X, query)
        require_cells(scorer, "StolenAreaDisplay")
        point = check_query(scorer, query)
        rows = None if X is None else check_plotted_rows(scorer, X)
        seen = choose_view(scorer, rows, features, projection, point[0], view, point)
        assert seen.section is not None
        display = cls(
            diagram=seen.diagram(scorer),
            query=seen.plane.project(point)[0],
            parts=seen.section.stolen_by(point),
            affinity=score_rows(scorer, point).affinity[0],
        )
        return display.plot(ax=ax, **kw)

    def plot(self, ax: Any = None, *, show_cells: bool = True, alpha: float = 0.75) -> StolenAreaDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        show_cells
            Whether to draw the cells of the clusters.
        alpha
            Opacity of the territory.
        """
        ax = axes_to_draw_on(ax, "StolenAreaDisplay.plot", size_for(self.diagram))
        self.ax_, self.figure_ = ax, ax.figure
        frame_axes(ax, self.diagram)
        kept = [i for i, part in enumerate(self.parts) if part.size]
        looks = {i: look_of(i) for i in kept}
        self.parts_ = [fill_polygon(ax, self.parts[i], looks[i].color, looks[i].hatch, alpha=alpha) for i in kept]
        self.cells_ = draw_cells(ax, self.diagram, filled=0.15) if show_cells else None
        self.sites_ = draw_sites(ax, self.diagram)
        self.query_ = ax.scatter(
            *self.query, marker="*", s=130, color=ink_of(ax), path_effects=cased(ax, 3.0), zorder=5, clip_on=False
        )
        set_title(ax, *self._titles())
        self.labels_ = self._label(ax)
        return self

    def _label(self, ax: Any) -> list[Any]:
        """Write the shares into the parts, the largest first, and the names of the clusters at their sites."""
        diagram = self.diagram
        assert diagram.sites is not None
        labels = [
            (middle(self.parts[i]), f"{self.affinity[i]:.0%}")
            for i in np.argsort(-self.affinity, kind="stable")
            if self.parts[i].size and self.affinity[i] >= _SMALL
        ]
        labels += [(site, str(name)) for site, name in zip(diagram.sites, diagram.classes, strict=True)]
        seen = [(place, text) for place, text in labels if in_view(diagram, place)]
        places = np.array([place for place, _ in seen]).reshape(-1, 2)
        taken = np.vstack([diagram.sites, self.query])
        return place_labels(ax, places, [text for _, text in seen], taken=taken, fontsize=9, fontweight="bold")

    def frame(self, like: Any = None) -> Any:
        """Return one row per cluster: the affinity of the point to it, and the area of the picture taken from it.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        """
        areas = np.array([area(part) for part in self.parts])
        total = areas.sum()
        shares = areas / total if total > 0 else np.zeros(areas.size)
        columns = {"cluster": self.diagram.classes, "affinity": self.affinity, "area": areas, "area_share": shares}
        return frame_of(columns, like)

    def _titles(self) -> tuple[str, ...]:
        if not self.parts_:
            return ("The point (star) owns no territory here", self.diagram.note)
        note = f"{self.diagram.note}; shares of the whole territory" if self.diagram.note else ""
        return ("Territory of one point (star): the share taken from each", note)
