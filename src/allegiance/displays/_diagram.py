"""The territories of the clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import FloatArray
from allegiance._scorer import AffinityScorer

from ._canvas import axes_to_draw_on, frame_of, ink_of, set_title
from ._draw_plane import PlanePoints, draw_cells, draw_points, draw_sites, frame_axes, label_clusters, size_for
from ._inputs import check_one_label_per_row, check_plotted_rows, check_scorer, require_cells
from ._polygons import area
from ._section import PlaneDiagram, choose_view


class DiagramDisplay:
    """The cells of the clusters in the plane: Voronoi, power or Bregman diagram.

    Weights are drawn as circles around the representatives, of radius sqrt(weight) in the units of the distance. A cell
    is where ``|x - c|² - weight`` is least, so it reaches farther on the side of a smaller circle. For other
    divergences than the Euclidean the line is where the divergence equals the weight.

    Parameters
    ----------
    diagram
        Cells and representatives in the plane.
    weights
        (k,) weights of the clusters, in units of the divergence; None if there are none.
    points
        The points drawn, or None.

    See Also
    --------
    AffinityMapDisplay : Trust or confidence at every place.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import AffinityScorer, Box
    >>> from allegiance.displays import DiagramDisplay
    >>> centers = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> scorer = AffinityScorer(centers=centers, weights=[1.0, 9.0, 1.0], domain=Box(margin=0.0))
    >>> scorer = scorer.fit(np.array([[-1.0, -1.0], [5.0, 5.0]]))
    >>> DiagramDisplay.from_estimator(scorer).frame()[["cluster", "weight", "area"]].round(3)
       cluster  weight  area
    0        0     1.0   6.0
    1        1     9.0  19.5
    2        2     1.0  10.5
    """

    def __init__(
        self, *, diagram: PlaneDiagram, weights: FloatArray | None = None, points: PlanePoints | None = None
    ) -> None:
        self.diagram = diagram
        self.weights = weights
        self.points = points

    @classmethod
    def from_estimator(
        cls,
        scorer: AffinityScorer,
        X: Any = None,
        *,
        labels: Any = None,
        features: Any = None,
        projection: Any = None,
        at: Any = None,
        view: Any = None,
        ax: Any = None,
        **kw: Any,
    ) -> DiagramDisplay:
        """Cut the plane into cells, and draw.

        Parameters
        ----------
        scorer
            A fitted :class:`~allegiance.AffinityScorer`, without a kernel: its cells have no straight sides in the
            space of X.
        X
            (n, d) points to draw, or None.
        labels
            (n,) their labels; by default those that the scorer gives to new points.
        features
            With more than two features: a slice along two of them, by number or name.
        projection
            "pca": the plane of the two principal axes of X, or of the representatives. The default of more than two
            features.
        at
            (d,) a point that the plane goes through; by default the mean of X, or of the representatives.
        view
            ((left, right), (bottom, top)) in the coordinates of the plane; by default the domain or the data.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        scorer, X = check_scorer(scorer, "DiagramDisplay", X)
        require_cells(scorer, "DiagramDisplay")
        rows = None if X is None else check_plotted_rows(scorer, X)
        seen = choose_view(scorer, rows, features, projection, at, view)
        points = None
        if rows is not None:
            label = scorer.predict(X) if labels is None else check_one_label_per_row(labels, rows.shape[0])
            points = PlanePoints(seen.plane.project(rows), label, np.full(rows.shape[0], np.nan))
        weights = getattr(scorer.fitted_.diagram, "weights", None)
        return cls(diagram=seen.diagram(scorer), weights=weights, points=points).plot(ax=ax, **kw)

    def plot(
        self,
        ax: Any = None,
        *,
        filled: bool = True,
        show_weights: bool = True,
        show_labels: bool = True,
        point_kw: dict[str, Any] | None = None,
    ) -> DiagramDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        filled
            Colour the cells.
        show_weights, show_labels
            Whether to draw the circles of the weights and the labels of the clusters.
        point_kw
            For the points, as in ``Axes.scatter``.
        """
        ax = axes_to_draw_on(ax, "DiagramDisplay.plot", size_for(self.diagram))
        self.ax_, self.figure_ = ax, ax.figure
        frame_axes(ax, self.diagram)
        self.cells_ = draw_cells(ax, self.diagram, filled=0.35 if filled else 0.0)
        self.sites_ = draw_sites(ax, self.diagram)
        self.points_ = (
            [] if self.points is None else draw_points(ax, self.points, self.diagram.classes, **(point_kw or {}))
        )
        outlines = [line for line in self.diagram.weight_outlines if line.size] if show_weights else []
        self.circles_ = [
            ax.fill(*line.T, fill=False, edgecolor=ink_of(ax), linestyle="--", zorder=3)[0] for line in outlines
        ]
        set_title(ax, *self._titles())
        self.labels_ = label_clusters(ax, self.diagram, self.points) if show_labels else []
        return self

    def frame(self, like: Any = None) -> Any:
        """Return one row per cluster: its representative, its weight, and the area of its cell in the view.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        """
        diagram = self.diagram
        assert diagram.cells is not None
        assert diagram.sites is not None
        weights = np.zeros(len(diagram.cells)) if self.weights is None else self.weights
        areas = np.array([area(cell) for cell in diagram.cells])
        x, y = diagram.sites.T
        return frame_of({"cluster": diagram.classes, "x": x, "y": y, "weight": weights, "area": areas}, like)

    def _titles(self) -> tuple[str, ...]:
        circles = "; dashed: weights" if self.circles_ else ""
        k = self.diagram.classes.size
        return (f"Territories of {k} cluster{'' if k == 1 else 's'}{circles}", self.diagram.note)
