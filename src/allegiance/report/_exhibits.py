"""The texts and images that travel with the page: those of typical members, and of the points to review."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allegiance._core import IntArray

from ._clusters import ClusterCards
from ._images import IMAGE_BUDGET, Images
from ._shown import Shown
from ._texts import TEXT_BUDGET, Texts

#: The part of a budget that typical members may use.
_FOR_TYPICAL = 0.25


class Exhibits(NamedTuple):
    """Images as data URIs and texts, by the place of their points on the page; None where none were given."""

    images: dict[int, str] | None
    texts: dict[int, str] | None

    def kept(self) -> dict[str, int]:
        """Return how many there are of each kind that was given."""
        kinds = {"image": self.images, "text": self.texts}
        return {name: len(kept) for name, kept in kinds.items() if kept is not None}


def choose_exhibits(images: Images | None, texts: Texts | None, shown: Shown, cards: ClusterCards) -> Exhibits:
    """Encode texts and images of typical members, then of the least trusted labels, until their budgets are spent.

    Parameters
    ----------
    images, texts
        What the user gave.
    shown
        The points on the page, the least trusted last.
    cards
        The typical members of the clusters.
    """
    # The most typical member of every cluster first, then the second of every cluster.
    lists = [card["typical"] for card in cards.cards]
    longest = max(map(len, lists), default=0)
    typical = np.array([members[i] for i in range(longest) for members in lists if i < len(members)], dtype=np.int64)
    return Exhibits(
        None if images is None else _within(images.thumbnails, typical, shown, IMAGE_BUDGET),
        None if texts is None else _within(texts.excerpts, typical, shown, TEXT_BUDGET),
    )


def _within(
    encode: Callable[[IntArray, int], dict[int, str]], typical: IntArray, shown: Shown, budget: int
) -> dict[int, str]:
    """Return what ``encode`` makes of rows in the order of their importance, by place on the page."""
    place = {int(row): where for where, row in enumerate(shown.rows.tolist())}
    kept = encode(shown.rows[typical], int(_FOR_TYPICAL * budget))
    left = budget - sum(map(len, kept.values()))
    least_trusted = shown.rows[::-1]
    if kept:
        least_trusted = least_trusted[~np.isin(least_trusted, list(kept))]
    kept |= encode(least_trusted, left)
    return {place[row]: exhibit for row, exhibit in kept.items()}
