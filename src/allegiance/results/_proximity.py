"""How close points are to the representatives of their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, Lazy


class Proximity(NamedTuple):
    """Two numbers for each point that affinity does not see, since it lives in the span of the representatives."""

    closeness: FloatArray
    """(n,) from 0 to 1: 1/2 where own and nearest other representative are equally far; 0 for noise."""
    distance: FloatArray
    """(n,) from the representative of the own cluster; for noise from the nearest one."""


def joined(parts: Sequence[Lazy[Proximity]]) -> Lazy[Proximity]:
    """Return the proximity of the points of several results."""
    return Lazy.known(Proximity(*(np.concatenate(part) for part in zip(*(p.value for p in parts), strict=True))))
