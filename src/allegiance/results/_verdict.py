"""What to make of a label: supported, contested or contradicted."""

from __future__ import annotations

import numpy as np

from allegiance._core import AnyArray, FloatArray
from allegiance.engines import Z95, Standing

SUPPORTED, CONTESTED, CONTRADICTED, NO_LABEL = "supported", "contested", "contradicted", "noise"
#: All verdicts, in the order in which they are shown.
VERDICTS = (SUPPORTED, CONTESTED, CONTRADICTED, NO_LABEL)


def verdicts(standing: Standing, codes: AnyArray, trust: FloatArray | None) -> AnyArray:
    """Return a verdict (n,) on each label.

    Parameters
    ----------
    standing
        Where points stand among the clusters.
    codes
        (n,) their clusters, -1 for noise.
    trust
        (n,) the chance that their labels hold; None without calibration.
    """
    lead = standing.own - standing.rival_affinity
    # Shares of one cell exclude each other, so the error of their difference is at most the sum of their errors.
    bar = Z95 * (standing.own_error + standing.rival_error)
    supported = lead > bar if trust is None else (lead >= 0) & (np.nan_to_num(trust) >= 0.5)
    found = np.full(codes.shape[0], CONTESTED, dtype=f"<U{max(map(len, VERDICTS))}")
    found[supported] = SUPPORTED
    found[-lead > bar] = CONTRADICTED
    found[codes < 0] = NO_LABEL
    return found
