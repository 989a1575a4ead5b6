"""Small pictures as inline SVG, which need no library: shares, distributions, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from allegiance._core import FloatArray, IntArray

from ._markup import element

#: Colours that show on light and on dark pages, and that colour-blind readers tell apart.
BLUE, AMBER, RED, GREY = "#3f7fb5", "#e69f00", "#c8400b", "#8c8c8c"
_SHARE_COLOURS = (BLUE, AMBER, RED)
#: Width and height of a curve, and the room for its numbers, in pixels.
_WIDTH, _HEIGHT, _LEFT, _BELOW = 380.0, 170.0, 30.0, 34.0
#: Numbers written below a curve at most.
_TICKS = 12


class Share(NamedTuple):
    """A part of a bar."""

    name: str
    value: float


def share_bar(parts: Sequence[Share], *, width: float = 110.0) -> Element:
    """Return a bar divided into parts, coloured from good to bad; empty if all are 0."""
    total = sum(part.value for part in parts)
    bar = _svg(width, 10.0, ", ".join(f"{part.name} {part.value:g}" for part in parts))
    start = 0.0
    for part, colour in zip(parts, _SHARE_COLOURS, strict=False):
        if part.value > 0:
            length = width * part.value / total
            bar.append(element("rect", x=_px(start), y=0, width=_px(length), height=10, fill=colour))
            start += length
    return bar


def histogram_picture(values: FloatArray, name: str, *, bins: int = 20) -> Element:
    """Return the distribution of numbers between 0 and 1, those below one half in another colour; NaN is left out."""
    counts = np.histogram(values[~np.isnan(values)], bins=bins, range=(0.0, 1.0))[0]
    width, height = 240.0, 52.0
    picture = _svg(width, height + 16.0, f"distribution of {name}: {', '.join(str(count) for count in counts)}")
    step, tallest = width / bins, max(int(counts.max(initial=0)), 1)
    for i, count in enumerate(counts.tolist()):
        high = height * count / tallest
        if count:
            bar = {"x": _px(i * step + 0.5), "y": _px(height - high), "width": _px(step - 1.0), "height": _px(high)}
            picture.append(element("rect", **bar, fill=RED if i < bins // 2 else BLUE))
    picture.append(_line(0.0, height, width, height))
    for place, anchor, text in ((0.0, "start", "0"), (width / 2, "middle", name), (width, "end", "1")):
        picture.append(_text(place, height + 12.0, text, anchor))
    return picture


def curve_picture(
    x: IntArray,
    y: FloatArray,
    band: tuple[FloatArray, FloatArray],
    reference: tuple[FloatArray, FloatArray],
    marked: int | None,
    name: str,
) -> Element:
    """Return a curve over numbers, in a scale from 0 (or lower) to 1.

    Parameters
    ----------
    x, y
        (m,) the curve.
    band
        (m,) its lower and its upper limit.
    reference
        (m,) what it is compared with, and how far that reaches.
    marked
        The place along x to point out; None for none.
    name
        What it shows, for readers who do not see it.
    """
    lowest = min(0.0, float(np.min([y.min(), band[0].min(), reference[0].min()])))
    across = (x - x[0]) / max(float(x[-1] - x[0]), 1.0) * (_WIDTH - _LEFT - 12.0) + _LEFT + 4.0

    def up(values: FloatArray | float) -> FloatArray:
        return np.asarray(6.0 + (1.0 - np.asarray(values)) / (1.0 - lowest) * (_HEIGHT - _BELOW - 6.0))

    picture = _svg(_WIDTH, _HEIGHT, name)
    for level in (0.0, 0.5, 1.0):
        height = float(up(level))
        picture.append(_line(_LEFT, height, _WIDTH, height, opacity=0.25))
        picture.append(_text(_LEFT - 4.0, height + 4.0, f"{level:g}", "end"))
    picture.append(_area(across, up(reference[0]), up(reference[1]), GREY))
    picture.append(_area(across, up(band[0]), up(band[1]), BLUE))
    picture.append(_path(across, up(reference[0]), stroke=GREY, stroke_dasharray="4 3"))
    picture.append(_path(across, up(y), stroke=BLUE, stroke_width=2))
    for place, height, number in zip(across, up(y), x, strict=True):
        chosen = number == marked
        picture.append(
            element("circle", cx=_px(place), cy=_px(height), r=5 if chosen else 2.5, fill=RED if chosen else BLUE)
        )
    for place, number in list(zip(across, x, strict=True))[:: -(-x.size // _TICKS)]:
        picture.append(_text(float(place), _HEIGHT - _BELOW + 14.0, str(number), "middle"))
    picture.append(_text((_LEFT + _WIDTH) / 2, _HEIGHT - 4.0, "clusters", "middle"))
    return picture


def _svg(width: float, height: float, title: str) -> Element:
    size = {"width": _px(width), "height": _px(height), "viewBox": f"0 0 {_px(width)} {_px(height)}"}
    return element("svg", element("title", title), role="img", **size)


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float = 1.0) -> Element:
    ends = {"x1": _px(x1), "y1": _px(y1), "x2": _px(x2), "y2": _px(y2)}
    return element("line", **ends, stroke="currentColor", stroke_opacity=opacity)


def _text(x: float, y: float, text: str, anchor: str) -> Element:
    style = {"font_size": 11, "fill": "currentColor", "text_anchor": anchor}
    return element("text", text, x=_px(x), y=_px(y), **style)


def _path(x: FloatArray, y: FloatArray, **style: object) -> Element:
    return element("polyline", points=_points(x, y), fill="none", **style)


def _area(x: FloatArray, low: FloatArray, high: FloatArray, colour: str) -> Element:
    outline = _points(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]))
    return element("polygon", points=outline, fill=colour, fill_opacity=0.22)


def _points(x: FloatArray, y: FloatArray) -> str:
    return " ".join(f"{_px(a)},{_px(b)}" for a, b in zip(x, y, strict=True))


def _px(value: float) -> str:
    """Return a length in pixels, to a hundredth."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
