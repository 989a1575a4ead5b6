"""How much closer a point is to the representative of its own cluster than to the nearest other one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, FloatArray, for_row_blocks
from allegiance.influence import Diagram, Located

#: Numbers of a block of distances: small enough to stay in the cache of a core.
_BLOCK = 2**17


class Closeness(NamedTuple):
    """Two numbers for each point that affinity does not see, since it lives in the span of the representatives."""

    closeness: FloatArray
    """(n,) from 0 to 1: 1/2 where own and nearest other representative are equally far; 0 for noise."""
    distance: FloatArray
    """(n,) from the representative of the own cluster; for noise from the nearest one."""


def closeness_of(diagram: Diagram, located: Located, codes: AnyArray, threads: int = 1) -> Closeness:
    """Compare distances, the part off the span of the representatives included; ``codes`` (n,) are -1 for noise.

    With o the distance from the own representative and t from the nearest other one it is
    (1 + (t - o) / max(t, o)) / 2. For a Bregman divergence the distance is its square root.
    """
    n, k = codes.shape[0], diagram.positions.shape[0]
    result = Closeness(np.empty(n), np.empty(n))

    def work(rows: slice) -> None:
        size = max(_BLOCK // max(k, 1), 64)
        for start in range(rows.start, rows.stop, size):
            part = slice(start, min(start + size, rows.stop))
            here = Located(located.position[part], located.off_span[part])
            result.closeness[part], own = _compare(diagram.all_divergences(here), codes[part])
            result.distance[part] = own / diagram.unit

    with np.errstate(over="ignore", invalid="ignore"):
        for_row_blocks(work, n, threads)
    return result


def _compare(squared: FloatArray, codes: AnyArray) -> Closeness:
    rows = np.arange(codes.shape[0])
    noise = codes < 0
    own = np.where(noise, squared.min(axis=1), squared[rows, codes])
    squared[rows[~noise], codes[~noise]] = np.inf
    other = squared.min(axis=1)
    own, other = np.sqrt(own), np.sqrt(other)
    larger = np.maximum(own, other)
    gap = np.divide(other - own, larger, out=np.zeros_like(own), where=(larger > 0) & np.isfinite(larger))
    # The only cluster there is has no other one beside it.
    gap[np.isinf(other) & np.isfinite(own)] = 1.0
    return Closeness(np.where(noise, 0.0, (1.0 + gap) / 2.0), own)
