"""Maps: the points of a result on a plane, and affinity as a field over a plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from allegiance._core.validation import (
    AnyArray,
    FloatArray,
    Rows,
    check_choice,
    check_count,
    check_rows,
    dense,
    is_sparse,
    standardize,
)
from allegiance.notebook import count
from allegiance.results import FrameLike

from ._canvas import (
    ALARM,
    COLOR_SCALE,
    GRAY_SCALE,
    ResultDisplay,
    check_length,
    check_result,
    cluster_style,
    get_axes,
    outline,
    place_labels,
    set_title,
    shorten,
    text_color,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allegiance._scorer import AffinityScorer
    from allegiance.results import AffinityResult

#: Steps between contours, and by how much the view is wider than the data, on each side.
_STEP, _MARGIN = 0.05, 0.1
#: Share of points on either side that do not set the view if they are farther out than the others extend.
_TAIL = 0.03
#: Views up to this many times longer than wide are drawn with one unit for both axes.
_LONGEST = 2.5
#: Names longer than this are cut.
_LONG = 28
#: Points beyond which a drawing would be slow, so that they become one image in it.
_MANY = 5000
#: The longer side of the axes of a new figure, and the least of the other, in inches.
_SIDE, _LEAST = 4.4, 2.5


class _Map(ResultDisplay):
    """Points on a plane with a color bar and cluster names: what both maps share."""

    field_: Any

    def __init__(
        self,
        result: AffinityResult,
        position: FloatArray,
        axes: tuple[str, str],
        sites: FloatArray | None,
        which: Any,
        names: Mapping[Any, str] | None,
    ) -> None:
        super().__init__(result, names)
        self.position, self.axes, self.sites = position, axes, sites
        self.value_name, self.subject, self.value = _map_values(result, which)
        """The displayed quantity: its name in :meth:`frame`, its description, and values (n,); NaN for noise."""
        self._title = self.subject[0].upper() + self.subject[1:]
        self.lower, self.upper = _view_corners(position, sites)
        outside = ((position < self.lower) | (position > self.upper)).any(axis=1).sum()
        self._outside = f"{count(int(outside), 'point')} outside the view" if outside else ""

    def _prepare(self, ax: Any) -> Axes:
        """Return axes over the view of the map, with one unit for both where it is not too long."""
        extent = self.upper - self.lower
        even = bool(extent.max() <= _LONGEST * extent.min())
        scale = max(_SIDE / extent.max(), _LEAST / extent.min())
        width, height = scale * extent if even else (_SIDE, 0.75 * _SIDE)
        ax = get_axes(ax, f"{type(self).__name__}.plot", (float(width) + 1.9, float(height) + 1.0))
        self.ax_, self.figure_ = ax, ax.figure
        (left, bottom), (right, top) = self.lower, self.upper
        ax.set(xlim=(left, right), ylim=(bottom, top), xlabel=self.axes[0], ylabel=self.axes[1])
        if even:
            ax.set_aspect("equal")
        self.points_: list[Any] = []
        return ax

    def _draw_points(self, ax: Axes, scale: dict[str, Any] | None, kw: dict[str, Any]) -> None:
        """Draw points on the map in the color and marker of their labels, or by value on a ``scale``."""
        n = self.position.shape[0]
        size = float(np.clip(240.0 / np.sqrt(max(n, 1)), 1.5, 22.0))
        groups = [(rows, *cluster_style(i)) for i, rows in enumerate(self.members())]
        if self.result._noise.any():
            groups.append((np.flatnonzero(self.result._noise), text_color(ax), "+"))
        for rows, color, marker in groups:
            style: dict[str, Any] = {"s": size, "marker": marker, "zorder": 3, "rasterized": n > _MANY}
            # Noise has no trust to color it by.
            plain = scale is None or (marker == "+" and np.isnan(self.value[rows]).all())
            style |= {"color": color} if plain else {"c": self.value[rows], **(scale or {})}
            if marker == "+":
                style |= {"linewidths": 0.8, "path_effects": outline(ax, 2.0)}
            else:
                style |= {"edgecolors": ax.get_facecolor(), "linewidths": 0.3 if size > 5 else 0.0}
            self.points_.append(ax.scatter(*self.position[rows].T, **(style | kw)))

    def _finish(self, ax: Axes, *titles: str) -> None:
        """Draw the color bar and title of the map, and each cluster's label at its site or amid its points."""
        # Inside the axes' own frame of reference, so that it stays as high as they are.
        bar = ax.inset_axes((1.04, 0.0, 0.045, 1.0))
        self.colorbar_ = ax.figure.colorbar(self.field_, cax=bar, label=self.subject)
        low, high = self.colorbar_.mappable.get_clim()
        self.colorbar_.set_ticks([tick for tick in np.arange(0, 11) / 10 if low - 1e-9 <= tick <= high + 1e-9])
        if low < 0.5 < high:
            self.colorbar_.ax.axhline(0.5, color=ALARM, linewidth=2.5)
        set_title(ax, *titles)
        places = self.sites
        if places is None:
            members = [self.position[rows] for rows in self.members()]
            places = np.array([np.median(each, axis=0) if each.size else (np.nan, np.nan) for each in members])
        inside = [i for i, place in enumerate(places) if (place >= self.lower).all() and (place <= self.upper).all()]
        texts = [shorten(self.names[i], _LONG) for i in inside]
        self.labels_ = place_labels(ax, places[inside], texts, avoid=self.sites, fontsize=9, fontweight="bold")


