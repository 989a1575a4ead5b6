"""Exact volume that each query steals from each triangulated cell."""

from __future__ import annotations

import numpy as np

from allegiance._core.validation import AnyArray, FloatArray

from .jit import jit


@jit()
def stolen_volumes(
    query_a: FloatArray,
    query_b: FloatArray,
    home: FloatArray,
    clearance: FloatArray,
    clearance_scale: float,
    site_a: FloatArray,
    axis_scale: FloatArray,
    vertices: FloatArray,
    vertex_values: FloatArray,
    vertex_start: AnyArray,
    simplices: AnyArray,
    simplex_volumes: FloatArray,
    simplex_start: AnyArray,
    cell_volumes: FloatArray,
    stolen: FloatArray,
    depth: FloatArray,
) -> None:
    """Write to ``stolen[q, i]`` the volume of cell i where f_q <= f_i, and to ``depth[q]`` the largest f_i - f_q.

    The gap f_q - f_i at the vertices is the difference of two numbers of the size of the functions. Where query and
    site are close, little of it is left. Then pass the ``clearance`` (n, k), f_i - f_q at the query's ``home`` (n, r),
    instead of one of no rows: the gap is -clearance_i - <a_q - a_i, v - home>, of which both terms shrink with the
    distance of query and site. Slopes are then multiplied by ``axis_scale`` (r,) after they are subtracted, and
    ``depth`` is a share of the numbers that the gap is computed from: of |a_q - a_i|, the sum of the entries, and of
    ``clearance_scale``, the size of numbers subtracted in the clearance.

    The share of a simplex on one side of a plane follows from the plane's values g at its vertices alone. With
    h = -g, positives p_1..p_J and non-positives q of h, start from A_0 = 0, A_1 = .. = A_J = 1 and for each q replace,
    in order of j, A_j by (p_j A_j - q A_(j-1)) / (p_j - q); A_J is the share with h > 0. Every term is a convex
    combination, so nothing cancels and small shares keep their relative accuracy.

    ``vertices`` is (r, V), the vertices of all cells one cell after another, ``vertex_values`` (V,) the value of
    the cell's own site function there, ``vertex_start`` (k + 1,) where each cell begins, ``site_a`` (k, r) the slopes
    of the sites. ``simplices`` is int32 (S, r + 1) with ``simplex_start`` (k + 1,). ``stolen`` is (n, k), ``depth``
    (n,).
    """
    n, r = query_a.shape
    k = cell_volumes.shape[0]
    total = vertices.shape[1]
    gap = np.empty(total)
    slope = np.empty(r)
    inside = np.empty(r + 1)
    outside = np.empty(r + 1)
    share = np.empty(r + 2)
    from_home = clearance.shape[0] > 0
    for q in range(n):
        if from_home:
            for i in range(k):
                offset = -clearance[q, i]
                size = clearance_scale
                for c in range(r):
                    slope[c] = (query_a[q, c] - site_a[i, c]) * axis_scale[c]
                    offset += slope[c] * home[q, c]
                    size += abs(slope[c])
                unit = 1.0 / size if size > 0.0 else 0.0
                for v in range(vertex_start[i], vertex_start[i + 1]):
                    value = offset
                    for c in range(r):
                        value -= slope[c] * vertices[c, v]
                    gap[v] = value * unit
        else:
            for v in range(total):
                gap[v] = query_b[q] - vertex_values[v]
            for c in range(r):
                rate = query_a[q, c]
                for v in range(total):
                    gap[v] -= rate * vertices[c, v]
        deepest = 0.0
        for i in range(k):
            low = np.inf
            high = -np.inf
            for v in range(vertex_start[i], vertex_start[i + 1]):
                low = min(low, gap[v])
                high = max(high, gap[v])
            if low >= 0.0:
                stolen[q, i] = 0.0
                continue
            deepest = min(deepest, low)
            if high <= 0.0:
                stolen[q, i] = cell_volumes[i]
                continue
            volume = 0.0
            for s in range(simplex_start[i], simplex_start[i + 1]):
                n_inside = 0
                n_outside = 0
                for j in range(r + 1):
                    value = gap[simplices[s, j]]
                    if value < 0.0:
                        inside[n_inside] = -value
                        n_inside += 1
                    else:
                        outside[n_outside] = value
                        n_outside += 1
                if n_inside == 0:
                    continue
                share[0] = 0.0
                for j in range(1, n_inside + 1):
                    share[j] = 1.0
                for m in range(n_outside):
                    for j in range(1, n_inside + 1):
                        p = inside[j - 1]
                        share[j] = (p * share[j] + outside[m] * share[j - 1]) / (p + outside[m])
                volume += simplex_volumes[s] * share[n_inside]
            stolen[q, i] = volume
        depth[q] = -deepest
