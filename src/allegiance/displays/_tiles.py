"""Rows of data side by side: images with captions, or lines of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from allegiance._core import AnyArray, FloatArray, IntArray

from ._canvas import ink_of, settle
from ._inputs import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Room for the caption below an image and for the gap beside it, in widths of an image.
_CAPTION, _GAP = 0.5, 0.12
#: Sizes of texts in points, width of a character as a share of it, and the longest entry of a table.
_LARGEST, _SMALLEST, _CHARACTER, _LONGEST = 8.5, 3.0, 0.6, 18
#: Room for the title of a line, and between two blocks of it, in widths of an image.
_TITLE_WIDTH, _BETWEEN = 1.0, 0.5


def _block_starts(lines: dict[str, list[IntArray]]) -> FloatArray:
    """Return where each block of a line begins, and where the last one ends, in widths of an image."""
    longest = np.array([[block.size for block in blocks] for blocks in lines.values()]).max(axis=0)
    return np.concatenate([[0.0], np.cumsum(longest * (1.0 + _GAP) + _BETWEEN)])


def images_size(lines: dict[str, list[IntArray]], images: AnyArray) -> tuple[float, float]:
    """Return the width and height in inches of a figure for lines of images (m, height, width[, 3])."""
    ratio = min(images.shape[1] / images.shape[2], 3.0)
    width, height = _TITLE_WIDTH + float(_block_starts(lines)[-1]), len(lines) * (ratio + _CAPTION)
    scale = min(1.0, 14.0 / width)
    return max(scale * width, 4.0), scale * height + 0.7


def draw_images(
    ax: Axes, lines: dict[str, list[IntArray]], images: AnyArray, shown: dict[str, AnyArray], cmap: Any
) -> tuple[list[Any], list[Any]]:
    """Draw lines of images with captions below, and return both.

    Parameters
    ----------
    ax
        Where; their own axes are hidden.
    lines
        For the title of each line, blocks of entries of ``images`` (m, height, width[, 3]) and ``shown``.
    images
        The images.
    shown
        What the captions say.
    cmap
        Colour map of images without colours.
    """
    ratio = images.shape[1] / images.shape[2]
    starts = _block_starts(lines)
    ax.set_axis_off()
    pictures, places = [], []
    low, high = float(images.min()), float(images.max())
    if images.ndim == 4 and high > 1.0:
        images = images / (255.0 if high <= 255.0 else high)
    for line, blocks in enumerate(lines.values()):
        top = -line * (ratio + _CAPTION)
        for start, block in zip(starts, blocks, strict=False):
            for column, entry in enumerate(block):
                left = start + column * (1.0 + _GAP)
                extent = (left, left + 1.0, top - ratio, top)
                pictures.append(ax.imshow(images[entry], extent=extent, cmap=cmap, vmin=low, vmax=high))
                places.append((left + 0.5, top - ratio - 0.04, entry))
    bottom = -len(lines) * (ratio + _CAPTION)
    ax.set(xlim=(-_TITLE_WIDTH, starts[-1] - _GAP - _BETWEEN), ylim=(bottom, 0.06))
    ax.set_aspect("equal")
    size, length = _caption_size(ax)
    ink = ink_of(ax)
    texts = [
        ax.text(x, y, _caption(shown, entry, length), ha="center", va="top", fontsize=size, color=ink, linespacing=1.1)
        for x, y, entry in places
    ]
    for line, title in enumerate(lines):
        middle = -line * (ratio + _CAPTION) - ratio / 2.0
        words = "\n".join(shortened(word, length) for word in title.split("\n"))
        texts.append(ax.text(-_GAP, middle, words, ha="right", va="center", fontsize=min(size + 1, 9.0), color=ink))
    return pictures, texts


def _caption_size(ax: Axes) -> tuple[float, int]:
    """Return the size of captions in points, and how many characters then fit below an image."""
    settle(ax)
    width = ax.transData.transform([(1.0 + _GAP, 0.0)])[0, 0] - ax.transData.transform([(0.0, 0.0)])[0, 0]
    points = width * 72.0 / ax.figure.figure.dpi
    size = float(np.clip(min(points / (12 * _CHARACTER), points * _CAPTION / (3.2 * 1.2)), _SMALLEST, _LARGEST))
    return size, max(4, int(points / (size * _CHARACTER)))


def word_of(shown: dict[str, AnyArray]) -> str:
    """Return what rows are ranked by: "trust" or "own affinity"."""
    return "trust" if "trust" in shown else "own affinity"


def _ranking(shown: dict[str, AnyArray]) -> AnyArray:
    return shown[word_of(shown).replace(" ", "_")]


def _caption(shown: dict[str, AnyArray], entry: int, length: int) -> str:
    value = f": {_ranking(shown)[entry]:.2f}"
    label, rival = str(shown["label"][entry]), str(shown["rival"][entry])
    return shortened(label, length - len(value)) + value + "\nrival " + shortened(rival, length - 6)


def _cells(shown: dict[str, AnyArray], values: AnyArray, feature_names: list[str]) -> list[list[str]]:
    """Return the table as texts, its header first."""
    per_cluster = bool((shown["cluster"] != "").any())
    head = ["trusted", "row", "label", word_of(shown), "verdict", "rival", *feature_names]
    lines = [[shortened(name, _LONGEST) for name in (["cluster", *head] if per_cluster else head)]]
    for i, row in enumerate(values):
        line = [
            str(shown["group"][i]).removesuffix(" trusted"),
            str(shown["row"][i]),
            str(shown["label"][i]),
            f"{_ranking(shown)[i]:.2f}",
            str(shown["verdict"][i]),
            str(shown["rival"][i]),
            *(_number(value) for value in row),
        ]
        lines.append(
            [shortened(text, _LONGEST) for text in ([str(shown["cluster"][i]), *line] if per_cluster else line)]
        )
    return lines


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) else str(value)


def _column_widths(cells: list[list[str]]) -> AnyArray:
    """Return the width of each column in characters, with the space between columns."""
    return np.array([max(map(len, column)) + 2 for column in zip(*cells, strict=True)])


def table_width(shown: dict[str, AnyArray], values: AnyArray, feature_names: list[str]) -> float:
    """Return the width in inches of a figure in which a table is comfortable to read."""
    characters = _column_widths(_cells(shown, values, feature_names)).sum()
    return float(np.clip(characters * _CHARACTER * _LARGEST / 72.0 + 0.3, 4.5, 16.0))


def draw_table(ax: Axes, shown: dict[str, AnyArray], values: AnyArray, feature_names: list[str]) -> list[Any]:
    """Write a table over the whole of the axes, in the largest size that fits, and return its texts.

    Parameters
    ----------
    ax
        Where; their own axes are hidden.
    shown
        What is known of each line.
    values
        (m, f) values of the features.
    feature_names
        (f,) their names.
    """
    ax.set_axis_off()
    cells = _cells(shown, values, feature_names)
    widths = _column_widths(cells)
    settle(ax)
    box = ax.get_window_extent()
    points = 72.0 / ax.figure.figure.dpi
    fits = min(box.width * points / (_CHARACTER * widths.sum()), box.height * points / (1.5 * len(cells)))
    size = float(np.clip(fits, _SMALLEST, _LARGEST))
    right = (np.cumsum(widths) - 1) / widths.sum()
    y = 1.0 - (np.arange(len(cells)) + 0.5) / len(cells)
    texts: list[Any] = []
    for i, line in enumerate(cells):
        style = {"fontsize": size, "fontweight": "bold" if i == 0 else "normal", "color": ink_of(ax), "va": "center"}
        texts.extend(
            ax.text(x, y[i], text, ha="right", transform=ax.transAxes, **style)
            for x, text in zip(right, line, strict=True)
        )
    groups = np.array([f"{a} {b}" for a, b in zip(shown["cluster"], shown["group"], strict=True)])
    starts = [1, *(np.flatnonzero(groups[1:] != groups[:-1]) + 2)]
    for start in starts:
        ax.plot(
            [0, 1], [1.0 - start / len(cells)] * 2, transform=ax.transAxes, color=ink_of(ax), linewidth=0.6, alpha=0.6
        )
    return texts