class AffinityMapDisplay(_Map):
    """The points of a result on a plane, colored by trust, the largest affinity, or the affinity to one cluster.

    Parameters
    ----------
    result
        The result of :func:`allegiance.trust` or :func:`allegiance.affinity`.
    X
        (n, 2) coordinates to draw the points at, such as those of UMAP, or (n, d) data whose two principal axes make
        the map, standardized for ``influence="within"``; without it, the affinities are used.
    which
        "trust", "affinity" (the largest), or the label of a cluster to show the affinity to. By default trust if there
        is any, else affinity.
    names
        Names of clusters by label, which are shown with the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> from allegiance.displays import AffinityMapDisplay
    >>> X = np.random.default_rng(0).normal(np.repeat([[0, 0], [4, 0], [2, 4]], 30, axis=0))
    >>> AffinityMapDisplay(affinity(X, np.repeat(["a", "b", "c"], 30)), X).frame().shape
    (90, 4)
    """

    def __init__(
        self,
        result: AffinityResult,
        X: Any = None,
        *,
        which: Any = None,
        names: Mapping[Any, str] | None = None,
    ) -> None:
        check_result(result, "AffinityMapDisplay")
        rows = result.affinity if X is None else check_rows(BaseEstimator(), X, reset=True)
        check_length(rows, len(result))
        if rows.shape[1] < 2:
            raise ValueError("a map needs at least two columns. Pass X, such as (n, 2) coordinates.")
        if X is not None and rows.shape[1] > 2 and result._measurement.influence.startswith("within"):
            rows = standardize(rows)  # closeness takes no notice of units
        plane = _principal_plane(rows) if X is None else _choose_plane(rows, getattr(X, "columns", None), None)
        super().__init__(result, plane.project(rows), plane.names, None, which, names)

    def plot(self, ax: Any = None, *, cmap: Any = COLOR_SCALE, point_kw: Any = None) -> AffinityMapDisplay:
        """Draw the map of the points, by default in a new figure, and return the display.

        ``point_kw`` are parameters of ``Axes.scatter`` for the points.
        """
        ax = self._prepare(ax)
        lowest = min(float(np.nanmin(self.value, initial=0.5)), 0.5 - _STEP)
        self._draw_points(ax, {"cmap": cmap, "vmin": lowest, "vmax": 1.0}, point_kw or {})
        self.field_ = self.points_[0]
        self._finish(ax, f"{self._title} of the points", self._outside)
        return self

    def frame(self) -> Any:
        """Return the map as numbers, one row per point: ``x``, ``y``, ``label`` and the value."""
        x, y = self.position.T
        return FrameLike().build({"x": x, "y": y, "label": self.result.label, self.value_name: self.value})


