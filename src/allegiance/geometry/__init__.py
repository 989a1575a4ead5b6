"""Convex bodies, without any clustering: half-spaces, cells, hulls."""

from ._cells import TooManySimplicesError, Triangulation, triangulate
from ._halfspaces import bounding_box, chebyshev_center, is_bounded, recession_direction, unit_rows
from ._hull import Hull

__all__ = [
    "Hull",
    "TooManySimplicesError",
    "Triangulation",
    "bounding_box",
    "chebyshev_center",
    "is_bounded",
    "recession_direction",
    "triangulate",
    "unit_rows",
]
