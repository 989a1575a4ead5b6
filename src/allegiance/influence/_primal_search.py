"""Members of a family by Newton steps in the user's own coordinates, for domains without an edge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allegiance._core._typing import AnyArray, BoolArray, FloatArray

from ._diagram import AffineFunctions
from ._rowwise import norms, product_by_rows, solve_rows

if TYPE_CHECKING:
    from ._i_projection import Family

_EPS = float(np.finfo(float).eps)
_MAX_EVALUATIONS, _STALLED, _UPHILL = 200, 1e-9, 0.5


class PrimalSearch:
    """Damped Newton steps towards the minimum of D(y ‖ origin) over all y with one position, for all rows at once.

    The other search moves theta, whose range may end where a gradient reaches zero, and a minimum can lie within
    rounding of that edge. Here y moves, freely if the domain is the whole space. Needs a sum over coordinates.

    Parameters
    ----------
    family
        What the minima belong to.
    start
        (n, d) points with the positions wanted.
    """

    def __init__(self, family: Family, start: FloatArray) -> None:
        self.family, self.y = family, start
        self.slopes = family.divergence.slopes(start, family.origin)
        self.step = np.zeros_like(start)
        self.length = np.ones(start.shape[0])
        self.found: BoolArray = np.zeros(start.shape[0], dtype=bool)
        self._turn(np.arange(start.shape[0]))

    def run(self) -> None:
        """Search until all rows are found or lost."""
        rows = np.flatnonzero(~self.found)
        for _ in range(_MAX_EVALUATIONS):
            if not rows.size:
                return
            rows = self._advance(rows)

    def functions(self) -> AffineFunctions:
        """Return theta (n, r) and D(origin ‖ y) (n,)."""
        theta = product_by_rows(self.slopes, np.zeros(self.y.shape[1]), self.family.axes)[0]
        return AffineFunctions(theta, self.family.divergence.potentials(self.y, self.slopes, self.family.origin))

    def _error(self, slopes: FloatArray) -> FloatArray:
        """Return how far (n,) slopes (n, d) are outside the span of the axes, relative to the gradients."""
        theta, _ = product_by_rows(slopes, np.zeros(slopes.shape[1]), self.family.axes)
        outside = slopes - self.family.combine(theta)
        return norms(outside) / (norms(slopes) + self.family.gradient_size)

    def _turn(self, rows: AnyArray) -> None:
        """Point the steps of some rows to the minimum of the quadratic that touches there."""
        family, slopes = self.family, self.slopes[rows]
        forms = family.divergence.coordinatewise
        assert forms is not None
        spread = forms.spread(self.y[rows], slopes, family.origin)
        weighted = spread * slopes
        moment, _ = product_by_rows(weighted, np.zeros(slopes.shape[1]), family.axes)
        theta = solve_rows(family.moments(spread), moment)
        self.step[rows] = spread * family.combine(theta) - weighted
        self.length[rows] = 1.0

    def _advance(self, rows: AnyArray) -> AnyArray:
        """Try one step for each row, and return the rows that need another."""
        step = self.step[rows]
        trial = self.y[rows] + self.length[rows, None] * step
        slopes = self.family.divergence.slopes(trial, self.family.origin)
        downhill = -(self.slopes[rows] * step).sum(axis=1)
        uphill = (slopes * step).sum(axis=1)
        before, error = self._error(self.slopes[rows]), self._error(slopes)
        accepted = uphill <= _UPHILL * downhill
        found = (error <= 16.0 * _EPS * np.sqrt(step.shape[1])) | ((error <= _STALLED) & (error >= 0.5 * before))
        take = accepted | found
        self.y[rows[take]], self.slopes[rows[take]] = trial[take], slopes[take]
        self.found[rows[found]] = True
        again = rows[accepted & ~found]
        if again.size:
            self._turn(again)
        share = downhill[~take] / (downhill[~take] + uphill[~take])
        self.length[rows[~take]] *= np.clip(np.nan_to_num(share, nan=0.25), 0.1, 0.9)
        alive = np.isfinite(self.step[rows]).all(axis=1) & (self.length[rows] > _EPS) & ~found
        return rows[alive]
