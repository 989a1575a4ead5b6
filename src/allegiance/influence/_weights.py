"""Weights of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from allegiance._core.arithmetic import ExactSums
from allegiance._core.parameters import Parameters
from allegiance._core.validation import AnyArray, FloatArray, check_choice, check_number, real_array

from ._diagram import Diagram

#: Clusters tighter than this share of the average spread count as this tight: a single point has no spread at all.
_LEAST_SPREAD = 1e-3
_OVERFLOW = (
    "weights and squared distances of X are too far apart in scale: rescale X "
    "or the weights, or use Weights(.., scale='auto')."
)


class SpreadSums(NamedTuple):
    """Sums over points from which the weights of clusters follow."""

    sizes: FloatArray
    """(k,) numbers of points."""
    sums: ExactSums
    """(k, 1) of their divergences from the representative of their cluster."""

    @classmethod
    def of(cls, codes: AnyArray, spread: FloatArray, k: int) -> SpreadSums:
        """Sum what weights follow from: divergences (n,) of points with cluster codes (n,), -1 for noise."""
        sizes = np.bincount(codes[codes >= 0], minlength=k).astype(np.float64)
        return cls(sizes, ExactSums.of(spread[:, None], codes, k))

    @property
    def spread(self) -> FloatArray:
        """(k,) sums of the divergences."""
        return self.sums.values[:, 0]

    def merge(self, other: SpreadSums) -> SpreadSums:
        """Return the sums of weights over both sets of points."""
        return SpreadSums(self.sizes + other.sizes, self.sums.merge(other.sums))


@dataclass(frozen=True, eq=False, repr=False)
class Weights(Parameters):
    """How important each cluster is: its weight is subtracted from the squared distance, or divergence.

    Parameters
    ----------
    values
        "size": the share ``|C_i| / n`` of the points. "density": the share of ``|C_i| / s_i^(r/2)`` in their sum, where
        s_i is the mean divergence of the cluster's points from its representative and r the dimension in which volume
        is measured, so that s_i^(r/2) is proportional to the volume of the cluster. Or an array (k,).
    scale
        The factor that turns weights into squared distances. "auto" is the mean squared distance of the points from
        their representatives, so that rescaling the data changes nothing.
    query
        The weight of a point before scaling. None is the average over points, sum of weights / n: 1 / n for "size".

    Examples
    --------
    >>> from allegiance import affinity
    >>> from allegiance.influence import Weights
    >>> X, labels = [[0, 0], [1, 2], [0, 1], [1, 1], [6, 1], [8, 3], [4, 9], [5, 5]], [0, 0, 0, 0, 1, 1, 2, 2]
    >>> kinds = None, Weights("size", scale=20.0)
    >>> plain, weighted = (affinity(X, labels, influence="euclidean", weights=kind) for kind in kinds)
    >>> plain.affinity[4].round(2), weighted.affinity[4].round(2)
    (array([0.15, 0.84, 0.01]), array([0.15, 0.85, 0.  ]))
    """

    values: Any
    scale: float | str = 1.0
    query: float | None = None

    @classmethod
    def resolve(cls, value: Any) -> Weights | None:
        """Return checked weights from None, a name, an array (k,), or an object."""
        if value is None:
            return None
        weights = value if isinstance(value, Weights) else cls(value)
        weights.check()
        return weights

    def check(self) -> None:
        """Raise unless the weights, their scale and the weight of a point are valid."""
        if isinstance(self.values, str):
            check_choice(self.values, "weights", ("size", "density"))
        if isinstance(self.scale, str):
            check_choice(self.scale, "scale of Weights", ("auto",))
        else:
            check_number(self.scale, "scale of Weights", low=0.0)
        if self.query is not None:
            check_number(self.query, "query of Weights", low=-np.inf)

    def apply(self, diagram: Diagram, sums: SpreadSums) -> Diagram:
        """Return the diagram with these weights, computed from sums over the points of the fit."""
        k = sums.sizes.size
        n = max(float(sums.sizes.sum()), 1.0)
        mean_spread = float(sums.spread.sum()) / n
        if isinstance(self.values, str):
            dim = diagram.positions.shape[1]
            raw = sums.sizes / n if self.values == "size" else _densities(sums, mean_spread, dim)
        else:
            raw = real_array("weights", self.values, 1)
            if raw.shape != (k,):
                raise ValueError(f"weights has {raw.shape[0]} entries but there are {k} clusters: they must be equal.")
            if not np.isfinite(raw).all():
                raise ValueError("weights must be finite.")
        factor = mean_spread if isinstance(self.scale, str) else self.scale
        with np.errstate(over="ignore", invalid="ignore"):
            query_weight = float(raw.sum()) / n if self.query is None else self.query
            weighted = diagram.weighted(raw * factor, query_weight * factor)
            largest = max(np.abs(weighted.functions.b).max(), np.abs(weighted.clearance_scale))
        if not np.isfinite(largest):
            raise ValueError(_OVERFLOW)
        return weighted

    def describe(self) -> str:
        """Return a short description of the weights."""
        return f"weights {self.values if isinstance(self.values, str) else 'from an array'}"


def _densities(sums: SpreadSums, mean_spread: float, dim: int) -> FloatArray:
    """Return densities (k,) relative to their sum. Through logarithms: powers of r/2 overflow easily."""
    if mean_spread == 0:
        return sums.sizes / sums.sizes.sum()
    if not np.isfinite(mean_spread):
        raise ValueError(_OVERFLOW)
    mean = np.maximum(sums.spread / np.maximum(sums.sizes, 1.0), _LEAST_SPREAD * mean_spread)
    with np.errstate(divide="ignore"):
        logarithm = np.log(sums.sizes) - dim / 2.0 * np.log(mean)
    density: FloatArray = np.exp(logarithm - logarithm.max())
    return density / density.sum()
