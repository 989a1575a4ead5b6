"""A result as one HTML file, and what other pages about a result share with it."""

from ._build import render_report, write_report
from ._images import Images, Thumbnail, check_images
from ._inputs import Features, check_features, point_ids
from ._palettes import palettes
from ._projection import Projection, project
from ._quantity import quantity_of
from ._texts import Texts, check_texts
from ._wording import shorten

__all__ = [
    "Features",
    "Images",
    "Projection",
    "Texts",
    "Thumbnail",
    "check_features",
    "check_images",
    "check_texts",
    "palettes",
    "point_ids",
    "project",
    "quantity_of",
    "render_report",
    "shorten",
    "write_report",
]
