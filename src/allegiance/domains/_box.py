"""The default domain: a box around the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allegiance._core import check_number
from allegiance.influence import Diagram

from ._domain import DOMAINS, Domain, Extent, finite_bounds
from ._region import Region

#: Margins from here on leave too few digits for what is inside. Cells that no wall cuts are those of domain='space'.
_WIDEST = 1e12


@DOMAINS.register("box")
@dataclass(frozen=True, eq=False, repr=False)
class Box(Domain):
    """The bounding box of data and representatives, a little widened.

    Its axes are those of X if the representatives span the space, else those of their span.

    Parameters
    ----------
    margin
        How much wider the box is than the data, on each side, as a share of its extent; less than 1e12.

    Examples
    --------
    >>> from allegiance import Box, affinity
    >>> X, labels = [[0, 0], [1, 2], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 1, 1, 2, 2]
    >>> affinity(X, labels, domain=Box(margin=0.5)).affinity[3].round(2)
    array([0. , 0.8, 0.2])
    """

    margin: float = 0.1

    def check(self) -> None:
        """Raise unless the margin is a number that is not negative."""
        check_number(self.margin, "margin of Box", low=0.0, high=_WIDEST, closed=True)

    def region(self, diagram: Diagram, extent: Extent) -> Region:
        """Return the box; it ends where the functions of the diagram do."""
        lower, upper = extent.lower, extent.upper
        width = upper - lower
        # A width of zero can only come from a single point in that direction; any width serves.
        reach = self.margin * width + np.where(width > 0, 0.0, max(float(width.max(initial=0.0)), 1.0) / 2.0)
        lower, upper = lower - reach, upper + reach
        bounds = finite_bounds(diagram)
        if bounds is not None:
            lower, upper = np.maximum(lower, bounds[0]), np.minimum(upper, bounds[1])
        return Region.box("box", lower, upper)

    def describe(self) -> str:
        """Say in a few words where volume is measured."""
        return "box" if self.margin == 0.1 else f"box, margin {self.margin:g}"
