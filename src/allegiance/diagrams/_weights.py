"""Importance of clusters, in units of the divergence."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allegiance._arrays import real_array
from allegiance._typing import AnyArray, FloatArray

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
    members = codes >= 0
    n = max(int(members.sum()), 1)
    sizes = np.bincount(codes[members], minlength=k).astype(np.float64)
    mean_spread = float(spread[members].mean()) if members.any() else 0.0
    if isinstance(weights, str):
        raw = sizes / n if weights == "size" else _densities(codes[members], sizes, spread[members], dim)
    else:
        raw = real_array("weights", weights, 1)
        if raw.shape != (k,):
            raise ValueError(f"weights has {raw.shape[0]} entries but there are {k} clusters: must be equal.")
        if not np.isfinite(raw).all():
            raise ValueError("weights must be finite.")
    own = float(raw.sum()) / n if query_weight is None else query_weight
    factor = mean_spread if isinstance(scale, str) else scale
    return Weights(raw * factor, own * factor)


def _densities(codes: AnyArray, sizes: FloatArray, spread: FloatArray, dim: int) -> FloatArray:
    """Return densities (k,) relative to their sum. Through logarithms: powers of r/2 overflow easily."""
    if not spread.any():
        return sizes / sizes.sum()
    mean = np.bincount(codes, weights=spread, minlength=sizes.size) / np.maximum(sizes, 1.0)
    mean = np.maximum(mean, _LEAST_SPREAD * spread.mean())
    with np.errstate(divide="ignore"):
        logarithm = np.log(sizes) - dim / 2.0 * np.log(mean)
    density: FloatArray = np.exp(logarithm - logarithm.max())
    return density / density.sum()
