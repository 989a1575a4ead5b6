"""A result as one HTML file, or inside a notebook."""

from ._build import render_report, write_report
from ._drift import render_drift_report, write_drift_report
from ._images import Images, Thumbnail, check_images
from ._inline import InlinePage
from ._texts import Texts, check_texts

__all__ = [
    "Images",
    "InlinePage",
    "Texts",
    "Thumbnail",
    "check_images",
    "check_texts",
    "render_drift_report",
    "render_report",
    "write_drift_report",
    "write_report",
]
