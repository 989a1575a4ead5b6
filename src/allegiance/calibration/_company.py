"""The company that points keep when other points are clustered anew: the target of calibration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allegiance._core import BoolArray, FloatArray, IntArray

from ._overlap import dice_overlap, expected_dice, shares


class Company(NamedTuple):
    """What each point that was left out of a half shares with its new cluster."""

    kept: FloatArray
    """(n_resamples, m) overlap (Dice) of the cluster that a point was in and the one it is in now; 0 if not seen."""
    seen: BoolArray
    """(n_resamples, m) whether the point was left out of the half and has a new cluster."""
    chance: float
    """The mean overlap if labels and new clusters were unrelated."""

    @property
    def mean(self) -> float:
        """The mean overlap over points and resamples."""
        return float(self.kept.sum() / max(int(self.seen.sum()), 1))

    @property
    def by_resample(self) -> FloatArray:
        """(n_resamples,) the mean overlap over the points of each resample."""
        return self.kept.sum(axis=1) / np.maximum(self.seen.sum(axis=1), 1)


def company_kept(codes: IntArray, new: IntArray, inside: BoolArray) -> Company:
    """Compare clusters with new ones.

    Parameters
    ----------
    codes
        (m,) cluster numbers, without noise.
    new
        (n_resamples, m) new cluster numbers, -1 for noise, which is left out.
    inside
        (n_resamples, m) the points that were clustered, of which nothing can be learnt.
    """
    kept = np.zeros(new.shape)
    seen = ~inside & (new >= 0)
    chances = []
    for number, found in enumerate(new):
        placed = found >= 0
        overlap = dice_overlap(codes[placed], found[placed])
        kept[number, seen[number]] = overlap[codes[seen[number]], found[seen[number]]]
        chances.append(expected_dice(shares(codes[placed]), shares(found[placed])))
    return Company(kept, seen, float(np.mean(chances)))
