"""What the page tells of a cluster that is looked at: its traits, its rivals, its typical members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core import IntArray
from allegiance.results import Tally

from ._counts import Groups
from ._pulls import Pulls
from ._shown import Shown
from ._traits import Traits

#: Rivals named for each cluster.
_RIVALS = 3


class ClusterCards(NamedTuple):
    """One entry for each cluster in the order of the page, and the features they name."""

    cards: list[dict[str, Any]]
    features: list[str]
    """Names of the features that cards and points mention."""
    number: IntArray
    """(d,) the place of each column of X in ``features``, 0 for those that are not mentioned."""

    def with_traits(self, traits: Traits, pulls: Pulls, names: list[str], place: IntArray) -> ClusterCards:
        """Return the cards with what the clusters are like.

        Parameters
        ----------
        traits
            (k, ...) of the clusters as they are numbered in the result.
        pulls
            Features that points mention.
        names
            (d,) names of all features.
        place
            (k,) where each cluster stands on the page.
        """
        used = np.unique(np.concatenate([traits.feature.ravel(), pulls.feature.ravel()]))
        used = used[used >= 0]
        number = np.zeros(len(names), dtype=np.int64)
        number[used] = np.arange(used.size)
        cards = [dict(card) for card in self.cards]
        for cluster, where in enumerate(place):
            cards[where]["traits"] = [
                [int(number[feature]), *(float(f"{value:.6g}") for value in numbers)]
                for feature, *numbers in zip(*(part[cluster].tolist() for part in traits), strict=True)
                if feature >= 0
            ]
        return ClusterCards(cards, [names[feature] for feature in used], number)


def cluster_cards(tally: Tally, groups: Groups, typical: list[IntArray], shown: Shown) -> ClusterCards:
    """Describe each cluster by its rivals and its typical members.

    Parameters
    ----------
    tally
        Counts by cluster.
    groups
        The clusters in the order of the page.
    typical
        (k,) rows of typical members.
    shown
        The points on the page.
    """
    on_page = np.zeros(groups.code.size, dtype=np.int64)
    on_page[shown.rows] = np.arange(shown.rows.size)
    cards: list[dict[str, Any]] = []
    for cluster in np.argsort(groups.place):
        rivals = tally.rivals[cluster]
        strongest = np.argsort(-rivals, kind="stable")[:_RIVALS]
        cards.append(
            {
                "rivals": [[int(groups.place[rival]), int(rivals[rival])] for rival in strongest if rivals[rival]],
                "typical": on_page[typical[cluster]].tolist(),
                "traits": [],
            }
        )
    return ClusterCards(cards, [], np.zeros(0, dtype=np.int64))
