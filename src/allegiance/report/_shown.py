"""Which points travel with the page."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import BoolArray, IntArray, stream
from allegiance.results import RankedResult

#: Points to review kept on the page, the least confident first; a page of 25 MB has room for no more.
MAX_REVIEW = 50_000
#: Stable points kept on the page: enough to see their shape, few enough for a browser without a graphics card.
MAX_STABLE = 10_000
#: Names the random stream of the sample among the streams of the result's seed.
_STREAM = 0x5E9027


class Shown(NamedTuple):
    """The points on the page, and how many points they stand for."""

    rows: IntArray
    """(m,) rows of the result, the most confident first, so that the points to review are drawn last, on top."""
    review: int
    """How many of them are points to review."""
    all_review: int
    all_stable: int

    @property
    def stable(self) -> int:
        """How many of the points shown are stable."""
        return self.rows.size - self.review

    @property
    def is_complete(self) -> bool:
        """Whether the page shows every point."""
        return self.rows.size == self.all_review + self.all_stable


def choose_points(result: RankedResult) -> Shown:
    """Keep the points to review and a sample of the stable ones, drawn with the seed of the result."""
    stable: BoolArray = result.stable
    review_rows, stable_rows = np.flatnonzero(~stable), np.flatnonzero(stable)
    least_confident = np.argsort(result.confidence[review_rows], kind="stable")
    kept_review = review_rows[least_confident[:MAX_REVIEW]]
    kept_stable = stable_rows
    if stable_rows.size > MAX_STABLE:
        kept_stable = stream(result.how.seed, _STREAM).choice(stable_rows, MAX_STABLE, replace=False, shuffle=False)
    rows = np.sort(np.concatenate([kept_review, kept_stable]))
    order = np.argsort(-result.confidence[rows], kind="stable")
    return Shown(rows[order], kept_review.size, review_rows.size, stable_rows.size)
