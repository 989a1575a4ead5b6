"""Where volume is measured: a region in which every cell is finite, or the whole space."""

from ._ball import Ball
from ._box import Box
from ._domain import DOMAINS, Domain, Extent
from ._polytope import Polytope
from ._region import Region
from ._space import Space

__all__ = ["DOMAINS", "Ball", "Box", "Domain", "Extent", "Polytope", "Region", "Space"]
