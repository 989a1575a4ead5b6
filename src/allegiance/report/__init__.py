"""A result as one HTML file.

``_inputs`` checks what the user passes besides the result, ``_quantity`` names what labels are ranked by, ``_shown``
chooses the points that travel with the page, ``_counts`` counts all labels, ``_projection``, ``_pulls``, ``_largest``
and ``_pictures`` prepare what is told of each point, ``_wording`` says it in words, ``_figures`` draws it with the
colours of ``_palettes``, ``_build`` puts the page together, and ``_inline`` shows it in notebooks.
"""

from ._build import render_report, write_report
from ._inline import InlinePage

__all__ = ["InlinePage", "render_report", "write_report"]
