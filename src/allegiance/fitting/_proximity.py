"""How much closer a point is to the representative of its own cluster than to the nearest other one."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray, for_row_blocks
from allegiance.influence import Diagram, Located
from allegiance.results import Proximity

#: Rows compared at a time: few enough that their numbers stay in the cache of a core.
_ROWS = 8192


def proximity_of(diagram: Diagram, located: Located, codes: AnyArray, threads: int = 1) -> Proximity:
    """Compare distances, the part off the span of the representatives included; ``codes`` (n,) are -1 for noise.

    With o the distance from the own representative and t from the nearest other one it is
    (1 + (t - o) / max(t, o)) / 2. For a Bregman divergence the distance is its square root.
    """
    n = codes.shape[0]
    result = Proximity(np.empty(n), np.empty(n))

    def work(rows: slice) -> None:
        for start in range(rows.start, rows.stop, _ROWS):
            part = slice(start, min(start + _ROWS, rows.stop))
            here = Located(located.position[part], located.off_span[part])
            own, other = diagram.own_and_other(here, codes[part])
            result.distance[part] = own
            result.closeness[part] = np.where(codes[part] < 0, 0.0, (1.0 + _gap(own, other)) / 2.0)

    with np.errstate(over="ignore", invalid="ignore"):
        for_row_blocks(work, n, threads)
    return result


def _gap(own: FloatArray, other: FloatArray) -> FloatArray:
    """Return (t - o) / max(t, o) (n,): 0 where both are 0, or too large to be told apart."""
    larger = np.maximum(own, other)
    gap = np.divide(other - own, larger, out=np.zeros_like(own), where=(larger > 0) & np.isfinite(larger))
    # The only cluster there is has no other one beside it.
    gap[np.isinf(other) & np.isfinite(own)] = 1.0
    return gap