class AffinityFieldDisplay(_Map):
    """Trust, the largest affinity or the affinity to one cluster, at every position of a plane.

    With more than two features the plane goes through the mean of X along its two principal axes, or along two
    ``features``. Every position of the picture is scored as a point of that plane; only the data points are projected
    onto it. With a pipeline, the plane lies in the transformed space. For the largest affinity, ``kind="contour"`` and
    ``kind="heat"`` are the two pictures of the paper; in the second, lower is brighter.

    Parameters
    ----------
    scorer
        A fitted :class:`~allegiance.AffinityScorer`.
    X
        (n, d) points to draw.
    labels
        (n,) their labels; by default those that the scorer gives to new points.
    which
        As for :class:`AffinityMapDisplay`; "trust" is the trust of the label that a point at that position would get.
    features
        Two features, by number or name: a slice along them.
    resolution
        Number of grid positions along each axis.
    names
        Names of clusters by label, which are shown with the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import AffinityScorer
    >>> from allegiance.displays import AffinityFieldDisplay
    >>> X = np.random.default_rng(0).normal(np.repeat([[0, 0], [4, 0], [2, 4]], 30, axis=0))
    >>> scorer = AffinityScorer().fit(X, np.repeat(["a", "b", "c"], 30))
    >>> AffinityFieldDisplay(scorer, X, resolution=50).frame().shape
    (2500, 3)
    """

    def __init__(
        self,
        scorer: AffinityScorer,
        X: Any,
        *,
        labels: Any = None,
        which: Any = None,
        features: Any = None,
        resolution: int = 150,
        names: Mapping[Any, str] | None = None,
    ) -> None:
        if not hasattr(scorer, "calibration"):
            raise TypeError(
                f"AffinityFieldDisplay needs a fitted AffinityScorer, got {type(scorer).__name__}. Wrap a clusterer as "
                "AffinityScorer(clusterer).fit(X), or labels as AffinityScorer().fit(X, labels)."
            )
        check_is_fitted(scorer)
        if check_count(resolution, "resolution") < 2:
            raise ValueError("resolution must be at least 2.")
        fitted = scorer.fitted_
        if not fitted.influence.takes_points:
            raise ValueError("AffinityFieldDisplay scores the places of a plane, which Kernel('precomputed') cannot.")
        rows = fitted.columns.check(X)
        if rows.shape[1] < 2:
            raise ValueError("AffinityFieldDisplay needs at least two features. Use AffinityProfileDisplay.")
        rows = rows.astype(np.float64) if is_sparse(rows) else dense(rows)
        result = fitted.score(X, labels=labels)
        plane = _choose_plane(rows, fitted.columns.prepared_names, features)
        sites = plane.project(fitted.centers) if fitted.influence.flat_sides else None
        super().__init__(result, plane.project(rows), plane.names, sites, which, names)
        middles = (np.arange(resolution) + 0.5)[:, None]
        self._x, self._y = (self.lower + (self.upper - self.lower) * middles / resolution).T
        """(m,) middles of the squares of a grid over the view."""
        places = plane.lift(self._grid())
        low, high = fitted.influence.limits
        defined = ((places > low) & (places < high)).all(axis=1)
        field = fitted.without_preprocessing().score(places[defined])
        values, owner = np.full(defined.size, np.nan), np.full(defined.size, -1)
        values[defined], owner[defined] = _map_values(field, which)[2], field._codes
        self._note = plane.note
        self.field = values.reshape(resolution, resolution)
        """(m, m) values over the view, rows from bottom to top; NaN where the divergence is not defined."""
        self.owner = owner.reshape(resolution, resolution)
        """(m, m) number of the cluster that a point at each place would get, -1 where it is not defined."""

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "contour",
        cmap: Any = None,
        show_points: bool = True,
        point_kw: dict[str, Any] | None = None,
    ) -> AffinityFieldDisplay:
        """Draw the field over the plane, by default in a new figure, and return the display.

        ``kind`` is "contour", or "heat" for shades of gray; ``cmap`` replaces its colors. ``point_kw`` are parameters
        of ``Axes.scatter`` for the points, which ``show_points=False`` leaves out.
        """
        check_choice(kind, "kind", ("contour", "heat"))
        ax = self._prepare(ax)
        self.threshold_: Any = None
        self.sites_: Any = None
        self.borders_: list[Any] = []
        self._draw_field(ax, kind, cmap or (COLOR_SCALE if kind == "contour" else GRAY_SCALE))
        self._draw_cells(ax)
        if show_points:
            self._draw_points(ax, None, point_kw or {})
        side = "above" if np.nanmin(self.field) >= 0.5 else "below"
        line = "orange line: one half" if self.threshold_ is not None else f"{side} one half everywhere"
        note = f"{self._note}; points projected" if self._note else ""
        self._finish(ax, f"{self._title} over the plane; {line}", note)
        return self

    def frame(self) -> Any:
        """Return one row per place of the grid: ``x``, ``y`` and the value."""
        x, y = self._grid().T
        return FrameLike().build({"x": x, "y": y, self.value_name: self.field.ravel()})

    def _grid(self) -> FloatArray:
        """Return the middles (m * m, 2) of the squares of the map's grid, row by row from the bottom."""
        return np.column_stack([side.ravel() for side in np.meshgrid(self._x, self._y)])

    def _draw_field(self, ax: Axes, kind: str, cmap: Any) -> None:
        """Draw the values at every place of the map as contours or shades of gray, and the line at one half."""
        field, x, y = np.ma.masked_invalid(self.field), self._x, self._y
        lowest = min(np.floor(float(field.min()) / _STEP) * _STEP, 1.0 - 2 * _STEP)
        levels = np.arange(lowest, 1.0 + _STEP / 2, _STEP)
        style: dict[str, Any] = {"cmap": cmap, "vmin": lowest, "vmax": 1.0}
        if kind == "heat":
            extent = (self.lower[0], self.upper[0], self.lower[1], self.upper[1])
            style |= {"origin": "lower", "interpolation": "bilinear", "aspect": ax.get_aspect()}
            self.field_ = ax.imshow(field, extent=extent, **style)
        else:
            # The topmost level belongs to no band by itself.
            self.field_ = ax.contourf(x, y, np.minimum(field, 1.0 - 1e-9), levels=levels, **style)
            ax.contour(x, y, field, levels=levels[1:-1], colors=[text_color(ax)], linewidths=0.4, alpha=0.5)
        if field.min() < 0.5 < field.max():
            self.threshold_ = ax.contour(x, y, field, levels=[0.5], colors=[ALARM], linewidths=2.0)
            self.threshold_.set_path_effects(outline(ax, 3.4))
        # The field is known at the middles of the grid's squares, the outermost half a square inside the view.
        ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))

    def _draw_cells(self, ax: Axes) -> None:
        """Draw the borders between clusters on the map, and the representatives."""
        for code in np.unique(self.owner[self.owner >= 0])[1:]:
            inside = np.ma.masked_where(self.owner < 0, (self.owner == code).astype(np.float64))
            line = ax.contour(self._x, self._y, inside, levels=[0.5], colors=[text_color(ax)], linewidths=0.9)
            line.set_path_effects(outline(ax, 2.2))
            self.borders_.append(line)
        if self.sites is not None:
            style: dict[str, Any] = {"marker": "x", "s": 36, "linewidths": 1.6, "zorder": 4}
            self.sites_ = ax.scatter(*self.sites.T, color=text_color(ax), path_effects=outline(ax, 3.2), **style)


