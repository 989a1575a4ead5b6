"""The result for many clusters: only the largest affinities of each point."""

from __future__ import annotations

from dataclasses import dataclass, field

from allegiance._core._typing import AnyArray, BoolArray, FloatArray, IntArray

from ._base import HowMeasured, Leaders, RankedResult
from ._frames import FrameLike


@dataclass(frozen=True, repr=False, eq=False)
class TopAffinityResult(RankedResult):
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
    hidden
        (n,) whether the point owns no territory at all; its affinity is then the limit of a vanishing territory.
    off_span
        (n,) distance of the point from the span of the cluster representatives, as in :class:`AffinityResult`.
    how
        How it was measured.
    """

    clusters: AnyArray
    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    # Columns of the two largest affinities, and the second one: with top=1 it is not among those above.
    _first: IntArray = field(repr=False)
    _second: IntArray = field(repr=False)
    _second_affinity: FloatArray = field(repr=False)
    _worst_error: FloatArray = field(repr=False)
    _engine: AnyArray = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @property
    def _top_two(self) -> tuple[IntArray, IntArray]:
        return self._first, self._second

    @property
    def _leaders(self) -> Leaders:
        return Leaders(self.affinity[:, 0], self.standard_error[:, 0], self._second_affinity)

    @property
    def worst_error(self) -> FloatArray:
        """(n,) the largest standard error among all affinities of each point, those not kept included."""
        return self._worst_error

    def _affinity_columns(self) -> dict[str, AnyArray]:
        columns: dict[str, AnyArray] = {}
        for rank in range(self.affinity.shape[1]):
            columns[f"cluster_{rank + 1}"] = self.clusters[:, rank]
            columns[f"affinity_{rank + 1}"] = self.affinity[:, rank]
        return columns
