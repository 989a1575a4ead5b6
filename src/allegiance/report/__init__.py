"""A result as one HTML file.

``_inputs`` checks what the user passes besides the result, ``_quantity`` names what labels are ranked by, ``_shown``
chooses the points that travel with the page, ``_counts`` counts all labels, ``_projection``, ``_pulls``, ``_largest``
and ``_pictures`` prepare what is told of each point, ``_wording`` says it in words, ``_figures`` draws it with the
colours of ``_palettes``, and ``_build`` puts the page together.
"""

from ._build import render_report, write_report
from ._inputs import Features, check_features, check_images, point_ids
from ._palettes import palettes
from ._pictures import encode_pictures
from ._projection import Projection, project
from ._quantity import quantity_of
from ._wording import shorten

__all__ = [
    "Features",
    "Projection",
    "check_features",
    "check_images",
    "encode_pictures",
    "palettes",
    "point_ids",
    "project",
    "quantity_of",
    "render_report",
    "shorten",
    "write_report",
]
