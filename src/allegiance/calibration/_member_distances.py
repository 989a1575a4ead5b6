"""How far the members of a cluster lie from its representative, and what that says about a point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from allegiance._core import (
    AnyArray,
    Array,
    FloatArray,
    IntArray,
    Starts,
    floats,
    stored,
)

from ._row_sample import row_priorities

#: Most members of a cluster whose distances are kept: p-values come in steps of a thousandth.
MOST_MEMBERS = 1024


@stored(
    "member-distances",
    values=floats("t", low=0.0, infinite=True),
    priorities=Array(("t",), "uint64"),
    starts=Starts("k+1", "t"),
    farthest=floats("k", low=0.0, infinite=True),
)
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
        sizes = np.bincount(codes, minlength=farthest.size)
        if codes.size and sizes.max() > MOST_MEMBERS:
            # Priorities are uniform: nearly all that will not be kept can be told before sorting.
            likely = np.minimum(2.0 * MOST_MEMBERS / np.maximum(sizes, 1) + 1e-3, 1.0) * 2.0**64
            candidates = np.flatnonzero(priorities < likely[codes])
            if (np.bincount(codes[candidates], minlength=sizes.size) < np.minimum(sizes, MOST_MEMBERS)).any():
                candidates = np.arange(codes.size)
            farthest = np.maximum(farthest, _largest_by(codes, values, farthest.size))
            codes, values, priorities = codes[candidates], values[candidates], priorities[candidates]
            order = np.lexsort((priorities, codes))
            found = np.bincount(codes, minlength=sizes.size)
            rank = np.arange(codes.size) - np.repeat(np.cumsum(found) - found, found)
            kept = order[rank < MOST_MEMBERS]
            codes, values, priorities = codes[kept], values[kept], priorities[kept]
        order = np.lexsort((priorities, values, codes))
        codes, values, priorities = codes[order], values[order], priorities[order]
        starts = np.searchsorted(codes, np.arange(farthest.size + 1))
        ends = np.flatnonzero(np.diff(starts))
        farthest = farthest.copy()
        farthest[ends] = np.maximum(farthest[ends], values[starts[ends + 1] - 1])
        return cls(values, priorities, starts, farthest)

    def _codes(self) -> IntArray:
        return np.repeat(np.arange(self.farthest.size), np.diff(self.starts))

    def typicality(self, codes: AnyArray, distance: FloatArray) -> FloatArray:
        """Return the conformal p-values (n,): (1 + members that are at least as far) / (1 + members).

        A new point like the members is below 0.01 with a chance of 0.01 at most. NaN for noise, 1 for a cluster without
        members.

        Parameters
        ----------
        codes
            (n,) cluster numbers, -1 for noise.
        distance
            (n,) from the own representative.
        """
        result = np.full(codes.shape[0], np.nan)
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(self.starts.size))
        for cluster in np.flatnonzero(np.diff(bounds)):
            points = order[bounds[cluster] : bounds[cluster + 1]]
            members = self.values[self.starts[cluster] : self.starts[cluster + 1]]
            nearer = np.searchsorted(members, distance[points], side="left")
            result[points] = (1 + members.size - nearer) / (1 + members.size)
        return result


def _largest_by(codes: AnyArray, values: FloatArray, k: int) -> FloatArray:
    """Return the largest value (k,) of each code, 0 where there is none."""
    largest = np.zeros(k)
    np.maximum.at(largest, codes, values)
    return largest
