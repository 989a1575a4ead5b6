"""Hit-and-run inside the territory of one point."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, check_count
from allegiance._scorer import AffinityScorer
from allegiance.geometry import sample_polytope

from ._canvas import axes_to_draw_on, cased, frame_of, ink_of, set_title
from ._draw_plane import PlanePoints, draw_cells, draw_points, draw_sites, frame_axes, label_clusters, size_for
from ._inputs import check_plotted_rows, check_query, check_scorer, require_cells
from ._polygons import sides
from ._section import PlaneDiagram, choose_view


class SamplesDisplay:
    """Samples of hit-and-run inside the territory of one point, each in the colour of the cluster it is taken from.

    Counting them by cluster estimates the affinities: that is how they are measured where volumes are too costly.

    Parameters
    ----------
    diagram
        Cells and representatives in the plane.
    query
        (2,) the point, in the coordinates of the plane.
    cell
        (m, 2) its territory.
    samples
        (n, 2) uniform samples of the territory.
    owner
        (n,) label of the cluster that each sample is taken from.

    See Also
    --------
    StolenAreaDisplay : The same territory, measured.
    allegiance.sample_polytope : The sampler.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import AffinityScorer
    >>> from allegiance.displays import SamplesDisplay
    >>> scorer = AffinityScorer(centers=[[0.0, 0.0], [4.0, 0.0]]).fit(np.array([[-1.0, -1.0], [5.0, 1.0]]))
    >>> samples = SamplesDisplay.from_estimator(scorer, [1.0, 0.0], n_samples=1000, random_state=0).frame()
    >>> bool(abs((samples["owner"] == 0).mean() - 0.75) < 0.1)
    True
    """

    def __init__(
        self, *, diagram: PlaneDiagram, query: FloatArray, cell: FloatArray, samples: FloatArray, owner: AnyArray
    ) -> None:
        self.diagram = diagram
        self.query = query
        self.cell = cell
        self.samples = samples
        self.owner = owner

    @classmethod
    def from_estimator(
        cls,
        scorer: AffinityScorer,
        query: Any,
        X: Any = None,
        *,
        n_samples: int = 500,
        features: Any = None,
        projection: Any = None,
        view: Any = None,
        random_state: Any = 0,
        ax: Any = None,
        **kw: Any,
    ) -> SamplesDisplay:
        """Sample the territory of one point, and draw.

        With more than two features the samples are those of the territory's section with the plane.

        Parameters
        ----------
        scorer
            A fitted :class:`~allegiance.AffinityScorer` without a kernel.
        query
            (d,) the point.
        X
            (n, d) data, for the view and the principal axes; by default those of the representatives.
        n_samples
            How many samples.
        features
            With more than two features: a slice along two of them, by number or name, through the point.
        projection
            "pca": the plane through the point along two principal axes. The default of more than two features.
        view
            ((left, right), (bottom, top)) in the coordinates of the plane; by default the domain or the data.
        random_state
            Seed of the samples.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        scorer, X, query = check_scorer(scorer, "SamplesDisplay", X, query)
        require_cells(scorer, "SamplesDisplay")
        point = check_query(scorer, query)
        n_samples = check_count(n_samples, "n_samples")
        rows = None if X is None else check_plotted_rows(scorer, X)
        seen = choose_view(scorer, rows, features, projection, point[0], view, point)
        assert seen.section is not None
        cell = seen.section.cell_of(point)
        if not cell.size:
            raise ValueError(
                "query owns no territory here, so there is nothing to sample: choose another point or view."
            )
        samples = sample_polytope(*sides(cell), n_samples, random_state=random_state)
        display = cls(
            diagram=seen.diagram(scorer),
            query=seen.plane.project(point)[0],
            cell=cell,
            samples=samples,
            owner=scorer.classes_[seen.section.owners(samples)],
        )
        return display.plot(ax=ax, **kw)

    def plot(
        self, ax: Any = None, *, show_labels: bool = True, point_kw: dict[str, Any] | None = None
    ) -> SamplesDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        show_labels
            Whether to write the labels of the clusters.
        point_kw
            For the samples, as in ``Axes.scatter``.
        """
        ax = axes_to_draw_on(ax, "SamplesDisplay.plot", size_for(self.diagram))
        self.ax_, self.figure_ = ax, ax.figure
        frame_axes(ax, self.diagram)
        ink = ink_of(ax)
        self.cells_ = draw_cells(ax, self.diagram, linewidths=0.7)
        self.cell_ = ax.fill(
            *self.cell.T, fill=False, edgecolor=ink, linewidth=2.0, path_effects=cased(ax, 3.5), zorder=2.8
        )[0]
        samples = PlanePoints(self.samples, self.owner, np.full(self.owner.size, np.nan))
        self.samples_ = draw_points(ax, samples, self.diagram.classes, **(point_kw or {}))
        self.sites_ = draw_sites(ax, self.diagram)
        self.query_ = ax.scatter(*self.query, marker="*", s=130, color=ink, path_effects=cased(ax, 3.0), zorder=5)
        title = f"{self.owner.size:,} hit-and-run samples in the territory of one point"
        set_title(ax, title, self.diagram.note)
        self.labels_ = label_clusters(ax, self.diagram, None) if show_labels else []
        return self

    def frame(self, like: Any = None) -> Any:
        """Return one row per sample: its place, and the label of the cluster it is taken from.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        """
        x, y = self.samples.T
        return frame_of({"x": x, "y": y, "owner": self.owner}, like)
