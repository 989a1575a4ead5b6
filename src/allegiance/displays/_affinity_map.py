"""Affinity as a landscape over the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from allegiance._core import AnyArray, FloatArray, check_choice, check_count, check_rows
from allegiance._scorer import AffinityScorer
from allegiance.results import AffinityResult

from ._canvas import axes_to_draw_on, cased, frame_of, ink_of, set_title
from ._draw_plane import PlanePoints, draw_cells, draw_points, draw_sites, frame_axes, label_clusters, size_for
from ._embedding import embed, place, without_plane
from ._field import grid_of, middles, score_grid, values_of
from ._inputs import (
    check_class,
    check_data_of,
    check_one_label_per_row,
    check_plotted_rows,
    check_result,
    check_scorer,
)
from ._palette import ALARM, COLOR_SCALE, GREY_SCALE
from ._section import PlaneDiagram, choose_view

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Steps between contours.
_STEP = 0.05
_TRUST, _CONFIDENCE = "trust", "confidence"


class AffinityMapDisplay:
    """Trust, confidence or the affinity to one cluster, all over the plane of the data, with diagram and points.

    Of confidence, the largest affinity, ``kind="contour"`` and ``kind="heat"`` are the two pictures of the paper; in
    the second, lower is brighter.

    Parameters
    ----------
    diagram
        Cells and representatives in the plane.
    points
        The points drawn.
    field
        (m, m) values over the view, rows from bottom to top; NaN where the divergence is not defined. None for
        projections that no plane of the data stands for.
    which
        "trust", "confidence", or the label of the cluster shown.

    See Also
    --------
    DiagramDisplay : Only the cells.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import AffinityScorer
    >>> from allegiance.displays import AffinityMapDisplay
    >>> X = np.random.default_rng(0).normal(size=(90, 2)) + np.repeat([[0, 0], [4, 0], [2, 3]], 30, axis=0)
    >>> scorer = AffinityScorer().fit(X, np.repeat(["a", "b", "c"], 30))
    >>> display = AffinityMapDisplay.from_estimator(scorer, X, resolution=50)
    >>> display.frame().shape
    (2500, 3)
    """

    def __init__(
        self, *, diagram: PlaneDiagram, points: PlanePoints, field: FloatArray | None, which: Any = _CONFIDENCE
    ) -> None:
        self.diagram = diagram
        self.points = points
        self.field = field
        self.which = which

    @classmethod
    def from_estimator(
        cls,
        scorer: AffinityScorer,
        X: Any,
        *,
        labels: Any = None,
        which: Any = None,
        features: Any = None,
        projection: Any = None,
        at: Any = None,
        view: Any = None,
        resolution: int = 150,
        random_state: Any = 0,
        ax: Any = None,
        **kw: Any,
    ) -> AffinityMapDisplay:
        """Score a grid over the plane, and draw.

        With more than two features a plane must be chosen. A slice (``features``) and the plane of the principal axes
        (``projection="pca"``, the default) are real planes of the space: every place of the picture is scored as the
        point it is, and only the points, which lie before and behind the plane, are projected on it. A UMAP picture, or
        coordinates of your own, is not a plane: no point of the data belongs to a place between the points, so they are
        drawn alone, coloured by their own values.

        Parameters
        ----------
        scorer
            A fitted :class:`~allegiance.AffinityScorer`.
        X
            (n, d) points to draw.
        labels
            (n,) their labels; by default those that the scorer gives to new points.
        which
            "trust" in the label that a point there would get, "confidence" (the largest affinity), or the label of a
            cluster to show the affinity to. By default trust if the scorer is calibrated, else confidence.
        features
            Two features, by number or name: a slice, with the other features as in ``at``.
        projection
            "pca"; "umap", if umap-learn is installed; or an (n, 2) array of coordinates.
        at
            (d,) a point that the plane goes through; by default the mean of X.
        view
            ((left, right), (bottom, top)) in the coordinates of the plane; by default the domain or the data.
        resolution
            Places of the grid along each axis.
        random_state
            Seed of UMAP.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        scorer, X = check_scorer(scorer, "AffinityMapDisplay", X)
        if not scorer.fitted_.influence.takes_points:
            raise ValueError("AffinityMapDisplay scores the places of a plane, which Kernel('precomputed') cannot.")
        rows = check_plotted_rows(scorer, X)
        if check_count(resolution, "resolution") < 2:
            raise ValueError("resolution must be at least 2: one place makes no map.")
        chosen = _choose(scorer.classes_, which, calibrated=scorer.fitted_.trust_map is not None)
        label = None if labels is None else check_one_label_per_row(labels, rows.shape[0])
        # Only trust depends on the labels, which may be others than the scorer knows.
        result = scorer.affinity(X) if label is None or chosen != _TRUST else scorer.fitted_.score(X, labels=label)
        value = values_of(result, chosen)
        field = None
        if projection is None or (isinstance(projection, str) and projection == "pca"):
            seen = choose_view(scorer, rows, features, projection, at, view)
            position, diagram = seen.plane.project(rows), seen.diagram(scorer)
            field = score_grid(scorer, seen, resolution, chosen)
        else:
            if not (features is None and at is None and view is None):
                raise ValueError("features, at and view choose a plane, which this projection does not have.")
            position, names = embed(rows, projection, random_state)
            diagram = without_plane(position, scorer.classes_, names)
        shown = scorer.classes_[chosen] if isinstance(chosen, int) else chosen
        points = PlanePoints(position, result.label if label is None else label, value)
        return cls(diagram=diagram, points=points, field=field, which=shown).plot(ax=ax, **kw)

    @classmethod
    def from_result(
        cls,
        result: AffinityResult,
        X: Any = None,
        *,
        projection: Any = None,
        which: Any = None,
        random_state: Any = 0,
        ax: Any = None,
        **kw: Any,
    ) -> AffinityMapDisplay:
        """Draw the points of a result, coloured by their own values; there is no field between them.

        Parameters
        ----------
        result
            What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
        X
            (n, d) the data, whose two principal axes make the map; without it the affinities take its place.
        projection
            "pca"; "umap", if umap-learn is installed; or an (n, 2) array of coordinates, which needs no X.
        which
            "trust", "confidence" (the largest affinity), or the label of a cluster to show the affinity to. By default
            trust if there is any, else confidence.
        random_state
            Seed of UMAP.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        result = check_result(result, "AffinityMapDisplay")
        chosen = _choose(result.classes, which, calibrated=result.calibrated)
        if result.clusters is not None and (isinstance(chosen, int) or X is None):
            raise ValueError("this map needs X and which='trust' or 'confidence', or a result with all affinities.")
        rows = result.affinity if X is None else check_rows(BaseEstimator(), check_data_of(result, X), reset=True)
        position, names = place(rows, projection, random_state)
        diagram = without_plane(position, result.classes, names)
        points = PlanePoints(position, result.label, values_of(result, chosen))
        shown = result.classes[chosen] if isinstance(chosen, int) else chosen
        return cls(diagram=diagram, points=points, field=None, which=shown).plot(ax=ax, **kw)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "contour",
        cmap: Any = None,
        show_cells: bool = True,
        show_points: bool = True,
        show_labels: bool = True,
        point_kw: dict[str, Any] | None = None,
    ) -> AffinityMapDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        kind
            "contour", or "heat" for shades of grey.
        cmap
            A colour map instead of "cividis", or of grey.
        show_cells, show_points, show_labels
            Whether to draw the cells with their representatives, the points, and the labels of the clusters.
        point_kw
            For the points, as in ``Axes.scatter``.
        """
        check_choice(kind, "kind", ("contour", "heat"))
        ax = axes_to_draw_on(ax, "AffinityMapDisplay.plot", size_for(self.diagram, colorbar=True))
        self.ax_, self.figure_ = ax, ax.figure
        frame_axes(ax, self.diagram)
        cmap = cmap or (COLOR_SCALE if kind == "contour" else GREY_SCALE)
        self.threshold_: Any = None
        self.cells_, self.sites_, self.points_ = None, None, []
        if self.field is None:
            scale = {
                "cmap": cmap,
                "vmin": min(float(np.nanmin(self.points.value, initial=0.5)), 0.5 - _STEP),
                "vmax": 1.0,
            }
            self.points_ = draw_points(ax, self.points, self.diagram.classes, scale=scale, **(point_kw or {}))
            self.field_: Any = self.points_[0]
        else:
            self._draw_field(ax, kind, cmap)
            if show_cells:
                self.cells_, self.sites_ = draw_cells(ax, self.diagram), draw_sites(ax, self.diagram)
            if show_points:
                self.points_ = draw_points(ax, self.points, self.diagram.classes, **(point_kw or {}))
        self._draw_colorbar(ax)
        set_title(ax, *self._titles())
        self.labels_ = label_clusters(ax, self.diagram, self.points) if show_labels else []
        return self

    def frame(self, like: Any = None, *, points: bool = False) -> Any:
        """Return the numbers behind the picture: ``x``, ``y`` and the value at every place of the grid.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        points
            Return the points instead, with their labels. Without a grid they are all there is.
        """
        name = self.which if self._is_named else f"affinity_{self.which}"
        if points or self.field is None:
            x, y = self.points.position.T
            return frame_of({"x": x, "y": y, "label": self.points.label, name: self.points.value}, like)
        grid = grid_of(self.diagram.lower, self.diagram.upper, self.field.shape[0])
        return frame_of({"x": grid[:, 0], "y": grid[:, 1], name: self.field.ravel()}, like)

    @property
    def _is_named(self) -> bool:
        return isinstance(self.which, str) and self.which in (_TRUST, _CONFIDENCE)

    @property
    def _subject(self) -> str:
        return self.which if self._is_named else f"affinity to cluster {self.which}"

    def _titles(self) -> tuple[str, ...]:
        subject = self._subject[0].upper() + self._subject[1:]
        if self.field is None:
            return (f"{subject} of the points", "each by its own value, with no field between them")
        side = "above" if np.nanmin(self.field) >= 0.5 else "below"
        line = "orange line: one half" if self.threshold_ is not None else f"everywhere {side} one half"
        note = f"{self.diagram.note}; points projected" if self.diagram.note else ""
        return (f"{subject} at every place; {line}", note)

    def _draw_field(self, ax: Axes, kind: str, cmap: Any) -> None:
        assert self.field is not None
        lower, upper, m = self.diagram.lower, self.diagram.upper, self.field.shape[0]
        field = np.ma.masked_invalid(self.field)
        x, y = (middles(lower[i], upper[i], m) for i in range(2))
        lowest = min(np.floor(float(field.min()) / _STEP) * _STEP, 1.0 - 2 * _STEP)
        levels = np.arange(lowest, 1.0 + _STEP / 2, _STEP)
        if kind == "heat":
            extent = (lower[0], upper[0], lower[1], upper[1])
            self.field_ = ax.imshow(
                field,
                origin="lower",
                extent=extent,
                cmap=cmap,
                vmin=lowest,
                vmax=1.0,
                interpolation="bilinear",
                aspect=ax.get_aspect(),
            )
        else:
            # The topmost level belongs to no band by itself.
            below = np.minimum(field, 1.0 - 1e-9)
            self.field_ = ax.contourf(x, y, below, levels=levels, cmap=cmap, vmin=lowest, vmax=1.0)
            ax.contour(x, y, field, levels=levels[1:-1], colors=[ink_of(ax)], linewidths=0.4, alpha=0.5)
        if field.min() < 0.5 < field.max():
            self.threshold_ = ax.contour(x, y, field, levels=[0.5], colors=[ALARM], linewidths=2.0)
            self.threshold_.set_path_effects(cased(ax, 3.4))
        # The field is known at the middles of the grid's squares, the outermost half a square inside the view.
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))

    def _draw_colorbar(self, ax: Axes) -> None:
        # Inside the axes' own frame of reference, so that it stays as high as they are.
        beside = ax.inset_axes((1.04, 0.0, 0.045, 1.0))
        self.colorbar_ = ax.figure.colorbar(self.field_, cax=beside, label=self._subject)
        low, high = self.colorbar_.mappable.get_clim()
        self.colorbar_.set_ticks([tick for tick in np.arange(0, 11) / 10 if low - 1e-9 <= tick <= high + 1e-9])
        if low < 0.5 < high:
            self.colorbar_.ax.axhline(0.5, color=ALARM, linewidth=2.5)


def _choose(classes: AnyArray, which: Any, *, calibrated: bool) -> str | int:
    """Return "trust" or "confidence", or the number of the cluster asked for."""
    if which is None:
        return _TRUST if calibrated else _CONFIDENCE
    if isinstance(which, str) and which in (_TRUST, _CONFIDENCE):
        return which
    return check_class(which, classes, "which")
