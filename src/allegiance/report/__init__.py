"""A result as one HTML file or inside a notebook, and what other pages about a result share with it.

``_inputs``, ``_texts`` and ``_images`` check what the user passes besides the result, ``_quantity`` names what labels
are ranked by, ``_shown`` chooses the points that travel with the page and ``_exhibits`` the texts and images,
``_counts`` counts all labels, ``_projection``, ``_pulls``, ``_traits``, ``_words``, ``_clusters`` and ``_columns``
prepare what is told of points and clusters, ``_wording`` says it in words, ``_figures`` draws it, and ``_build`` and
``_render`` put the page together; ``_inline`` shows it in a notebook. In the browser ``static/state.js`` holds what
the reader looks at, and everything else follows it. ``_drift`` is another page, about periods.
"""

from ._build import render_report, write_report
from ._centers import Centers, cluster_centers
from ._drift import render_drift_report, write_drift_report
from ._images import Images, Thumbnail, check_images
from ._inline import InlinePage
from ._inputs import Coordinates, Features, check_coordinates, check_features, point_ids
from ._palettes import VERDICT_COLOURS, cluster_colours, trust_palette
from ._projection import Projection, project
from ._quantity import Quantity
from ._texts import Texts, check_texts
from ._traits import Traits, cluster_traits
from ._wording import shorten

__all__ = [
    "VERDICT_COLOURS",
    "Centers",
    "Coordinates",
    "Features",
    "Images",
    "InlinePage",
    "Projection",
    "Quantity",
    "Texts",
    "Thumbnail",
    "Traits",
    "check_coordinates",
    "check_features",
    "check_images",
    "check_texts",
    "cluster_centers",
    "cluster_colours",
    "cluster_traits",
    "point_ids",
    "project",
    "render_drift_report",
    "render_report",
    "shorten",
    "trust_palette",
    "write_drift_report",
    "write_report",
]