class _Plane(NamedTuple):
    """The plane of a map: the points origin + u first + v second of the space of X."""

    origin: FloatArray
    axes: FloatArray
    names: tuple[str, str]
    note: str

    def lift(self, uv: FloatArray) -> FloatArray:
        """Return the points (n, d) of the space at coordinates (n, 2) of the map."""
        return self.origin + uv @ self.axes

    def project(self, X: Rows) -> FloatArray:
        """Return the coordinates (n, 2) of rows of X on the map: the closest points of its plane."""
        return np.asarray(X @ self.axes.T) - self.origin @ self.axes.T


def _choose_plane(rows: Rows, names: AnyArray | None, features: Any) -> _Plane:
    """Return the plane of a map: all of two features, a slice along two, or the principal one."""
    d = rows.shape[1]
    if features is None and d > 2:
        return _principal_plane(rows)
    point = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    known = [f"feature {i}" for i in range(d)] if names is None else [str(name) for name in names]
    columns = (0, 1) if features is None else features
    columns = [columns] if isinstance(columns, str) or not np.iterable(columns) else list(columns)
    numbers = [known.index(item) if isinstance(item, str) and item in known else item for item in columns]
    valid = all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) and 0 <= i < d for i in numbers)
    if len(numbers) != 2 or not valid or numbers[0] == numbers[1]:
        raise ValueError(f"features must be two different features, by name or number below {d}, got {features!r}.")
    axes = np.eye(d)[numbers]
    note = f"slice through the mean of {d} features" if d > 2 else ""
    return _Plane(point - point @ axes.T @ axes, axes, (known[numbers[0]], known[numbers[1]]), note)


