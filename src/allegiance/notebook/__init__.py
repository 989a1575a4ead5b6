"""What objects show of themselves in a notebook: cards with a small picture, as HTML that needs no library."""

from ._card import Card, Cell
from ._markup import element, markup
from ._pictures import Share, curve_picture, histogram_picture, share_bar

__all__ = ["Card", "Cell", "Share", "curve_picture", "element", "histogram_picture", "markup", "share_bar"]
