"""What a user gets: the affinities of all points and everything that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from allegiance._core._typing import AnyArray, BoolArray, FloatArray, IntArray

from ._base import HowMeasured, Leaders, RankedResult
from ._frames import FrameLike

__all__ = ["AffinityResult", "HowMeasured"]


@dataclass(frozen=True, repr=False, eq=False)
class AffinityResult(RankedResult):
    """Affinity vectors of n points towards k clusters.

    ``print(result)`` gives a summary, :meth:`to_frame` one row per point.

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
    """

    affinity: FloatArray
    standard_error: FloatArray
    label: AnyArray
    classes: AnyArray
    hidden: BoolArray
    off_span: FloatArray
    how: HowMeasured
    _engine: AnyArray = field(repr=False)
    _frame: FrameLike = field(repr=False)

    @cached_property
    def _top_two(self) -> tuple[IntArray, IntArray]:
        first = self.affinity.argmax(axis=1)
        if self.n_clusters == 1:
            return first, first
        rest = self.affinity.copy()
        rest[np.arange(self.n_points), first] = -1.0
        return first, rest.argmax(axis=1)

    @cached_property
    def _leaders(self) -> Leaders:
        first, second = self._top_two
        rows = np.arange(self.n_points)
        runner_up = np.zeros(self.n_points) if self.n_clusters == 1 else self.affinity[rows, second]
        return Leaders(self.affinity[rows, first], self.standard_error[rows, first], runner_up)

    @property
    def worst_error(self) -> FloatArray:
        """(n,) the largest standard error among the affinities of each point."""
        largest: FloatArray = self.standard_error.max(axis=1)
        return largest

    @property
    def own_affinity(self) -> FloatArray:
        """(n,) affinity to the cluster of the point's own label, 0 for noise: the best ranking of labels to doubt.

        It is below ``confidence`` where the point belongs more to another cluster than to its own.
        """
        column = np.minimum(np.searchsorted(self.classes, self.label), self.n_clusters - 1)
        own = self.affinity[np.arange(self.n_points), column]
        return np.where(self.classes[column] == self.label, own, 0.0)

    def _affinity_columns(self) -> dict[str, AnyArray]:
        return {f"affinity_{name}": self.affinity[:, i] for i, name in enumerate(self.classes)}
