"""Colours of the figures: the same on a light and on a dark page, and visible on both.

A colour with a relative luminance between 0.13 and 0.29 has a contrast of at least 3 to white and to the dark page.
"""

from __future__ import annotations

import colorsys

import numpy as np

#: Colours of trust at equal steps from low to high: strong where a label is doubtful, calm where it is not.
_TRUST = ("#bd2f0c", "#cf5310", "#b07642", "#7f8794", "#6693cc")
_SIZE = 256
#: Colours of the verdicts: supported, contested, contradicted, noise.
VERDICT_COLOURS = ("#6693cc", "#b8791d", "#bd2f0c", "#7d8590")
#: Colours of the first clusters, which are told apart most easily; those of further ones are computed.
_CLUSTERS = (
    "#3b7fc4", "#d2621a", "#3a9650", "#b5479c", "#97801f", "#7d68c8", "#1f97a3", "#c64b57", "#7f8a3a", "#8a6d5c",
)  # fmt: skip
#: Steps around the colour circle that keep neighbours apart, and the luminances taken in turns.
_GOLDEN, _LUMINANCES = 0.618034, (0.16, 0.26, 0.21)


def trust_palette() -> list[str]:
    """Return the colours of trust from low to high."""
    channels = np.array([_channels(colour) for colour in _TRUST])
    place = np.linspace(0, len(_TRUST) - 1, _SIZE)
    mixed = [np.interp(place, np.arange(len(_TRUST)), channel) for channel in channels.T]
    return [_hexadecimal(colour) for colour in zip(*mixed, strict=True)]


def cluster_colours(k: int) -> list[str]:
    """Return a colour for each of k clusters."""
    further = (_of_hue(_GOLDEN * place % 1, _LUMINANCES[place % 3]) for place in range(max(0, k - len(_CLUSTERS))))
    return [*_CLUSTERS[:k], *further]


def _of_hue(hue: float, luminance: float) -> str:
    """Return the colour of a hue with a luminance, found by halving the interval of its lightness."""
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        colour = tuple(255 * channel for channel in colorsys.hls_to_rgb(hue, middle, 0.6))
        low, high = (middle, high) if _luminance(colour) < luminance else (low, middle)
    return _hexadecimal(colour)


def _luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance of WCAG 2."""
    shares = [channel / 255 for channel in colour]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def _hexadecimal(colour: tuple[float, ...]) -> str:
    red, green, blue = (round(channel) for channel in colour)
    return f"#{red:02x}{green:02x}{blue:02x}"
