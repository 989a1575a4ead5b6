"""All queries through one measurer, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allegiance._core import AnyArray, BoolArray, FloatArray, IntArray, progress

from ._engine import Estimate, Measurer, Settings
from ._standing import Standing, standing_of
from ._tessellation import Tessellation

#: Most affinities measured at a time, where there are many sites.
_MAX_SHARES = 2**23


class TopEstimate(NamedTuple):
    """The largest affinities of n queries."""

    cluster: IntArray
    """(n, m) numbers of the clusters, that of the largest affinity first; of equals the first cluster."""
    affinity: FloatArray
    """(n, m)"""
    standard_error: FloatArray
    """(n, m)"""
    standing: Standing
    engine: AnyArray
    hidden: BoolArray


def measure(
    measurer: Measurer,
    tessellation: Tessellation,
    position: FloatArray,
    settings: Settings,
    moved: tuple[AnyArray, FloatArray] | None = None,
) -> Estimate:
    """Estimate the affinities (n, k) of positions (n, r), given as in :meth:`Tessellation.queries`.

    Memory beyond the result is that of one block of queries, whatever n.
    """
    n = position.shape[0]
    estimate = Estimate.blank(n, tessellation.n_sites, 0)
    for rows, part in _blocks(measurer, tessellation, position, settings, moved):
        estimate.put(rows, part)
    return estimate._replace(
        affinity=tessellation.expand(estimate.affinity), standard_error=tessellation.expand(estimate.standard_error)
    )


def measure_top(
    measurer: Measurer,
    tessellation: Tessellation,
    position: FloatArray,
    settings: Settings,
    top: int,
    codes: AnyArray,
    moved: tuple[AnyArray, FloatArray] | None = None,
) -> TopEstimate:
    """Estimate the ``top`` largest affinities of positions (n, r): the same numbers as :func:`measure`.

    ``codes`` (n,) are the clusters of the points, -1 for noise: how they stand to these is kept too.
    """
    n = position.shape[0]
    cluster = np.empty((n, top), np.int64)
    shares, errors = np.empty((n, top)), np.empty((n, top))
    engines, hidden = np.empty(n, np.uint8), np.empty(n, dtype=bool)
    standings = []
    for rows, part in _blocks(measurer, tessellation, position, settings, moved):
        affinity, error = tessellation.expand(part.affinity), tessellation.expand(part.standard_error)
        cluster[rows] = _largest(affinity, top)
        shares[rows] = np.take_along_axis(affinity, cluster[rows], axis=1)
        errors[rows] = np.take_along_axis(error, cluster[rows], axis=1)
        engines[rows], hidden[rows] = part.engine, part.hidden
        standings.append(standing_of(affinity, error, codes[rows]))
    if not standings:
        k = tessellation.n_clusters
        standings.append(standing_of(np.empty((0, k)), np.empty((0, k)), codes))
    standing = Standing(*(np.concatenate(parts) for parts in zip(*standings, strict=True)))
    return TopEstimate(cluster, shares, errors, standing, engines, hidden)


def _blocks(
    measurer: Measurer,
    tessellation: Tessellation,
    position: FloatArray,
    settings: Settings,
    moved: tuple[AnyArray, FloatArray] | None,
) -> Iterator[tuple[slice, Estimate]]:
    """Yield the estimates of blocks of queries, with their rows."""
    n = position.shape[0]
    size = min(measurer.block, max(_MAX_SHARES // tessellation.n_sites, 1024))
    with progress(n, "affinity", settings.verbose) as advance:
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            part = None if moved is None else (moved[0][rows], moved[1][rows])
            yield rows, measurer.estimate(tessellation.queries(position[rows], part))
            advance(rows.stop - rows.start)


def _largest(affinity: FloatArray, top: int) -> IntArray:
    """Return the columns (n, top) of the largest entries of each row, one round for each: faster than sorting rows."""
    rest = affinity.copy()
    rows = np.arange(affinity.shape[0])
    chosen = np.empty((rows.size, top), np.int64)
    for rank in range(top):
        chosen[:, rank] = rest.argmax(axis=1)
        rest[rows, chosen[:, rank]] = -1.0
    return chosen
