"""A ball around the sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allegiance.influence import Diagram

from ._domain import DOMAINS, Domain, Extent, finite_bounds
from ._region import Region


@DOMAINS.register("ball")
@dataclass(frozen=True, eq=False, repr=False)
class Ball(Domain):
    """The ball around the mean of the representatives that holds the data: the same whichever way the axes turn.

    Examples
    --------
    >>> from allegiance import Ball, affinity
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> affinity(X, labels, domain=Ball()).affinity[3].round(2)
    array([0.  , 0.86, 0.14])
    """

    needs_radius: ClassVar[bool] = True

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the ball, cut where the functions of the diagram end."""
        center = diagram.positions.mean(axis=0)
        return Region.ball("ball", center, float(np.sqrt(extent.squared_radius)), finite_bounds(diagram))

    def describe(self) -> str:
        """Say in a few words where volume is measured."""
        return "ball"
