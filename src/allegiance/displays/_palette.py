"""Colours, markers and hatches of clusters."""

from __future__ import annotations

from typing import NamedTuple

#: The colours of Okabe and Ito, which colour-blind readers tell apart, ordered by contrast; grey instead of black, so
#: that they show on dark pages.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999", "#F0E442")
_MARKERS = ("o", "s", "^", "D", "v", "P", "<", "X")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "oo", "|||")

#: The line at confidence 1/2, and what lies below it.
ALARM = "#D55E00"
#: The scale of affinity in colours, and in grey where lower is brighter.
COLOR_SCALE, GREY_SCALE = "cividis", "gray_r"


class Look(NamedTuple):
    """How a cluster is told from the others."""

    color: str
    marker: str
    hatch: str


def look_of(cluster: int) -> Look:
    """Return the look of a cluster by its number; beyond eight, colours return with other markers and hatches."""
    turn = cluster // len(_COLORS)
    return Look(_COLORS[cluster % len(_COLORS)], _MARKERS[turn % len(_MARKERS)], _HATCHES[turn % len(_HATCHES)])
