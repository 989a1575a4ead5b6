"""The most and the least trusted rows, to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from allegiance._core import AnyArray, IntArray, check_count, is_sparse
from allegiance.results import AffinityResult

from ._canvas import axes_to_draw_on, frame_of, set_title
from ._inputs import check_data_of, check_result, members_of, ranked_by
from ._tiles import draw_images, draw_table, images_size, table_width, word_of

#: Features shown in a table, if the user names none.
_FEATURES = 5
MOST, LEAST = "most trusted", "least trusted"


class GalleryDisplay:
    """The most and the least trusted rows: as images, or as a table of their features.

    Captions give the label and its trust, below them the rival: the best cluster other than the label. Without
    calibration, own affinity takes the place of trust. Noise has neither and is not shown.

    Parameters
    ----------
    shown
        One entry per row shown, group by group: columns ``group``, ``cluster``, ``row``, ``label``, ``trust`` (or
        ``own_affinity``), ``verdict`` and ``rival``.
    values
        (m, height, width) or (m, height, width, 3) images, or an (m, f) table of feature values.
    feature_names
        (f,) names of the columns of a table; None for images.

    See Also
    --------
    allegiance.AffinityResult.least_trusted : The rows alone.

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.displays import GalleryDisplay
    >>> X = [[0.0], [1.0], [4.0], [9.0], [10.0]]
    >>> result = affinity(X, [0, 0, 0, 1, 1], centers=[[0.0], [10.0]])
    >>> GalleryDisplay.from_result(result, X, n=2).frame()[["group", "row", "own_affinity"]].round(2)
               group  row  own_affinity
    0   most trusted    0           1.0
    1   most trusted    4           1.0
    2  least trusted    2           0.6
    3  least trusted    1           0.9
    """

    def __init__(self, *, shown: dict[str, AnyArray], values: AnyArray, feature_names: list[str] | None = None) -> None:
        self.shown = shown
        self.values = values
        self.feature_names = feature_names

    @classmethod
    def from_result(
        cls,
        result: AffinityResult,
        X: Any,
        *,
        image_shape: Any = None,
        n: int = 8,
        per_cluster: bool = False,
        features: Any = None,
        feature_names: Any = None,
        ax: Any = None,
        **kw: Any,
    ) -> GalleryDisplay:
        """Choose the rows, and draw.

        Parameters
        ----------
        result
            What :func:`allegiance.trust` or :func:`allegiance.affinity` returns.
        X
            (n, d) the data that was scored, or images (n, height, width) or (n, height, width, 3).
        image_shape
            (height, width) or (height, width, 3) of each row of X; by default X is shown as a table, if it holds no
            images already.
        n
            How many rows of each kind.
        per_cluster
            Show ``n`` of each kind for every label, rather than overall.
        features
            For tables, the features to show, by number or name; by default the five in which the clusters differ most,
            relative to the variation of all points.
        feature_names
            (d,) names of the features; by default the names of the columns of X.
        ax
            Axes to draw on; by default those of a new figure.
        **kw
            For :meth:`plot`.
        """
        result = check_result(result, "GalleryDisplay")
        check_data_of(result, X)
        n = check_count(n, "n")
        shown = _choose_rows(result, n, per_cluster)
        data: Any = X.tocsr() if is_sparse(X) else np.asarray(X)
        picked = data[shown["row"]]
        picked = picked.toarray() if is_sparse(picked) else picked
        if image_shape is not None:
            picked = picked.reshape(-1, *_check_shape(image_shape, data))
        if picked.ndim > 2:
            return cls(shown=shown, values=picked).plot(ax=ax, **kw)
        names = _names(X, feature_names)
        chosen = _choose_features(result, data, names, features)
        return cls(shown=shown, values=picked[:, chosen], feature_names=[names[i] for i in chosen]).plot(ax=ax, **kw)

    def plot(self, ax: Any = None, *, cmap: Any = "gray") -> GalleryDisplay:
        """Draw, and return the display.

        Parameters
        ----------
        ax
            Axes to draw on; by default those of a new figure.
        cmap
            Colour map of images without colours.
        """
        lines, names = self._lines(), self.feature_names
        if names is None:
            size = images_size(lines, self.values)
        else:
            size = (table_width(self.shown, self.values, names), 0.23 * (len(self.values) + 3) + 0.6)
        ax = axes_to_draw_on(ax, "GalleryDisplay.plot", size)
        self.ax_, self.figure_ = ax, ax.figure
        title = "Most and least trusted rows" + (" of each cluster" if self._per_cluster else "")
        if names is None:
            side = "left: most trusted, right: least; " if self._per_cluster else ""
            set_title(ax, title, f"{side}below each its label and {word_of(self.shown)}, then the rival")
            self.images_, self.texts_ = draw_images(ax, lines, self.values, self.shown, cmap)
        else:
            set_title(ax, title)
            self.images_, self.texts_ = [], draw_table(ax, self.shown, self.values, names)
        return self

    def frame(self, like: Any = None) -> Any:
        """Return one row per row shown, with the values of the features of a table.

        Parameters
        ----------
        like
            A frame whose kind to use; pandas by default.
        """
        features = {name: self.values[:, i] for i, name in enumerate(self.feature_names or [])}
        return frame_of({**self.shown, **features}, like)

    @property
    def _per_cluster(self) -> bool:
        return bool((self.shown["cluster"] != "").any())

    def _lines(self) -> dict[str, list[IntArray]]:
        """Return the lines of images by their titles: blocks of entries side by side.

        One line for each cluster, with the most and the least trusted as its blocks; or one for each of these overall.
        """
        group, cluster = self.shown["group"], self.shown["cluster"]
        if not self._per_cluster:
            return {kind.replace(" ", "\n"): [np.flatnonzero(group == kind)] for kind in (MOST, LEAST)}
        return {
            name: [np.flatnonzero((cluster == name) & (group == kind)) for kind in (MOST, LEAST)]
            for name in dict.fromkeys(cluster.tolist())
        }


def _choose_rows(result: AffinityResult, n: int, per_cluster: bool) -> dict[str, AnyArray]:
    """Return what is shown of the most and the least trusted rows; no row twice where there are too few."""
    ranking = result.ranking
    groups = members_of(result) if per_cluster else [("", np.flatnonzero(~result.noise))]
    rows, kinds, clusters = [], [], []
    for name, members in groups:
        order = members[np.argsort(ranking[members], kind="stable")]
        least = order[: min(n, (order.size + 1) // 2)]
        most = order[::-1][: min(n, order.size - least.size)]
        most = most[np.lexsort((most, -ranking[most]))]
        rows.extend([*most, *least])
        kinds.extend([MOST] * most.size + [LEAST] * least.size)
        clusters.extend([str(name)] * (most.size + least.size))
    row = np.array(rows, dtype=np.int64)
    return {
        "group": np.array(kinds),
        "cluster": np.array(clusters),
        "row": row,
        "label": result.label[row],
        ranked_by(result): ranking[row],
        "verdict": result.verdict[row],
        "rival": result.rival[row],
    }


def _names(X: Any, feature_names: Any) -> list[str]:
    columns = getattr(X, "columns", None) if feature_names is None else feature_names
    d = X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]
    if columns is None:
        return [f"feature {i}" for i in range(d)]
    names = [str(name) for name in columns]
    if len(names) != d:
        raise ValueError(f"feature_names has {len(names)} names but X has {d} columns: they must be equal.")
    return names


def _check_shape(image_shape: Any, data: AnyArray) -> tuple[int, ...]:
    shape = tuple(image_shape) if np.iterable(image_shape) else (image_shape,)
    d = int(np.prod(data.shape[1:]))
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (3, 4)) or int(np.prod(shape)) != d:
        raise ValueError(
            f"image_shape must be (height, width) or (height, width, 3) with a product of {d}, the columns of X, got "
            f"{image_shape!r}."
        )
    return tuple(int(length) for length in shape)


def _choose_features(result: AffinityResult, data: Any, names: list[str], features: Any) -> IntArray:
    """Return the numbers of the features to show."""
    d = len(names)
    if features is not None:
        wanted = [features] if isinstance(features, str) or not np.iterable(features) else list(features)
        numbers = [names.index(item) if item in names else item for item in wanted]
        if not all(isinstance(i, (int, np.integer)) and 0 <= i < d for i in numbers):
            raise ValueError(f"features must be names or numbers from 0 to {d - 1}, got {features!r}.")
        return np.array(numbers, dtype=np.int64)
    if d <= _FEATURES or np.dtype(data.dtype).kind not in "fiub":
        return np.arange(min(d, _FEATURES))
    return np.sort(np.argsort(-_separation(result, data), kind="stable")[:_FEATURES])


def _separation(result: AffinityResult, data: Any) -> AnyArray:
    """Return for each feature (d,) how much of its variance is between the means of the labels."""
    mean = np.asarray(data.mean(axis=0), dtype=np.float64).ravel()
    squares = data.multiply(data) if is_sparse(data) else np.square(data, dtype=np.float64)
    variance = np.asarray(squares.mean(axis=0)).ravel() - mean**2
    between = np.zeros(mean.size)
    for _, rows in members_of(result):
        if rows.size:
            between += rows.size * (np.asarray(data[rows].mean(axis=0)).ravel() - mean) ** 2
    return np.divide(between, variance, out=np.zeros(mean.size), where=variance > 1e-12 * (mean**2 + variance))
