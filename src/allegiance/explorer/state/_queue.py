"""The review queue: which labels to look at, in which order, and where one is."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import Any

import numpy as np

from allegiance._core import IntArray
from allegiance.results import review_rows

from ._subject import Subject


class ReviewQueue:
    """Rows to review, the least trusted first.

    Parameters
    ----------
    subject
        The points.
    budget
        How many, as in 500, a share of all, as in "5%", or None for all that are not supported.
    cluster
        Only labels of this cluster; None for all.
    rows
        Only these rows; None for all.
    """

    def __init__(
        self, subject: Subject, budget: Any = None, cluster: int | None = None, rows: IntArray | None = None
    ) -> None:
        ranking = subject.ranking
        if cluster is not None:
            ranking = np.where(subject.codes == cluster, ranking, np.nan)
        if rows is not None:
            kept = np.full(ranking.size, np.nan)
            kept[rows] = ranking[rows]
            ranking = kept
        order = review_rows(ranking, budget, None)
        if budget is None and rows is None:
            order = order[subject.doubtful[order]]
        self.order = order
        self.budget = budget
        self.cluster = cluster
        self._place = np.full(subject.n_points, -1)
        self._place[order] = np.arange(order.size)

    def __len__(self) -> int:
        return self.order.size

    def place_of(self, row: int | None) -> int | None:
        """Return where in the queue a row stands; None if it is not in it."""
        return None if row is None or self._place[row] < 0 else int(self._place[row])

    def n_done(self, decided: Collection[int]) -> int:
        """Return how many rows of the queue were decided."""
        return sum(self._place[row] >= 0 for row in decided)

    def open_after(self, row: int | None, decided: Container[int]) -> int | None:
        """Return the next row without a decision behind the given one, then from the start; None if all are decided."""
        start = self.place_of(row)
        after = 0 if start is None else start + 1
        for place in (*range(after, len(self)), *range(after)):
            if int(self.order[place]) not in decided:
                return int(self.order[place])
        return None

    def step(self, row: int | None, by: int) -> int | None:
        """Return the row that stands ``by`` places behind the given one, decided or not; None for an empty queue."""
        if not len(self):
            return None
        place = self.place_of(row)
        if place is None:
            return int(self.order[0])
        return int(self.order[min(max(place + by, 0), len(self) - 1)])
