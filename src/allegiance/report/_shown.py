"""Which points travel with the page."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, stream
from allegiance.results import SUPPORTED, AffinityResult

#: Up to this many points the page holds all of them: about 11 MB.
MAX_POINTS = 100_000
#: Of more points it holds the least trusted labels that are not supported, and random samples of the other points that
#: are not supported, that are supported, and that are noise.
MAX_LISTED = 20_000
MAX_DOUBTFUL, MAX_SUPPORTED, MAX_NOISE = 40_000, 30_000, 5_000
#: Typical members kept for each cluster, and for all clusters together.
TYPICAL, MAX_TYPICAL = 6, 5_000
#: Names the random streams of the samples among the streams of the result's seed.
_STREAM = 0x5E9027


class Part(NamedTuple):
    """How many points of a kind are on the page, and how many there are."""

    kept: int
    of: int


class Shown(NamedTuple):
    """The points on the page, and how many points they stand for."""

    rows: IntArray
    """(m,) rows of the result: noise, then labels, the most trusted first. What is drawn last lies on top."""
    kind: AnyArray
    """(m,) 0 for points that stand for themselves, 1 to 3 for the samples of doubtful, supported and noise points."""
    weights: list[float]
    """(4,) how many points each point of a kind stands for."""
    doubtful: Part
    supported: Part
    noise: Part

    @property
    def is_complete(self) -> bool:
        """Whether the page shows every point."""
        return all(part.kept == part.of for part in (self.doubtful, self.supported, self.noise))


def typical_members(result: AffinityResult, values: FloatArray) -> list[IntArray]:
    """Return the rows of the most typical members of each cluster, the most typical first.

    Parameters
    ----------
    result
        The result.
    values
        (n,) what labels are ranked by, which stands in for typicality where a result has none.
    """
    typicality = result.typicality if result.members is not None else values
    each = max(1, min(TYPICAL, MAX_TYPICAL // result.n_clusters))
    # Clusters one after the other, the most typical first; noise stands before all of them.
    order = np.lexsort([-typicality, result.codes])
    starts = np.searchsorted(result.codes[order], np.arange(result.n_clusters + 1))
    return [order[start : min(start + each, end)] for start, end in pairwise(starts)]


def choose_points(result: AffinityResult, values: FloatArray, typical: IntArray) -> Shown:
    """Keep all points if they are few enough, else those to review and to compare with, and samples of the others.

    Samples are drawn with the result's seed, evenly from the points of a kind: scaled up they are free of gaps.

    Parameters
    ----------
    result
        The result.
    values
        (n,) what labels are ranked by, NaN for noise.
    typical
        Rows to keep in any case.
    """
    noise, supported = result.noise, result.verdict == SUPPORTED
    kinds = [~(noise | supported), supported, noise]
    kept = np.full(result.n_points, 255, dtype=np.uint8) if result.n_points > MAX_POINTS else None
    if kept is not None:
        _mark_kept(kept, kinds, values, typical, result.how.seed)
    rows = np.arange(result.n_points) if kept is None else np.flatnonzero(kept < 255)
    # Backwards this is the order of a review: the least trusted first, and of equals the first row.
    rows = rows[np.lexsort([-rows, np.where(noise[rows], -np.inf, -values[rows])])]
    kind = np.zeros(rows.size, dtype=np.uint8) if kept is None else kept[rows]
    weights = [1.0]
    for number, members in enumerate(kinds, start=1):
        certain = int((kind[members[rows]] == 0).sum())
        weights.append((int(members.sum()) - certain) / max(int((kind == number).sum()), 1))
    parts = (Part(int(members[rows].sum()), int(members.sum())) for members in kinds)
    return Shown(rows, kind, weights, *parts)


def _mark_kept(kept: AnyArray, kinds: list[BoolArray], values: FloatArray, typical: IntArray, seed: int) -> None:
    """Write the kind of each point that is kept into ``kept``."""
    doubtful = np.flatnonzero(kinds[0])
    kept[doubtful[np.argsort(values[doubtful], kind="stable")[:MAX_LISTED]]] = 0
    kept[typical] = 0
    for number, (members, size) in enumerate(
        zip(kinds, (MAX_DOUBTFUL, MAX_SUPPORTED, MAX_NOISE), strict=True), start=1
    ):
        others = np.flatnonzero(members & (kept == 255))
        if others.size > size:
            others = stream(seed, _STREAM, number).choice(others, size, replace=False, shuffle=False)
        kept[others] = number
