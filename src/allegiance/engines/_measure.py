"""All queries through one engine, block by block."""

from __future__ import annotations

from allegiance._progress import progress
from allegiance._typing import AnyArray, FloatArray

from ._estimate import Engine, Estimate, Settings
from ._scene import Scene


def measure(
    engine: Engine,
    scene: Scene,
    position: FloatArray,
    settings: Settings,
    moved: tuple[AnyArray, FloatArray] | None = None,
) -> Estimate:
    """Estimate the affinities of positions (n, r), given as in :meth:`Scene.queries`.

    Memory beyond the result is that of one block of queries, whatever n.
    """
    n = position.shape[0]
    estimate = Estimate.blank(n, scene.n_sites, 0)
    with progress(n, "affinity", settings.verbose) as advance:
        for start in range(0, n, engine.block):
            rows = slice(start, min(start + engine.block, n))
            part = None if moved is None else (moved[0][rows], moved[1][rows])
            estimate.put(rows, engine.estimate(scene.queries(position[rows], part)))
            advance(rows.stop - rows.start)
    return estimate
