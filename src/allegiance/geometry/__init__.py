"""Convex bodies, without any clustering: half-spaces, cells, hulls, uniform samples."""

from ._cells import TooManySimplicesError, Triangulation, triangulate
from ._halfspaces import bounding_box, chebyshev_center, is_bounded, recession_direction, unit_rows
from ._hull import Hull
from ._sample_polytope import sample_polytope

__all__ = [
    "Hull",
    "TooManySimplicesError",
    "Triangulation",
    "bounding_box",
    "chebyshev_center",
    "is_bounded",
    "recession_direction",
    "sample_polytope",
    "triangulate",
    "unit_rows",
]
