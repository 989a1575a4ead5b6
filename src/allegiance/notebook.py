"""Cards: how objects are displayed, as text and, in notebooks, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, TypeAlias
from xml.etree.ElementTree import Element, tostring

from allegiance._core.validation import IntArray

if TYPE_CHECKING:
    from allegiance.fitting import Fitted

#: Content of a table cell: text or a picture.
Cell: TypeAlias = str | Element
#: Colors that are visible on light and dark pages, and that color-blind readers can distinguish.
BLUE, AMBER, RED = "#3f7fb5", "#e69f00", "#c8400b"
#: From good to bad: firm, borderline, doubtful.
SHARE_COLORS = (BLUE, AMBER, RED)
#: Most labels to list.
_MOST_LABELS = 12
_STYLE = """
.allegiance-card { max-width: 76em; overflow-x: auto; }
.allegiance-card p { margin: 0.2em 0; max-width: 44em; }
.allegiance-card .allegiance-head { display: flex; flex-wrap: wrap; gap: 0.5em 2em; align-items: flex-end;
  margin-bottom: 0.6em; }
.allegiance-card table { border-collapse: collapse; margin: 0 0 0.5em; font-variant-numeric: tabular-nums; }
.allegiance-card th, .allegiance-card td { padding: 0.15em 0.7em; text-align: right; white-space: nowrap; }
.allegiance-card thead th { border-bottom: 1px solid currentColor; font-weight: 600; }
.allegiance-card svg { vertical-align: middle; }
.allegiance-card .allegiance-note, .allegiance-card details { font-size: 0.9em; opacity: 0.8; }
.allegiance-card summary { cursor: pointer; }
.allegiance-card pre { background: none; margin: 0.3em 0; white-space: pre-wrap; }
"""


def count(number: int, noun: str) -> str:
    """Return a number with its noun for cards and messages, in the plural if needed."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def element(tag: str, *children: Element | str, **attributes: object) -> Element:
    """Return an HTML or SVG element of a card; text is escaped.

    An underscore in an attribute name becomes a hyphen; a trailing one, as in ``class_``, is dropped.
    """
    node = Element(tag, {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            node.append(child)
        elif len(node):
            node[-1].tail = (node[-1].tail or "") + child
        else:
            node.text = (node.text or "") + child
    return node


def markup(root: Element) -> str:
    """Return an element of a card as HTML."""
    return tostring(root, encoding="unicode", method="html")


def page_frame(height: int, title: str, **settings: object) -> str:
    """Return a frame with a page for a notebook, by ``src`` or ``srcdoc``, as HTML."""
    style = {"width": "100%", "height": height, "style": "border: 0; background: white"}
    return markup(element("iframe", **settings, title=title, **style))


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str] = ()) -> list[str]:
    """Return the lines of a card's table; columns are right-aligned except those named in ``left``."""
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(headings, row, widths, strict=True)
        ).rstrip()
        for row in (headings, *rows)
    ]


@dataclass(frozen=True)
class Card:
    """A card: the text and HTML representation of an object.

    Attributes
    ----------
    title
        The title.
    lines
        The main facts.
    picture
        A small picture to the right of the lines, or None.
    headings, rows
        A table; none without headings. Columns named in ``words`` are left-aligned.
    notes
        Remarks below the table.
    details
        Lines that the HTML version folds away.
    appendix
        A second title and table below the notes.
    """

    title: str
    lines: Sequence[str] = ()
    picture: Element | None = None
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    words: Sequence[str] = ()
    notes: Sequence[str] = ()
    details: Sequence[str] = ()
    appendix: Card | None = None

    def text(self) -> str:
        """Return the card as plain text, without pictures."""
        columns = zip(self.headings, *self.rows, strict=True)
        is_text = [not any(isinstance(cell, Element) for cell in column) for column in columns]
        headings, *rows = ([str(cell) for cell in compress(row, is_text)] for row in (self.headings, *self.rows))
        table = text_table(headings, rows, left=self.words) if headings else []
        appendix = [] if self.appendix is None else self.appendix.text().replace("\n\n", "\n").split("\n")
        parts = [[self.title, *self.lines], table, [note for note in self.notes if note], appendix, self.details]
        return "\n\n".join("\n".join(part) for part in parts if part)

    def html(self) -> str:
        """Return the card as HTML; all text is escaped."""
        first = [element("p", element("b", self.title))]
        first += [element("p", line) for line in self.lines]
        head = element("div", element("div", *first), class_="allegiance-head")
        if self.picture is not None:
            head.append(self.picture)
        card = element("div", element("style", _STYLE), head, class_="allegiance-card")
        if self.headings:
            card.append(self._table())
        card.extend(element("p", note, class_="allegiance-note") for note in self.notes if note)
        if self.appendix is not None:
            card.append(element("p", element("b", self.appendix.title)))
            card.append(self.appendix._table())
        if self.details:
            lines = "\n".join(self.details)
            card.append(element("details", element("summary", "How it was measured"), element("pre", lines)))
        return markup(card)

    def _table(self) -> Element:
        """Return the table of the card as HTML."""
        head = element("tr", *(self._cell("th", name, name) for name in self.headings))
        body = [
            element("tr", *(self._cell("td", name, cell) for name, cell in zip(self.headings, row, strict=True)))
            for row in self.rows
        ]
        return element("table", element("thead", head), element("tbody", *body))

    def _cell(self, tag: str, name: str, content: Cell) -> Element:
        """Return a cell of the card's table as HTML."""
        left = {"style": "text-align: left"} if name in self.words or isinstance(content, Element) else {}
        return element(tag, content, **left)


