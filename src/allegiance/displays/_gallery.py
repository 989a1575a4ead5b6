"""The most and the least trusted rows, as images."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray, IntArray, check_count, is_sparse
from allegiance.results import FrameLike

from ._canvas import ResultDisplay, check_length, get_axes, set_title, shorten, text_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from allegiance.results import AffinityResult

_MOST, _LEAST = "most trusted", "least trusted"
#: Room for the caption below an image and for the gap between two, in widths of an image.
_CAPTION, _GAP = 0.5, 0.12
#: Room for the title of a line, and between two blocks of it, in widths of an image.
_TITLE_WIDTH, _BETWEEN = 1.0, 0.5
#: Sizes of texts in points, and the width of a character as a share of it.
_LARGEST, _SMALLEST, _CHARACTER = 8.5, 3.0, 0.6


class GalleryDisplay(ResultDisplay):
    """The most and the least trusted rows as images; for the rows of a table see ``result.review()``.

    Captions give the label and its trust, below them the rival: the best cluster other than the label. Without
    calibration, own affinity takes the place of trust. Noise has neither and is not shown.

    Parameters
    ----------
    result
        The result of :func:`allegiance.trust` or :func:`allegiance.affinity`.
    X
        (n, height, width) or (n, height, width, 3) images, or (n, d) the data that was scored.
    image_shape
        (height, width) or (height, width, 3) of each row of X, if X is a table.
    n
        How many rows of each kind.
    per_cluster
        Show ``n`` of each kind for every label, rather than overall.
    names
        Names of clusters by label, which are shown with the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> from allegiance.displays import GalleryDisplay
    >>> images = np.array([0.0, 1.0, 4.0, 9.0, 10.0])[:, None, None] * np.ones((2, 2))
    >>> result = affinity(images.reshape(5, 4), [0, 0, 0, 1, 1], influence="euclidean")
    >>> GalleryDisplay(result, images, n=2).frame()["row"].tolist()
    [1, 4, 2, 3]
    """

    def __init__(
        self,
        result: AffinityResult,
        X: Any,
        *,
        image_shape: Any = None,
        n: int = 8,
        per_cluster: bool = False,
        names: Mapping[Any, str] | None = None,
    ) -> None:
        super().__init__(result, names)
        check_length(X, len(result))
        self.per_cluster = per_cluster
        self.examples = self._choose_rows(check_count(n, "n"))
        """The columns of :meth:`frame` by name."""
        images: Any = (X.tocsr() if is_sparse(X) else np.asarray(X))[self.examples["row"]]
        images = images.toarray() if is_sparse(images) else images
        d = int(np.prod(images.shape[1:]))
        shape = images.shape[1:] if image_shape is None else tuple(np.atleast_1d(image_shape).tolist())
        if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (3, 4)) or int(np.prod(shape)) != d:
            raise ValueError(
                f"GalleryDisplay shows images. Pass image_shape=(height, width) or (height, width, 3) with a product "
                f"of {d}, the columns of X, got {image_shape!r}; for a table use result.review()."
            )
        self.images: AnyArray = images.reshape(-1, *shape)
        """(m, height, width) or (m, height, width, 3) in the order of ``examples``."""

    def plot(self, ax: Any = None, *, cmap: Any = "gray") -> GalleryDisplay:
        """Draw the gallery, by default in a new figure, and return the display.

        ``cmap`` is the color map of images without colors.
        """
        lines = self._lines()
        longest = np.array([[block.size for block in blocks] for blocks in lines.values()]).max(axis=0)
        # Where each block of a line begins, and where the last one ends, in widths of an image.
        starts = np.concatenate([[0.0], np.cumsum(longest * (1.0 + _GAP) + _BETWEEN)])
        ratio = self.images.shape[1] / self.images.shape[2]
        width, height = _TITLE_WIDTH + float(starts[-1]), len(lines) * (min(ratio, 3.0) + _CAPTION)
        scale = min(1.0, 14.0 / width)
        ax = get_axes(ax, "GalleryDisplay.plot", (max(scale * width, 4.0), scale * height + 0.7))
        self.ax_, self.figure_ = ax, ax.figure
        side = "left: most trusted, right: least; " if self.per_cluster else ""
        title = "Most and least trusted rows" + (" of each cluster" if self.per_cluster else "")
        set_title(ax, title, f"{side}below each its label and {self.ranking_name.replace('_', ' ')}, then the rival")
        ax.set_axis_off()
        low, high = float(self.images.min()), float(self.images.max())
        colors = self.images.ndim == 4 and high > 1.0
        images = self.images / (255.0 if high <= 255.0 else high) if colors else self.images
        self.images_, places = [], []
        for line, blocks in enumerate(lines.values()):
            top = -line * (ratio + _CAPTION)
            for start, block in zip(starts, blocks, strict=False):
                for i, entry in enumerate(block.tolist()):
                    left = start + i * (1.0 + _GAP)
                    extent = (left, left + 1.0, top - ratio, top)
                    self.images_.append(ax.imshow(images[entry], cmap=cmap, extent=extent, vmin=low, vmax=high))
                    places.append((left + 0.5, top - ratio - 0.04, entry))
        bottom = -len(lines) * (ratio + _CAPTION)
        ax.set(xlim=(-_TITLE_WIDTH, starts[-1] - _GAP - _BETWEEN), ylim=(bottom, 0.06))
        ax.set_aspect("equal")
        self.texts_ = self._write(ax, list(lines), places, ratio)
        return self

    def frame(self) -> Any:
        """Return one row per image: ``group``, ``cluster``, ``row``, ``label``, ``trust``, ``verdict``, ``rival``."""
        return FrameLike().build(self.examples)

    def _lines(self) -> dict[str, list[IntArray]]:
        """Return the lines of the gallery by title: a cluster with two blocks of images, or one kind of images."""
        group, cluster = self.examples["group"], self.examples["cluster"]
        if not self.per_cluster:
            return {kind.replace(" ", "\n"): [np.flatnonzero(group == kind)] for kind in (_MOST, _LEAST)}
        names = dict(zip(map(str, self.result.classes.tolist()), self.names, strict=True))
        return {
            "\n".join(textwrap.wrap(names[name], 16)[:4]): [
                np.flatnonzero((cluster == name) & (group == kind)) for kind in (_MOST, _LEAST)
            ]
            for name in dict.fromkeys(cluster.tolist())
        }

    def _write(self, ax: Axes, titles: list[str], places: list[tuple[float, float, int]], ratio: float) -> list[Any]:
        """Write captions below the images of the gallery and titles before its lines, in a size that fits."""
        ax.figure.figure.draw_without_rendering()
        corners: FloatArray = ax.transData.transform([(0.0, 0.0), (1.0 + _GAP, 0.0)])
        points = (corners[1, 0] - corners[0, 0]) * 72.0 / ax.figure.figure.dpi
        size = float(np.clip(min(points / (12 * _CHARACTER), points * _CAPTION / (3.2 * 1.2)), _SMALLEST, _LARGEST))
        length = max(4, int(points / (size * _CHARACTER)))
        color = text_color(ax)
        texts = []
        for x, y, entry in places:
            value = f": {self.examples[self.ranking_name][entry]:.2f}"
            label, rival = (str(self.examples[name][entry]) for name in ("label", "rival"))
            text = shorten(label, length - len(value)) + value + "\nrival " + shorten(rival, length - 6)
            texts.append(ax.text(x, y, text, ha="center", va="top", fontsize=size, color=color, linespacing=1.1))
        for line, title in enumerate(titles):
            words = "\n".join(shorten(word, length) for word in title.split("\n"))
            middle = -line * (ratio + _CAPTION) - ratio / 2.0
            style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": min(size + 1, 9.0), "color": color}
            texts.append(ax.text(-_GAP, middle, words, **style))
        return texts

    def _choose_rows(self, n: int) -> dict[str, AnyArray]:
        """Return the most and least trusted rows for the gallery, without repeats."""
        result, ranking = self.result, self.ranking
        groups = dict(zip(map(str, result.classes.tolist()), self.members(), strict=True))
        if not self.per_cluster:
            groups = {"": np.flatnonzero(~result._noise)}
        rows, kinds, clusters = [], [], []
        for name, members in groups.items():
            order = members[np.argsort(ranking[members], kind="stable")]
            least = order[: min(n, (order.size + 1) // 2)]
            most = order[::-1][: min(n, order.size - least.size)]
            most = most[np.lexsort((most, -ranking[most]))]
            rows.extend([*most, *least])
            kinds.extend([_MOST] * most.size + [_LEAST] * least.size)
            clusters.extend([name] * (most.size + least.size))
        row = np.array(rows, dtype=np.int64)
        return {
            "group": np.array(kinds),
            "cluster": np.array(clusters),
            "row": row,
            "label": result.label[row],
            self.ranking_name: ranking[row],
            "verdict": result._verdicts[row],
            "rival": result.rival[row],
        }
