"""Importance of clusters, in units of the divergence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._core._arrays import real_array
from allegiance._core._typing import AnyArray, FloatArray

WEIGHTS = ("size", "density")
#: Clusters tighter than this share of the average spread count as this tight: a single point has no spread at all.
_LEAST_SPREAD = 1e-3


class Weights(NamedTuple):
    """Weights of the sites and of a query."""

    sites: FloatArray
    """(k,)"""
    query: float


def cluster_weights(
    weights: Any, query_weight: float | None, scale: float | str, codes: AnyArray, spread: FloatArray, dim: int, k: int
) -> Weights:
    """Return the weights a user asked for.

    Parameters
    ----------
    weights
        "size": the share |C_i| / n of the points. "density": the share of |C_i| / s_i^(r/2) in their sum, where s_i is
        the mean divergence of the cluster's points from its representative and r the dimension in which volume is
        measured, so that s_i^(r/2) goes with the volume the cluster is spread over. Or an array (k,).
    query_weight
        The weight of a query before scaling; None is the average over points, sum of weights / n, which is the
        paper's 1 / n for "size".
    scale
        What the weights are multiplied with to become squared distances; "auto" is the mean of ``spread``.
    codes
        (n,) cluster of each point, -1 for noise.
    spread
        (n,) divergence of each point from the representative of its cluster.
    dim, k
        Dimension r, and number of clusters.
    """
    return SpreadSums.of(codes, spread, k).weights(weights, query_weight, scale, dim)


class SpreadSums(NamedTuple):
    """Sums over points from which weights follow."""

    sizes: FloatArray
    """(k,) numbers of points."""
    spread: FloatArray
    """(k,) sums of their divergences from the representative of their cluster."""

    @classmethod
    def of(cls, codes: AnyArray, spread: FloatArray, k: int) -> SpreadSums:
        """Sum over points; see :func:`cluster_weights`."""
        members = codes >= 0
        own = codes[members]
        sizes = np.bincount(own, minlength=k).astype(np.float64)
        return cls(sizes, np.bincount(own, weights=spread[members], minlength=k).astype(np.float64, copy=False))

    def plus(self, other: SpreadSums) -> SpreadSums:
        """Return the sums over both sets of points."""
        return SpreadSums(self.sizes + other.sizes, self.spread + other.spread)

    def weights(self, weights: Any, query_weight: float | None, scale: float | str, dim: int) -> Weights:
        """Return the weights a user asked for; see :func:`cluster_weights`."""
        k = self.sizes.size
        n = max(float(self.sizes.sum()), 1.0)
        mean_spread = float(self.spread.sum()) / n
        if isinstance(weights, str):
            raw = self.sizes / n if weights == "size" else self._densities(mean_spread, dim)
        else:
            raw = real_array("weights", weights, 1)
            if raw.shape != (k,):
                raise ValueError(f"weights has {raw.shape[0]} entries but there are {k} clusters: must be equal.")
            if not np.isfinite(raw).all():
                raise ValueError("weights must be finite.")
        own = float(raw.sum()) / n if query_weight is None else query_weight
        factor = mean_spread if isinstance(scale, str) else scale
        return Weights(raw * factor, own * factor)

    def _densities(self, mean_spread: float, dim: int) -> FloatArray:
        """Return densities (k,) relative to their sum. Through logarithms: powers of r/2 overflow easily."""
        if mean_spread == 0:
            return self.sizes / self.sizes.sum()
        mean = np.maximum(self.spread / np.maximum(self.sizes, 1.0), _LEAST_SPREAD * mean_spread)
        with np.errstate(divide="ignore"):
            logarithm = np.log(self.sizes) - dim / 2.0 * np.log(mean)
        density: FloatArray = np.exp(logarithm - logarithm.max())
        return density / density.sum()
