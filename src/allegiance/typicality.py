"""Typicality: a conformal p-value from the distances of a cluster's members; and distances from representatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allegiance._core.parallel import for_row_blocks, slices
from allegiance._core.parameters import Lazy
from allegiance._core.stored import Array, Starts, floats, stored
from allegiance._core.validation import AnyArray, FloatArray, IntArray
from allegiance.influence import Diagram, Located

#: Most members of a cluster whose distances are kept: p-values have steps of 0.001.
MAX_MEMBERS = 1024
#: Rows whose distances are computed at a time: few enough to stay in the cache of a core.
_ROWS = 8192
Keys = NDArray[np.uint64]


@stored(
    "member-distances",
    values=floats("t", low=0.0, infinite=True),
    counts=Array(("t",), "int64", low=1, high=2**32),
    keys=Array(("t",), "uint64"),
    starts=Starts("k+1", "t"),
    farthest=floats("k", low=0.0, infinite=True),
)
@dataclass(frozen=True)
class MemberDistances:
    """For each cluster the distances of its members of lowest hash, and the largest distance of all its members.

    The contents of the rows determine which members are kept; their order, chunks and merging do not matter. ``values``
    (t,) are distances, cluster by cluster from ``starts`` (k + 1,), ascending within each; ``counts`` (t,) how many
    members are equal; ``keys`` (t,) hashes; ``farthest`` (k,) 0 for a cluster without members.
    """

    values: FloatArray
    counts: IntArray
    keys: Keys
    starts: IntArray
    farthest: FloatArray

    @classmethod
    def of(cls, keys: Keys, codes: AnyArray, distance: FloatArray, n_clusters: int) -> MemberDistances:
        """Take points with keys (n,) and cluster numbers (n,), -1 for noise, at distances (n,)."""
        members = np.flatnonzero(codes >= 0)
        codes, distance, keys = codes[members], distance[members], keys[members]
        farthest = np.zeros(n_clusters)
        np.maximum.at(farthest, codes, distance)
        sizes = np.bincount(codes, minlength=n_clusters)
        # Keys are uniform: exclude most members that will not be kept before sorting.
        bounds = np.minimum(2.0 * MAX_MEMBERS / np.maximum(sizes, 1), 1.0) * float(2**64 - 2048)
        likely, one = np.flatnonzero(keys <= bounds.astype(np.uint64)[codes]), np.ones(codes.size, np.int64)
        kept = cls._keep_lowest(codes[likely], distance[likely], one[likely], keys[likely], farthest)
        if (np.diff(kept.starts) >= np.minimum(sizes, MAX_MEMBERS)).all():
            return kept
        return cls._keep_lowest(codes, distance, one, keys, farthest)

    def merge(self, other: MemberDistances) -> MemberDistances:
        """Return the distances of both sets of points, which must not overlap."""
        return self._keep_lowest(
            np.concatenate([self._member_codes(), other._member_codes()]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.keys, other.keys]),
            np.maximum(self.farthest, other.farthest),
        )

    @classmethod
    def _keep_lowest(
        cls, codes: IntArray, values: FloatArray, counts: IntArray, keys: Keys, farthest: FloatArray
    ) -> MemberDistances:
        """Merge the distances of equal members, and keep those of the members of lowest keys in each cluster."""
        if codes.size:
            order = np.lexsort((values, keys, codes))
            codes, values, counts, keys = codes[order], values[order], counts[order], keys[order]
            first = np.flatnonzero(np.r_[True, (keys[1:] != keys[:-1]) | (codes[1:] != codes[:-1])])
            counts = np.add.reduceat(counts, first)
            codes, values, keys = codes[first], values[first], keys[first]
            rank = np.arange(codes.size) - np.searchsorted(codes, codes)
            kept = np.flatnonzero(rank < MAX_MEMBERS)
            kept = kept[np.lexsort((keys[kept], values[kept], codes[kept]))]
            codes, values, counts, keys = codes[kept], values[kept], counts[kept], keys[kept]
        return cls(values, counts, keys, np.searchsorted(codes, np.arange(farthest.size + 1)), farthest)

    def _member_codes(self) -> IntArray:
        """Return the cluster number (t,) of each member whose distance is kept."""
        return np.repeat(np.arange(self.farthest.size), np.diff(self.starts))

    def typicality(self, codes: AnyArray, distance: FloatArray) -> FloatArray:
        """Return the conformal p-values (n,): (1 + members that are at least as far) / (1 + members).

        Beyond the farthest member, and beyond the second farthest, the value shrinks with the square of the distance,
        as for a tail whose variance is barely infinite. So an outlier among the members is found in a small cluster,
        too, and a new point that resembles the members is rarely below 0.01 unless their tail is heavier. NaN for
        noise, 1 for a cluster without members.
        """
        result = np.full(codes.shape[0], np.nan)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(self.starts.size))
        for cluster in np.flatnonzero(np.diff(bounds)):
            points = order[bounds[cluster] : bounds[cluster + 1]]
            own = slice(self.starts[cluster], self.starts[cluster + 1])
            values, counts, away = self.values[own], self.counts[own], distance[points]
            nearer = np.concatenate([[0], np.cumsum(counts)])
            as_far = 1.0 + nearer[-1] - nearer[np.searchsorted(values, away, side="left")]
            second = values[-1:] if counts[-1:].sum() > 1 else values[-2:-1]
            for rank, end in enumerate((self.farthest[cluster], *second), start=1):
                if end > 0:
                    as_far = np.minimum(as_far, np.where(away > end, rank * (end / np.maximum(away, end)) ** 2, np.inf))
            result[points] = as_far / (1 + nearer[-1])
        return result


def distance_and_closeness(
    diagram: Diagram, located: Located, codes: AnyArray, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Return the distance (n,) of points from the representative of their cluster (n,), and their closeness (n,) to it.

    For noise, -1, the distance is that from the nearest one, and closeness 0. Distances include the part outside the
    span of the representatives. For a Bregman divergence the distance is its square root.
    """
    n = codes.shape[0]
    distance, closeness = np.empty(n), np.empty(n)
    residual = located.residual

    def measure_block(rows: slice) -> None:
        for part in slices(rows, _ROWS):
            some = Located(located.position[part], Lazy.known(residual[part]))
            own, other = diagram.own_and_other(some, codes[part])
            distance[part] = own
            larger = np.maximum(own, other)
            # 0 where both are 0, or too large to compare.
            gap = np.divide(other - own, larger, out=np.zeros_like(own), where=(larger > 0) & np.isfinite(larger))
            # A single cluster has no other one to be close to.
            gap[np.isinf(other) & np.isfinite(own)] = 1.0
            closeness[part] = np.where(codes[part] < 0, 0.0, (1.0 + gap) / 2.0)

    with np.errstate(over="ignore", invalid="ignore"):
        for_row_blocks(measure_block, n, threads)
    return distance, closeness
