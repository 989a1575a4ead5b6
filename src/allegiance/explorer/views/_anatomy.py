"""What makes a point or a cluster what it is: features against its own cluster, a rival, the rest; nearest points."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from allegiance._core import FloatArray, IntArray, dense
from allegiance.explorer.state import Subject
from allegiance.report import Centers, Traits, cluster_centers, cluster_traits

#: Features listed of a point, and points listed beside it.
N_FEATURES, N_NEAREST = 6, 5
#: Numbers handled at a time.
_BLOCK = 4_000_000


class Deviation(NamedTuple):
    """A feature of a point beside the means of two clusters."""

    feature: str
    value: float
    own_mean: float
    rival_mean: float
    from_own: float
    """In standard deviations within clusters."""
    from_rival: float


class Anatomy:
    """Means and spread of the features of a subject, found when they are first needed.

    Parameters
    ----------
    subject
        Points with features.
    """

    def __init__(self, subject: Subject) -> None:
        assert subject.features is not None
        self._subject = subject
        self._features = subject.features

    @cached_property
    def centers(self) -> Centers:
        """Means of the clusters."""
        return cluster_centers(self._features.rows, self._subject.codes, self._subject.n_clusters)

    @cached_property
    def traits(self) -> Traits:
        """The features in which each cluster differs most from the rest."""
        return cluster_traits(self.centers)

    def deviations(self, row: int, own: int, rival: int) -> list[Deviation]:
        """Return the features in which a point differs most from two clusters, the largest difference first."""
        centers = self.centers
        point = dense(self._features.rows[[row]])[0] / centers.scale
        from_own, from_rival = (
            np.nan_to_num((point - centers.means[cluster]) / centers.spread) for cluster in (own, rival)
        )
        order = np.argsort(-np.maximum(np.abs(from_own), np.abs(from_rival)), kind="stable")[:N_FEATURES]
        return [
            Deviation(
                self._features.names[i],
                float(point[i] * centers.scale[i]),
                float(centers.means[own, i] * centers.scale[i]),
                float(centers.means[rival, i] * centers.scale[i]),
                float(from_own[i]),
                float(from_rival[i]),
            )
            for i in order
            if from_own[i] or from_rival[i]
        ]

    def nearest(self, row: int, cluster: int) -> IntArray:
        """Return the rows of the members of a cluster closest to a point, the closest first, without the point.

        Features count in standard deviations within clusters.
        """
        members = self._subject.members(cluster)
        members = members[members != row]
        scale = self.centers.scale * np.nan_to_num(self.centers.spread, nan=np.inf)
        point = dense(self._features.rows[[row]])[0] / scale
        step = max(1, _BLOCK // max(point.size, 1))
        away: FloatArray = np.empty(members.size)
        for start in range(0, members.size, step):
            some = members[start : start + step]
            away[start : start + step] = ((dense(self._features.rows[some]) / scale - point) ** 2).sum(axis=1)
        return members[np.argsort(away, kind="stable")[:N_NEAREST]]
