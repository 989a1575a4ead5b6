"""A result as one HTML page: a file to send on, a notebook's cell, or served by :mod:`allegiance.review`.

``_inputs`` checks what the user passes along with the result, ``_columns`` reads the table among it, ``_clusters``
counts and describes the clusters, ``_points`` chooses the points on the page, ``_figures`` draws, and ``_page`` puts
everything together. In the browser ``static/state.js`` holds what the reader looks at, and everything else follows it.
"""

from ._clusters import Description as Description
from ._clusters import center_descriptions as center_descriptions
from ._clusters import cluster_descriptions as cluster_descriptions
from ._page import InlinePage as InlinePage
from ._page import Page as Page
from ._page import render_report as render_report
from ._page import write_report as write_report
