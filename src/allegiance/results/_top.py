"""TopAffinityResult: for many clusters, only the largest affinities of each point."""

from __future__ import annotations

from dataclasses import dataclass, field

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, Lazy
from allegiance.calibration import MemberDistances, TrustMap
from allegiance.engines import Standing

from ._base import HowMeasured, Result
from ._frames import FrameLike
from ._proximity import Proximity


@dataclass(frozen=True, repr=False, eq=False)
class TopAffinityResult(Result):
    """The largest affinities of n points, and the clusters they belong to.

    What ``affinity(..., top=3)`` returns: memory for n x top numbers instead of n x k. ``print(result)`` gives a
    summary, :meth:`to_frame` one row per point. Everything but the smaller affinities is as in
    :class:`AffinityResult`, to the last bit.

    Attributes
    ----------
    clusters
        (n, top) labels of the clusters with the largest affinities, the largest first.
    affinity
        (n, top) these affinities. Rows do not sum to 1: the rest went to other clusters.
    standard_error
        (n, top) their standard errors, 0 where exact.
    label
        (n,) the label the clustering gave; -1 is noise.
    classes
        (k,) the labels of all clusters.
    hidden, off_span
        (n,) as in :class:`AffinityResult`.
    how
        How it was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from allegiance import affinity
    >>> result = affinity(np.arange(10.0)[:, None], np.arange(10) // 2, top=2)
    >>> result.clusters[3], result.affinity[3].round(2)
    (array([1, 2]), array([0.75, 0.25]))
    """

    clusters: AnyArray
    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    standing: Standing = field(repr=False)
    codes: IntArray = field(repr=False)
    proximity: Lazy[Proximity] = field(repr=False)
    members: Lazy[MemberDistances] | None = field(repr=False)
    trust_map: TrustMap | None = field(repr=False)
    engine_codes: AnyArray = field(repr=False)
    frame_like: FrameLike = field(repr=False)

    def _affinity_columns(self) -> dict[str, AnyArray]:
        columns: dict[str, AnyArray] = {}
        for rank in range(self.affinity.shape[1]):
            columns[f"cluster_{rank + 1}"] = self.clusters[:, rank]
            columns[f"affinity_{rank + 1}"] = self.affinity[:, rank]
        return columns
