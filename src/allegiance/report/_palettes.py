"""Colours for trust: orange where it is low, blue where it is high, and the low end the most visible on any page."""

from __future__ import annotations

import numpy as np

#: Colours at equal steps from 0 to 1, which approach the colour of the page: white, or nearly black.
_ANCHORS = {
    "light": ("#6b2300", "#b5490a", "#dc8a45", "#b9b4ae", "#9fbbdb"),
    "dark": ("#ffc680", "#f39a48", "#b97742", "#6b6a70", "#46638a"),
}
_SIZE = 256


def palettes() -> dict[str, list[str]]:
    """Return the colours from low to high for a light and for a dark page."""
    return {theme: _between(anchors) for theme, anchors in _ANCHORS.items()}


def _between(anchors: tuple[str, ...]) -> list[str]:
    """Return colours that lie evenly between the anchors."""
    channels = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in anchors])
    place = np.linspace(0, len(anchors) - 1, _SIZE)
    mixed = [np.interp(place, np.arange(len(anchors)), channel).round().astype(int) for channel in channels.T]
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in zip(*mixed, strict=True)]
