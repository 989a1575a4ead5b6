"""Where volume is measured: a region in which every cell is finite, or the whole space."""

from ._ball import BallDomain
from ._base import Domain
from ._box import BoxDomain
from ._polytope import Polytope, PolytopeDomain
from ._unbounded import UnboundedDomain

__all__ = ["BallDomain", "BoxDomain", "Domain", "Polytope", "PolytopeDomain", "UnboundedDomain"]
