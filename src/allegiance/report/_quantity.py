"""What the page ranks labels by: trust or, without calibration, own affinity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray
from allegiance.results import AffinityResult


class Quantity(NamedTuple):
    """A number from 0 to 1 for each label, and what it is called."""

    name: str
    values: FloatArray
    """(n,) NaN for noise, which has no label."""


def quantity_of(result: AffinityResult) -> Quantity:
    """Return trust, or own affinity without calibration."""
    # Rounding may put a sum of samples just above 1.
    return Quantity("trust" if result.calibrated else "own affinity", np.minimum(result.ranking, 1.0))
