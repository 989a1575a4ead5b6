"""A result as one HTML page: a file to send on, a notebook's cell, or served by :mod:`allegiance.review`.

``_inputs`` checks what the user passes along with the result, ``_describe`` says what clusters and points are like,
``_points`` chooses what travels with the page, ``_figures`` draws, ``_page`` puts it in words and together. In the
browser ``static/state.js`` holds what the reader looks at, and everything else follows it.
"""

from ._describe import Description as Description
from ._describe import center_descriptions as center_descriptions
from ._describe import cluster_descriptions as cluster_descriptions
from ._inputs import check_images as check_images
from ._page import InlinePage as InlinePage
from ._page import Page as Page
from ._page import page_frame as page_frame
from ._page import render_report as render_report
from ._page import write_report as write_report
