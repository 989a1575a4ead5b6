"""Which functions: a clustering as affine functions f_i(y) = b_i - <a_i, y>, lower meaning closer."""

from ._affine import AffineFunctions, Diagram, Located
from ._recession import RecessionDiagram
from ._reduction import Reduction
from ._voronoi import VoronoiDiagram

__all__ = ["AffineFunctions", "Diagram", "Located", "RecessionDiagram", "Reduction", "VoronoiDiagram"]
