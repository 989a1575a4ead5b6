"""TrustMap: from scores of a point to the chance that its label holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from allegiance._core import (
    POSITIVE,
    AnyArray,
    FloatArray,
    Number,
    OrNone,
    Text,
    floats,
    row_dots,
    stored,
)
from allegiance.engines import Z95

from ._logistic import Standardisation


class ExpectedRight(NamedTuple):
    """Sums over labelled points, from which the expected share of labels that hold follows; they can be merged."""

    points: int
    """Number of labelled points."""
    trust: float
    """Sum of trust."""
    slope: FloatArray
    """(3,) sum of the derivatives of trust by the coefficients of the map."""
    measurement: float
    """Sum of the errors of trust that come from the error of affinity. Points share samples, so errors add up."""

    def plus(self, other: ExpectedRight) -> ExpectedRight:
        """Return the sums over both sets of points."""
        return ExpectedRight(
            self.points + other.points,
            self.trust + other.trust,
            self.slope + other.slope,
            self.measurement + other.measurement,
        )

    def interval(self, covariance: FloatArray) -> tuple[float, float, float]:
        """Return the mean trust and its 95 % interval, given the covariance (3, 3) of the coefficients.

        The interval is symmetric on the logit scale, so it stays within 0 and 1. NaN without labelled points.
        """
        if self.points == 0:
            return (np.nan, np.nan, np.nan)
        mean = self.trust / self.points
        resampling = float(self.slope @ covariance @ self.slope)
        error = np.sqrt(max(resampling, 0.0) + self.measurement**2) / self.points
        room = mean * (1.0 - mean)
        if room <= 0.0:
            return (mean, mean, mean)
        half = Z95 * error / room
        return (mean, float(expit(logit(mean) - half)), float(expit(logit(mean) + half)))


class Steps(NamedTuple):
    """How the trust in one label came about."""

    scores: float
    """The chance that own affinity and closeness give."""
    crowding: float
    """The chance after the prior on large and wide clusters."""
    seen: float
    """The factor for lying farther out than any member seen; 1 inside."""


@stored(
    "trust-map",
    center=floats(2),
    scale=floats(2, low=POSITIVE),
    coefficients=floats(3),
    covariance=floats(3, 3),
    offsets=floats("k"),
    reach=floats("k", low=0.0, infinite=True),
    chance=Number(0.0, 1.0),
    reason=OrNone(Text()),
)
@dataclass(frozen=True, eq=False)
class TrustMap:
    """The chance that a label holds, for known and for new points; arrays only, so that it can be saved.

    Attributes
    ----------
    center, scale
        (2,) each: mean and standard deviation of the sum and the difference of own affinity and closeness.
    coefficients
        (3,) of the logit: intercept, sum, difference.
    covariance
        (3, 3) of the coefficients.
    offsets
        (k,) added to the logit of the points of each cluster: see ``crowding`` of :class:`Calibration`.
    reach
        (k,) distance from the representative up to which the cluster has been seen.
    chance
        The trust that labels unrelated to the data would have on average.
    reason
        Why trust should not be believed as it is, in words for the user; None if nothing speaks against it.
    """

    center: FloatArray
    scale: FloatArray
    coefficients: FloatArray
    covariance: FloatArray
    offsets: FloatArray
    reach: FloatArray
    chance: float
    reason: str | None = None

    def trust(
        self, own_affinity: FloatArray, closeness: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> FloatArray:
        """Return the chance (n,) that the label of each point holds, NaN for noise (code -1)."""
        points = np.flatnonzero(codes >= 0)
        result = np.full(codes.shape[0], np.nan)
        chance, seen, _ = self._parts(own_affinity[points], closeness[points], codes[points], distance[points])
        result[points] = chance * seen
        return result

    def expected_right(
        self,
        own_affinity: FloatArray,
        closeness: FloatArray,
        codes: AnyArray,
        distance: FloatArray,
        own_error: FloatArray | float = 0.0,
    ) -> tuple[float, float, float]:
        """Return the mean trust of labelled points and its 95 % interval (low, high).

        The interval holds the error of calibration and of measurement. It does not hold what re-clustering cannot
        show: clusters that come back every time and yet mix classes.
        """
        sums = self.expected_right_sums(own_affinity, closeness, codes, distance, own_error)
        return sums.interval(self.covariance)

    def expected_right_sums(
        self,
        own_affinity: FloatArray,
        closeness: FloatArray,
        codes: AnyArray,
        distance: FloatArray,
        own_error: FloatArray | float = 0.0,
    ) -> ExpectedRight:
        """Return the sums behind :meth:`expected_right`, for data that come in pieces.

        Parameters
        ----------
        own_error
            (n,) standard errors of own affinity.
        """
        points = np.flatnonzero(codes >= 0)
        error = np.broadcast_to(np.asarray(own_error, dtype=np.float64), codes.shape)[points]
        chance, seen, design = self._parts(own_affinity[points], closeness[points], codes[points], distance[points])
        steepness = chance * (1.0 - chance) * seen
        by_own = abs(self.coefficients[1] / self.scale[0] + self.coefficients[2] / self.scale[1])
        return ExpectedRight(
            points.size, float((chance * seen).sum()), steepness @ design, float(by_own * (steepness * error).sum())
        )

    def steps(self, own_affinity: float, closeness: float, code: int, distance: float) -> Steps:
        """Return how the trust in a label comes about; the product of the last two steps is trust."""
        at = [np.array([value]) for value in (own_affinity, closeness, code, distance)]
        chance, seen, design = self._parts(*at)
        return Steps(float(expit(row_dots(design, self.coefficients))[0]), float(chance[0]), float(seen[0]))

    def _parts(
        self, own_affinity: FloatArray, closeness: FloatArray, codes: AnyArray, distance: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return for labelled points the chance (n,), the factor (n,) for lying outside, the columns (n, 3)."""
        design = Standardisation(self.center, self.scale).design(own_affinity, closeness)
        # Not by BLAS, which rounds one row otherwise than many.
        chance = expit(row_dots(design, self.coefficients) + self.offsets[codes])
        reach = self.reach[codes]
        outside = distance > reach
        seen = np.ones(codes.shape[0])
        seen[outside] = (reach[outside] / distance[outside]) ** 2
        return chance, seen, design
