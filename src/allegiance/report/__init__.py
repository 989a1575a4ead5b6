"""A result as one HTML page: a file to send on, a notebook's cell, or served by :mod:`allegiance.review`.

``_inputs`` checks what the user passes along with the result, ``_describe`` says what clusters and points are like,
``_points`` chooses what travels with the page, ``_figures`` draws, ``_page`` puts it in words and together. In the
browser ``static/state.js`` holds what the reader looks at, and everything else follows it.
"""

from ._describe import Description, center_descriptions, cluster_descriptions
from ._inputs import check_images
from ._page import InlinePage, Page, page_frame, render_report, write_report

__all__ = [
    "Description",
    "InlinePage",
    "Page",
    "center_descriptions",
    "check_images",
    "cluster_descriptions",
    "page_frame",
    "render_report",
    "write_report",
]
