"""A card: a headline, a small picture, a table, and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias
from xml.etree.ElementTree import Element

from ._markup import element, markup

#: What a table shows: text, or a picture.
Cell: TypeAlias = str | Element


@dataclass(frozen=True)
class Card:
    """What an object shows of itself in a notebook.

    Attributes
    ----------
    title
        What it is.
    lines
        What a reader should know first.
    picture
        A small picture beside them; None for none.
    headings, rows
        A table; none if there are no headings. Cells of columns named in ``words`` are aligned to the left.
    notes
        Below the table.
    details
        Shown on demand.
    """

    title: str
    lines: Sequence[str] = ()
    picture: Element | None = None
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    words: Sequence[str] = ()
    notes: Sequence[str] = ()
    details: Sequence[str] = ()

    def html(self) -> str:
        """Return the card as HTML; everything that is text is escaped."""
        said = [element("p", element("b", self.title))]
        said += [element("p", line) for line in self.lines]
        head = element("div", element("div", *said), class_="allegiance-head")
        if self.picture is not None:
            head.append(self.picture)
        card = element("div", element("style", _style()), head, class_="allegiance-card")
        if self.headings:
            card.append(self._table())
        card.extend(element("p", note, class_="allegiance-note") for note in self.notes if note)
        if self.details:
            lines = "\n".join(self.details)
            card.append(element("details", element("summary", "How it was measured"), element("pre", lines)))
        return markup(card)

    def _table(self) -> Element:
        head = element("tr", *(self._cell("th", name, name) for name in self.headings))
        body = [
            element("tr", *(self._cell("td", name, cell) for name, cell in zip(self.headings, row, strict=True)))
            for row in self.rows
        ]
        return element("table", element("thead", head), element("tbody", *body))

    def _cell(self, tag: str, name: str, content: Cell) -> Element:
        left = {"style": "text-align: left"} if name in self.words or isinstance(content, Element) else {}
        return element(tag, content, **left)


@cache
def _style() -> str:
    return (Path(__file__).parent / "card.css").read_text(encoding="utf-8")
