"""How far the members of a cluster lie from its representative, and what that says about a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allegiance._core._typing import AnyArray, FloatArray, IntArray

from ._row_sample import row_priorities

#: Most members of a cluster whose distances are kept: p-values come in steps of a thousandth.
MOST_MEMBERS = 1024


@dataclass(frozen=True)
class MemberDistances:
    """For each cluster the distances of its members of lowest priority, and the largest distance of all its members.

    Like :class:`RowSample` it can be built in pieces: neither chunks nor the order of merging matter.

    Attributes
    ----------
    values
        (t,) distances, cluster by cluster, ascending within each.
    priorities
        (t,) uint64, the hash that decides which members are kept.
    starts
        (k + 1,) where the distances of each cluster start in ``values``.
    farthest
        (k,) largest distance of all members, kept or not; 0 for a cluster without members.
    """

    values: FloatArray
    priorities: NDArray[np.uint64]
    starts: IntArray
    farthest: FloatArray

    @classmethod
    def of(
        cls, codes: AnyArray, distance: FloatArray, n_clusters: int, *, seed: int, start: int = 0
    ) -> MemberDistances:
        """Take points numbered from ``start``, with cluster numbers (n,), -1 for noise, at distances (n,)."""
        priorities = row_priorities(seed, start, codes.shape[0])
        members = codes >= 0
        return cls._packed(codes[members], distance[members], priorities[members], np.zeros(n_clusters))

    def plus(self, other: MemberDistances) -> MemberDistances:
        """Return the distances of both sets of points, which must not overlap."""
        return self._packed(
            np.concatenate([self._codes(), other._codes()]),
            np.concatenate([self.values, other.values]),
            np.concatenate([self.priorities, other.priorities]),
            np.maximum(self.farthest, other.farthest),
        )

    @classmethod
    def _packed(
        cls, codes: AnyArray, values: FloatArray, priorities: NDArray[np.uint64], farthest: FloatArray
    ) -> MemberDistances:
        farthest = farthest.copy()
        np.maximum.at(farthest, codes, values)
        order = np.lexsort((priorities, codes))
        sizes = np.bincount(codes, minlength=farthest.size)
        rank = np.arange(codes.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = order[rank < MOST_MEMBERS]
        kept = kept[np.lexsort((priorities[kept], values[kept], codes[kept]))]
        starts = np.append(0, np.cumsum(np.minimum(sizes, MOST_MEMBERS)))
        return cls(values[kept], priorities[kept], starts, farthest)

    def _codes(self) -> IntArray:
        return np.repeat(np.arange(self.farthest.size), np.diff(self.starts))


def share_at_least_as_far(values: FloatArray, starts: IntArray, codes: AnyArray, distance: FloatArray) -> FloatArray:
    """Return the conformal p-values (n,): (1 + members that are at least as far) / (1 + members).

    NaN for noise, 1 for a cluster without members.

    Parameters
    ----------
    values, starts
        Of :class:`MemberDistances`.
    codes
        (n,) cluster numbers, -1 for noise.
    distance
        (n,) from the own representative.
    """
    result = np.full(codes.shape[0], np.nan)
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(starts.size))
    for cluster in np.flatnonzero(np.diff(bounds)):
        points = order[bounds[cluster] : bounds[cluster + 1]]
        members = values[starts[cluster] : starts[cluster + 1]]
        nearer = np.searchsorted(members, distance[points], side="left")
        result[points] = (1 + members.size - nearer) / (1 + members.size)
    return result
