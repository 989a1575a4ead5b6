"""A result as one HTML file.

``_inputs`` checks what the user passes beside the result, ``_shown`` chooses the points that travel with the page,
``_counts`` counts all points, ``_projection``, ``_pulls`` and ``_pictures`` prepare what is told of each point,
``_wording`` says it in words, ``_figures`` draws it, and ``_build`` puts the page together.
"""

from ._build import render_report, write_report

__all__ = ["render_report", "write_report"]
