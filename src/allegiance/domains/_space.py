"""The whole space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allegiance.influence import Diagram

from ._domain import DOMAINS, Domain, Extent, finite_bounds
from ._region import Region


@DOMAINS.register("space")
@dataclass(frozen=True, eq=False, repr=False)
class Space(Domain):
    """The whole space, the paper's literal definition.

    Points outside the hull of the representatives would claim infinite territory; they get the limit of a growing ball.

    Examples
    --------
    >>> from allegiance import Space, affinity
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> affinity(X, labels, domain=Space()).affinity[3].round(2)
    array([0.  , 0.83, 0.17])
    """

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the whole space, if the functions of the diagram are defined everywhere."""
        if finite_bounds(diagram) is not None:
            raise ValueError("domain='space' needs a divergence that is defined everywhere: use domain='box'.")
        center = diagram.positions.mean(axis=0)
        return Region.everywhere("space", center, float(np.abs(diagram.positions - center).max(initial=0.0)))

    def describe(self) -> str:
        """Say in a few words where volume is measured."""
        return "the whole space"
