"""The documents behind the points, to read beside their labels."""

from __future__ import annotations

from typing import Any

from allegiance._core import IntArray, texts_for_each

#: Characters kept of a text that is shown to a person.
EXCERPT = 1_000
#: Characters that all texts together may add to a page.
TEXT_BUDGET = 4_000_000


class Texts:
    """One text for each point.

    Parameters
    ----------
    entries
        (n,) texts; empty where a point has none.
    """

    def __init__(self, entries: list[str]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, row: int) -> str:
        """Return the whole text of a point."""
        return self._entries[row]

    def excerpt(self, row: int, length: int = EXCERPT) -> str:
        """Return the text of a point, cut to a length in characters."""
        text = self._entries[row].strip()
        return text if len(text) <= length else text[: length - 1].rstrip() + "…"

    def excerpts(self, rows: IntArray, budget: int = TEXT_BUDGET) -> dict[int, str]:
        """Return excerpts by row, in the order of ``rows``, until the budget in characters is spent.

        Parameters
        ----------
        rows
            The points, the most important first; those without a text are left out.
        budget
            How many characters they may have together.
        """
        kept: dict[int, str] = {}
        for row in rows.tolist():
            text = self.excerpt(row)
            budget -= len(text)
            if budget < 0:
                break
            if text:
                kept[row] = text
        return kept


def check_texts(texts: Any, n_points: int) -> Texts | None:
    """Return the texts of all points, or None if there are none.

    Parameters
    ----------
    texts
        (n,) strings; a missing entry (None, NaN) is a point without a text.
    n_points
        How many points there are.
    """
    if texts is None or isinstance(texts, Texts):
        return texts
    return Texts(texts_for_each(texts, n_points))