class CardMixin:
    """Base class of objects that are displayed as a card."""

    def _card(self) -> Card:
        """Return the card that displays this object."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._card().text()

    def _repr_html_(self) -> str:
        """Return the card as HTML, for notebooks."""
        return self._card().html()


def fitted_facts(fitted: Fitted) -> dict[str, str]:
    """Return the facts of a fitted object's card by name."""
    specification, n_features = fitted.specification, fitted.columns.n_features
    labels = ", ".join(str(label) for label in fitted.classes[:_MOST_LABELS])
    more = f" and {fitted.classes.size - _MOST_LABELS} more" if fitted.classes.size > _MOST_LABELS else ""
    reduced = f", reduced from {n_features}" if fitted.tessellation.dim < n_features else ""
    return {
        "clusters": f"{labels}{more}",
        "columns": f"{n_features:,}",
        "closeness": specification.describe_influence(),
        "domain": f"{specification.domain.describe()}, {count(fitted.tessellation.dim, 'dimension')}{reduced}",
        "engine": f"{specification.engine.describe()}, 95% intervals within ±{specification.settings.eps:g}",
        "trust": "not calibrated: pass calibration=20" if fitted.trust_map is None else fitted.trust_map.note,
    }


def fitted_html(fitted: Fitted) -> str:
    """Return a fitted object as a card for notebooks."""
    return Card(
        title=f"Fitted to {count(fitted.classes.size, 'cluster')}: affinity(X) scores points, known or new",
        lines=[] if fitted.trust_map is None else fitted.trust_map.remarks,
        headings=("", "fitted"),
        rows=list(fitted_facts(fitted).items()),
        words=("", "fitted"),
    ).html()


def share_bar(parts: Mapping[str, float], *, width: float = 110.0) -> Element:
    """Return a bar of a card divided into colored parts, from good to bad; empty if all are 0."""
    total = sum(parts.values())
    bar = _svg(width, 10.0, ", ".join(f"{name} {value:g}" for name, value in parts.items()))
    start = 0.0
    for value, color in zip(parts.values(), SHARE_COLORS, strict=False):
        if value > 0:
            length = width * value / total
            bar.append(element("rect", x=_px(start), y=0, width=_px(length), height=10, fill=color))
            start += length
    return bar


def histogram_picture(counts: IntArray, name: str) -> Element:
    """Draw a card's histogram of numbers in [0, 1] from its counts; bins below one half are red."""
    bins = counts.size
    width, height = 240.0, 52.0
    picture = _svg(width, height + 16.0, f"distribution of {name}: {', '.join(str(count) for count in counts)}")
    step, tallest = width / bins, max(int(counts.max(initial=0)), 1)
    for i, count in enumerate(counts.tolist()):
        high = height * count / tallest
        if count:
            bar = {"x": _px(i * step + 0.5), "y": _px(height - high), "width": _px(step - 1.0), "height": _px(high)}
            picture.append(element("rect", **bar, fill=RED if i < bins // 2 else BLUE))
    ends = {"x1": 0, "y1": _px(height), "x2": _px(width), "y2": _px(height)}
    picture.append(element("line", **ends, stroke="currentColor"))
    style = {"y": _px(height + 12.0), "font_size": 11, "fill": "currentColor"}
    for place, anchor, text in ((0.0, "start", "0"), (width / 2, "middle", name), (width, "end", "1")):
        picture.append(element("text", text, x=_px(place), text_anchor=anchor, **style))
    return picture


def _svg(width: float, height: float, title: str) -> Element:
    """Return an empty SVG picture of a card with an accessible title."""
    size = {"width": _px(width), "height": _px(height), "viewBox": f"0 0 {_px(width)} {_px(height)}"}
    return element("svg", element("title", title), role="img", **size)


def _px(value: float) -> str:
    """Return a length in a card's picture in pixels with two decimals."""
    return f"{float(value):.2f}".rstrip("0").rstrip(".")
