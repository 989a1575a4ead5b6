"""All queries through one engine, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from allegiance._core._progress import progress
from allegiance._core._typing import AnyArray, BoolArray, FloatArray, IntArray

from ._estimate import Engine, Estimate, Settings
from ._tessellation import Scene

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
    worst_error: FloatArray
    """(n,) largest standard error of all affinities of a query."""
    engine: AnyArray
    hidden: BoolArray


def measure(
    engine: Engine,
    scene: Scene,
    position: FloatArray,
    settings: Settings,
    moved: tuple[AnyArray, FloatArray] | None = None,
) -> Estimate:
    """Estimate the affinities (n, k) of positions (n, r), given as in :meth:`Scene.queries`.

    Memory beyond the result is that of one block of queries, whatever n.
    """
    n = position.shape[0]
    estimate = Estimate.blank(n, scene.n_sites, 0)
    for rows, part in _blocks(engine, scene, position, settings, moved):
        estimate.put(rows, part)
    return estimate._replace(
        affinity=scene.expand(estimate.affinity), standard_error=scene.expand(estimate.standard_error)
    )


def measure_top(
    engine: Engine,
    scene: Scene,
    position: FloatArray,
    settings: Settings,
    top: int,
    moved: tuple[AnyArray, FloatArray] | None = None,
) -> TopEstimate:
    """Estimate the ``top`` largest affinities of positions (n, r): the same numbers as :func:`measure`."""
    n = position.shape[0]
    cluster = np.empty((n, top), np.int64)
    shares, errors = np.empty((n, top)), np.empty((n, top))
    worst, engines, hidden = np.empty(n), np.empty(n, np.uint8), np.empty(n, dtype=bool)
    for rows, part in _blocks(engine, scene, position, settings, moved):
        affinity, error = scene.expand(part.affinity), scene.expand(part.standard_error)
        cluster[rows] = _largest(affinity, top)
        shares[rows] = np.take_along_axis(affinity, cluster[rows], axis=1)
        errors[rows] = np.take_along_axis(error, cluster[rows], axis=1)
        worst[rows], engines[rows], hidden[rows] = error.max(axis=1), part.engine, part.hidden
    return TopEstimate(cluster, shares, errors, worst, engines, hidden)


def _blocks(
    engine: Engine,
    scene: Scene,
    position: FloatArray,
    settings: Settings,
    moved: tuple[AnyArray, FloatArray] | None,
) -> Iterator[tuple[slice, Estimate]]:
    """Yield the estimates of blocks of queries, with their rows."""
    n = position.shape[0]
    size = min(engine.block, max(_MAX_SHARES // scene.n_sites, 1024))
    with progress(n, "affinity", settings.verbose) as advance:
        for start in range(0, n, size):
            rows = slice(start, min(start + size, n))
            part = None if moved is None else (moved[0][rows], moved[1][rows])
            yield rows, engine.estimate(scene.queries(position[rows], part))
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