def _principal_plane(data: Rows) -> _Plane:
    """Return the plane of a map along the two principal axes of ``data`` (n, d), through its mean."""
    from sklearn.decomposition import PCA

    n, d = data.shape
    if n < 3:
        raise ValueError("principal axes need at least three rows of X. Pass more rows, or choose features=(i, j).")
    solver = "arpack" if is_sparse(data) and min(data.shape) > 2 else "auto"
    with np.errstate(invalid="ignore", divide="ignore"):
        pca = PCA(2, svd_solver=solver, random_state=0).fit(data if solver == "arpack" else dense(data))
    shares = [f" ({ratio:.0%} of variance)" if np.isfinite(ratio) else "" for ratio in pca.explained_variance_ratio_]
    note = f"principal plane through the mean of {d} features" if d > 2 else ""
    point = np.asarray(data.mean(axis=0), dtype=np.float64).ravel()
    return _Plane(point, pca.components_, (f"principal axis 1{shares[0]}", f"principal axis 2{shares[1]}"), note)


def _view_corners(position: FloatArray, sites: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a map's view around representatives and points (n, 2), without extreme outliers."""
    low, high = np.quantile(position, [_TAIL, 1 - _TAIL], axis=0)
    far = np.where(high > low, high - low, np.inf)
    position = np.clip(position, low - far, high + far)
    position = position if sites is None else np.vstack([position, sites])
    lower, upper = position.min(axis=0), position.max(axis=0)
    extent = upper - lower
    reach = np.where(extent > 0, _MARGIN * extent, max(float(extent.max()), 1.0) / 2.0)
    return lower - reach, upper + reach


def _map_values(result: Any, which: Any) -> tuple[str, str, FloatArray]:
    """Return the name, the description and the values (n,) of what a map shows; NaN where it is not stored."""
    if which is None:
        which = "trust" if result._has_trust else "affinity"
    if isinstance(which, str) and which == "trust":
        if not result._has_trust:
            raise ValueError("which='trust' needs calibration. Call trust(X, labels), or pass calibration=20.")
        return which, which, np.asarray(result.trust)
    if isinstance(which, str) and which == "affinity":
        return which, "largest affinity", np.asarray(result.affinity.max(axis=1))
    names = result.classes.tolist()
    place = next((i for i, name in enumerate(names) if str(name) == str(which)), None)
    if place is None:
        known = ", ".join(map(repr, names))
        raise ValueError(f"which must be 'trust', 'affinity' or the label of a cluster ({known}), got {which!r}.")
    if result.clusters is None:
        values = np.asarray(result.affinity[:, place])
    else:
        matches = result.clusters == names[place]
        values = np.where(matches.any(axis=1), np.where(matches, result.affinity, 0.0).sum(axis=1), np.nan)
    return f"affinity_{names[place]}", f"affinity to cluster {names[place]}", values
