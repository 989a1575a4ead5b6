"""Words on the page: those of a document that speak for its rival, and those that tell a cluster from the others."""

from __future__ import annotations

from typing import NamedTuple

from allegiance._core import IntArray
from allegiance.applications import Documents
from allegiance.results import SUPPORTED, AffinityResult

from ._texts import Texts

#: Words shown of a document, and of a cluster.
_OF_DOCUMENT, _OF_CLUSTER = 8, 12


class Words(NamedTuple):
    """What the texts of the points say about their labels."""

    points: dict[int, list[str]]
    """Of documents whose label is not supported, by their place on the page."""
    clusters: list[list[str]]
    """Of each cluster, in the order of the page."""


def telling_words(
    result: AffinityResult, texts: Texts | None, rows: IntArray, shown: dict[int, str] | None, place: IntArray
) -> Words | None:
    """Return the words to show; None without texts, or if there is no word in them.

    Parameters
    ----------
    result
        The result.
    texts
        One for each point; None if there are none.
    rows
        (m,) the points on the page.
    shown
        The texts on the page, by place.
    place
        (k,) where each cluster stands on the page.
    """
    if texts is None or shown is None:
        return None
    try:
        documents = Documents(result, texts)
    except ValueError:  # Only the vocabulary can still be wrong: texts in which no word can be counted.
        return None
    doubtful = result.verdict != SUPPORTED
    points = {
        where: documents.words_for_rival(int(rows[where]), _OF_DOCUMENT).words
        for where in shown
        if doubtful[rows[where]]
    }
    clusters: list[list[str]] = [[] for _ in place]
    for code, where in enumerate(place.tolist()):
        clusters[where] = documents.words_of_topic(result.classes[code], _OF_CLUSTER).words
    return Words({where: words for where, words in points.items() if words}, clusters)
