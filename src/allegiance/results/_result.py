"""AffinityResult: the affinities of all points to all clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, Lazy
from allegiance.calibration import MemberDistances, TrustMap
from allegiance.engines import Z95, Standing, standing_of

from ._base import HowMeasured, Result
from ._frames import FrameLike
from ._proximity import Proximity


@dataclass(frozen=True, repr=False, eq=False)
class AffinityResult(Result):
    """Affinity vectors of n points towards k clusters, and what follows from them.

    ``print(result)`` gives a summary, :meth:`to_frame` one row per point, :meth:`by_cluster` one per cluster,
    :meth:`review` the labels to look at first.

    Attributes
    ----------
    affinity
        (n, k) share of the territory the point would claim as a cluster of its own that is taken from each cluster.
        Rows sum to 1.
    standard_error
        (n, k) standard error of each affinity, 0 where it is exact. A 95 % interval is 1.96 standard errors to each
        side.
    label
        (n,) the label the clustering gave; -1 is noise.
    classes
        (k,) the label of each column of ``affinity``.
    hidden
        (n,) whether the point owns no territory at all; its affinity is then the limit of a vanishing territory.
    off_span
        (n,) distance of the point from the span of the cluster representatives, which affinity does not see. For
        Bregman divergences it is the divergence of the point from its projection on the span.
    how
        How it was measured.

    Examples
    --------
    >>> from allegiance import affinity
    >>> result = affinity([[0.0], [1.0], [4.0], [9.0], [10.0]], [0, 0, 1, 1, 1])
    >>> result.own_affinity.round(2)
    array([1.  , 0.93, 0.49, 1.  , 1.  ])
    >>> result.verdict
    array(['supported', 'supported', 'contradicted', 'supported', 'supported'],
          dtype='<U12')
    """

    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    codes: IntArray = field(repr=False)
    proximity: Lazy[Proximity] = field(repr=False)
    members: Lazy[MemberDistances] | None = field(repr=False)
    trust_map: TrustMap | None = field(repr=False)
    engine_codes: AnyArray = field(repr=False)
    frame_like: FrameLike = field(repr=False)

    @cached_property
    def standing(self) -> Standing:  # type: ignore[override]
        """Where each point stands among the clusters."""
        return standing_of(self.affinity, self.standard_error, self.codes)

    def n_wider_than(self, eps: float) -> int:
        """Return how many points have an affinity whose 95 % interval has a half-width of more than ``eps``."""
        # Looking at all numbers at once is much faster than row by row, and usually enough.
        if Z95 * self.standard_error.max(initial=0.0) <= eps:
            return 0
        return int((Z95 * self.standard_error.max(axis=1) > eps).sum())

    def _affinity_columns(self) -> dict[str, AnyArray]:
        return {f"affinity_{name}": self.affinity[:, i] for i, name in enumerate(self.classes)}
