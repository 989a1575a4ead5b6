"""HTML and SVG as trees of elements: whatever is text stays text."""

from __future__ import annotations

from xml.etree.ElementTree import Element, tostring


def element(tag: str, *children: Element | str, **attributes: object) -> Element:
    """Return an element with children and attributes.

    An underscore in the name of an attribute stands for a hyphen; a trailing one, as in ``class_``, for nothing.
    """
    made = Element(tag, {_attribute(name): str(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + child
        else:
            made.text = (made.text or "") + child
    return made


def markup(root: Element) -> str:
    """Return an element as HTML."""
    return tostring(root, encoding="unicode", method="html")


def _attribute(name: str) -> str:
    # SVG has one name in camel case that is needed here.
    return "viewBox" if name == "viewBox" else name.rstrip("_").replace("_", "-")
